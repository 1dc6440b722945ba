"""The central side of all edges: takes messages, and gives back what there is to do. Without a socket: see ``server``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_run.asking import Asking
from streamq.runtime.edge.at_run.inbox import Inbox
from streamq.runtime.edge.columns import keepable
from streamq.runtime.edge.frames import BadMessage, Frame, Kind, framed
from streamq.runtime.edge.messages import Poll, Rows, decoded_poll, decoded_rows, stream_of
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.plan_file import to_json
from streamq.runtime.edge.transport import Reply

MOST_WAITING = 10_000
"""Messages of a stream that nobody has taken; with more of them edges have to wait."""


COUNTED = 64
"""After every so many messages of a stream, of whichever edges, they are counted."""


class Full(Exception):
    """Nobody takes the messages of a stream: its edge is to come again later."""


@dataclass(frozen=True, slots=True)
class Contact:
    """An edge when it was heard of last. ``origin``: of its store; ``at_s``: when, by the clock of the central side.

    ``revision``: of the plan that it goes by; ``offered_kbps``: how fast its stream comes, before anything is shed.
    """

    origin: bytes
    at_s: float
    revision: int
    offered_kbps: float


@dataclass(slots=True)
class Desk:
    """What there is of one stream: its plan, the messages that came, and requests. ``contact``: None before the first; ``accepted``: how many new ones came."""

    plan: EdgePlan
    inbox: Inbox
    asking: Asking
    repeated: int = 0
    contact: Contact | None = None
    accepted: int = 0


@dataclass(slots=True)
class Central:
    """``folder``: where messages are written down, those of each stream in a folder of its name.

    ``clock``: seconds that are never put back. Messages may come in several threads. A plan is replaced by ``change``, and
    edges get it with their next message.
    """

    folder: Path
    desks: dict[str, Desk] = field(default_factory=dict)
    most_waiting: int = MOST_WAITING
    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(
        cls, folder: Path, plans: Mapping[str, EdgePlan], clock: Callable[[], float] = time.monotonic
    ) -> Central:
        """Of these streams, and no others. OSError where the folder cannot be made."""
        made = cls(folder, clock=clock)
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
        """Takes a message; it is on disk when this returns. BadMessage, Full, OSError: then nothing of it is kept, but
        other answers of a message in which one is wrong.
        """
        frame = framed(message)
        stream = stream_of(frame)
        desk = self.desks.get(stream)
        if desk is None:
            raise BadMessage("the message is of a stream that nobody asked for")
        # Whatever is decoded is decoded before the lock: it may be large.
        said = _said(frame, desk.plan)
        with self._lock:
            seq = 0
            if said is None:
                origin = desk.asking.answered(frame)
            else:
                origin = said.origin
                if isinstance(said, Rows):
                    seq = self._accepted(desk, said, message)
            desk.contact = self._contact(desk.contact, origin, frame.revision, said)
            plan = to_json(desk.plan, token=False) if desk.plan.revision > frame.revision else None
            return Reply(seq, () if origin is None else desk.asking.open(origin), plan)

    def _accepted(self, desk: Desk, rows: Rows, message: bytes) -> int:
        if self._full(desk, rows.origin, rows.seq):
            raise Full
        if desk.inbox.accept(rows.origin, rows.seq, message):
            desk.accepted += 1
        else:
            desk.repeated += 1
        return rows.seq

    def _contact(
        self, known: Contact | None, origin: bytes | None, revision: int, said: Rows | Poll | None
    ) -> Contact | None:
        """After a message that was taken. An answer says nothing of rates, and one to no open request not even whose it is."""
        if said is not None:
            return Contact(said.origin, self.clock(), revision, said.offered_kbps)
        if known is not None and origin in (None, known.origin):
            return replace(known, at_s=self.clock(), revision=revision)
        return known if origin is None else Contact(origin, self.clock(), revision, 0.0)

    def _full(self, desk: Desk, origin: bytes, seq: int) -> bool:
        """Whether there is no room for a new message. They are counted now and then, as that takes long where there are many."""
        new = seq > desk.inbox.last(origin)
        return new and desk.accepted % min(COUNTED, self.most_waiting) == 0 and desk.inbox.waiting() >= self.most_waiting


def _said(frame: Frame, plan: EdgePlan) -> Rows | Poll | None:
    """What a message says of its edge; None for an answer. BadMessage for what is not to come from an edge."""
    match frame.kind:
        case Kind.ROWS:
            rows = decoded_rows(frame, plan.schema)
            if not plan.cycle.auto and set(rows.key) != set(plan.cycle.key):
                raise BadMessage("the message has another key than its stream")
            if keepable(rows.rows, rows.key, rows.rows.schema.names)[1]:
                raise BadMessage("a row of the message has a key that cannot be")
            return rows
        case Kind.POLL:
            return decoded_poll(frame)
        case Kind.ANSWER:
            return None
        case _:
            raise BadMessage("edges are asked, and do not ask")
