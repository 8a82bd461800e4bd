# SPDX-License-Identifier: GPL-2.0-or-later
"""A program that has the screen of a terminal."""

import os
import pty
import select
import subprocess
import time

from . import patience, waiting


class Terminal:
    """A program on a pseudo terminal of 80 by 24."""

    def __init__(self, command):
        self.text = ""
        self.master, slave = pty.openpty()
        subprocess.run(["stty", "rows", "24", "cols", "80"], stdin=slave, check=True)
        environment = {**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}
        self.process = subprocess.Popen([str(c) for c in command], stdin=slave, stdout=slave,
                                        stderr=slave, env=environment, start_new_session=True)
        os.close(slave)

    def read_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self.master, 65536).decode(errors="replace")
                except OSError:  # the program closed its side
                    return

    def read_until(self, words):
        waiting.until(lambda: self.read_for(0.1), lambda _: words in self.text, 20, 0)
        assert words in self.text

    def wait(self):
        self.read_for(0.5)
        status = self.process.wait(timeout=patience.seconds(10))
        self.read_for(0.2)
        os.close(self.master)
        return status
