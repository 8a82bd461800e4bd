# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures: a lab of namespaces, a running daemon, and checks that both leave nothing behind."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import sys

import pytest

# Python compiles what it imports from here on, and pytest rewrites every assertion, which takes
# seconds, above all in an emulated machine: the result stays here, where such a machine reads it.
sys.pycache_prefix = str(pathlib.Path(__file__).resolve().parents[2] / "build" / "python")
sys.dont_write_bytecode = "NETFLOWD_VM" in os.environ

from lab import backends, draw, kernel, paths, recordings
from lab.again import NEED_PROGRAMS, OUTCOME, Again, Unclean, summarize
from lab.daemon import Daemon
from lab.net import Lab

# Signals that no test sends to a daemon.
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
AGAIN = pytest.StashKey()
NEEDED = ("ip", "tc", "nft", "nstat", "sysctl", "bpftool", "unshare", "setpriv")


def pytest_addoption(parser):
    parser.addoption("--leave-out", default="", metavar="WHAT",
                     help="leave out what the text of NETFLOWD_DRAW does not draw: `long`, of the "
                     "tests in the file `long`; any other name, half of all tests")
    parser.addoption("--seen", default="", metavar="FILE",
                     help="leave out what passed before, as this file of tests/run says, but for "
                     "the smoke tests to which the kernel makes a difference")


def pytest_configure(config):
    # ip, tc, nft and bpftool are not in every user's path.
    os.environ["PATH"] += ":/usr/local/sbin:/usr/sbin:/sbin"
    # A script starts commands in the background with SIGINT ignored; programs would inherit that.
    # The processes of pytest-xdist inherit the default from the first one.  On a busy machine they
    # do not always run this in their main thread, and another one can set no handler.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "smoke: the few that also run against the sanitized build")
    config.addinivalue_line("markers", "portable: the kernel makes no difference, so continuous "
                            "integration runs it in no emulated machine")
    config.addinivalue_line("markers", "simultaneous: needs CPUs that run at the same time, or "
                            "timers that fire on time; emulated machines run these in a guest of "
                            "their own")
    config.addinivalue_line("markers", "alone: the packets, processes or trace buffers of other "
                            "tests change its answers, so none runs at the same time")
    config.addinivalue_line("markers", "xdist_group(name): one process runs these, one after the "
                            "other; a guest has no processes for tests, and no plugin")
    config.addinivalue_line("markers", "shared(*settings): the tests of the file use one daemon, "
                            "and ask it for what they did themselves; loading the programs "
                            "for each test would take longer than the tests, above all in "
                            "an emulated machine")
    config.addinivalue_line("markers", "needs(question, words): asks for what trace events do not "
                            "show; skipped if the coverage of the question says that the backend "
                            "lacks the words")
    if backends.TRACE_EVENTS and not os.geteuid():
        stack = contextlib.ExitStack()
        stack.enter_context(recordings.mounted())
        config.add_cleanup(stack.close)
    if kernel.untraced() and not os.geteuid():
        config.stash[AGAIN] = Again()
        config.add_cleanup(config.stash[AGAIN].close)


def deselect(config, items, left):
    """Deselect the items for which left(item) is true."""
    config.hook.pytest_deselected(items=[item for item in items if left(item)])
    items[:] = [item for item in items if not left(item)]


def leave_out_seen(config, items):
    """Deselect what passed elsewhere, if the kernel makes no difference to it."""
    file = config.getoption("--seen")
    if not file:
        return
    skipped = json.loads(pathlib.Path(file).read_text())["seen"]
    passed = {test for test, reason in skipped.items() if reason is None}
    deselect(config, items, lambda item: draw.name_in_results(item.nodeid) in passed and
             not (item.get_closest_marker("smoke") and not item.get_closest_marker("portable")))


def leave_out(config, items):
    """Deselect what the draw leaves out; tests/run prints what that is."""
    what = config.getoption("--leave-out")
    if not what:
        return
    names = {item: draw.function_of(item.nodeid) for item in items}
    listed = draw.listed()
    for item, name in names.items():
        if name in listed and listed[name].alone != bool(item.get_closest_marker("alone")):
            raise pytest.UsageError(f"{draw.LONG}: {name} is wrongly listed as alone, or as not")
    left = (draw.long_left_out() if what == "long" else
            draw.half_left_out(set(names.values()), what))
    deselect(config, items, lambda item: names[item] in left)


# Seconds of the tests that share a daemon: only a few single tests take longer.
GROUP_SECONDS = 30


