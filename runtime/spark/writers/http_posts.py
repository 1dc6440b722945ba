"""Requests that post to one address: over one connection, tried again where that may help."""

from __future__ import annotations

import http.client
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from streamq.runtime.spark.writers.base import LONGEST_PAUSE_S, Trouble, TroubleError, pauses

_AGAIN = frozenset({408, 425, 429})
_ANSWER_READ = 64 * 1024
_CONNECT_S = 5.0

Post = Callable[[bytes, str], None]
"""Sends a body under a key; TroubleError where it is refused, or nobody takes it."""


@dataclass(frozen=True, slots=True)
class Posts:
    """Where requests go and what they carry. Times in seconds. ``url`` and ``token`` may be secrets: they are never shown."""

    url: str = field(repr=False)
    token: str = field(repr=False)
    headers: tuple[tuple[str, str], ...]
    content: str
    timeout_s: float
    tries: int
    backoff_s: float
    sleep: Callable[[float], None] = time.sleep

    @property
    def host(self) -> str:
        """The server alone: paths and queries of addresses hold secrets, too."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")

    def open(self, timeout_s: float) -> http.client.HTTPConnection:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        if parts.scheme.lower() == "https":
            return http.client.HTTPSConnection(host, parts.port, timeout=timeout_s, context=ssl.create_default_context())
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)

    @contextmanager
    def connected(self, draw: random.Random) -> Iterator[Post]:
        """What posts over one connection, which is opened when it is first needed, and anew where it was closed."""
        connection = self.open(self.timeout_s)

        def post(body: bytes, key: str) -> None:
            self._post(connection, body, key, pauses(self.backoff_s, draw))

        try:
            yield post
        finally:
            connection.close()

    def _post(self, connection: http.client.HTTPConnection, body: bytes, key: str, between: Iterator[float]) -> None:
        for left in range(self.tries - 1, -1, -1):
            wait = next(between)
            try:
                status, reason, after = self._once(connection, body, key)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                trouble = Trouble("unreachable", f"{self.host}: {spoken(error)}")
            else:
                if 200 <= status < 300:
                    return
                trouble = self._answered(status, reason)
                wait = max(wait, after)
                if trouble.kind != "unreachable":
                    raise TroubleError(trouble)
            if not left:
                raise TroubleError(trouble)
            self.sleep(wait)

    def _once(self, connection: http.client.HTTPConnection, body: bytes, key: str) -> tuple[int, str, float]:
        """Status, its reason, and the seconds that the server wants to be left alone."""
        parts = urlsplit(self.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        headers = {**dict(self.headers), "Content-Type": self.content, "Idempotency-Key": key}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        # A connection can be used again when its answer was read; a long one, or a slow one, is not worth it.
        ends, left = time.monotonic() + self.timeout_s, _ANSWER_READ
        while left > 0 and time.monotonic() < ends and (part := answer.read1(left)):
            left -= len(part)
        if not answer.isclosed():
            connection.close()
        after = answer.getheader("Retry-After") or ""
        return answer.status, answer.reason, min(float(after), LONGEST_PAUSE_S) if after.isascii() and after.isdigit() else 0.0

    def _answered(self, status: int, reason: str) -> Trouble:
        said = f"{self.host} answers {status} {reason}".strip()[:200]
        if status in _AGAIN or status >= 500:
            return Trouble("unreachable", said)
        if status in (401, 403):
            return Trouble("failed", f"{said}: see to `token`")
        if status in (400, 409, 413, 422):
            return Trouble("refused", said)
        return Trouble("failed", f"{said}: see to `url`")


def reached(posts: Posts) -> None:
    """Opens a connection and closes it again; TroubleError where nobody listens."""
    connection = posts.open(min(posts.timeout_s, _CONNECT_S))
    try:
        connection.connect()
    except (OSError, http.client.HTTPException) as error:
        raise TroubleError(Trouble("unreachable", f"{posts.host}: {spoken(error)}")) from None
    finally:
        connection.close()


def spoken(error: Exception) -> str:
    """What went wrong with a connection, in a few words."""
    match error:
        case TimeoutError():
            return "no answer in time"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not valid: {error.verify_message}"
        case socket.gaierror():
            return "there is no server of this name"
        case OSError() if error.strerror:
            return error.strerror.lower()
        case http.client.HTTPException():
            return "the connection was closed in the middle of an answer"
        case _:
            return "the connection broke"
