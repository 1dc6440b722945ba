"""What a bucket of a window join keeps beside its rows, as JSON: how far it is, and what it has learned."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from streamq.dsl.records import dataclass, replace
from streamq.stdlib.joins.adapting import Adapting
from streamq.stdlib.joins.correlation import Correlation, Counts
from streamq.stdlib.joins.join import Joined
from streamq.stdlib.joins.probe import Counters, no_counts
from streamq.stdlib.joins.selection import Floats, Ints
from streamq.stdlib.joins.utility import Gains

FORMAT = 1
"""Version of the layout, kept beside the state."""

PERIOD_US = 5_000_000
"""What is learned counts from one such time to the next (T_c), by the times of the rows."""


Part = TypeVar("Part")


@dataclass(frozen=True, slots=True)
class Period:
    """What was found since ``since``, in microseconds; ``None`` before any row came.

    ``counters`` of full probes of each window; ``came``: rows by type of each stream; ``found``: pairs by basic window.
    """

    since: int | None
    counters: tuple[Counters, Counters]
    came: tuple[Ints, Ints]
    found: tuple[Ints, Ints]

    def plus(self, joined: Joined, came: tuple[Ints, Ints]) -> Period:
        """With some rows more, ``came`` by type of each stream."""
        counters = pair(a.plus(b) for a, b in zip(self.counters, joined.counters, strict=True))
        rows = pair(a + b for a, b in zip(self.came, came, strict=True))
        found = pair(
            before + np.bincount(joined.position[joined.window == window], minlength=len(before))
            for window, before in enumerate(self.found)
        )
        return Period(self.since, counters, rows, found)


@dataclass(frozen=True, slots=True)
class Kept:
    """``horizon``: no row before it comes. ``next_ids``: numbers of the next rows of each side. ``carry``: of budgets, by type.

    ``adapting``, ``period``: what was learned, and since then found; None where all is compared.
    """

    horizon: int
    next_ids: tuple[int, int]
    carry: tuple[Floats, Floats]
    adapting: Adapting | None
    period: Period | None


def empty_period(n_bw: tuple[int, int], types: int, since: int | None) -> Period:
    """Nothing was found."""
    none = np.zeros(types, dtype=np.int64)
    return Period(
        since, (no_counts(n_bw[0], types), no_counts(n_bw[1], types)), (none, none),
        (np.zeros(n_bw[0], dtype=np.int64), np.zeros(n_bw[1], dtype=np.int64)),
    )


def encode(kept: Kept) -> bytes:
    """The bytes of it."""
    found: dict[str, Any] = {
        "format": FORMAT, "horizon": kept.horizon, "next_ids": kept.next_ids, "carry": [c.tolist() for c in kept.carry],
    }
    if kept.adapting is not None and kept.period is not None:
        learned, period = kept.adapting, kept.period
        found["learned"] = [
            {"recent": _counts(one.recent), "evidence": _counts(one.evidence), "order": one.order.tolist(), "uneven": one.uneven}
            for one in learned.learned
        ]
        found["gains"] = [[g.utility.tolist(), g.compared.tolist()] for g in learned.gains]
        found["came"] = [c.tolist() for c in learned.came]
        found["period"] = {
            "since": period.since, "came": [c.tolist() for c in period.came], "found": [f.tolist() for f in period.found],
            "counters": [
                [c.matches.tolist(), c.compared.tolist(), c.utility.tolist(), c.utility_compared.tolist()]
                for c in period.counters
            ],
        }
    return json.dumps(found, separators=(",", ":")).encode()


def decode(data: bytes, first: Kept) -> Kept:
    """What bytes of ``encode`` say; ``first``: what a bucket begins with."""
    found = json.loads(data)
    kept = replace(
        first, horizon=found["horizon"], next_ids=pair(found["next_ids"]), carry=pair(map(_floats, found["carry"]))
    )
    if first.adapting is None or "learned" not in found:
        return kept
    learned = pair(
        Correlation(Counts(*map(_floats, one["recent"])), Counts(*map(_floats, one["evidence"])), _ints(one["order"]), one["uneven"])
        for one in found["learned"]
    )
    gains = pair(Gains(*map(_floats, parts)) for parts in found["gains"])
    period = found["period"]
    return replace(
        kept, adapting=replace(first.adapting, learned=learned, gains=gains, came=pair(map(_floats, found["came"]))),
        period=Period(
            period["since"], pair(Counters(*map(_floats, parts)) for parts in period["counters"]),
            pair(map(_ints, period["came"])), pair(map(_ints, period["found"])),
        ),
    )


def pair(parts: Iterable[Part]) -> tuple[Part, Part]:
    """Both of two."""
    first, second = parts
    return first, second


def _counts(counts: Counts) -> list[list[float]]:
    return [counts.matches.tolist(), counts.compared.tolist(), counts.squares.tolist()]


def _floats(numbers: list[float]) -> Floats:
    return np.array(numbers, dtype=np.float64)


def _ints(numbers: list[int]) -> Ints:
    return np.array(numbers, dtype=np.int64)
