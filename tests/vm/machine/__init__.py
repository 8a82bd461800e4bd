# SPDX-License-Identifier: GPL-2.0-or-later
"""The emulated machine: its kernel, its first file system, and QEMU.  Independent of netflowd."""
