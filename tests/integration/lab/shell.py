# SPDX-License-Identifier: GPL-2.0-or-later
"""An interactive shell on a terminal, to which a test types."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from . import paths, patience

QUIET_SECONDS = 0.4
START = {
    "bash": ("bash", "--noprofile", "--norc", "-i"),
    "zsh": ("zsh", "-f", "-i"),
}
BEGIN, END, TAB, ENTER, KILL_LINE = "\x01", "\x05", "\t", "\r", "\x15"


class Shell:
    """bash or zsh with netflowd's completion loaded, for many tests: see enter()."""

    def __init__(self, kind, home):
        self.kind = kind
        self.home = home
        self._number = 0
        self.terminal, theirs = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 250, 0, 0))
        environment = {"HOME": str(home), "TERM": "dumb", "LC_ALL": "C.UTF-8", "PS1": "$ ",
                       "PATH": f"{paths.BUILD}:{os.environ['PATH']}"}
        self.process = subprocess.Popen(START[kind], stdin=theirs, stdout=theirs, stderr=theirs,
                                        cwd=home, env=environment, start_new_session=True)
        os.close(theirs)
        for line in self._setup(home):
            self._type(line + ENTER)
        self.sync()

    def _setup(self, home):
        completion = paths.TREE / "cli" / "completion"
        if self.kind == "bash":
            return [f". {completion}/netflowctl.bash; . {completion}/netflowd.bash",
                    "bind 'set bell-style none'"]
        return [f"fpath=({completion} $fpath); autoload -U compinit; "
                f"compinit -u -d {home}/zcompdump; bindkey -e; setopt nobeep"]

    def close(self):
        os.close(self.terminal)
        self.process.kill()
        self.process.wait()

    def _type(self, text):
        os.write(self.terminal, text.encode())

    def _read(self, marker=None):
        """What the shell prints, up to the marker, or until it is quiet."""
        text = ""
        end = time.monotonic() + patience.seconds(20)
        while time.monotonic() < end:
            ready, _, _ = select.select([self.terminal], [], [],
                                        1 if marker else patience.seconds(QUIET_SECONDS))
            if ready:
                text += os.read(self.terminal, 65536).decode(errors="replace")
                if marker and re.search(marker, text):
                    break
            elif not marker:
                break
        return text

    def sync(self):
        """Wait until the shell has done everything that was typed."""
        self._number += 1
        # The echo of this has the quotes, its output does not.
        self._type(f"echo S''YNC{self._number}.{ENTER}")
        text = self._read(rf"SYNC{self._number}\.")
        assert f"SYNC{self._number}." in text, repr(text)

    def enter(self, home):
        """Go to another directory, the home of the next test."""
        self._type(f"HOME={home}; cd{ENTER}")
        self.sync()
        self.home = home

    def complete(self, line):
        """Type a line and Tab; the words of the line then, as a command would get them."""
        self._number += 1
        # The shell reads the second line after the completion of the first one has ended.
        self._type(line + TAB)
        self._type(f"{BEGIN}printf '{{%s}}' {END} ; echo D''ONE{self._number}.{ENTER}")
        text = self._read(rf"\}}DONE{self._number}\.")
        found = re.search(rf"((?:\{{[^{{}}]*\}})+)DONE{self._number}\.", text)
        assert found, repr(text)
        return re.findall(r"\{([^{}]*)\}", found[1])

    def list(self, line, *words):
        """Type a line and Tab twice; what the shell prints, up to the last of these words or until
        it is quiet."""
        self._type(line + TAB + TAB)
        text = self._read("(?s)" + "".join(f"(?=.*{re.escape(word)})" for word in words)
                          if words else None)
        # Ctrl-C would discard what is typed after it.
        self._type(KILL_LINE)
        self.sync()
        return text
