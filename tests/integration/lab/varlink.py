# SPDX-License-Identifier: GPL-2.0-or-later
"""A Varlink client, small and independent of netflowd's own."""

import json
import socket

from . import backends, paths, patience, schema

INTERFACE = schema.Interface(paths.INTERFACE.read_text())


# The array of the rows, by method.
ROWS = {f"io.netflowd.{method}": rows for method, rows in (
    ("GetDrops", "rows"), ("GetDropRecords", "records"), ("GetLatency", "latencies"),
    ("GetLatencyRecords", "records"), ("GetNapi", "napi"), ("GetSlots", "devices"),
    ("GetSlotsRecords", "records"))}


class VarlinkError(Exception):
    """An error reply; `name` omits the interface if that is netflowd's own."""

    def __init__(self, error, parameters):
        super().__init__(f"{error} {parameters}")
        self.error = error
        self.parameters = parameters or {}

    @property
    def name(self):
        return self.error.removeprefix("io.netflowd.")


class Client:
    def __init__(self, path, timeout=patience.seconds(20)):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # The timeout is set afterwards: with one, connect() fails at once if the backlog is full.
        self.socket.connect(str(path))
        self.socket.settimeout(timeout)
        self._received = bytearray()
        self.continues = False  # whether more replies follow the last one

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # ---- messages ----

    def send(self, method, parameters=None, **flags):
        message = {"method": method, "parameters": parameters or {}, **flags}
        self.send_bytes(json.dumps(message).encode() + b"\0")

    def send_bytes(self, data):
        self.socket.sendall(data)

    def receive(self):
        """The next message as the server sent it; EOFError if the server has closed."""
        while True:
            end = self._received.find(0)
            if end >= 0:
                message = bytes(self._received[:end])
                del self._received[:end + 1]
                return json.loads(message)
            data = self.socket.recv(1 << 20)
            if not data:
                if self._received:
                    raise EOFError(f"the server closed in the middle of a message: "
                                   f"{bytes(self._received[:80])!r}")
                raise EOFError("the server closed the connection")
            self._received += data

    def at_end(self):
        """True if the server has closed and left nothing unread."""
        try:
            self.receive()
        except (EOFError, ConnectionResetError):
            return True
        return False

    # ---- calls ----

    def reply(self, method):
        """The parameters of the next reply to a call of that method, checked against the
        interface."""
        message = self.receive()
        self.continues = message.get("continues", False)
        interface, _, name = method.rpartition(".")
        if "error" in message:
            own = message["error"].startswith("io.netflowd.")
            if own:
                INTERFACE.check_error(message["error"].rpartition(".")[2],
                                      message.get("parameters", {}))
            error = VarlinkError(message["error"], message.get("parameters"))
            backends.skip_unselectable(error)
            raise error
        parameters = message.get("parameters", {})
        if interface == "io.netflowd":
            INTERFACE.check_reply(name, parameters)
        return parameters

    def call(self, method, **parameters):
        """Call a method; a name without dots is one of io.netflowd.  A method with rows replies
        with all of them, or as many as `limit` or `top` says."""
        if "." not in method:
            method = f"io.netflowd.{method}"
        rows = ROWS.get(method)
        if not rows:
            self.send(method, parameters)
            return self.reply(method)
        pages = self.pages(method, **parameters)
        for page in pages[1:]:
            pages[0][rows] += page[rows]
        return pages[0]

    def pages(self, method, **parameters):
        """The replies to a call with `more`."""
        pages = []
        self.send(method, parameters, more=True)
        while True:
            pages.append(self.reply(method))
            if not self.continues:
                return pages

    def monitor(self, **parameters):
        """Begin a stream of records; returns once the stream has begun."""
        self.send("io.netflowd.Monitor", parameters, more=True)
        first = self.reply("io.netflowd.Monitor")
        assert first.get("drop") is None and first.get("gap") is None

    def next_record(self):
        """The next reply of the stream."""
        return self.reply("io.netflowd.Monitor")
