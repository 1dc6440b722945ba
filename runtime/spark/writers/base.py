"""What writers of StreamQ's own are asked to do, and what tasks of Spark say of the rows that they took."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery
from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.sink_errors import SinkFailed, SinkRefused, SinkUnreachable

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.2, 60.0


class Writer(Protocol):
    """Takes the micro-batches of one query into its sink. Whatever it raises of the sink is a ``SinkFailed``."""

    def check(self) -> None:
        """Looks whether a run could write, before anything starts; changes nothing."""

    def prepare(self, frame: DataFrame) -> None:
        """Makes what is needed once, before the first micro-batch; ``frame``: what the query gives."""

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        """Writes a micro-batch. Reads all of its rows once, also where they are there already: their state hangs on it."""


@dataclass(frozen=True, slots=True)
class Target:
    """Whose rows go where. ``directory``: the query's checkpoint. ``base_dir``: where relative paths start."""

    query: PhysicalQuery
    directory: Path
    base_dir: str

    def option(self, name: str, default: OptionValue = "") -> OptionValue:
        return dict(self.query.sink.options).get(name, default)

    def text(self, name: str, default: str = "") -> str:
        return str(self.option(name, default))

    def seconds(self, name: str) -> float:
        """An option that is a length of time, which is there in milliseconds."""
        return float(self.option(name, 0)) / 1000

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.query.columns)

    @property
    def update(self) -> bool:
        return self.query.mode == "update"


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a server said, without secrets: ``unreachable``, ``refused`` (these rows), or ``failed`` (it is not set up for it)."""

    kind: str
    text: str


class TroubleError(Exception):
    """Carries a trouble to where it is known whose rows they are."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(trouble.text)
        self.trouble = trouble


def failure(target: Target, server: str, trouble: Trouble, help: str = "") -> SinkFailed:
    """The exception for a trouble of the server that is called ``server``."""
    query, sink = target.query, target.query.sink
    if trouble.kind == "unreachable":
        return SinkUnreachable(query.name, Diagnostic(
            "SQ0808", f"{server} of sink `{sink.name}` cannot be reached", sink.origin, notes=(trouble.text,),
            help=help or "see whether it is up, and where; rows that are not written are written by a run that goes on from the checkpoint",
        ))
    if trouble.kind == "refused":
        return SinkRefused(query.name, Diagnostic(
            "SQ0806", f"{server} refuses rows of query `{query.name}`", sink.origin, notes=(trouble.text,),
            help=help or "see what the sink takes, and filter or convert what the query gives",
        ))
    return SinkFailed(query.name, Diagnostic(
        "SQ0806", f"sink `{sink.name}` cannot be written: {trouble.text}", sink.origin,
        help=help or "correct the options of the sink, or what the server allows",
    ))


@contextmanager
def told(target: Target, server: str) -> Iterator[None]:
    """Says of a trouble whose rows it is about."""
    try:
        yield
    except TroubleError as error:
        raise failure(target, server, error.trouble) from None


T = TypeVar("T")


def patiently(attempt: Callable[[], T], seconds: float, stopping: threading.Event) -> T:
    """What ``attempt`` gives; tries again for so long while the server does not answer. TroubleError after that."""
    until = time.monotonic() + seconds
    between = pauses(FIRST_PAUSE_S, random.Random())
    while True:
        try:
            return attempt()
        except TroubleError as error:
            pause = next(between)
            if error.trouble.kind != "unreachable" or time.monotonic() + pause > until or stopping.wait(pause):
                raise


def pauses(first_s: float, draw: random.Random) -> Iterator[float]:
    """Seconds between tries: each twice the one before, and less by chance, so that many do not come back at once."""
    pause = first_s
    while True:
        yield pause * draw.uniform(0.5, 1.0)
        pause = min(pause * 2, LONGEST_PAUSE_S)


# --- tasks ---------------------------------------------------------------------------------------

_OUTCOME = "part string, rows bigint, kind string, text string"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a task did: the rows that it sent, under the name that its try has."""

    part: str
    rows: int


Send = Callable[[str, Iterator[pa.RecordBatch]], int]
"""Sends the rows of a partition, under a name for this try; returns how many. TroubleError where that fails."""


def send_all(frame: DataFrame, send: Send) -> tuple[Outcome, ...]:
    """Sends a frame's partitions from the tasks of Spark; raises the first trouble that a task had.

    A trouble comes back as data: a task that failed would be tried again by Spark at once, and its text go to logs.
    Tries of a task have names of their own, so what one left behind that was lost on its way is told from what counts.
    """
    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = uuid4().hex
        try:
            rows, trouble = send(part, batches), Trouble("", "")
        except TroubleError as error:
            rows, trouble = 0, error.trouble
            for _ in batches:
                pass
        yield pa.RecordBatch.from_pydict(
            {"part": [part], "rows": pa.array([rows], pa.int64()), "kind": [trouble.kind], "text": [trouble.text]}
        )

    found = [tuple(row) for row in frame.mapInArrow(task, _OUTCOME).collect()]
    for _, _, kind, text in found:
        if kind:
            raise TroubleError(Trouble(kind, text))
    return tuple(Outcome(part, rows) for part, rows, _, _ in found if rows)


def only_read(batch: DataFrame) -> None:
    """Reads all rows of a micro-batch that is in the sink already, for their state's sake."""
    batch.write.format("noop").mode("overwrite").save()


def is_there(number: int, last: int, target: Target) -> bool:
    """True where the micro-batch ``number`` is in the sink already, which has all up to ``last``.

    A sink is behind its checkpoint by nothing, or ahead of it by the one micro-batch that was not committed; else
    one of the two was put back, and rows would be lost without a word.
    """
    if number in (last, last + 1):
        return number == last
    where = "ahead of" if number < last else "behind"
    raise SinkFailed(target.query.name, Diagnostic(
        "SQ0806", f"sink `{target.query.sink.name}` is {where} the checkpoint of query `{target.query.name}`",
        target.query.sink.origin, notes=(f"it has micro-batches up to {last}, and {number} comes next",),
        help="an older copy of the sink or of the checkpoint was put back: put the other back too, or start with a new checkpoint and an empty table",
    ))
