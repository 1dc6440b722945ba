"""What an edge is told about its stream: columns, cycle, capacity, what may be shed, and how exactly it comes back.

The central run makes it; it goes to the edge as a small file (``plan_file``), and later ones with the answers to messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Literal, get_args

import pyarrow as pa

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.bad_plan import BadPlan
from streamq.runtime.edge.columns import TYPES
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.stdlib.attributes.kinds import MIN_CYCLES, Unit
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.attributes.reevaluation import Schedule
from streamq.stdlib.recovery.intervals import Denominator
from streamq.stdlib.recovery.retaining import Rule

__all__ = ["BadPlan", "CycleRule", "EdgePlan"]

Format = Literal["json", "csv"]

MOST_COLUMNS, MOST_ROWS = 1_000, 1_000_000
"""Of a stream, and of a cycle or of training."""

LEAST_BUCKET, MOST_BUCKET = 4_096, 1 << 23
"""Bytes that may go at once: a message has to fit in, and the receiver takes none that is larger."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRule:
    """By which ``key`` rows come again after ``length`` rows. What is not told is found in the first ``training_rows``.

    Without both, both; without a length, how many different keys there are, as soon as each can have come ``min_cycles``
    times. A length without a key: windows of so many rows in the order of arrival, which are all of one key.
    ``tolerance``: the share of rows that may be missing, late or there twice where both are found.
    """

    key: tuple[str, ...] = ()
    length: int = 0
    training_rows: int = 0
    min_cycles: int = MIN_CYCLES
    tolerance: float = 0.0

    @property
    def auto(self) -> bool:
        """Whether all of it is to be found."""
        return not self.key and not self.length


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgePlan:
    """What is asked of the edge of one stream.

    ``columns``: name and Arrow type, in order. ``protected``: never shed; the cycle key never is anyhow. ``unread``: what
    nobody reads is never sent, and is no part of what is offered. ``retained``: of which attributes values are kept where
    they are shed, or unread; None for all that are shed. ``capacity_kbps``: of the wire; ``bucket_bytes``: what may go at once
    after a pause, 0 for a second of the capacity. On a channel that edges share the capacity is lent: after ``lease_s``
    seconds in which the central side acknowledged nothing only ``floor_kbps`` are left of it, until it does; with 0 it is
    for good. ``unit``, ``utilisation``, ``ranking``, ``reevaluation``: see ``stdlib.attributes``. ``error_pct``: how far a recovered value may be from what
    was shed, in percent, and ``errors`` of single attributes; with ``error_auto`` those of the others are found in the
    training rows, at most ``error_cap_pct`` where there is a cap. ``retain_s``: for how long values can be asked for.
    ``synopsis_bytes``: what may be kept of them, the oldest go first. ``sift``: rows are shed and no columns, so that nothing
    is retained; the cycle is a window of rows without a key. ``linger_s``: after how long rows are sent that are not a
    whole cycle. ``revision`` counts the plans of a stream. ``token``: shared with the central side, never shown.

    Raises ``BadPlan`` for what cannot be.
    """

    stream: str
    columns: Mapping[str, str]
    cycle: CycleRule
    capacity_kbps: float
    protected: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    retained: frozenset[str] | None = None
    format: Format = "json"
    bucket_bytes: int = 0
    unit: Unit = "COUNT"
    utilisation: float = 1.0
    ranking: Ranking = field(default_factory=Ranking)
    reevaluation: Schedule = field(default_factory=Schedule)
    error_pct: float = 0.0
    errors: Mapping[str, float] = field(default_factory=dict)
    error_auto: bool = False
    error_cap_pct: float | None = None
    denominator: Denominator = "sv"
    retain_s: float = 7 * 86_400.0
    synopsis_bytes: int = 1 << 30
    linger_s: float = 60.0
    lease_s: float = 0.0
    floor_kbps: float = 0.0
    sift: SiftRule | None = None
    revision: int = 1
    token: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        """Checks all of it."""
        if not NAME.fullmatch(self.stream):
            raise BadPlan("a stream is named by letters, digits and underscores, at most a hundred")
        if not 0 < len(self.columns) <= MOST_COLUMNS:
            raise BadPlan(f"a stream has from 1 to {MOST_COLUMNS} columns")
        for name, type_ in self.columns.items():
            if not name or len(name) > 200:
                raise BadPlan("a column has a name of at most 200 characters")
            if type_ not in TYPES:
                raise BadPlan(f"column {name} has type {type_!r}, and not one of {', '.join(TYPES)}")
        self._check_names()
        self._check_numbers()
        if self.sift is not None:
            self._check_sift(self.sift)
        if self.format not in get_args(Format) or self.unit not in get_args(Unit):
            raise BadPlan("a source has format json or csv, attributes count by COUNT or BYTES")

    def _check_names(self) -> None:
        named = {
            "protected": self.protected, "unread": self.unread, "retained": self.retained or (), "errors": self.errors, "the cycle key": self.cycle.key,
            "clock": self.ranking.clock, "scale": self.ranking.scale, "protect": self.ranking.protect,
        }
        for place, names in named.items():
            if unknown := sorted(set(names) - set(self.columns)):
                raise BadPlan(f"{place} names {', '.join(unknown)}, which the stream does not have")
        if both := sorted(self.unread & self.kept):
            raise BadPlan(f"{', '.join(both)} cannot be unread: it is protected, or of the cycle key")

    def _check_numbers(self) -> None:
        cycle = self.cycle
        if cycle.auto and not 0 < cycle.training_rows <= MOST_ROWS:
            raise BadPlan(f"a cycle is found in from 1 to {MOST_ROWS} training rows")
        if not cycle.length and not 0 < cycle.training_rows <= MOST_ROWS:
            raise BadPlan(f"the length of a cycle is found in from 1 to {MOST_ROWS} training rows")
        if len(set(cycle.key)) < len(cycle.key) or not 0 <= cycle.length <= MOST_ROWS:
            raise BadPlan(f"a cycle has a key of different columns, and from 1 to {MOST_ROWS} rows")
        if not 0 <= cycle.training_rows <= MOST_ROWS:
            raise BadPlan(f"there are at most {MOST_ROWS} training rows")
        if cycle.min_cycles < 2 or not 0 <= cycle.tolerance < 1:
            raise BadPlan("a cycle is seen at least twice, and a tolerance is a share below 1")
        if not (0 < self.capacity_kbps < math.inf and 0 < self.utilisation <= 1):
            raise BadPlan("a capacity is above 0 kbit/s, of which a part up to 1 is used")
        if not (0 <= self.lease_s < math.inf and 0 <= self.floor_kbps <= self.capacity_kbps):
            raise BadPlan("a capacity is lent for some seconds, and a part of it is left after them")
        if self.lease_s and not self.floor_kbps:
            raise BadPlan("something is left of a capacity that is lent, or an edge could not ask for it again")
        if self.bucket_bytes and not LEAST_BUCKET <= self.bucket_bytes <= MOST_BUCKET:
            raise BadPlan(f"a bucket holds from {LEAST_BUCKET} to {MOST_BUCKET} bytes")
        for pct in (self.error_pct, self.error_cap_pct or 0.0, *self.errors.values()):
            if not 0 <= pct <= 100:
                raise BadPlan("an error is from 0 to 100 percent")
        if not (0 < self.retain_s < math.inf and 0 < self.linger_s < math.inf and self.synopsis_bytes > 0):
            raise BadPlan("values are retained, and rows wait, for some time but not for ever, and take more than no room")
        ranking = self.ranking
        if not 0 < ranking.alpha <= 1 or not all(0 <= scale < math.inf for scale in ranking.scale.values()):
            raise BadPlan("the weight of a value is above 0 and at most 1, and a scale is from 0")
        if not isinstance(ranking.seed, str) and not math.isfinite(ranking.seed):
            raise BadPlan("an average starts from a number")
        if ranking.seed == "SMA" and (ranking.seed_rows or 0) < 1:
            raise BadPlan("a simple average to start from is over at least one row")
        if not 0 <= self.revision < 1 << 32 or len(self.token) > 1_000:
            raise BadPlan("a revision is a small whole number, a token at most a thousand characters")

    def _check_sift(self, sift: SiftRule) -> None:
        sift.check(self.columns)
        if self.cycle.key or self.cycle.auto:
            raise BadPlan("rows are sifted in windows of so many of them, without a key")
        if self.retained or self.error_auto:
            raise BadPlan("where rows are sifted no column is shed, and nothing is retained")
        if not self.read:
            raise BadPlan("rows are sifted to be read, and nobody reads a column of them")

    @property
    def kept(self) -> frozenset[str]:
        """Columns that are never shed, as far as the key is known."""
        return self.protected | self.ranking.protect | set(self.cycle.key)

    @property
    def read(self) -> tuple[str, ...]:
        """Columns that somebody reads, in order."""
        return tuple(name for name in self.columns if name not in self.unread)

    def retains(self, name: str) -> bool:
        """Whether values of a column are kept where it is not sent."""
        return name not in self.unread if self.retained is None else name in self.retained

    @property
    def schema(self) -> pa.Schema:
        """Of the rows, before anything is shed."""
        return pa.schema([(name, TYPES[type_]) for name, type_ in self.columns.items()])

    @property
    def bucket(self) -> int:
        """Bytes that may go at once: ``bucket_bytes``, or what goes in a second, at least 4 KiB and at most 8 MiB."""
        return self.bucket_bytes or max(LEAST_BUCKET, min(MOST_BUCKET, int(self.capacity_kbps * 125)))

    def rule(self, attribute: str) -> Rule:
        """How exactly an attribute is retained."""
        return Rule(self.errors.get(attribute, self.error_pct), self.denominator)

    def succeeds(self, other: EdgePlan) -> EdgePlan:
        """The same in the place of an earlier plan, with its token and the errors that were found. BadPlan where rows are others: those need a new store."""
        same = ("stream", "columns", "cycle", "format")
        if changed := [name for name in same if getattr(self, name) != getattr(other, name)]:
            raise BadPlan(f"a running edge cannot change its {' and '.join(changed)}")
        return replace(self.with_errors_of(other), token=other.token)

    def with_errors_of(self, other: EdgePlan) -> EdgePlan:
        """With the errors that were found for an earlier plan, where they are still to be found: there is no training again."""
        if not self.error_auto:
            return self
        cap = 100.0 if self.error_cap_pct is None else self.error_cap_pct
        known = {name: min(pct, cap) for name, pct in other.errors.items()}
        return replace(self, errors=known | dict(self.errors))
