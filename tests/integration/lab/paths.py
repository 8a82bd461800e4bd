# SPDX-License-Identifier: GPL-2.0-or-later
"""The paths of the tree and of its builds.

NETFLOWD_VARIANT selects the build (plain, asan), NETFLOWD_BUILD another directory of binaries.
"""

import os
import pathlib

TREE = pathlib.Path(__file__).resolve().parents[3]
VARIANT = os.environ.get("NETFLOWD_VARIANT", "plain")
BUILD = pathlib.Path(os.environ.get("NETFLOWD_BUILD", TREE / "build" / VARIANT))
DAEMON = BUILD / "netflowd"
CLI = BUILD / "netflowctl"
# The traffic tools are not under test, so one build of them is enough.
TOOLS = TREE / "build" / "plain" / "tests" / "tools"
INTERFACE = TREE / "daemon" / "control" / "io.netflowd.varlink"
