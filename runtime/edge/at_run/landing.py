"""From the inbox of a stream to files that Spark reads, with shed values recovered: each row is in one file, once.

Messages of an edge are taken together: after a request those of about a second, or a slow stream would pay one for each
cycle. What was shed of them is asked for, and they land when it came, or when they have waited long enough. Then, in
this order, a file is there, what later rows are compared with is written down, and the messages are taken. The name of the
file says which messages it has, so that a process that is stopped at any point between finds out what is left to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_run.asking import Asking
from streamq.runtime.edge.at_run.inbox import Inbox
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.known import Memories, Memory
from streamq.runtime.edge.at_run.landed_rows import landed_rows
from streamq.runtime.edge.at_run.recovering import Asked, asked
from streamq.runtime.edge.at_run.references import References
from streamq.runtime.edge.at_run.row_files import RowFiles
from streamq.runtime.edge.columns import keepable
from streamq.runtime.edge.frames import BadMessage, OtherColumns
from streamq.runtime.edge.messages import Rows
from streamq.runtime.metrics import Received

MOST_BYTES = 32 << 20
"""Of the messages of a file."""

MOST_ROWS = 1 << 18
"""Of a file. What was shed has no bytes in messages, but has some of each row when it lands."""

KEEP_S = 7 * 86_400.0
"""After how long a file may go."""

LOOK_S = 60.0
"""How often files are looked at for that."""

ASK_S = 1.0
"""How often an edge is asked for something."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """Messages of one edge that wait for ``answers``, one to each request. ``memory``: of its store, which learns from these.

    ``rows``: as they land, once they do.
    """

    messages: tuple[Rows, ...]
    asked: tuple[Asked, ...]
    answers: tuple[Answer | None, ...]
    since_s: float
    memory: Memory
    rows: pa.Table | None = None
    counts: Received = field(default_factory=Received)


class Landing:
    """``folder``: of the stream, as that of ``inbox`` and ``asking``. ``clock``: seconds, never put back; ``day``: of the day.

    ``keep_s``: after how long files go. One process lands the messages of a folder. OSError where it cannot be read or
    written: a step can be tried again.
    """

    def __init__(
        self, incoming: Incoming, folder: Path, inbox: Inbox, asking: Asking, told: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic, day: Callable[[], float] = time.time, keep_s: float = KEEP_S,
    ) -> None:
        self.incoming, self.inbox, self.asking = incoming, inbox, asking
        self.told, self.clock, self.day, self.keep_s = told, clock, day, keep_s
        self.counts = Received()
        plan = incoming.plan
        nearest = [name for name in plan.columns if name in incoming.nearest]
        # Nobody waits any more for what an earlier process asked.
        asking.clear()
        self._references = References(folder / "nearest.arrow", plan.schema, nearest, plan.cycle.length)
        self._files = RowFiles(folder / "rows")
        self._last = self._files.last()
        self._waiting: dict[bytes, Waiting] = {}
        self._memories = Memories()
        self._asked_s: dict[bytes, float] = {}
        self._others: set[bytes] = set()
        self._since_s: dict[bytes, float] = {}
        self._looked_s: float | None = None

    @property
    def idle(self) -> bool:
        """Whether nothing waits, for answers or in the inbox, but messages that were made for other columns."""
        return not self._waiting and self.inbox.numbers().keys() <= self._others

    @property
    def owed(self) -> bool:
        """Whether values were asked for that did not come yet."""
        return any(waiting.rows is None and None in waiting.answers for waiting in self._waiting.values())

    def step(self, at_once: bool = False) -> bool:
        """Takes what came, and lands what need not wait; whether there was anything. ``at_once``: nothing waits. OSError."""
        found = False
        for origin, numbers in self.inbox.numbers().items():
            if origin not in self._waiting and origin not in self._others and self._is_time(origin, at_once):
                self._take(origin, numbers)
                found = True
        for origin in list(self._waiting):
            waiting = self._waiting[origin] = self._whole(self._waiting[origin], at_once)
            if waiting.rows is not None:
                self._land(origin, waiting)
                found = True
        if self._looked_s is None or self.clock() - self._looked_s >= LOOK_S:
            self._looked_s = self.clock()
            self._files.expire(self.day() - self.keep_s)
        return found

    def _is_time(self, origin: bytes, at_once: bool) -> bool:
        """Whether the messages of an edge are taken, and it may be asked for what was shed of them. The first one waits from now on."""
        now = self.clock()
        self._since_s.setdefault(origin, now)
        return at_once or now - self._asked_s.get(origin, -math.inf) >= min(ASK_S, self.incoming.wait_s / 2)

    def _take(self, origin: bytes, numbers: Sequence[int]) -> None:
        """Reads messages, as many as go together, and asks for what was shed of them."""
        since_s = self._since_s.pop(origin)
        last = self._last.get(origin, 0)
        if numbers[0] <= last:
            self._passed(origin, [seq for seq in numbers if seq <= last])
            return
        messages: list[Rows] = []
        size = rows = 0
        for seq in numbers:
            size += self.inbox.size(origin, seq)
            if messages and size > MOST_BYTES:
                break
            try:
                message = self._read(origin, seq)
            except OtherColumns:
                self._leave(origin)
                break
            if message is None:
                continue
            rows += message.rows.num_rows
            if messages and (rows > MOST_ROWS or message.key != messages[0].key):
                break
            messages.append(message)
        if messages:
            wanted = [name for name in self.incoming.plan.columns if name in self.incoming.synopsis]
            memory = self._memories.of(origin, messages[0].key)
            requests = asked(self.asking, messages, wanted, memory)
            if requests:
                self._asked_s[origin] = self.clock()
            self._waiting[origin] = Waiting(tuple(messages), requests, (None,) * len(requests), since_s, memory)

    def _read(self, origin: bytes, seq: int) -> Rows | None:
        """A message; None for one that is none, and is put aside. OtherColumns."""
        try:
            found = self.inbox.read(origin, seq)
            if keepable(found.rows, found.key, found.rows.schema.names)[1]:
                raise BadMessage("a row of the message has a key that cannot be")
        except OtherColumns:
            raise
        except BadMessage as error:
            name = self.inbox.aside(origin, seq)
            self.counts += Received(bad=1)
            self.told(f"a message of {self.incoming.plan.stream} is put aside as {name}: {error}")
            return None
        return found

    def _leave(self, origin: bytes) -> None:
        """Takes no more of an edge: a run with the columns that it has takes what is there."""
        self._others.add(origin)
        self.told(
            f"messages of {self.incoming.plan.stream} that were made for other columns wait in {self.inbox.folder.name}: "
            "start the edge again with the program of this run, or run the program that it has"
        )

    def _passed(self, origin: bytes, numbers: Sequence[int]) -> None:
        """Takes messages that landed before this process began."""
        if self.incoming.nearest:
            for seq in numbers:
                with suppress(OtherColumns):
                    if (message := self._read(origin, seq)) is not None:
                        self._references.see(message)
            self._references.save()
        self.inbox.done(origin, numbers[-1])

    def _whole(self, waiting: Waiting, at_once: bool) -> Waiting:
        """With the answers that came; with its rows as they land, if these are all, or there was time enough."""
        if waiting.rows is not None:
            return waiting
        answers = tuple(
            self._answer(one) if answer is None else answer
            for one, answer in zip(waiting.asked, waiting.answers, strict=True)
        )
        if None in answers and not at_once and self.clock() - waiting.since_s < self.incoming.wait_s:
            return replace(waiting, answers=answers)
        for one, answer in zip(waiting.asked, answers, strict=True):
            if answer is not None:
                waiting.memory.learn(one.attribute, one.codes, answer)
        rows, counts = landed_rows(self.incoming, waiting.messages, waiting.asked, answers, self._references)
        return replace(waiting, answers=answers, rows=rows, counts=counts)

    def _answer(self, one: Asked) -> Answer | None:
        """What came back, with what was known; None until all of it is there."""
        answer = self.asking.answer(one.id)
        return None if answer is None else one.known.filled(answer)

    def _land(self, origin: bytes, waiting: Waiting) -> None:
        """Each of the steps can be done again, and all are where any of them fails."""
        first, last = waiting.messages[0].seq, waiting.messages[-1].seq
        if self._last.get(origin, 0) < last:
            self._files.write(origin, first, last, waiting.rows)
            self._last[origin] = last
        self._references.save()
        self.inbox.done(origin, last)
        del self._waiting[origin]
        self.counts += waiting.counts
        for one in waiting.asked:
            self.asking.done(one.id)
