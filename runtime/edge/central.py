"""The central side of all edges: takes messages, and gives back what there is to do. Without a socket: see ``server``."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.asking import Asking
from streamq.runtime.edge.frames import BadMessage, Kind, framed
from streamq.runtime.edge.inbox import Inbox
from streamq.runtime.edge.messages import decoded_rows, stream_of
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.plan_file import to_json
from streamq.runtime.edge.transport import Reply

MOST_WAITING = 10_000
"""Messages of a stream that nobody has taken; with more of them edges have to wait."""


COUNTED = 64
"""Every so many messages they are counted."""


class Full(Exception):
    """Nobody takes the messages of a stream: its edge is to come again later."""


@dataclass(slots=True)
class Desk:
    """What there is of one stream: its plan, the messages that came, and requests."""

    plan: EdgePlan
    inbox: Inbox
    asking: Asking
    repeated: int = 0


@dataclass(slots=True)
class Central:
    """``folder``: where messages are written down, those of each stream in a folder of its name.

    Messages may come in several threads. A plan is replaced by ``change``, and edges get it with their next message.
    """

    folder: Path
    desks: dict[str, Desk] = field(default_factory=dict)
    most_waiting: int = MOST_WAITING
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, folder: Path, plans: Mapping[str, EdgePlan]) -> Central:
        """Of these streams, and no others. OSError where the folder cannot be made."""
        made = cls(folder)
        for name, plan in plans.items():
            made.desks[name] = Desk(
                plan, Inbox(folder / name, plan.schema), Asking(folder / name, name, plan.schema)
            )
        return made

    def change(self, plan: EdgePlan) -> None:
        """A later plan of a stream; its revision has to be larger. ValueError for one that cannot follow."""
        with self._lock:
            desk = self.desks[plan.stream]
            if plan.revision <= desk.plan.revision:
                raise ValueError("a plan that follows another has a larger revision")
            desk.plan = plan.succeeds(desk.plan)

    def handle(self, message: bytes) -> Reply:
        """Takes a message; it is on disk when this returns. BadMessage, Full, OSError: then nothing of it is kept."""
        frame = framed(message)
        stream = stream_of(frame)
        desk = self.desks.get(stream)
        if desk is None:
            raise BadMessage("the message is of a stream that nobody asked for")
        # Whatever is decoded is decoded before the lock: it may be large.
        rows = decoded_rows(frame, desk.plan.schema) if frame.kind == Kind.ROWS else None
        with self._lock:
            seq = 0
            match frame.kind:
                case Kind.ROWS if rows is not None:
                    seq = rows.seq
                    if self._full(desk, rows.origin, seq):
                        raise Full
                    if not desk.inbox.accept(rows.origin, seq, message):
                        desk.repeated += 1
                case Kind.ANSWER:
                    desk.asking.answered(frame, message)
                case Kind.REQUEST:
                    raise BadMessage("edges are asked, and do not ask")
            plan = to_json(desk.plan, token=False) if desk.plan.revision > frame.revision else None
            return Reply(seq, desk.asking.open(), plan)

    def _full(self, desk: Desk, origin: bytes, seq: int) -> bool:
        """Whether there is no room for a new message. They are counted now and then, as that takes long where there are many."""
        new = seq > desk.inbox.last(origin)
        return new and seq % min(COUNTED, self.most_waiting) == 0 and desk.inbox.waiting() >= self.most_waiting
