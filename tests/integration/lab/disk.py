# SPDX-License-Identifier: GPL-2.0-or-later
"""A disk that is soon full."""

import contextlib
import subprocess


@contextlib.contextmanager
def small_disk(path, size):
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path],
                   check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)
