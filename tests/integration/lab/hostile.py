# SPDX-License-Identifier: GPL-2.0-or-later
"""Clients that do what no client should, each in a process of its own and as a user of its own.

The process runs this file's text with `python3 -c`, because another user may not be able to read
the file.  So this module imports nothing of the lab.
"""

import json
import pathlib
import selectors
import socket
import subprocess
import sys
import time

CROWD = 160


def call(method, more=False, **parameters):
    message = {"method": f"io.netflowd.{method}", "parameters": parameters, "more": more}
    return json.dumps(message).encode() + b"\0"


DESCRIBE = json.dumps({"method": "org.varlink.service.GetInterfaceDescription",
                       "parameters": {"interface": "io.netflowd"}}).encode() + b"\0"


def connect(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    return client


def crowd(path, first=b""):
    """Connections of which each sends `first`, and keeps those that were refused, too."""
    clients = []
    for _ in range(CROWD):
        client = connect(path)
        try:
            client.sendall(first)
        except OSError:
            pass
        client.setblocking(False)
        clients.append(client)
    return clients


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError:
        return None


def again(path, clients, first=b""):
    """A new connection for each that the daemon has closed."""
    for i, client in enumerate(clients):
        try:
            gone = client.recv(1, socket.MSG_PEEK) in (b"", b"{")
        except BlockingIOError:
            gone = False
        except OSError:
            gone = True
        if gone and attempt(client.recv, 65536) in (b"", None):
            client.close()
            clients[i] = connect(path)
            attempt(clients[i].sendall, first)
            clients[i].setblocking(False)


def idle(path):
    clients = crowd(path)
    yield
    while True:
        time.sleep(0.1)
        again(path, clients)


def slow_loris(path):
    clients = crowd(path, b"{")
    yield
    while True:
        time.sleep(0.2)
        again(path, clients, b"{")
        for client in clients:
            attempt(client.send, b" ")


def never_reads(path):
    clients = crowd(path, DESCRIBE * 4)
    yield
    while True:
        for client in clients:
            attempt(client.send, DESCRIBE * 4)
        time.sleep(0.1)


def reads_bytes(path):
    clients = crowd(path, DESCRIBE * 50)
    yield
    while True:
        for client in clients:
            attempt(client.recv, 1)
        time.sleep(1)


def opens_and_closes(path):
    yield
    while True:
        connect(path).close()


def floods(path):
    """Calls as fast as the daemon answers."""
    clients = crowd(path, call("GetStatus") * 4)
    selector = selectors.DefaultSelector()
    for client in clients:
        selector.register(client, selectors.EVENT_READ)
    yield
    while True:
        for key, _ in selector.select():
            data = attempt(key.fileobj.recv, 1 << 20)
            if data:
                attempt(key.fileobj.send, call("GetStatus") * data.count(0))
            else:
                selector.unregister(key.fileobj)


def huge(path):
    """The largest calls that the daemon reads, of values that take long to parse, and larger
    ones."""
    fits = call("GetDrops", filter=[[]] * 13000)
    yield
    while True:
        clients = [connect(path) for _ in range(8)]
        for client in clients:
            attempt(client.sendall, fits)
            client.setblocking(False)
            attempt(client.send, b'{"method":"' + b"x" * (1 << 20))
        for client in clients:
            client.close()


def filters(path):
    """Expressions that take libpcap's compiler long."""
    text = " or ".join(f"port {i}" for i in range(1, 49))
    message = call("GetDropRecords", limit=1, filter=text)
    yield
    while True:
        clients = [connect(path) for _ in range(16)]
        for client in clients:
            attempt(client.sendall, message * 8)
        for client in clients:
            attempt(client.recv, 1 << 20)
            client.close()


def streams(path):
    clients = crowd(path, call("Monitor", more=True))
    yield
    while True:
        time.sleep(0.1)
        again(path, clients, call("Monitor", more=True))


def measures(path):
    yield
    while True:
        clients = [connect(path) for _ in range(16)]
        for client in clients:
            attempt(client.sendall, call("GetStatus", measure_ms=1000) * 4)
        for client in clients[8:]:
            attempt(client.recv, 1 << 20)
        for client in clients:
            client.close()


KINDS = (idle, slow_loris, never_reads, reads_bytes, opens_and_closes, floods, huge, filters,
         streams, measures)


class Hostile:
    """with Hostile(kind, path, uid): it is at work."""

    def __init__(self, kind, path, uid):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", "-c", text, kind, str(path)], user=uid, group=uid,
            extra_groups=[], cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)

    def __enter__(self):
        assert self.process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_):
        alive = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        assert alive, "the hostile client gave up"


def main():
    kind, path = sys.argv[1], sys.argv[2]
    work = globals()[kind](path)
    next(work)
    print("ready", flush=True)
    next(work)


if __name__ == "__main__":
    main()
