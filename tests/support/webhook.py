"""A server for tests that takes rows by POST, and fails as often as a test wants it to."""

from __future__ import annotations

import json
import random
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.certificates import Certificates


@dataclass(slots=True)
class Receiver:
    """What came. ``once``: rows by the key of their request, as a receiver has them that knows keys."""

    port: int = 0
    scheme: str = "http"
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    once: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    failed: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row for rows in self.once.values() for row in rows]

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/rows?key=hidden"


@contextmanager
def receiver(
    answers: dict[int | str, float] | None = None, seed: int = 1, made: Certificates | None = None, drips: bool = False
) -> Iterator[Receiver]:
    """A server at work. ``answers``: the share of requests that get a status other than 204, or none (``"close"``).

    ``made``: what it shows to be talked to over TLS. ``drips``: it sends the text of its answers a byte at a time, for minutes.
    """
    found, draw = Receiver(), random.Random(seed)
    kinds, shares = list((answers or {}).keys()), list((answers or {}).values())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with found.lock:
                (kind,) = draw.choices([204, *kinds], [1 - sum(shares), *shares])
                found.failed += kind != 204
                found.requests.append((dict(self.headers), body))
                # A server that hangs up may have taken the rows before.
                if kind in (204, "close"):
                    text = body.decode()
                    rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
                    found.once[self.headers["Idempotency-Key"]] = rows
            if kind == "close":
                self.close_connection = True
                return
            if drips:
                self._drip()
                return
            self.send_response(int(kind))
            if kind != 204:
                self.send_header("Content-Length", "0")
            self.end_headers()

        def _drip(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            with suppress(OSError):
                while not found.closing.wait(0.05):
                    self.wfile.write(b".")

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if made is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.text("server"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
        found.scheme = "https"
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield found
    finally:
        found.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()
