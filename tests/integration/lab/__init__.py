# SPDX-License-Identifier: GPL-2.0-or-later
"""What the integration tests are made with: namespaces, traffic, oracles, and a client of our own.

Nothing here uses netflowd's own code: a test compares what the daemon says with what was sent and
with what the kernel counted, and neither may come through the thing under test.
"""
