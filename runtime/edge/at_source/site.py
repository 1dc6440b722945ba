"""An edge at work: reads, decides, writes down, sends, answers. One thread, and every wait is somebody else's to take.

Rows are read only while few bytes wait for the wire: a file can wait, and a pipe makes its writer wait, so that no row is
lost, and memory and disk stay bounded. What is offered is measured without these waits.
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_source.answering import answered
from streamq.runtime.edge.at_source.backoff import Backoff
from streamq.runtime.edge.at_source.bucket import Bucket
from streamq.runtime.edge.at_source.counts import Counts, why_left_out
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.packing import packed_answers, parts
from streamq.runtime.edge.at_source.parsing import parsed, shown
from streamq.runtime.edge.at_source.pipeline import Pipeline, fit_to, looked_at_again
from streamq.runtime.edge.at_source.progress import Progress
from streamq.runtime.edge.at_source.source import Source
from streamq.runtime.edge.at_source.store import Store
from streamq.runtime.edge.at_source.taken import MESSAGES, Taken
from streamq.runtime.edge.frames import BadMessage, Kind, framed
from streamq.runtime.edge.messages import Poll, decoded_request, encoded_poll
from streamq.runtime.edge.plan import BadPlan, EdgePlan
from streamq.runtime.edge.plan_file import from_json
from streamq.runtime.edge.transport import Refused, Reply, Transport, Unreachable

WAITING_S = 2.0
"""Seconds of sending that may wait for the wire before nothing more is read."""

POLL_S = 1.0
"""After how long without a message the central side is asked for work."""

KEPT = 0.8
"""After which part of a lease an edge asks for work although a message waits for the wire, or it would lose what it was lent."""

MOST_ANSWERS = 16 << 20
"""Bytes of answers that wait; requests that come when there are as many will come again."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A part of an answer that is still to go, and to which request, for which attribute."""

    id: bytes
    attribute: str
    part: bytes


