"""The port on which the central side takes messages of edges: HTTP by the standard library, for a trusted network.

Only this machine can reach it unless it is told otherwise. Who has no token is told nothing; a message has a size that is
known before it is read, and a time until which it has to be there, however slowly it comes; only so many come at once.
"""

from __future__ import annotations

import hmac
import io
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from streamq.runtime.edge.at_run.central import Central, Full
from streamq.runtime.edge.frames import MOST_MESSAGE, BadMessage
from streamq.runtime.edge.transport import reply_text

PATH = "/v1/messages"
TIMEOUT_S = 30.0
LEAVE_S = 1.0
"""How long bytes are awaited that are not looked at, all of them together."""

MOST_AT_ONCE = 64


class _Until(io.RawIOBase):
    """What comes on a socket until a time; TimeoutError after it."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self.connection, self.until = connection, until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.connection.settimeout(left)
        return self.connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    """One message, and the reply to it; then the connection is closed."""

    server: Server
    server_version, sys_version = "streamq", ""

    def setup(self) -> None:
        super().setup()
        self.rfile = io.BufferedReader(_Until(self.connection, time.monotonic() + self.server.timeout_s))

    def do_POST(self) -> None:
        if not self._known():
            self._say(401, b"the token is missing or wrong")
        elif self.path != PATH:
            self._say(404, b"messages go elsewhere")
        else:
            self._handle()

    def _handle(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or self.headers.get("Transfer-Encoding"):
            self._say(411, b"the message does not say how long it is")
            return
        if len(length) > 9 or int(length) > MOST_MESSAGE:
            self._say(413, f"a message has at most {MOST_MESSAGE} bytes".encode())
            return
        message = self.rfile.read(int(length))
        if len(message) < int(length):
            return
        try:
            reply = self.server.central.handle(message)
        except BadMessage as error:
            self._say(400, str(error).encode())
        except (Full, OSError):
            self._say(503, b"messages are not taken now")
        else:
            self._say(200, reply_text(reply), "application/json")

    def _known(self) -> bool:
        """Whether the token is ours: compared in a time that tells nothing of it."""
        given = self.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        return hmac.compare_digest(given, b"Bearer " + self.server.token)

    def _say(self, status: int, text: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)
        self.close_connection = True
        if status != 200:
            self._leave()

    def _leave(self) -> None:
        """Lets the other side read the answer, which it could not if the connection were closed with bytes unread."""
        try:
            self.connection.shutdown(socket.SHUT_WR)
            rest, left, buffer = _Until(self.connection, time.monotonic() + LEAVE_S), MOST_MESSAGE, bytearray(1 << 16)
            while left > 0 and (size := rest.readinto(buffer)):
                left -= size
        except OSError:
            return

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: what comes may be hostile, or secret."""


class Server(ThreadingHTTPServer):
    """Takes messages from when it is made; ``serve_forever`` or ``start`` handles them. OSError where it cannot listen.

    ``port`` 0 is any that is free; ``address`` says which. ValueError without a token, where others can reach it.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(
        self, central: Central, token: str, host: str = "127.0.0.1", port: int = 0, timeout_s: float = TIMEOUT_S,
        at_once: int = MOST_AT_ONCE,
    ) -> None:
        if not token:
            raise ValueError("edges and the central side share a token")
        self.central, self.token, self.timeout_s = central, token.encode(), timeout_s
        self._free = threading.BoundedSemaphore(at_once)
        self._thread: threading.Thread | None = None
        super().__init__((host, port), _Handler)

    @property
    def address(self) -> str:
        """Where edges send to."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def start(self) -> None:
        """Handles messages in a thread of its own."""
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), name="edges", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes no more; messages that are being handled are."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread, where one is free; else the connection is closed, and the edge comes again."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """One connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection broke, or was too slow: its edge comes again."""
