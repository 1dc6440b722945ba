"""What a run did over time, as data: a point per micro-batch of each query.

The JSON form is the contract with whoever reads it: ``version`` counts its changes, numbers have their units in
their names, and rows obey arrived = kept + shed + malformed + dead (late rows are among the kept ones).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from streamq.runtime.metrics import QuerySample, QueryTotals, Received, RunReport, Selected, Sifted
from streamq.runtime.run import SilentListener

VERSION = 1

MOST_SAMPLES = 20_000
"""Of a query; where a run has more micro-batches than that, neighbours become one."""


@dataclass(frozen=True, slots=True)
class Point:
    """One micro-batch. ``seconds``: when it ended, since the first one began. Rates are rows per second."""

    seconds: float
    batch: int
    rows_in: int
    offered_per_s: float
    kept_per_s: float
    keep: float
    batch_ms: int
    age_ms: int
    late: int
    state_rows: int
    backlog_rows: int | None = None
    backlog_age_ms: int = 0

    def to_dict(self) -> dict[str, float | None]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class QueryRecord:
    """One query. ``latency_goal_ms``: how old its results may be; None where it does not say."""

    name: str
    totals: QueryTotals
    points: tuple[Point, ...]
    latency_goal_ms: int | None = None

    def age_ms(self, share: float, after_s: float = 0.0) -> float | None:
        """The age that so large a share of the arrived rows did not exceed, each row as old as its micro-batch's oldest.

        None where nothing arrived after ``after_s``.
        """
        points = [p for p in self.points if p.seconds >= after_s]
        weighted = sorted((p.age_ms, p.rows_in) for p in points)
        whole, found = sum(rows for _, rows in weighted), 0
        for age, rows in weighted:
            found += rows
            if found > 0 and found >= share * whole:
                return float(age)
        return None

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "name": self.name, "latency_goal_ms": self.latency_goal_ms,
            "completeness": completeness(self.totals), "totals": self.totals.to_dict(),
            "batches": [p.to_dict() for p in self.points],
        }


@dataclass(frozen=True, slots=True)
class RunRecord:
    """A whole run of a program."""

    program: str
    ended_by: str
    seconds: float
    queries: tuple[QueryRecord, ...]
    sifted: tuple[Sifted, ...] = ()
    selected: tuple[Selected, ...] = ()
    received: tuple[Received, ...] = ()
    given_up: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """The JSON form."""
        return {
            "version": VERSION, "program": self.program, "ended_by": self.ended_by,
            "seconds": round(self.seconds, 3), "queries": [q.to_dict() for q in self.queries],
            "sifters": [s.to_dict() for s in self.sifted], "joins": [s.to_dict() for s in self.selected],
            "edges": [s.to_dict() for s in self.received], "given_up": list(self.given_up),
        }


def completeness(totals: QueryTotals) -> float:
    """The share of the rows that arrived whole which was kept, late rows taken off; 1 where none arrived.

    Rows that were put aside count as not kept.
    """
    arrived = totals.kept + totals.shed + totals.dead
    return max(0, totals.kept - totals.late) / arrived if arrived else 1.0


@dataclass(slots=True)
class Recorder(SilentListener):
    """Keeps the samples of a run, in memory that does not grow: at most ``most`` of each query."""

    samples: dict[str, list[QuerySample]] = field(default_factory=dict)
    most: int = MOST_SAMPLES

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        kept = self.samples.setdefault(sample.query, [])
        kept.append(sample)
        if len(kept) > self.most:
            pairs = zip(kept[0:-1:2], kept[1::2], strict=False)
            self.samples[sample.query] = [joined(*pair) for pair in pairs] + kept[len(kept) // 2 * 2 :]

    def record(self, program: str, report: RunReport, goals: Mapping[str, int]) -> RunRecord:
        """The record of the run that ended so. ``goals``: milliseconds, by query."""
        began = min((s.ended - s.batch_ms / 1000 for of in self.samples.values() for s in of), default=0.0)
        queries = tuple(
            QueryRecord(t.query, t, _points(self.samples.get(t.query, []), began), goals.get(t.query))
            for t in report.totals
        )
        return RunRecord(
            program, report.ended_by, report.seconds, queries, report.sifted, report.selected, report.received,
            report.given_up,
        )


def joined(first: QuerySample, second: QuerySample) -> QuerySample:
    """Two micro-batches that follow each other as one: its rows are those of both, its results as old as the older ones."""
    batch_ms, rows_in = first.batch_ms + second.batch_ms, first.rows_in + second.rows_in
    return replace(
        second, rows_in=rows_in, kept=first.kept + second.kept, shed=first.shed + second.shed,
        malformed=first.malformed + second.malformed, dead=first.dead + second.dead, late=first.late + second.late,
        rows_out=first.rows_out + second.rows_out, refused=first.refused + second.refused,
        batch_ms=batch_ms, rows_per_s=1000 * rows_in / batch_ms if batch_ms else 0.0,
        result_age_ms=max(first.result_age_ms, second.result_age_ms), watermark=second.watermark or first.watermark,
        event_time_max=max(first.event_time_max, second.event_time_max),
    )


def _points(samples: list[QuerySample], began: float) -> tuple[Point, ...]:
    points: list[Point] = []
    before = began
    for sample in samples:
        # A micro-batch reads what came since the one before it.
        seconds = max(sample.ended - before, 0.001)
        arrived = sample.kept + sample.shed
        points.append(Point(
            seconds=round(sample.ended - began, 3), batch=sample.batch, rows_in=sample.rows_in,
            offered_per_s=round(sample.rows_in / seconds, 1), kept_per_s=round(sample.kept / seconds, 1),
            keep=round(sample.kept / arrived, 6) if arrived else 1.0, batch_ms=sample.batch_ms,
            age_ms=sample.result_age_ms, late=sample.late, state_rows=sample.state_rows,
            backlog_rows=sample.backlog_rows, backlog_age_ms=sample.backlog_age_ms,
        ))
        before = sample.ended
    return tuple(points)
