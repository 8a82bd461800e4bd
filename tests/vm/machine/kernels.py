# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's kernel packages: fetched with apt, unpacked, never installed.

apt runs with lists and caches of its own under build/vm/apt, so the machine's are not touched; the
mirror, the proxy and the keys are those that the machine is configured with.
"""

import contextlib
import dataclasses
import pathlib
import re
import shutil

from .trouble import Trouble, command

# Where each kernel is, best place first.
SUITES = {
    "5.10": ("bullseye",),
    "6.1": ("bookworm",),
    "6.12": ("bookworm-backports", "trixie"),
}
ARCHITECTURE = "amd64"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str              # 6.1
    directory: pathlib.Path

    @property
    def root(self):
        """The unpacked package."""
        return self.directory / "root"

    @property
    def image(self):
        return next((self.root / "boot").glob("vmlinuz-*"))

    @property
    def release(self):
        """What uname -r will say."""
        return self.image.name.removeprefix("vmlinuz-")

    @property
    def modules(self):
        return self.root / "lib" / "modules" / self.release


def get(build, name):
    """The kernel of that name, from the cache in `build` or from the mirror."""
    kernel = Kernel(name, build / name)
    if not kernel.root.exists():
        kernel.directory.mkdir(parents=True, exist_ok=True)
        _unpack(kernel, _fetch(kernel, build / "apt"))
    return kernel


def _fetch(kernel, state):
    if command("dpkg", "--print-architecture").strip() != ARCHITECTURE:
        raise Trouble(f"the emulated machine is {ARCHITECTURE}, and this one is not")
    failures = []
    for suite in SUITES[kernel.name]:
        try:
            return _download(kernel, _configure(state / suite, suite))
        except Trouble as trouble:
            failures.append(f"{suite}: {trouble}")
    raise Trouble(f"no kernel {kernel.name}: it is fetched with apt, once, into {kernel.directory}; "
                  "run this where apt reaches a Debian mirror, or copy the folder from there\n"
                  + "\n".join(failures))


def _mirror():
    """The URI that this machine gets its own release from."""
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(),
                        re.MULTILINE)
    targets = command("apt-get", "indextargets", "--format",
                      "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
    for line in targets.splitlines():
        suite, component, uri = line.split()
        if release and suite == release[1] and component == "main":
            return uri
    raise Trouble("apt is not configured with a mirror of this machine's own Debian release")


def _configure(state, suite):
    """The words that make apt-get work in `state`, with that suite only."""
    for folder in ("lists/partial", "cache/archives/partial", "preferences"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    sources = state / "sources.list"
    sources.write_text(f"deb [arch={ARCHITECTURE} signed-by={KEYRING}] {_mirror()} {suite} main\n")
    status = state / "status"
    status.touch()
    configuration = state / "apt.conf"
    # Read after the machine's own files, from which only proxies and the like are wanted.
    configuration.write_text(f"""
Dir::Etc::sourcelist "{sources}";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "{state}/preferences";
Dir::State "{state}";
Dir::State::lists "{state}/lists";
Dir::State::status "{status}";
Dir::Cache "{state}/cache";
Acquire::Languages "none";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
""")
    return "-c", configuration


def _download(kernel, apt):
    command("apt-get", *apt, "-q", "--error-on=any", "update")
    # The meta package names the release's current kernel.
    meta = command("apt-cache", *apt, "depends", f"linux-image-{ARCHITECTURE}")
    package = re.search(rf"Depends: (linux-image-{re.escape(kernel.name)}\.\S+)", meta)
    if not package:
        raise Trouble(f"it has another kernel now: {' '.join(meta.split())}")
    # In a folder of its own, where an earlier, broken attempt has left nothing.
    folder = kernel.directory / "package"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command("apt-get", *apt, "-q", "download", package[1], cwd=folder)
    return next(folder.glob("*.deb"))


def _unpack(kernel, package):
    """All or nothing, so that what is cached is whole."""
    fresh = Kernel(kernel.name, kernel.directory / "package")
    command("dpkg-deb", "-x", package, fresh.root)
    if not (fresh.root / "lib").exists():  # since Debian 13 it is usr/lib
        (fresh.root / "lib").symlink_to("usr/lib")
    command("depmod", "-b", fresh.root, fresh.release)
    with contextlib.suppress(FileNotFoundError):
        kernel.root.rmdir()
    fresh.root.rename(kernel.root)
    shutil.rmtree(fresh.directory)