@dataclass(slots=True)
class Site:
    """The edge of one stream. ``clock``: the time of day in seconds, ``steady``: one that is never put back.

    ``told``: what its user should know, each time that it happens. ``patient``: rows may wait as long as they have to. ``_ahead``: by how many bytes rows are ahead of answers.
    """

    plan: EdgePlan
    source: Source
    store: Store
    transport: Transport
    clock: Callable[[], float]
    steady: Callable[[], float]
    told: Callable[[str], None] = lambda _: None
    chance: Callable[[], float] = random.random
    patient: bool = False
    counts: Counts = field(default_factory=Counts)
    ended: bool = False
    _progress: Progress = field(default_factory=Progress)
    _pipeline: Pipeline | None = None
    _bucket: Bucket | None = None
    _backoff: Backoff = field(default_factory=Backoff)
    _answers: deque[Waiting] = field(default_factory=deque)
    _taken: Taken = field(default_factory=Taken)
    _ahead: int = 0
    _spoke_s: float = 0.0
    _heard_s: float = -math.inf
    _blocked_s: float | None = None
    _once_told: set[str] = field(default_factory=set)

    def start(self) -> None:
        """Goes on where the store says. BadStore, BadPlan, OSError."""
        self.plan = self.store.plan(self.plan)
        self._progress = self._fit(looked_at_again(self._of_this_cycle(self.store.progress()), self.plan))
        self.source.seek(self._progress.position)
        now, sifting = self.clock(), self._progress.sifting
        offered = Offered(now)
        if sifting is not None and self.plan.sift is not None:
            self._progress = replace(self._progress, sifting=sifting.fits(self.plan.sift))
            offered = offered if sifting.offered is None else sifting.offered.resumed(now)
        self._pipeline = Pipeline(self.plan, self.store.origin, offered, self.transport.extra, patient=self.patient)
        self._bucket = Bucket(self.plan.capacity_kbps, self.plan.bucket, self.steady())
        self._spoke_s = self.steady()

    def _of_this_cycle(self, progress: Progress) -> Progress:
        """As it is, or from the next row on, where the plan asks for another cycle than the rows before had. BadPlan."""
        rule, cycle = self.plan.cycle, progress.cycle
        if cycle is None or rule.auto or (set(cycle.key) == set(rule.key) and rule.length in (0, cycle.length)):
            return progress
        if self.store.waiting() is not None:
            raise BadPlan(
                f"rows wait that go by another cycle, of {', '.join(cycle.key) or 'no key'}: let an edge with the program before send "
                "them, and start this one then"
            )
        self.told("the cycle is another one now: what was retained by the old one is forgotten")
        return self.store.begin_anew(progress)

    def _fit(self, progress: Progress) -> Progress:
        """With the rows that are carried as the plan can take them."""
        progress, lost = fit_to(progress, self.plan)
        self.counts.malformed += lost
        return progress

    @property
    def progress(self) -> Progress:
        """How far it is."""
        return self._progress

    @property
    def done(self) -> bool:
        """Whether the source ended, and all of it is sent and acknowledged."""
        return self.ended and self.store.waiting() is None and not self._answers

    def keep(self) -> None:
        """Writes down rows that are no whole cycle yet, so that an edge that is started later sends them. BadStore."""
        if self._progress.waits:
            self.store.keep(self._progress)

    def turn(self, last: bool = False) -> float:
        """Reads once and sends what may go; gives the seconds until there is something to do, 0 for at once.

        ``last``: an end of the source is its end, and rows that are no whole cycle are sent. Refused where the central side
        takes no messages of this edge; BadPlan where a stream has not the cycle that is asked for; OSError where the source
        cannot be read.
        """
        assert self._bucket is not None
        read = self._read(last)
        wait = self._send()
        return 0.0 if read else wait

    def _read(self, last: bool) -> bool:
        assert self._pipeline is not None
        now = self.clock()
        if self.store.waiting_bytes() > self.plan.capacity_kbps * 125 * WAITING_S:
            self._blocked_s = now if self._blocked_s is None else self._blocked_s
            return False
        if self._blocked_s is not None:
            self._pipeline.offered = self._pipeline.offered.blocked(now - self._blocked_s)
            self._blocked_s = None
        block = self.source.read()
        found = parsed(block.lines, self.plan, block.header)
        self.counts.malformed += found.malformed + block.too_long
        if found.wrong:
            self._tell_once("malformed", f"a line is no row of the stream, and is counted as malformed: {shown(found.wrong)}")
        if block.header is not None and (absent := [name for name in self.plan.read if name not in block.header]):
            self._tell_once("header", f"the first line names no column {', '.join(absent)}: all of it is NULL")
        waits = self._progress.waits
        if not found.rows.num_rows and not waits:
            self.ended = block.ended
            return bool(block.lines)
        over = waits and now - self._progress.since_s >= self.plan.linger_s
        everything = (last and block.ended) or (over and not (self._progress.cycle is None and self.plan.cycle.auto))
        if not found.rows.num_rows and not everything:
            self._go_on(replace(self._progress, position=block.position))
            self.ended = block.ended
            return bool(block.lines)
        self._pipeline.answers_kbps = self._taken.kbps_at(self.steady())
        step = self._pipeline.after(self._progress, found.rows, block.position, now, everything)
        self.counts.malformed += step.unkept + step.too_wide
        for what, text in why_left_out(step, self.plan.bucket - self.transport.extra):
            self._tell_once(what, text)
        if step.decision is not None or step.plan is not None:
            self.store.commit(step, round((now - self.plan.retain_s) * 1000), self.plan.synopsis_bytes)
            self.counts.rows += step.rows
            self.counts.dropped += step.dropped
            self._progress = step.progress
        else:
            self._go_on(step.progress)
        if step.plan is not None:
            self.plan = step.plan
        for name in step.exact:
            self.told(f"values of {name} are kept exactly: they vary too much to find their error, and there is no cap")
        self.ended = block.ended
        return bool(block.lines)

    def _go_on(self, progress: Progress) -> None:
        """From there. Where another file is read now, rows that are carried are written down: theirs may not be there any more."""
        left = not progress.position.same_file(self._progress.position)
        self._progress = progress
        if left:
            self.keep()

    def _tell_once(self, what: str, text: str) -> None:
        if what not in self._once_told:
            self._once_told.add(what)
            self.told(text)

    def _send(self) -> float:
        """Sends messages and answers while they may go. Where both wait, as many bytes go of the ones as of the others."""
        while True:
            now = self.steady()
            if wait := self._backoff.wait_s(now):
                return wait
            (seq, message), answers = self.store.waiting() or (0, b""), 0
            if not self._answers:
                self._ahead = 0
            if self._answers and (not message or self._ahead > 0):
                seq, (message, answers) = 0, self._packed()
            room = len(message) + self.transport.extra
            if not message or (self.plan.lease_s and now - self._spoke_s >= self.plan.lease_s * KEPT):
                if now - self._spoke_s < POLL_S:
                    return POLL_S - (now - self._spoke_s)
                poll = Poll(self.plan.stream, self.store.origin, self._offered_kbps())
                seq, message, answers = 0, encoded_poll(poll, self.plan.revision), 0
            if wait := self._bucket_wait(len(message) + self.transport.extra, room, now):
                return min(wait, POLL_S)
            if not self._sent(seq, message, answers, now):
                return self._backoff.wait_s(self.steady())

    def _packed(self) -> tuple[bytes, int]:
        """A message of the answers that wait, as many as fit, and how many parts it has."""
        waiting = (one.part for one in self._answers)
        return packed_answers(self.plan.stream, waiting, self.plan.revision, self.plan.bucket - self.transport.extra)

    def _offered_kbps(self) -> float:
        """How fast the stream comes now. While nothing is read nobody knows, and what was known is still so."""
        assert self._pipeline is not None
        now = self.clock()
        offered = self._pipeline.offered
        if self._blocked_s is not None:
            offered = offered.blocked(now - self._blocked_s)
        return offered.kbps_at(now)

    def _bucket_wait(self, size: int, room: int, now: float) -> float:
        """Takes what a message needs from the bucket, or says when that is there. ``room``: for one that waits meanwhile."""
        assert self._bucket is not None
        if self.plan.lease_s and now - self._heard_s >= self.plan.lease_s:
            kbps, most = self.plan.floor_kbps, max(size, room)
        else:
            # The message may have been made when the plan had a larger bucket.
            kbps, most = self.plan.capacity_kbps, max(self.plan.bucket, size, room)
        if (kbps, most) != (self._bucket.kbps, self._bucket.size):
            self._bucket.changed(kbps, most, now)
        return 0.0 if self._bucket.take(size, now) else max(self._bucket.wait_s(size, now), 1e-6)

    def _sent(self, seq: int, message: bytes, answers: int, now: float) -> bool:
        """Sends a message with the first so many parts of answers, or none; whether it came there. Refused."""
        self._spoke_s = now
        kind = framed(message).kind
        try:
            reply = self.transport.send(message)
            if reply.acknowledged < seq:
                raise Unreachable("the central side does not say that it has a message")
        except Refused as error:
            if not answers:
                raise
            self.told(f"an answer is not taken: {error}")
            self._gone(answers)
            return True
        except Unreachable as error:
            self.counts.failures += 1
            self.told(str(error))
            self._backoff = self._backoff.failed(now, self.chance)
            return False
        # From when it went, and not from when that was known: the central side must not count on less than this edge takes.
        self._heard_s = now
        # A reply may take longer than the time between two polls: then there would be no end of them, and nothing read.
        self._spoke_s = self.steady()
        self._backoff = Backoff()
        size = len(message) + self.transport.extra
        self.counts.sent += size
        self.counts.messages += 1
        if kind == Kind.ROWS:
            self.store.acknowledged(seq)
            self._ahead += size
        elif answers:
            sizes = self._gone(answers)
            self.counts.answers += answers
            self._ahead = max(self._ahead - size, -self.plan.bucket)
            self._taken = self._taken.after(now, {**sizes, MESSAGES: size - sum(sizes.values())})
        self._do(reply)
        return True

    def _gone(self, answers: int) -> dict[str, int]:
        """Forgets the first so many parts of answers; gives their bytes by attribute."""
        sizes: dict[str, int] = {}
        for _ in range(answers):
            one = self._answers.popleft()
            sizes[one.attribute] = sizes.get(one.attribute, 0) + len(one.part)
        return sizes

    def _do(self, reply: Reply) -> None:
        """What comes back: another plan, and requests. What is wrong with them is told, and changes nothing."""
        if reply.plan is not None:
            try:
                self._change(from_json({**reply.plan, "token": self.plan.token}))
            except BadPlan as error:
                # What it goes by is lent to it no more, as far as the central side knows.
                self._heard_s = -math.inf
                self.told(f"a plan that was sent is not used, start the edge again with the program that it is of: {error}")
        for request in reply.requests:
            try:
                self._ask(request)
            except ValueError as error:
                self.counts.refused_requests += 1
                self.told(f"a request is not answered: {error}")

    def _change(self, plan: EdgePlan) -> None:
        assert self._pipeline is not None
        assert self._bucket is not None
        if plan.revision <= self.plan.revision:
            return
        self.plan = plan.succeeds(self.plan)
        self.store.keep_plan(self.plan)
        self._pipeline.plan = self.plan
        self._progress = self._fit(looked_at_again(self._progress, self.plan))
        self._bucket.changed(self.plan.capacity_kbps, self.plan.bucket, self.steady())

    def _ask(self, message: bytes) -> None:
        frame = framed(message)
        if frame.kind != Kind.REQUEST:
            raise BadMessage("it is no request")
        request = decoded_request(frame, self.plan.schema)
        if request.stream != self.plan.stream:
            raise BadMessage("it is to another stream")
        cycle = self._progress.cycle
        ours = request.origin == self.store.origin
        if ours and cycle is not None and tuple(request.keys.schema.names) != cycle.key:
            raise BadMessage("it has not the key of the stream")
        if any(one.id == request.id for one in self._answers):
            return
        if sum(len(one.part) for one in self._answers) < MOST_ANSWERS:
            most = self.plan.bucket - self.transport.extra
            found = parts(answered(request, self.store, self._progress), request, most)
            self._answers.extend(Waiting(request.id, request.attribute, part) for part in found)
