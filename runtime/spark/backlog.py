"""What a source that numbers its records says of those that wait, and how old those are that were read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OLDEST, YOUNGEST = "oldest_record", "youngest_record"


@dataclass(frozen=True, slots=True)
class Backlog:
    """``rows``: records that were there when the micro-batch took its input and that it left; None where no source tells.

    ``oldest_ms``, ``youngest_ms``: the times of the records that it kept, in milliseconds since 1970.
    """

    rows: int | None = None
    oldest_ms: float | None = None
    youngest_ms: float | None = None

    def age_ms(self, now_ms: float) -> int:
        """How long the oldest record that is not read yet has waited, at most: it is newer than all that were read."""
        return max(0, round(now_ms - self.youngest_ms)) if self.rows and self.youngest_ms is not None else 0


def backlog_of(report: Mapping[str, Any]) -> Backlog:
    """The backlog behind a micro-batch, over all sources of a query.

    Of several sources the newest record is that of the one which is furthest behind.
    """
    left = [_left(source) for source in report.get("sources") or ()]
    known = [rows for rows in left if rows is not None]
    observed = (report.get("observedMetrics") or {}).values()
    oldest = [int(m[OLDEST]) / 1000 for m in observed if m.get(OLDEST) is not None]
    youngest = [int(m[YOUNGEST]) / 1000 for m in observed if m.get(YOUNGEST) is not None]
    return Backlog(sum(known) if known else None, min(oldest, default=None), min(youngest, default=None))


def _left(source: Mapping[str, Any]) -> int | None:
    """Records of a source between the end of the micro-batch and the newest one, by topic and partition."""
    end, latest = source.get("endOffset"), source.get("latestOffset")
    if not (_by_partition(end) and _by_partition(latest)):
        return None
    assert isinstance(end, Mapping)
    assert isinstance(latest, Mapping)
    return sum(
        max(0, int(place) - int(end.get(topic, {}).get(part, 0)))
        for topic, places in latest.items() for part, place in places.items()
    )


def _by_partition(offset: object) -> bool:
    return isinstance(offset, Mapping) and bool(offset) and all(isinstance(p, Mapping) for p in offset.values())
