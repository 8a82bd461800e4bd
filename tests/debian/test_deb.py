# SPDX-License-Identifier: GPL-2.0-or-later
"""The Debian packages: their contents, and what dpkg does with them on a Debian 12 without a
running systemd."""

import gzip
import re
import shutil
import subprocess

import chroot
import fixtures
import pytest
from fixtures import (bookworm, build_into, packages,  # pylint: disable=unused-import
                      root)
from machine.packages import newer

pytestmark = fixtures.NEEDS

TOP = chroot.TOP
UNITS = (TOP / "systemd/netflowd.service").exists()
CONFIG = "/etc/netflowd/netflowd.conf"
DROP_IN = "/etc/netflowd/netflowd.conf.d/10-own.conf"
HISTORY = "/var/lib/netflowd"


def contents(package):
    """The paths of a package, without the slash at the end of directories."""
    out = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], check=True,
                         stdout=subprocess.PIPE).stdout
    names = subprocess.run(["tar", "-t"], input=out, check=True, stdout=subprocess.PIPE).stdout
    return {name.removeprefix(".").rstrip("/") for name in names.decode().splitlines()}


def lintian(changes, *options):
    done = subprocess.run(["lintian", "--allow-root", "--no-tag-display-limit", *options, changes],
                          check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    return done.stdout.splitlines()


def test_lintian(packages):
    found = lintian(packages.changes)
    assert not [line for line in found if line.startswith(("E:", "W:"))]


def test_lintian_would_find_an_error(packages, tmp_path):
    """The test above does not pass because lintian looked at nothing."""
    tree = tmp_path / "tree"
    subprocess.run(["dpkg-deb", "-R", packages.cli, tree], check=True)
    (tree / "usr/share/doc/netflowctl/copyright").unlink()
    broken = tmp_path / packages.cli.name
    subprocess.run(["dpkg-deb", "-b", tree, broken], check=True, stdout=subprocess.DEVNULL)
    assert any("no-copyright-file" in line for line in lintian(broken))


def test_the_version_is_that_of_the_tree(packages):
    version = subprocess.run([TOP / "debian/version"], check=True, stdout=subprocess.PIPE,
                             text=True).stdout.strip()
    assert packages.version == version
    subprocess.run(["dpkg", "--compare-versions", version, "gt", "0~1"], check=True)


def test_files_of_the_daemon(packages):
    got = contents(packages.daemon)
    rules = {f"/usr/share/netflowd/alerts.d/{rule.name}"
             for rule in (TOP / "config/alerts.d").glob("*.conf")}
    assert got >= rules | {
        "/usr/sbin/netflowd", CONFIG, "/etc/netflowd/netflowd.conf.d", "/etc/netflowd/alerts.d",
        "/usr/share/man/man8/netflowd.8.gz", "/usr/share/man/man5/netflowd.conf.5.gz",
        "/usr/share/man/man7/io.netflowd.7.gz",
        "/usr/share/bash-completion/completions/netflowd",
        "/usr/share/zsh/vendor-completions/_netflowd",
        "/usr/share/doc/netflowd/copyright", "/usr/share/doc/netflowd/security.md.gz"}
    # Nothing in /var and /run, which belong to the running system, and nothing of the other one.
    assert not [path for path in got if path.startswith(("/var", "/run", "/usr/local", "/usr/bin"))]
    if UNITS:
        assert got >= {"/lib/systemd/system/netflowd.service",
                       "/lib/systemd/system/netflowd.socket",
                       "/usr/lib/sysusers.d/netflowd.conf", "/usr/lib/tmpfiles.d/netflowd.conf"}


def test_files_of_the_command_line(packages):
    got = contents(packages.cli)
    directories = {path for path in got if any(other.startswith(f"{path}/") for other in got)}
    assert got - directories - {""} == {
        "/usr/bin/netflowctl", "/usr/share/man/man1/netflowctl.1.gz",
        "/usr/share/bash-completion/completions/netflowctl",
        "/usr/share/zsh/vendor-completions/_netflowctl",
        "/usr/share/doc/netflowctl/changelog.gz", "/usr/share/doc/netflowctl/copyright"}


def test_the_command_line_is_light(packages):
    """It links neither BPF nor systemd, so an operator's own machine can have it."""
    depends = subprocess.run(["dpkg-deb", "-f", packages.cli, "Depends"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    assert "jansson" in depends and not re.search(r"bpf|systemd|pcap|netflowd", depends)


def test_two_builds_are_equal(packages, build_into, tmp_path):
    """The same commit gives the same packages, also in another directory."""
    again = build_into(tmp_path / "again")
    for one, other in zip(packages.both, again.both):
        assert one.read_bytes() == other.read_bytes(), one.name


# ---- dpkg ----


def status(root, package):
    return root.run("dpkg-query", "-W", "-f", "${Status}", package, check=False).stdout


def test_install(root, packages):
    root.install(*packages.both)
    for package in ("netflowd", "netflowctl"):
        assert status(root, package) == "install ok installed"
        path = "sbin" if package == "netflowd" else "bin"
        assert root.output(f"/usr/{path}/{package}", "--version").startswith(
            f"{package} {packages.version} (build ")
    assert root.read(CONFIG) == (TOP / "config/netflowd.conf").read_text()
    assert re.fullmatch(r"the settings are valid; read from 1 file\n"
                        r"the alert rules are valid; read \d+\n",
                        root.output("netflowd", "--check-config"))
    assert "ARP" in root.output("netflowctl", "explain", "NEIGH_FAILED")
    if UNITS:
        assert re.search(r"^netflow:", root.read("/etc/passwd"), re.MULTILINE)
        assert re.search(r"^netflow:", root.read("/etc/group"), re.MULTILINE)
        for unit in ("netflowd.service", "netflowd.socket"):
            assert root.run("systemctl", "is-enabled", unit).stdout == "enabled\n"


def test_the_command_line_alone(root, packages):
    root.install(packages.cli)
    assert status(root, "netflowctl") == "install ok installed"
    assert root.run("netflowctl", "status", check=False).returncode == 3
    assert not root.exists("/etc/netflowd")


def test_upgrade_takes_a_new_config_that_nobody_changed(root, packages, tmp_path):
    root.install(*packages.both)
    root.install(*newer(packages.both, tmp_path))
    assert root.read(CONFIG).startswith("# of the newer version\n")
    assert root.output("dpkg-query", "-W", "-f", "${Version}", "netflowd").endswith("+newer")


def test_upgrade_keeps_what_the_administrator_wrote(root, packages, tmp_path):
    root.install(*packages.both)
    root.write(CONFIG, "[records]\nrate = 7\n")
    root.write(DROP_IN, "[records]\nrecent = 9\n")
    root.write("/etc/netflowd/alerts.d/own.conf", "")
    root.install(*newer(packages.both, tmp_path))
    assert root.read(CONFIG) == "[records]\nrate = 7\n"
    assert root.read(DROP_IN) == "[records]\nrecent = 9\n"
    assert root.exists("/etc/netflowd/alerts.d/own.conf")
    assert root.read(f"{CONFIG}.dpkg-dist").startswith("# of the newer version\n")
    printed = root.output("netflowd", "--print-config")
    assert f"# {CONFIG}:2\nrate = 7\n" in printed and f"# {DROP_IN}:2\nrecent = 9\n" in printed


def test_downgrade(root, packages, tmp_path):
    """Back to the version that worked."""
    root.install(*newer(packages.both, tmp_path))
    root.install(*packages.both)
    assert root.read(CONFIG) == (TOP / "config/netflowd.conf").read_text()


# dpkg's own files, and the users, which stay.
MAY_STAY = re.compile(r"/etc/(passwd|group|shadow|gshadow|subuid|subgid|\.pwd\.lock)-?|"
                      r"/var/(lib/(dpkg|ucf|systemd/deb-systemd-helper)|log|cache)(/.*)?|"
                      r"/var/lib/systemd/deb-systemd-.*|/run(/.*)?|/tmp(/.*)?")


def test_remove_and_purge(root, packages):
    before = root.files()
    root.install(*packages.both)
    (root.path / HISTORY.lstrip("/")).mkdir(exist_ok=True)
    root.write(f"{HISTORY}/history.db", "")
    root.write(CONFIG, "[records]\nrate = 7\n")

    root.run("dpkg", "--remove", "netflowd", "netflowctl")
    assert not root.exists("/usr/sbin/netflowd") and not root.exists("/usr/bin/netflowctl")
    assert root.read(CONFIG) == "[records]\nrate = 7\n"
    assert root.exists(f"{HISTORY}/history.db")

    root.run("dpkg", "--purge", "netflowd", "netflowctl")
    left = {path for path in root.files() - before if not MAY_STAY.fullmatch(path)}
    assert not left
    assert not {path for path in before - root.files() if not MAY_STAY.fullmatch(path)}
    if UNITS:
        # No other user may get its number, and with it its files.
        assert re.search(r"^netflow:", root.read("/etc/passwd"), re.MULTILINE)


def test_purge_keeps_files_of_the_administrator(root, packages):
    root.install(*packages.both)
    root.write(DROP_IN, "[records]\nrecent = 9\n")
    root.run("dpkg", "--purge", "netflowd")
    assert root.read(DROP_IN) == "[records]\nrecent = 9\n"
    assert not root.exists(CONFIG)


def test_install_again_after_purge(root, packages):
    for _ in range(2):
        root.install(*packages.both)
        root.run("dpkg", "--purge", "netflowd", "netflowctl")
    root.install(*packages.both)
    assert status(root, "netflowd") == "install ok installed"


def test_the_page_can_be_read(packages, tmp_path):
    subprocess.run(["dpkg-deb", "-x", packages.daemon, tmp_path], check=True)
    with gzip.open(tmp_path / "usr/share/man/man8/netflowd.8.gz", "rt") as page:
        assert ".Dt NETFLOWD 8" in page.read()


# ---- make install ----


@pytest.mark.parametrize("prefix", ["/usr/local", "/usr"])
def test_make_install_and_uninstall(tmp_path, prefix):
    if not (TOP / "build/plain/netflowd").exists():
        pytest.fail("not built: run `make all`")
    target = tmp_path / "target"

    def make(goal):
        subprocess.run(["make", "-C", TOP, goal, f"DESTDIR={target}", f"PREFIX={prefix}"],
                       check=True, stdout=subprocess.DEVNULL)

    def files():
        return {f"/{path.relative_to(target)}" for path in target.rglob("*") if path.is_file()}

    make("install")
    vendor = "vendor-completions" if prefix == "/usr" else "site-functions"
    assert files() >= {f"{prefix}/{name}" for name in (
        "sbin/netflowd", "bin/netflowctl", "share/man/man1/netflowctl.1",
        "share/man/man5/netflowd.conf.5", "share/man/man7/io.netflowd.7",
        "share/man/man8/netflowd.8", "share/bash-completion/completions/netflowctl",
        f"share/zsh/{vendor}/_netflowctl", "share/netflowd/alerts.d/10-slots.conf")} | {CONFIG}
    if UNITS:
        unit = target / prefix.lstrip("/") / "lib/systemd/system/netflowd.service"
        assert f"ExecStart={prefix}/sbin/netflowd" in unit.read_text()

    (target / CONFIG.lstrip("/")).write_text("[records]\nrate = 7\n")
    make("install")
    assert (target / CONFIG.lstrip("/")).read_text() == "[records]\nrate = 7\n"

    make("uninstall")
    assert files() == {CONFIG}
    shutil.rmtree(target)
