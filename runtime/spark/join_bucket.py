"""One bucket of a window join: its windows from bytes to numpy and back, and a micro-batch of rows joined (ADR 0015)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.dsl.records import dataclass, replace
from streamq.runtime.spark import join_state
from streamq.runtime.spark.join_rows import WORTHS, RowFormat, coded, condition_of
from streamq.runtime.spark.join_state import PERIOD_US, Kept, empty_period, pair
from streamq.runtime.spark.pieces import pieces
from streamq.runtime.spark.stateful import TIME
from streamq.stdlib.joins.adapting import Adapting, start
from streamq.stdlib.joins.join import Joined, State, join
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

_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)


@dataclass(frozen=True, slots=True)
class Step:
    """After a micro-batch: basic windows ``written`` anew, those that are ``gone``, and the pairs as Spark takes them."""

    written: Mapping[Place, bytes]
    gone: tuple[Place, ...]
    results: Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class _Side:
    """Rows of one side: all that are kept and all that came as one ``table``, joined as ``rows``; ``ring``: those kept.

    ``old``: how many were kept; ``own``: which of the others will be.
    """

    table: pa.Table
    rows: Rows
    ring: Ring
    old: int
    own: np.ndarray[Any, Any]

    @property
    def new(self) -> Rows:
        return self.rows.take(slice(self.old, None))

    def places_of(self, ids: Ints) -> Ints:
        """The positions of rows in the table."""
        order = np.argsort(self.rows.ids)
        return order[np.searchsorted(self.rows.ids, ids, sorter=order)]


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
        plan = WindowJoin(
            tested, (Grid(*grids[0]), Grid(*grids[1])), indexed, utility=WORTHS if worths else np.ones(1)
        )
        return JoinBucket(RowFormat(condition, kinds, left, worths), plan, sampled)

    def advance(
        self, bucket: int, stored: Mapping[Place, bytes], batches: Iterator[pa.RecordBatch], watermark: int
    ) -> Step:
        """The pairs that a micro-batch makes; the watermark is in milliseconds. ``bucket``: its number."""
        kept = self._first() if OWN not in stored else join_state.decode(stored[OWN], self._first())
        came = pa.Table.from_batches([b.select(self.form.incoming().names) for b in batches]).cast(self.form.incoming())
        sides = tuple(self._side(stored, came, side, kept.next_ids[side]) for side in (0, 1))
        condition, (left, right) = coded(self.plan.condition, (sides[0].rows, sides[1].rows))
        sides = tuple(self._with_ring(side, rows) for side, rows in zip(sides, (left, right), strict=True))
        plan = replace(self.plan, condition=condition)
        frac = float(came["frac"][0].as_py() or 0.0) if len(came) else 1.0
        adapting = None if kept.adapting is None else replace(kept.adapting, rate=Rate(frac))
        state = State((sides[0].ring, sides[1].ring), kept.carry, kept.horizon)
        rows = sides[0].new, sides[1].new
        own = rows[0].take(sides[0].own), rows[1].take(sides[1].own)
        state, joined = join(plan, state, rows, self._selection(adapting), watermark * MICROS, own)
        told = None
        if adapting is not None:
            kept, told = self._learned(bucket, kept, adapting, rows, joined)
        kept = replace(
            kept, horizon=state.horizon, carry=state.carry,
            next_ids=pair(first + len(new) for first, new in zip(kept.next_ids, rows, strict=True)),
        )
        written = {OWN: join_state.encode(kept)}
        gone: list[Place] = []
        for number, (side, ring) in enumerate(zip(sides, state.rings, strict=True)):
            before = {bw.cell: bw for bw in side.ring}
            for bw in ring:
                if before.get(bw.cell) is not bw:
                    written[number, bw.cell] = _encode(side.table.take(pa.array(side.places_of(bw.rows.ids))))
            gone += [(number, cell) for cell in before.keys() - {bw.cell for bw in ring}]
        return Step(written, tuple(sorted(gone)), self._results(sides, joined, told, rows))

    def from_pandas(self, frame: pd.DataFrame) -> pa.RecordBatch:
        """The rows that come in a data frame."""
        schema = self.form.incoming()
        return pa.RecordBatch.from_pandas(frame[schema.names], schema, preserve_index=False)

    @property
    def _n_bw(self) -> tuple[int, int]:
        return self.plan.grids[0].n_bw, self.plan.grids[1].n_bw

    def _first(self) -> Kept:
        types = len(self.plan.utility)
        none = np.zeros(types)
        adapting = None if self.sampled is None else start(self.plan, sample_p=self.sampled)
        period = None if self.sampled is None else empty_period(self._n_bw, types, None)
        return Kept(NEVER, (0, 0), (none, none), adapting, period)

    def _side(self, stored: Mapping[Place, bytes], came: pa.Table, side: int, first_id: int) -> _Side:
        cells = sorted(cell for part, cell in stored if part == side)
        new, own = self.form.numbered(came, side, first_id)
        parts = [pa.ipc.open_stream(pa.py_buffer(stored[side, cell]), options=_READ).read_all() for cell in cells]
        table = pa.concat_tables([*parts, new]).combine_chunks()
        ends = np.cumsum([0, *map(len, parts)]).tolist()
        rows = self.form.rows(table)
        ring = tuple(
            BasicWindow(cell, rows.take(slice(first, last)))
            for cell, first, last in zip(cells, ends[:-1], ends[1:], strict=True)
        )
        return _Side(table, rows, ring, ends[-1], own)

    @staticmethod
    def _with_ring(side: _Side, rows: Rows) -> _Side:
        """The same with rows that have other codes for the items of their sets."""
        if rows is side.rows:
            return side
        ends = np.cumsum([0, *(len(bw.rows) for bw in side.ring)]).tolist()
        ring = tuple(
            BasicWindow(bw.cell, rows.take(slice(first, last)))
            for bw, first, last in zip(side.ring, ends[:-1], ends[1:], strict=True)
        )
        return replace(side, rows=rows, ring=ring)

    def _selection(self, adapting: Adapting | None) -> Selection:
        return newest_first(1.0, self._n_bw) if adapting is None else adapting.selection

    def _learned(
        self, bucket: int, kept: Kept, adapting: Adapting, rows: tuple[Rows, Rows], joined: Joined
    ) -> tuple[Kept, str | None]:
        """What is known after a micro-batch, and what is told of it at the end of a period."""
        assert kept.period is not None
        types = len(self.plan.utility)
        latest = max((int(side.at.max()) for side in rows if len(side)), default=None)
        if latest is None:
            return kept, None
        by_type = tuple(np.bincount(side.types, minlength=types) for side in rows)
        period = kept.period.plus(joined, (by_type[0], by_type[1]), latest)
        assert period.since is not None
        if latest - period.since < PERIOD_US:
            return replace(kept, period=period), None
        adapting = adapting.informed(period.counters, period.came)
        chosen = adapting.selection
        told = {
            "bucket": bucket, "frac": adapting.rate.frac, "frac_dir": chosen.frac_dir.tolist(),
            "windows": [
                {
                    "matches": one.recent.matches.tolist(), "compared": one.recent.compared.tolist(),
                    "order": one.order.tolist(), "found": found.tolist(),
                }
                for one, found in zip(adapting.learned, period.found, strict=True)
            ],
        }
        return replace(kept, adapting=adapting, period=empty_period(self._n_bw, types, latest)), json.dumps(told)

    def _results(
        self, sides: tuple[_Side, ...], joined: Joined, told: str | None, rows: tuple[Rows, Rows]
    ) -> Iterator[pa.RecordBatch]:
        places = [side.places_of(ids) for side, ids in zip(sides, (joined.left, joined.right), strict=True)]
        lengths = sum(
            (_text_lengths(side.table)[which] for side, which in zip(sides, places, strict=True)),
            np.zeros(len(places[0]), dtype=np.int64),
        )
        for first, last in pieces(lengths):
            yield self._batch(sides, [which[first:last] for which in places])
        if told is not None:
            yield self._telling(told, max(int(side.at.max()) for side in rows if len(side)))

    def _batch(self, sides: tuple[_Side, ...], places: list[Ints]) -> pa.RecordBatch:
        left, right = (side.table.take(pa.array(which)) for side, which in zip(sides, places, strict=True))
        at = pc.max_element_wise(left["at"], right["at"]).combine_chunks()
        columns = {
            TIME: at.view(pa.timestamp("us", "UTC")), "left_at": left["at"].combine_chunks(),
            "right_at": right["at"].combine_chunks(), "nulls": pc.bit_wise_or(left["nulls"], right["nulls"]).combine_chunks(),
            "told": pa.nulls(len(at), pa.string()),
        }
        columns |= {f"v{i}": left[f"v{i}"].combine_chunks() for i in self.form.values_of(0)}
        columns |= {f"v{i}": right[f"v{i}"].combine_chunks() for i in self.form.values_of(1)}
        return pa.RecordBatch.from_pydict(columns)

    def _telling(self, told: str, at: int) -> pa.RecordBatch:
        incoming = self.form.incoming()
        columns: dict[str, pa.Array] = {TIME: pa.array([at]).view(pa.timestamp("us", "UTC"))}
        columns |= {name: pa.array([0]) for name in ("left_at", "right_at", "nulls")}
        columns["told"] = pa.array([told])
        columns |= {f"v{i}": pa.nulls(1, incoming.field(f"v{i}").type) for i in range(len(self.form.kinds))}
        return pa.RecordBatch.from_pydict(columns)


def _text_lengths(table: pa.Table) -> Ints:
    """Characters of all texts of each row."""
    found = np.zeros(len(table), dtype=np.int64)
    for field in table.schema:
        if field.name.startswith("v") and pa.types.is_string(field.type):
            found += pc.fill_null(pc.binary_length(table[field.name]), 0).to_numpy().astype(np.int64)
    return found


def _encode(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=_WRITE) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


