"""One bucket of a window join: its windows from bytes to numpy and back, and a micro-batch of rows joined (ADR 0015)."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass, replace
from streamq.runtime.spark import join_state
from streamq.runtime.spark.join_pairs import pair_batches, telling
from streamq.runtime.spark.join_rows import WORTHS, RowFormat, coded, condition_of
from streamq.runtime.spark.join_state import PERIOD_US, Kept, Period, empty_period, pair
from streamq.runtime.spark.pandas_rows import record_batch
from streamq.stdlib.joins.adapting import Adapting, start
from streamq.stdlib.joins.join import State, join
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.rates import Rate
from streamq.stdlib.joins.selection import Ints, Selection, newest_first
from streamq.stdlib.joins.window import BasicWindow, Grid, Ring, Rows
from streamq.stdlib.timelines.table import NEVER

if TYPE_CHECKING:
    import pandas as pd

Place = tuple[int, int]
"""Where something is kept: side and cell of a basic window, or ``OWN``."""

OWN: Place = (2, 0)
"""The place of what is no row."""

MICROS = 1000
"""Microseconds per millisecond."""

MOST_PAIRS = 4_000_000
"""Pairs that are held at once, more or less: rows are joined in parts where a micro-batch has more. Those of one time stay together."""

_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(frozen=True, slots=True)
class Written:
    """After a micro-batch: what is kept now at some places, and the places at which nothing is any more."""

    data: Mapping[Place, bytes]
    gone: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """One side: ``table``: the rows that are kept and those that came, the same as ``rows``; ``ring``: those that are kept.

    ``old``: how many these are; ``own``: which of the others will be kept here. ``by_id``: positions in the order of ids.
    """

    table: pa.Table
    rows: Rows
    ring: Ring
    old: int
    own: np.ndarray[Any, Any]
    by_id: Ints

    def came(self, first: int, last: int) -> Rows:
        """Some of the rows that came, which are in order of time."""
        return self.rows.take(slice(self.old + first, self.old + last))

    @property
    def times(self) -> Ints:
        return self.rows.at[self.old :]

    def places_of(self, ids: Ints) -> Ints:
        """The positions of rows in the table."""
        return self.by_id[np.searchsorted(self.rows.ids, ids, sorter=self.by_id)]


@dataclass(frozen=True, slots=True)
class JoinBucket:
    """``sampled``: the base share of full probes; None: all is compared, and nothing learned."""

    form: RowFormat
    plan: WindowJoin
    sampled: float | None

    @staticmethod
    def of(
        condition: tuple[Any, ...], grids: tuple[tuple[int, int], tuple[int, int]], kinds: tuple[str, ...], left: int,
        sampled: float | None, worths: bool,
    ) -> JoinBucket:
        """The bucket of a physical step."""
        tested, indexed = condition_of(condition)
        plan = WindowJoin(tested, (Grid(*grids[0]), Grid(*grids[1])), indexed, utility=WORTHS if worths else np.ones(1))
        return JoinBucket(RowFormat(condition, kinds, left, worths), plan, sampled)

    def advance(
        self, bucket: int, stored: Mapping[Place, bytes], batches: Iterator[pa.RecordBatch], watermark: int
    ) -> Generator[pa.RecordBatch, None, Written]:
        """The pairs that a micro-batch makes, and what is kept after it. ``bucket``: its number; ``watermark``: in milliseconds."""
        kept = self._first() if OWN not in stored else join_state.decode(stored[OWN], self._first())
        came = pa.Table.from_batches([b.select(self.form.incoming().names) for b in batches]).cast(self.form.incoming())
        condition, sides = self._sides(stored, came, kept)
        plan = replace(self.plan, condition=condition)
        frac = float(came["frac"][0].as_py() or 0.0) if len(came) else 1.0
        adapting = None if kept.adapting is None else replace(kept.adapting, rate=Rate(frac))
        chosen = newest_first(1.0, self._n_bw) if adapting is None else self._of_instants(adapting.selection)
        state, period = State((sides[0].ring, sides[1].ring), kept.carry, kept.horizon), kept.period
        done, size = (0, 0), max(1, MOST_PAIRS // max(1, *(len(side.rows) for side in sides)))
        ends = len(sides[0].times), len(sides[1].times)
        while done != ends:
            upto = _upto(sides, done, size)
            part = pair(side.came(a, b) for side, a, b in zip(sides, done, upto, strict=True))
            own = pair(r.take(side.own[a:b]) for r, side, a, b in zip(part, sides, done, upto, strict=True))
            horizon = watermark * MICROS if upto == ends else state.horizon
            state, joined = join(plan, state, part, chosen, horizon, own)
            places = [side.places_of(ids) for side, ids in zip(sides, (joined.left, joined.right), strict=True)]
            yield from pair_batches(self.form, [side.table for side in sides], places)
            if period is not None:
                period = period.plus(joined, pair(np.bincount(r.types, minlength=len(plan.utility)) for r in part))
            size = max(1, sum(map(len, part)) * MOST_PAIRS // max(1, len(joined.at)))
            done = upto
        if adapting is not None and period is not None and any(ends):
            latest = max(int(side.times[-1]) for side in sides if len(side.times))
            if period.since is None:
                period = replace(period, since=min(int(side.times[0]) for side in sides if len(side.times)))
            kept, told = self._learned(bucket, replace(kept, period=period), adapting, latest)
            if told is not None:
                yield telling(self.form, told, latest)
        kept = replace(
            kept, horizon=state.horizon, carry=state.carry,
            next_ids=pair(first + new for first, new in zip(kept.next_ids, ends, strict=True)),
        )
        return _written(sides, state.rings, join_state.encode(kept))

    def from_pandas(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """The rows that come in a data frame."""
        return record_batch(frame, self.form.incoming())

    def _of_instants(self, chosen: Selection) -> Selection:
        """With all of a window that holds one instant, beside one that is longer: that costs next to nothing."""
        short = [grid.length == 0 for grid in self.plan.grids]
        if all(short):
            return newest_first(chosen.frac, self._n_bw)
        if not any(short):
            return chosen
        by_type = chosen.frac_type
        return replace(
            chosen, frac_dir=np.where(short, 1.0, chosen.frac_dir),
            frac_type=None if by_type is None else pair(np.ones(len(f)) if s else f for f, s in zip(by_type, short, strict=True)),
        )

    @property
    def _n_bw(self) -> tuple[int, int]:
        return self.plan.grids[0].n_bw, self.plan.grids[1].n_bw

    def _first(self) -> Kept:
        types = len(self.plan.utility)
        none = np.zeros(types)
        adapting = None if self.sampled is None else start(self.plan, sample_p=self.sampled)
        period = None if self.sampled is None else empty_period(self._n_bw, types, None)
        return Kept(NEVER, (0, 0), (none, none), adapting, period)

    def _sides(self, stored: Mapping[Place, bytes], came: pa.Table, kept: Kept) -> tuple[Any, tuple[_Side, _Side]]:
        """Both sides, and the condition that goes with the codes of their items."""
        tables, owns, cells, ends = [], [], [], []
        for side in (0, 1):
            new, own = self.form.numbered(came, side, kept.next_ids[side])
            cells.append(sorted(cell for part, cell in stored if part == side))
            parts = [pa.ipc.open_stream(pa.py_buffer(stored[side, c]), options=_READ).read_all() for c in cells[side]]
            tables.append(pa.concat_tables([*parts, new]).combine_chunks())
            ends.append(np.cumsum([0, *map(len, parts)]).tolist())
            owns.append(own)
        condition, rows = coded(self.plan.condition, tuple(map(self.form.rows, tables)))
        found = (
            _Side(
                tables[side], rows[side], _ring(rows[side], cells[side], ends[side]), ends[side][-1], owns[side],
                np.argsort(rows[side].ids),
            )
            for side in (0, 1)
        )
        return condition, pair(found)

    def _learned(self, bucket: int, kept: Kept, adapting: Adapting, latest: int) -> tuple[Kept, str | None]:
        """What is known after a micro-batch whose latest row is of that time; at the end of a period, what is told of it."""
        period = kept.period
        assert period is not None
        assert period.since is not None
        if latest - period.since < PERIOD_US:
            return kept, None
        adapting = adapting.informed(period.counters, period.came)
        again = empty_period(self._n_bw, len(self.plan.utility), latest)
        return replace(kept, adapting=adapting, period=again), _told(bucket, adapting, period)


def _ring(rows: Rows, cells: list[int], ends: list[int]) -> Ring:
    """Those of the rows that are kept, one basic window after the other."""
    bounds = zip(cells, ends[:-1], ends[1:], strict=True)
    return tuple(BasicWindow(cell, rows.take(slice(first, last))) for cell, first, last in bounds)


def _upto(sides: tuple[_Side, _Side], done: tuple[int, int], size: int) -> tuple[int, int]:
    """The ends of the next part of the rows that came: about so many of both sides together, and all of one time."""
    left = [side.times[first:] for side, first in zip(sides, done, strict=True)]
    if sum(map(len, left)) <= size:
        return pair(first + len(times) for first, times in zip(done, left, strict=True))
    at = np.sort(np.concatenate(left))[size - 1]
    return pair(first + int(np.searchsorted(times, at, "right")) for first, times in zip(done, left, strict=True))


def _told(bucket: int, adapting: Adapting, period: Period) -> str:
    windows = [
        {
            "matches": one.recent.matches.tolist(), "compared": one.recent.compared.tolist(), "order": one.order.tolist(),
            "found": found.tolist(),
        }
        for one, found in zip(adapting.learned, period.found, strict=True)
    ]
    fractions = {"frac": adapting.rate.frac, "frac_dir": adapting.selection.frac_dir.tolist()}
    return json.dumps({"bucket": bucket, **fractions, "windows": windows})


def _written(sides: tuple[_Side, _Side], rings: tuple[Ring, Ring], own: bytes) -> Written:
    """The basic windows that gained rows, and those that are let go."""
    data, gone = {OWN: own}, []
    for number, (side, ring) in enumerate(zip(sides, rings, strict=True)):
        before = {bw.cell: bw for bw in side.ring}
        for bw in ring:
            if before.get(bw.cell) is not bw:
                data[number, bw.cell] = _encode(side.table.take(pa.array(side.places_of(bw.rows.ids))))
        gone += [(number, cell) for cell in before.keys() - {bw.cell for bw in ring}]
    return Written(data, tuple(sorted(gone)))


def _encode(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_WRITE) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())
