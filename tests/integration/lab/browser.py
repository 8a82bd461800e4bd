# SPDX-License-Identifier: GPL-2.0-or-later
"""A real browser without a window, spoken to over two pipes (the DevTools protocol)."""

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal

from . import patience

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
REPLY_SECONDS = 60


def program():
    """The path of a browser; None: none is installed."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page.  `errors` collects what the page reports: violated policies, failed loads."""

    def __init__(self, directory):
        reads, self._commands = os.pipe()
        self._replies, writes = os.pipe()
        log = os.open(f"{directory}.log", os.O_WRONLY | os.O_CREAT, 0o644)
        # Out of the way of the descriptors that the browser gets.
        given = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 16) for fd in (log, log, reads, writes)]
        command = [program(), "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={directory}",
                   "--remote-debugging-pipe", "about:blank"]
        # It reads commands from descriptor 3 and writes replies to 4.
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(given, 1)]
        self._pid = os.posix_spawn(command[0], command, os.environ, file_actions=actions)
        for fd in (reads, writes, log, *given):
            os.close(fd)
        self._numbers = itertools.count(1)
        self._buffer = b""
        self._session = None
        self.errors = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target,
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(OSError):
            os.close(self._commands)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._replies)

    def _message(self):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._replies], [], [], patience.seconds(REPLY_SECONDS))
            assert ready, "the browser does not reply"
            data = os.read(self._replies, 1 << 20)
            assert data, "the browser ended"
            self._buffer += data
        text, self._buffer = self._buffer.split(b"\0", 1)
        message = json.loads(text)
        if message.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
            self.errors.append(message["params"])
        return message

    def call(self, method, **parameters):
        number = next(self._numbers)
        call = {"id": number, "method": method, "params": parameters}
        if self._session:
            call["sessionId"] = self._session
        os.write(self._commands, json.dumps(call).encode() + b"\0")
        while (message := self._message()).get("id") != number:
            pass
        assert "error" not in message, message
        return message["result"]

    def wait_for(self, method):
        while self._message().get("method") != method:
            pass

    # ---- a page ----

    def show(self, path, width, height=900, dark=False, media=""):
        """Load a file as on a screen of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=f"file://{path}")
        self.wait_for("Page.loadEventFired")

    def ask(self, expression):
        """The value of a JavaScript expression; the page itself may have no script."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def picture(self, path):
        """Save the whole page as a PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"],
                               "scale": 1})
        path.write_bytes(base64.b64decode(shot["data"]))

    def print(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.printToPDF")["data"]))
