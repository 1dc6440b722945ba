"""Immutable records of a run: a sample per micro-batch, totals per query, result rows, report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from streamq.dsl.diagnostics import Diagnostic

Cell = Any
"""A value of a result row as Python has it (``int``, ``str``, ``datetime``, ``dict`` …)."""


@dataclass(frozen=True, slots=True)
class QuerySample:
    """What one micro-batch of one query did.

    Rows: ``rows_in`` arrived = ``kept`` + ``shed`` + ``malformed`` + ``dead``, those of a micro-batch that was put
    aside; ``late`` rows came after the watermark and are among the kept ones: at least so many, as Spark counts them where
    it drops them, and for an aggregate that is after those of a group in a task have become one. ``rows_out`` went to the sink, which would not take ``refused`` others. ``rows_per_s`` is ``rows_in`` per second of the
    batch. ``ended``: seconds since the epoch. ``watermark``, ``event_time_max``: ISO 8601 in UTC,
    empty where the query has none. ``result_age_ms``: how long the oldest row of the batch may have
    waited when its results were out, counted from the moment the batch before took its input; exact where records say when
    they came. ``backlog_rows``: records that it left unread, None where the source does not tell; ``backlog_age_ms``: how long
    the oldest of them has waited at most.
    """

    query: str
    batch: int
    ended: float
    rows_in: int = 0
    kept: int = 0
    shed: int = 0
    malformed: int = 0
    dead: int = 0
    late: int = 0
    rows_out: int = 0
    refused: int = 0
    batch_ms: int = 0
    rows_per_s: float = 0.0
    watermark: str = ""
    event_time_max: str = ""
    result_age_ms: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    backlog_rows: int | None = None
    backlog_age_ms: int = 0

    def to_dict(self) -> dict[str, object]:
        """The JSON form of one sample."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class QueryTotals:
    """Sums over the samples of one query; state, watermark and backlog are the latest ones.

    ``latency_goal_ms``: how old results may be, None where the query does not say; ``missed_goal``: the micro-batches whose
    results were older.
    """

    query: str
    batches: int = 0
    rows_in: int = 0
    kept: int = 0
    shed: int = 0
    malformed: int = 0
    dead: int = 0
    late: int = 0
    rows_out: int = 0
    refused: int = 0
    busy_ms: int = 0
    worst_age_ms: int = 0
    state_rows: int = 0
    state_bytes: int = 0
    watermark: str = ""
    backlog_rows: int | None = None
    backlog_age_ms: int = 0
    latency_goal_ms: int | None = None
    missed_goal: int = 0

    def plus(self, sample: QuerySample) -> QueryTotals:
        """The totals with one more sample; idle triggers do not count as batches."""
        missed = self.latency_goal_ms is not None and sample.result_age_ms > self.latency_goal_ms
        return QueryTotals(
            query=self.query,
            batches=self.batches + 1,
            rows_in=self.rows_in + sample.rows_in,
            kept=self.kept + sample.kept,
            shed=self.shed + sample.shed,
            malformed=self.malformed + sample.malformed,
            dead=self.dead + sample.dead,
            late=self.late + sample.late,
            rows_out=self.rows_out + sample.rows_out,
            refused=self.refused + sample.refused,
            busy_ms=self.busy_ms + sample.batch_ms,
            worst_age_ms=max(self.worst_age_ms, sample.result_age_ms),
            state_rows=sample.state_rows,
            state_bytes=sample.state_bytes,
            watermark=sample.watermark or self.watermark,
            backlog_rows=sample.backlog_rows,
            backlog_age_ms=sample.backlog_age_ms,
            latency_goal_ms=self.latency_goal_ms,
            missed_goal=self.missed_goal + missed,
        )

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ResultRows:
    """The rows that a micro-batch sent to a console or memory sink.

    ``rows`` may be the first of ``total``; ``update``: they replace earlier rows of equal ``keys``;
    ``whole``: long values are to be shown uncut.
    """

    query: str
    batch: int
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    total: int
    update: bool = False
    keys: tuple[str, ...] = ()
    whole: bool = False

    def to_dicts(self) -> list[dict[str, Cell]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class SiftedQuery:
    """The share of the rows it wants that a query was to get, and got, 0 to 1."""

    name: str
    expected: float
    got: float


@dataclass(frozen=True, slots=True)
class Sifted:
    """What was expected of a sifter, and what it did, over a run: shares 0 to 1.

    ``expected_keep``, ``keep``: of all rows; ``expected_quality``, ``quality``: of all answers together, as the weights and
    slopes of the queries have it, if all kept what the query ``seen_by`` did, whose rows are looked at. What was got is
    estimated from those. ``built``: how often it was built.
    """

    stream: str
    attributes: tuple[str, ...]
    seen_by: str
    built: int
    expected_keep: float
    keep: float
    expected_quality: float
    quality: float
    queries: tuple[SiftedQuery, ...]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SelectedWindow:
    """One window of a join that selects, by basic windows, the newest first.

    ``frac``: the fraction of it that was compared at last. ``match_p``: pairs per comparison, as learned. ``found``: pairs.
    """

    frac: float
    match_p: tuple[float, ...]
    found: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Selected:
    """What a join with SHED JOIN has learned. ``frac``: the fraction of both windows; ``bw_s``: seconds of a basic window.

    ``windows``: the left one, which rows of the right stream are compared with, and the right one.
    """

    query: str
    frac: float
    bw_s: float
    windows: tuple[SelectedWindow, SelectedWindow]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Received:
    """What came from the edge of a stream. ``dropped``: rows that went there; ``shed``: values; of those that were asked for, ``recovered`` ones, those whose
    answer came too ``late``, and those that the edge had ``not_retained``; ``bad``: files that were no messages.
    """

    stream: str = ""
    rows: int = 0
    dropped: int = 0
    messages: int = 0
    shed: int = 0
    recovered: int = 0
    late: int = 0
    not_retained: int = 0
    bad: int = 0

    def __add__(self, other: Received) -> Received:
        """Both together, of the same stream."""
        numbers = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self) if f.name != "stream"}
        return replace(self, **numbers)

    @property
    def words(self) -> str:
        """As a line of the summary."""
        parts = [f"{self.rows:,} rows came from the edge of {self.stream}"]
        if self.dropped:
            parts.append(f"{self.dropped:,} were shed there, {self.rows / (self.rows + self.dropped):.1%} kept")
        if self.shed:
            missing = {"too late": self.late, "not retained": self.not_retained}
            lost = ", ".join(f"{n:,} {why}" for why, n in missing.items() if n)
            parts.append(f"{self.shed:,} values shed, {self.recovered:,} of them recovered{f' ({lost})' if lost else ''}")
        if self.bad:
            parts.append(f"{self.bad:,} files put aside that were no messages")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RunReport:
    """How a run ended: ``finished``, ``duration``, ``limit``, ``signal`` or ``failed``.

    ``seconds`` counts from the start of the queries, without the start of Spark. ``timed_s``: the duration that was asked for,
    None unless it counted from the first micro-batch of every query. ``memory`` holds
    the rows of memory sinks by query, batch after batch. ``unfinished``: the queries that had to be
    stopped, as they had not ended by themselves. ``given_up``: the queries that failed for good, while others may have
    gone on. ``sifted``: of each sifter. ``selected``: of each join that selects.
    ``received``: of each stream from an edge.
    """

    ended_by: str
    seconds: float
    totals: tuple[QueryTotals, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    memory: Mapping[str, tuple[ResultRows, ...]] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()
    sifted: tuple[Sifted, ...] = ()
    selected: tuple[Selected, ...] = ()
    received: tuple[Received, ...] = ()
    given_up: tuple[str, ...] = ()
    timed_s: float | None = None

    @property
    def failed(self) -> bool:
        return self.ended_by == "failed" or bool(self.given_up)

    def rows(self, query: str) -> list[dict[str, Cell]]:
        """All rows that a memory sink received, in order."""
        return [row for batch in self.memory.get(query, ()) for row in batch.to_dicts()]