def beside(items):
    """Order tests for several processes: tests that share a daemon are a group, which one process
    runs, and the longest come first, so that none of them runs on alone at the end."""
    listed = draw.listed()
    for item in items:
        if item.get_closest_marker("shared"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
    none = draw.Long(0, False)
    items.sort(key=lambda item: -GROUP_SECONDS if item.get_closest_marker("xdist_group") else
               -listed.get(draw.function_of(item.nodeid), none).seconds)


# First: what appends the group to a test's name, for the process that distributes tests, is the
# plugin's hook of the same name.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    leave_out(config, items)
    leave_out_seen(config, items)
    if "PYTEST_XDIST_WORKER" in os.environ:
        beside(items)
    missing = [tool for tool in NEEDED if not shutil.which(tool)]
    reason = None
    if os.geteuid():
        reason = "only root can make namespaces and run the daemon"
    elif missing:
        reason = f"not installed: {', '.join(missing)}"
    if reason:
        for item in items:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    again = item.config.stash.get(AGAIN, None)
    if not again or not NEED_PROGRAMS & set(item.fixturenames):
        return None
    again.run(item, nextitem)
    return True


def pytest_report_teststatus(report):
    return (OUTCOME, "R", "REPEATED") if report.outcome == OUTCOME else None


def pytest_terminal_summary(terminalreporter):
    summarize(terminalreporter)


@pytest.fixture(autouse=True)
def answerable(request):
    """Skips a test that needs what the daemon itself says it does not have."""
    for mark in request.node.iter_markers("needs"):
        backends.skip_without(*mark.args)


@pytest.fixture(scope="session")
def built():
    """The programs under test exist."""
    needed(paths.DAEMON, paths.TOOLS / "udp_send", paths.TOOLS / "deny_syscall")


@pytest.fixture(scope="session")
def cli():
    needed(paths.CLI)


def needed(*files):
    for file in files:
        assert file.exists(), f"{file} is not built: make VARIANT={paths.VARIANT} all tools"


@pytest.fixture
def lab():
    lab = Lab()
    try:
        yield lab
    finally:
        lab.delete()


@pytest.fixture(scope="module")
def kept_lab():
    """A lab that the tests of a file share."""
    lab = Lab()
    try:
        yield lab
    finally:
        lab.delete()


@pytest.fixture
def pair(lab):
    return lab.pair()


@pytest.fixture
def silent_pair(lab):
    """A pair without IPv6, on which only the test's own packets move."""
    return lab.pair(ipv6=False)


@pytest.fixture
def tracefs():
    """tracefs is where administrators find it.  Ask for it before `start`: it is unmounted after
    the daemons, which have open files there, have ended."""
    with recordings.mounted():
        yield


@pytest.fixture
def path(lab):
    return lab.path()


class Starter:
    """Makes daemons, and checks after the test that each of them left nothing behind."""

    def __init__(self, directory):
        self.directory = directory
        self.failed = False
        self.daemons = []

    def make(self, *settings, **kwargs):
        directory = self.directory / f"run{len(self.daemons)}"
        directory.mkdir()
        daemon = Daemon(directory, *settings, **kwargs)
        self.daemons.append(daemon)
        return daemon

    def __call__(self, *settings, **kwargs):
        return self.make(*settings, **kwargs).start()

    def end(self, failed=False):
        """Of a test that failed, any exit with an error is one, too."""
        failures = []
        for daemon in self.daemons:
            if daemon.running:
                with contextlib.suppress(OSError, EOFError):
                    backends.report_losses(daemon)
                status = daemon.stop()
                left = daemon.leftovers()
                if status:
                    failures.append(f"exit {status} after SIGTERM: {daemon.log()}")
                if left:
                    failures.append(f"it left {sorted(left)}")
            elif daemon.process and (-daemon.process.returncode in CRASHES or
                                     failed and daemon.process.returncode > 0):
                failures.append(f"exit {daemon.process.returncode}: {daemon.log()}")
            if "runtime error" in daemon.all_logs() or "Sanitizer: " in daemon.all_logs():
                failures.append(daemon.all_logs())
        if failures:
            raise Unclean("\n".join(failures))


@contextlib.contextmanager
def starting(directory):
    """A Starter whose daemons run below a directory, until the end of the block."""
    # A test may let a client of another user connect to its socket.
    for parent in (directory, *directory.parents):
        if parent == pathlib.Path("/tmp"):
            break
        parent.chmod(parent.stat().st_mode | 0o011)
    starter = Starter(directory)
    try:
        yield starter
    finally:
        starter.end(starter.failed)


@pytest.fixture
def start(request, built, tmp_path):
    """start(*settings) runs a daemon; start.make(…) prepares one.  One that the file's tests share
    ends first: it would record what this test sends, too."""
    if request.node.get_closest_marker("shared"):
        request.getfixturevalue("kept").end()
    with starting(tmp_path) as starter:
        yield starter
        starter.failed = request.node.failed


@pytest.fixture(scope="module")
def kept(built, tmp_path_factory):
    """Starts the daemon that the tests of a file share."""
    with starting(tmp_path_factory.mktemp("kept")) as starter:
        yield starter


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    item.failed = outcome.get_result().failed
    if call.excinfo and call.excinfo.errisinstance(Unclean):
        item.unclean = True


def shared(request, settings):
    """The daemon of this file, unless a test stopped it or failed with it."""
    starter = request.getfixturevalue("kept")
    last = starter.daemons[-1] if starter.daemons else None
    yield last if last and last.running else starter(*settings)
    if request.node.failed:
        starter.end(failed=True)


@pytest.fixture
def daemon(request):
    """A running daemon with the default settings, on a kernel that runs its programs.  With the
    mark `shared`, it has seen what earlier tests of the file did, and has the mark's settings."""
    needs_bpf()
    mark = request.node.get_closest_marker("shared")
    if mark:
        yield from shared(request, mark.args)
    else:
        yield request.getfixturevalue("start")()


@pytest.fixture
def fresh(start):
    """Such a daemon of the test's own, in a file that shares one."""
    needs_bpf()
    return start()


def needs_bpf():
    if not kernel.has_btf() and not backends.TRACE_EVENTS:
        pytest.skip("this kernel has no BTF, so no BPF program runs")


@pytest.fixture
def bpf():
    needs_bpf()


@pytest.fixture
def reasons(bpf):
    if not kernel.has_drop_reasons():
        pytest.skip("this kernel's kfree_skb has no reason")
