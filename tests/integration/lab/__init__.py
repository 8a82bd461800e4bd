# SPDX-License-Identifier: GPL-2.0-or-later
"""The tools of the integration tests: namespaces, traffic, references, and a client of our own.

Nothing here uses netflowd's own code.  A test compares the daemon's answers with the packets that
it sent and with the kernel's counters, and neither may come from the program under test.
"""
