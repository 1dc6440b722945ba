"""Messages over HTTP: the edge connects to the central side, which may be behind no wall that it has to open."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.at_run.server import PATH, TIMEOUT_S
from streamq.runtime.edge.frames import BadMessage
from streamq.runtime.edge.transport import MOST_REPLY, Refused, Reply, Unreachable, reply_of

EXTRA = 256
"""Bytes of the head of a request, without the token."""


@dataclass(frozen=True, slots=True)
class HttpSender:
    """``address``: ``http://host:port`` of the central side, or ``https``; ``token``: shared with it, never shown.

    ValueError for another address.
    """

    address: str
    token: str = field(repr=False)
    timeout_s: float = TIMEOUT_S

    def __post_init__(self) -> None:
        """Checks the address."""
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.path.strip("/"):
            raise ValueError("the central side is at http://host:port")
        if not self.token or not self.token.isascii() or not self.token.isprintable():
            raise ValueError("edges and the central side share a token of plain characters")

    @property
    def extra(self) -> int:
        """Bytes that go along with each message."""
        return EXTRA + len(self.token) + len(self.address)

    def send(self, message: bytes) -> Reply:
        """Brings a message there. Unreachable, Refused."""
        connection = self._connection()
        try:
            connection.request("POST", PATH, message, {"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            text = answer.read(MOST_REPLY + 1)
            status = answer.status
        except (OSError, http.client.HTTPException) as error:
            # Of the error only its kind: its text may have any part of what went over the wire.
            raise Unreachable(f"the central side cannot be reached ({type(error).__name__})") from None
        finally:
            connection.close()
        if status == 200:
            try:
                return reply_of(text)
            except BadMessage as error:
                raise Unreachable(f"the central side does not answer as it should: {error}") from None
        if status in (400, 401, 404, 413):
            raise Refused(_REASONS.get(status) or f"the central side refuses a message: {_shown(text)}")
        raise Unreachable(f"the central side takes no messages now (status {status})")

    def _connection(self) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        return kind(str(parts.hostname), parts.port, timeout=self.timeout_s)


_REASONS = {
    401: "the central side does not know the token of this edge",
    404: "at this address nobody takes messages of edges",
}


def _shown(text: bytes) -> str:
    """What a reply says, made harmless."""
    return "".join(c if c.isprintable() else "?" for c in text[:200].decode("utf-8", "replace"))
