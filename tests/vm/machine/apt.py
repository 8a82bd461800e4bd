# SPDX-License-Identifier: GPL-2.0-or-later
"""apt with lists and caches of its own, for packages that are unpacked and never installed.

The state of the machine's own apt stays as it is.  The mirror, the proxy and the keys come from the
machine's configuration.
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
    """Lock the directory `cache`, because guests that start at the same time share it."""
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class Apt:
    """apt for one suite of Debian, with its files in the directory `state` and updated lists."""

    def __init__(self, state, suite, architecture=ARCHITECTURE):
        if command("dpkg", "--print-architecture").strip() != ARCHITECTURE:
            raise Trouble(f"the emulated machine is {ARCHITECTURE}, and this machine is not")
        self._words = _configure(state, suite, architecture)
        command("apt-get", *self._words, "-q", "--error-on=any", "update")

    def depends(self, package):
        return command("apt-cache", *self._words, "depends", package)

    def download(self, directory, *packages):
        """Download packages into an existing directory; return the files."""
        command("apt-get", *self._words, "-q", "download", *packages, cwd=directory)
        return sorted(directory.glob("*.deb"))


def mirror():
    """The URI of the mirror from which this machine gets its own release."""
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(),
                        re.MULTILINE)
    targets = command("apt-get", "indextargets", "--format",
                      "$(RELEASE) $(COMPONENT) $(REPO_URI)", "Created-By: Packages")
    for line in targets.splitlines():
        suite, component, uri = line.split()
        if release and suite == release[1] and component == "main":
            return uri
    raise Trouble("apt's configuration has no mirror of this machine's own Debian release")


def _configure(state, suite, architecture):
    """The arguments that make apt-get use only `state` and that suite."""
    for directory in ("lists/partial", "cache/archives/partial", "preferences"):
        (state / directory).mkdir(parents=True, exist_ok=True)
    sources = state / "sources.list"
    sources.write_text(f"deb [arch={architecture} signed-by={KEYRING}] {mirror()} {suite} main\n")
    status = state / "status"
    status.touch()
    configuration = state / "apt.conf"
    # apt reads this after the machine's own files, which may set a proxy; the rest is overridden.
    configuration.write_text(f"""
Dir::Etc::sourcelist "{sources}";
Dir::Etc::sourceparts "-";
Dir::Etc::preferences "-";
Dir::Etc::preferencesparts "{state}/preferences";
Dir::State "{state}";
Dir::State::lists "{state}/lists";
Dir::State::status "{status}";
Dir::Cache "{state}/cache";
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
Acquire::Languages "none";
APT::Sandbox::User "root";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
""")
    return "-c", configuration
