# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages in this guest: installed, upgraded, removed; and the files of the system."""

import json
import os
import pathlib

import service

BUILT = service.TREE / "build" / "vm" / "packages"
NEWER = BUILT / "newer"
# File systems of the kernel, the host's directories, and what the tests themselves write.
ELSEWHERE = ("/proc", "/sys", "/dev", "/run/result", str(service.TREE), "/tmp", "/var/tmp")
FILES = service.RESULT / "files.json"
# A second is the shortest interval.  Each interval then has records of every cause.
SETTINGS = """[history]
interval = 1s
records = 1024
[records]
rate = 1000000
"""


def install(directory=BUILT):
    """As an unattended upgrade does it: a configuration file that was changed stays."""
    packages = os.environ.get("NETFLOWD_DEB", "").split()
    if not packages or directory != BUILT:
        packages = sorted(path for path in directory.glob("*netflow*.deb"))
    assert packages, f"{directory} has no packages"
    return service.run("env", "DEBIAN_FRONTEND=noninteractive", "dpkg", "--force-confdef",
                       "--force-confold", "--install", *packages, timeout=120)


def install_first():
    """Into a system without netflowd; with settings for the tests."""
    FILES.write_text(json.dumps(sorted(files())))
    install()
    service.SETTINGS.mkdir(parents=True, exist_ok=True)
    with open(service.SETTINGS / "50-test.conf", "w", encoding="utf-8") as file:
        file.write(SETTINGS)
        file.flush()
        # A reset without a sync would leave an empty file.
        os.fsync(file.fileno())
    service.systemctl("restart", service.SERVICE)


def version(package="netflowd"):
    """The installed version; empty if it is not installed."""
    done = service.run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package,
                       check=False)
    state, _, number = done.stdout.partition(" ")
    return number if state == "installed" else ""


def files():
    """Every path of the system, without the kernel's file systems."""
    found = set()
    for parent, directories, names in os.walk("/"):
        directories[:] = [name for name in directories
                          if os.path.join(parent, name) not in ELSEWHERE]
        found |= {os.path.join(parent, name) for name in (*directories, *names)}
    return found


def files_before():
    """Those of the system before netflowd."""
    return set(json.loads(FILES.read_text()))


def exists(path):
    return os.path.lexists(pathlib.Path(path))
