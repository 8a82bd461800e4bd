# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian systems in directories, made by mmdebstrap from the mirror of this machine's own apt."""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "vm"))

from machine import apt, trouble

CACHE = TOP / "build" / "debian"


# The root is a mount of its own, because tests of netflowd change how mounts propagate below "/".
ENTER = """set -e
mount --rbind "$1" "$1"
mount -t proc proc "$1/proc"
mount --rbind /sys "$1/sys"
root=$1 directory=$2
shift 2
exec chroot "$root" /usr/bin/env -C "$directory" "$@"
"""


class Root:
    """One Debian system.  Programs in it share nothing with this machine but its kernel."""

    def __init__(self, directory):
        self.path = directory

    def run(self, *command, check=True, environment=None, timeout=600, directory="/"):
        """Run a program inside; it and all that it starts end before this returns."""
        inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh",
                  self.path, directory, *command]
        done = subprocess.run([str(word) for word in inside], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=timeout,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
                                   "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive",
                                   **(environment or {})})
        if check:
            assert done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}"
        return done

    def output(self, *command):
        return self.run(*command).stdout

    def exists(self, path):
        return os.path.lexists(self.path / path.lstrip("/"))

    def read(self, path):
        return (self.path / path.lstrip("/")).read_text()

    def write(self, path, text):
        (self.path / path.lstrip("/")).write_text(text)

    def files(self):
        """Every path below the root, without the kernel's file systems."""
        found = set()
        for parent, directories, names in os.walk(self.path):
            place = pathlib.Path(parent).relative_to(self.path)
            if str(place) in ("proc", "sys", "dev"):
                directories.clear()
                continue
            found |= {f"/{place / name}" for name in (*directories, *names)}
        return found

    def install(self, *packages):
        """Copy packages into the system and install them with dpkg, without a network."""
        for package in packages:
            shutil.copy(package, self.path / "tmp")
        names = [f"/tmp/{package.name}" for package in packages]
        # As unattended upgrades do it: a configuration file that was changed stays.
        done = self.run("dpkg", "--force-confdef", "--force-confold", "--install", *names)
        for name in names:
            (self.path / name.lstrip("/")).unlink()
        return done.stdout

    def copy(self, directory):
        """The same system in another directory."""
        subprocess.run(["cp", "-a", "--reflink=auto", self.path, directory], check=True)
        return Root(directory)


def base(suite, include, architectures=("amd64",)):
    """A system of that suite with these packages, from the cache or built once."""
    recipe = "\n".join((suite, *architectures, *sorted(include)))
    name = f"{suite}-{hashlib.sha256(recipe.encode()).hexdigest()[:10]}"
    directory = CACHE / name
    with apt.alone(CACHE):
        if not directory.exists():
            _build(suite, include, architectures, directory)
    return Root(directory)


def _build(suite, include, architectures, directory):
    fresh = CACHE / "new"
    shutil.rmtree(fresh, ignore_errors=True)
    # The machine's own apt may use a proxy.
    settings = CACHE / "apt.conf"
    settings.write_text(trouble.command("apt-config", "dump", "--format", '%F "%v";%n', "Acquire"))
    trouble.command("mmdebstrap", "--mode=root", "--variant=minbase", f"--aptopt={settings}",
                f"--architectures={','.join(architectures)}",
                f"--include={','.join(sorted(include))}", suite, fresh,
                f"deb [signed-by={apt.KEYRING}] {apt.mirror()} {suite} main")
    fresh.rename(directory)
