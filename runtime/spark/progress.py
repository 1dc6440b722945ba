"""Spark's progress reports as samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from streamq.runtime.control.looked import Looked
from streamq.runtime.metrics import QuerySample
from streamq.runtime.spark.backlog import backlog_of
from streamq.runtime.supervise.letters import Aside

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

CLOSING_METRIC = "closing"
"""What the rows are counted as that are no input and end it (``fixture_plan.py``)."""

OUTPUT_METRIC = "streamq.output"
"""Name under which the rows that reach a sink are observed, where Spark does not count them."""

LARGEST = 1e300

Progress = Mapping[str, Any]
"""One report in the form that Spark documents as JSON."""


@dataclass(slots=True)
class ProgressReader:
    """Reads the reports of one running query that were not read before, oldest first. ``aside``: what was put aside of it.

    ``input_taken``: when the last micro-batch took its input, in seconds since the epoch.
    """

    query: StreamingQuery
    name: str
    aside: Mapping[int, Aside] = field(default_factory=dict)
    input_taken: float | None = None
    _last: tuple[int, str] | None = None

    @property
    def latest(self) -> int:
        """The micro-batch of the last report that was read; -1 before the first."""
        return -1 if self._last is None else self._last[0]

    def read(self) -> Iterator[tuple[QuerySample, Looked]]:
        """Samples of the batches done since the last call, and what was seen in their rows; idle triggers give none.

        Spark keeps the last hundred reports. Only new ones are turned into JSON: doing so for all
        of them four times a second costs more than a small batch.
        """
        reports = self.query._jsq.recentProgress()
        fresh: list[Progress] = []
        for index in range(len(reports) - 1, -1, -1):
            report: Progress = json.loads(reports[index].json())
            if (report["batchId"], report["timestamp"]) == self._last:
                break
            fresh.append(report)
        for report in reversed(fresh):
            self._last = (report["batchId"], report["timestamp"])
            if "addBatch" in report["durationMs"]:
                sample = sample_of(self.name, report, self.input_taken)
                if (aside := self.aside.get(sample.batch)) is not None:
                    sample = put_aside(sample, report, aside)
                yield sample, looked_of(report)
                self.input_taken = _seconds(report["timestamp"])


def sample_of(query: str, report: Progress, input_taken: float | None) -> QuerySample:
    """The sample of one report. ``input_taken``: when the batch before took its input, in seconds
    since the epoch, or None for the first batch."""
    rows_in, shed, malformed = _intake(report)
    began = _seconds(report["timestamp"])
    batch_ms = int(report["durationMs"].get("triggerExecution", report.get("batchDuration") or 0))
    ended = began + batch_ms / 1000
    states = report.get("stateOperators") or ()
    times = report.get("eventTime") or {}
    backlog = backlog_of(report)
    since = began if input_taken is None else input_taken
    if backlog.oldest_ms is not None:
        since = min(ended, backlog.oldest_ms / 1000)
    return QuerySample(
        query=query,
        batch=int(report["batchId"]),
        ended=ended,
        rows_in=rows_in,
        kept=rows_in - shed - malformed,
        shed=shed,
        malformed=malformed,
        late=sum(int(s.get("numRowsDroppedByWatermark") or 0) for s in states),
        rows_out=_rows_out(report),
        batch_ms=batch_ms,
        rows_per_s=round(rows_in * 1000 / batch_ms, 1) if batch_ms else 0.0,
        watermark=_watermark(times),
        event_time_max=str(times.get("max") or ""),
        result_age_ms=round((ended - since) * 1000),
        state_rows=sum(int(s.get("numRowsTotal") or 0) for s in states),
        state_bytes=sum(int(s.get("memoryUsedBytes") or 0) for s in states),
        backlog_rows=backlog.rows,
        backlog_age_ms=backlog.age_ms(ended * 1000),
    )


def put_aside(sample: QuerySample, report: Progress, aside: Aside) -> QuerySample:
    """The sample of a micro-batch that was put aside: none of its rows was looked at, or none of its results written."""
    if aside.refused:
        return replace(sample, rows_out=0, refused=sample.rows_out)
    arrived = int(report.get("numInputRows") or 0)
    return replace(sample, rows_in=arrived, dead=arrived, kept=0, shed=0, malformed=0)


def _intake(report: Progress) -> tuple[int, int, int]:
    """Rows that arrived, were shed and were malformed, from what the query's scans observed.

    A scan of text counts what is ``malformed``, or what is ``well_formed`` where it is all that the query reads. A
    shedder, which stands above it, counts what ``arrived`` there and was ``kept``, or the latter alone where it stands
    over all that the query reads; of a stream that is ``spared`` all rows are. One that stands below it, over records of
    Kafka, counts what is ``drawn``, of which some are ``unreadable``, and so malformed. A query that sheds has one of these on
    each of its streams. What arrived is Spark's own number of input rows, where no shedder says it.
    """
    observed = (report.get("observedMetrics") or {}).values()

    def total(name: str) -> int:
        return sum(int(m[name]) for m in observed if m.get(name) is not None)

    arrived = int(report.get("numInputRows") or 0) - total(CLOSING_METRIC)
    malformed, unreadable = total("malformed"), total("unreadable")
    good = next((int(m["well_formed"]) for m in observed if m.get("well_formed") is not None), None)
    if good is not None:
        arrived = max(arrived, good)
        malformed = arrived - good
    if not any(m.get(name) is not None for m in observed for name in ("kept", "spared", "drawn")):
        return arrived, 0, malformed
    kept = total("kept") + total("spared") + total("drawn") - unreadable
    told = any(m.get("arrived") is not None for m in observed)
    bad = malformed + unreadable
    arrived = total("arrived") + malformed if told else max(arrived, kept + bad)
    return arrived, arrived - bad - kept, bad


def looked_of(report: Progress) -> Looked:
    """What the shedders of a query saw that go by what is in rows, and the error of its estimates."""
    observed = (report.get("observedMetrics") or {}).values()
    ranks = tuple(clamped(rank) for m in observed for rank in m.get("ranks") or ())
    times = [int(m["newest"]) for m in observed if m.get("newest") is not None]
    errors = [float(m["error"]) for m in observed if m.get("error") is not None]
    rows = tuple(dict(row) for m in observed for row in m.get("sample_of_rows") or ())
    spared = sum(int(m.get("spared") or 0) for m in observed)
    joined = tuple(str(text) for m in observed for text in m.get("joined") or ())
    read_until = backlog_of(report).youngest_ms
    return Looked(ranks, max(times, default=None), max(errors, default=None), rows, spared, joined, read_until)


def clamped(rank: Any) -> float:
    """A rank as a number that can be written down: JSON has no infinity."""
    return min(max(float(rank), -LARGEST), LARGEST)


def _rows_out(report: Progress) -> int:
    output = (report.get("observedMetrics") or {}).get(OUTPUT_METRIC)
    if output is not None:
        return int(output.get("rows") or 0)
    return max(0, int((report.get("sink") or {}).get("numOutputRows") or 0))


def _watermark(times: Mapping[str, Any]) -> str:
    """The watermark; Spark starts it at the epoch, which says nothing yet."""
    mark = str(times.get("watermark") or "")
    return "" if mark.startswith("1970-01-01T00:00:00") else mark


def _seconds(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).timestamp()
