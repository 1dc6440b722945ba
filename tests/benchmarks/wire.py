"""What lies between an edge and the run of a benchmark: a station that writes rows at a pace, and a wire that counts bytes."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import numpy as np

from streamq.stdlib.attributes.lookalike import Lookalike

EPOCH_S = 1_704_067_200
"""The event time of the first cycle: the start of 2024, a cycle each second."""


@dataclass(slots=True)
class Wire:
    """A port of this machine that passes all on to another, both ways, and counts what goes up: time, bytes."""

    to: tuple[str, int]
    went: list[tuple[float, int]] = field(default_factory=list)
    _server: socketserver.ThreadingTCPServer | None = None

    def __enter__(self) -> Wire:
        wire = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                wire.pass_on(self.request)

        socketserver.ThreadingTCPServer.daemon_threads = True
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def pass_on(self, near: socket.socket) -> None:
        """One connection, until both sides have said all."""
        try:
            far = socket.create_connection(self.to, timeout=30)
        except OSError:
            return
        with far:
            down = threading.Thread(target=_pump, args=(far, near, None), daemon=True)
            down.start()
            _pump(near, far, self.went)
            down.join()


def _pump(source: socket.socket, target: socket.socket, went: list[tuple[float, int]] | None) -> None:
    try:
        while data := source.recv(1 << 16):
            if went is not None:
                went.append((time.monotonic(), len(data)))
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


def most_above(went: Sequence[tuple[float, int]], kbps: float) -> float:
    """By how many bytes the most that went in any stretch of time is above the capacity for it."""
    per_s = Fraction(kbps) * 125
    start = Fraction(went[0][0]) if went else Fraction(0)
    above = most = Fraction(0)
    last = start
    for at, size in sorted(went):
        above = max(above - per_s * (Fraction(at) - last), Fraction(0)) + size
        last, most = Fraction(at), max(most, above)
    return float(most)


def kbps_of(went: Sequence[tuple[float, int]], since: float, until: float) -> float:
    """Kbit/s in a stretch of time."""
    return sum(size for at, size in went if since <= at < until) * 8 / 1000 / max(until - since, 1e-9)


@dataclass(slots=True)
class Station(threading.Thread):
    """Appends the rows of ``data`` to a file, a cycle at a time, so many ``rows_per_s``, until it is stopped or there are no more."""

    data: Lookalike
    path: Path
    rows_per_s: float
    written: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        threading.Thread.__init__(self, daemon=True)

    def __hash__(self) -> int:
        return id(self)

    def run(self) -> None:
        keys = len(self.data.keys)
        lines = lines_of(self.data)
        period = keys / self.rows_per_s
        begin = time.monotonic()
        with self.path.open("ab", buffering=0) as out:
            for cycle in range(len(lines) // keys):
                if self.stopping.wait(max(begin + cycle * period - time.monotonic(), 0.0)):
                    return
                out.write(b"".join(lines[cycle * keys : (cycle + 1) * keys]))
                self.written += keys


def lines_of(data: Lookalike) -> list[bytes]:
    """The rows as JSON, each with the second of its cycle as ``ts``."""
    columns = data.rows()
    keys = len(data.keys)
    names = list(columns)
    values = [np.asarray(columns[name]).tolist() for name in names]
    stamps = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH_S + i)) for i in range(len(values[0]) // keys)]
    return [
        (json.dumps(dict(zip((*names, "ts"), (*row, stamps[i // keys]), strict=True))) + "\n").encode()
        for i, row in enumerate(zip(*values, strict=True))
    ]
