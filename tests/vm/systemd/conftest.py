# SPDX-License-Identifier: GPL-2.0-or-later
"""netflowd, installed in this guest as an administrator would install it."""

import pathlib
import subprocess

import pytest

import packages
from service import forget_failures

# The first ones look at what the boot left, the last one removes netflowd.
ORDER = ("test_reset", "test_service", "test_commands", "test_files_and_network", "test_history",
         "test_tracefs", "test_capabilities", "test_packages")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: ORDER.index(pathlib.Path(item.fspath).stem))


@pytest.fixture(scope="session", autouse=True)
def installed():
    """Without --prepare=tests/vm/systemd/prepare, the tests install it themselves."""
    if not packages.version():
        packages.install_first()


@pytest.fixture(autouse=True)
def evidence(request):
    """After a failure, the journal of the service."""
    forget_failures()
    before = request.session.testsfailed
    yield
    if request.session.testsfailed > before:
        print(subprocess.run(["journalctl", "-u", "netflowd", "-n", "60", "--no-pager"],
                             stdout=subprocess.PIPE, text=True, check=False).stdout)
