"""Windows: from a stream, whose rows never leave, to the bag that holds at each instant (language, section 2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import groupby

from streamq.compiler.ir import logical as lg
from streamq.runtime.reference.facts import FOREVER, Fact, Facts, Frame, in_time_order
from streamq.runtime.reference.values import Instant, Row

MICROS = 1000
"""Microseconds per millisecond."""

GroupOf = Callable[[Row], object]


def apply_window(spec: lg.WindowSpec, stream: Iterable[Fact], columns: tuple[str, ...]) -> Facts:
    """The bag of a window over a stream whose rows are stamped with the start of their facts."""
    match spec:
        case lg.Unbounded():
            return list(stream)
        case lg.Now():
            return [fact._replace(end=fact.start + 1) for fact in stream]
        case lg.TimeRange(range_ms):
            return [fact._replace(end=fact.start + range_ms * MICROS) for fact in stream]
        case lg.Sliding(range_ms, slide_ms):
            return [
                framed for fact in stream
                for framed in _sliding(fact, range_ms * MICROS, slide_ms * MICROS)
            ]
        case lg.Session(gap_ms, partition):
            groups = _grouped(stream, columns, partition)
            return [f for group in groups for f in _sessions(group, gap_ms * MICROS)]
        case lg.LastRows():
            groups = _grouped(stream, columns, spec.partition)
            return [fact for group in groups for fact in _last_rows(group, spec)]
        case _:
            raise TypeError(f"not a window: {type(spec).__name__}")


def _sliding(fact: Fact, width: int, slide: int) -> Iterable[Fact]:
    """The row is in the window that ends at T for each multiple T of the slide in (stamp, stamp + range]."""
    first = (fact.start // slide + 1) * slide
    for end in range(first, fact.start + width + 1, slide):
        yield Fact(fact.row, end, end + slide, Frame(end - width, end))


def _grouped(
    stream: Iterable[Fact], columns: tuple[str, ...], partition: tuple[str, ...]
) -> list[Facts]:
    """The rows of each group in order of time."""
    places = [columns.index(name) for name in partition]
    groups: dict[Row, Facts] = defaultdict(list)
    for fact in in_time_order(stream):
        groups[tuple(fact.row[i] for i in places)].append(fact)
    return list(groups.values())


def _sessions(group: Facts, gap: int) -> Iterable[Fact]:
    """Runs of rows with gaps shorter than ``gap``: one final bag at the end of each."""
    for run in _runs(group, gap):
        yield from _closed(run, gap)


def _runs(group: Facts, gap: int) -> Iterable[Facts]:
    run: Facts = []
    for fact in group:
        if run and fact.start - run[-1].start >= gap:
            yield run
            run = []
        run.append(fact)
    if run:
        yield run


def sessions_in_turn(
    spec: lg.Session, rows: Iterable[tuple[Instant, Fact]], columns: tuple[str, ...]
) -> Facts:
    """Sessions of rows in order of arrival, each with the watermark that it came to.

    A session that the watermark has passed is told, and takes no more rows: what comes then begins another one.
    """
    gap = spec.gap_ms * MICROS
    found: Facts = []
    waiting: Facts = []
    for watermark, arrived in groupby(rows, key=lambda row: row[0]):
        groups = _grouped(waiting, columns, spec.partition)
        waiting = []
        for run in (run for group in groups for run in _runs(group, gap)):
            if run[-1].start + gap <= watermark:
                found += _closed(run, gap)
            else:
                waiting += run
        waiting += [fact for _, fact in arrived]
    groups = _grouped(waiting, columns, spec.partition)
    return [*found, *(fact for group in groups for fact in _sessions(group, gap))]


def _closed(run: Facts, gap: int) -> Iterable[Fact]:
    frame = Frame(run[0].start, run[-1].start + gap)
    return (Fact(fact.row, frame.end, frame.end + 1, frame) for fact in run)


def _last_rows(group: Facts, spec: lg.LastRows) -> Iterable[Fact]:
    """The i-th row (from 1) is in the window from the first slide at or after i until the rows after it push it out."""
    step = spec.slide or 1

    def instant_of(number: int) -> Instant:
        slid = -(-number // step) * step
        return group[slid - 1].start if slid <= len(group) else FOREVER

    for number, fact in enumerate(group, 1):
        start, end = instant_of(number), instant_of(number + spec.rows)
        if spec.range_ms is not None:
            end = min(end, fact.start + spec.range_ms * MICROS)
        if start < end:
            yield Fact(fact.row, start, end)


def ends_at(spec: lg.WindowSpec, fact: Fact) -> Instant:
    """The instant up to which the watermark lets the row into the window."""
    match spec:
        case lg.Sliding(range_ms, slide_ms):
            slide = slide_ms * MICROS
            return (fact.start + range_ms * MICROS) // slide * slide
        case lg.Session(gap_ms):
            return fact.start + gap_ms * MICROS
        case _:
            return fact.start


def is_complete(fact: Fact, watermark: Instant) -> bool:
    """False for a row of a window that the watermark has not passed."""
    return fact.frame is None or fact.frame.end <= watermark

