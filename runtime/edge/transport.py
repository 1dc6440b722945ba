"""How messages go from an edge to the central side, and what comes back with the acknowledgement of each."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, Protocol

from streamq.dsl.records import dataclass
from streamq.runtime.edge.frames import MOST_MESSAGE, BadMessage

MOST_REPLY = 4 << 20
MOST_REQUESTS = 16
"""Requests that come at once; the others come with the next reply."""


class Unreachable(Exception):
    """A message did not go, or was not acknowledged: it is sent again later. Says in a few words why."""


class Refused(Exception):
    """The central side takes no message of this edge: to send it again would change nothing. Says why."""


@dataclass(frozen=True, slots=True)
class Reply:
    """``acknowledged``: up to which message the central side has them, 0 where it has none.

    ``requests``: messages that ask for shed values; ``plan``: a later one than that of the edge, as a JSON object.
    """

    acknowledged: int = 0
    requests: tuple[bytes, ...] = ()
    plan: Mapping[str, Any] | None = None


class Transport(Protocol):
    """``extra``: bytes that go along with each message. ``send`` returns when the message has come.

    Raises ``Unreachable`` and ``Refused``.
    """

    @property
    def extra(self) -> int:
        """Of each message."""

    def send(self, message: bytes) -> Reply:
        """Brings a message there, and what there is to do back."""


def reply_text(reply: Reply) -> bytes:
    """A reply as JSON."""
    found: dict[str, Any] = {"acknowledged": reply.acknowledged}
    if reply.requests:
        found["requests"] = [base64.b64encode(request).decode("ascii") for request in reply.requests]
    if reply.plan is not None:
        found["plan"] = reply.plan
    return json.dumps(found).encode()


def reply_of(text: bytes) -> Reply:
    """The reply of a JSON text. BadMessage for anything else."""
    if len(text) > MOST_REPLY:
        raise BadMessage(f"a reply has at most {MOST_REPLY} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadMessage("the reply is no JSON") from None
    match found:
        case {"acknowledged": bool()}:
            pass
        case {"acknowledged": int(seq)} if 0 <= seq < 1 << 63:
            given, plan = found.get("requests", []), found.get("plan")
            if isinstance(given, list) and len(given) <= MOST_REQUESTS and (plan is None or isinstance(plan, dict)):
                return Reply(seq, tuple(map(_bytes, given)), plan)
    raise BadMessage("the reply says nothing that an edge knows")


def _bytes(text: object) -> bytes:
    try:
        if isinstance(text, str) and len(text) <= 2 * MOST_MESSAGE:
            return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        pass
    raise BadMessage("a request in the reply is no text of bytes")
