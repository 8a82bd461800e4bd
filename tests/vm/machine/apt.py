# SPDX-License-Identifier: GPL-2.0-or-later
"""apt with lists and caches of its own, for packages that are unpacked and never installed.

The machine's own state is not touched; the mirror, the proxy and the keys are those that the
machine is configured with.
"""

import contextlib
import fcntl
import pathlib
import re

from .trouble import Trouble, command

ARCHITECTURE = "amd64"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


@contextlib.contextmanager
def alone(cache):
    """Nobody else fetches into the folder `cache` meanwhile: guests are started side by side."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Apt:
    """One suite of Debian, with what apt keeps in the folder `state`; its lists are fresh."""

    def __init__(self, state, suite):
        if command("dpkg", "--print-architecture").strip() != ARCHITECTURE:
            raise Trouble(f"the emulated machine is {ARCHITECTURE}, and this one is not")
        self._words = _configure(state, suite)
        command("apt-get", *self._words, "-q", "--error-on=any", "update")

    def depends(self, package):
        return command("apt-cache", *self._words, "depends", package)

    def download(self, folder, *packages):
        """The packages' files, in a folder that exists."""
        command("apt-get", *self._words, "-q", "download", *packages, cwd=folder)
        return sorted(folder.glob("*.deb"))


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
