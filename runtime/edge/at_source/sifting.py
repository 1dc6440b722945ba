"""Which rows an edge sends where it sifts them: those that queries want most, as many as the wire has room for.

The sifter is that of a run on Spark, and built anew as there: when rows lie elsewhere, or queries change. An edge has all
rows before any is dropped, so the first batch of rows is sifted by what it tells itself.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.packing import COLUMN_BYTES
from streamq.runtime.edge.columns import MOST_TEXT
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.recovery.columns import Bools, Ints
from streamq.stdlib.sifters.adapting import Adapting
from streamq.stdlib.sifters.axes import GOLDEN, Column
from streamq.stdlib.sifters.boxes import LEAST
from streamq.stdlib.sifters.compact import Columns, Compact, asked, from_json
from streamq.stdlib.sifters.counting import dropped, units

SAMPLE_ROWS = 4_000
"""Rows of a batch that are looked at to build a sifter."""

HEAD_BYTES = 256
"""What a message of rows takes beside what it says of each column."""

LEAST_SHARE = 0.1
"""The part of the room that is for rows, whatever was sent too much before."""


@dataclass(frozen=True, slots=True)
class Sifting:
    """What rows are sifted by, from one batch to the next.

    ``attributes``: of which ``recent`` are sampled rows, in parts, the latest last, of which there were ``parts`` so far.
    ``sifter``: None until there are enough rows; ``built_from``, ``until_fresh``: see ``Adapting``. ``had``: ``[regions]``, rows
    of each so far, one number where there is no sifter. ``above``: bytes that were sent beyond what there was room for;
    below 0 less was sent. ``offered``: how fast rows came.
    """

    attributes: tuple[str, ...] = ()
    sifter: Compact | None = None
    had: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    recent: tuple[Columns, ...] = ()
    parts: int = 0
    built_from: int = 0
    until_fresh: int = 0
    above: float = 0.0
    offered: Offered | None = None

    def fits(self, rule: SiftRule) -> Sifting:
        """The same where the rule is; where it is another one the sifter is built anew with the next rows."""
        if self.attributes != rule.attributes:
            return Sifting(rule.attributes, parts=self.parts, above=self.above, offered=self.offered)
        if self.sifter is None or self.sifter.asked == asked(rule.plan, rule.wishes):
            return self
        return Sifting(
            self.attributes, recent=self.recent, parts=self.parts, above=self.above, offered=self.offered
        )

    def after_sending(self, size: int, room: float, bucket: int) -> Sifting:
        """When ``size`` bytes were sent where there was ``room``. What is above or below it counts up to a ``bucket``."""
        return replace(self, above=float(np.clip(self.above + size - room, -bucket, bucket)))


def room_for(kbps: float, rows: int, rows_per_s: float) -> float:
    """Bytes for so many rows, which come in the time in which there is room for these; infinite for rows that come alone."""
    return kbps * 125 * rows / rows_per_s if rows_per_s > 0 else math.inf


def share_kept(sent: pa.RecordBatch, above: float, room: float, bucket: int, extra: int) -> float:
    """The share of rows, at least one, that there is room for. ``extra``: bytes of the transport for each message."""
    if room == math.inf:
        return 1.0
    left = room - above
    heads = math.ceil(max(left, 1.0) / bucket) * (HEAD_BYTES + COLUMN_BYTES * sent.num_columns + extra)
    number = np.min_scalar_type(sent.num_rows).itemsize
    size = sum(array.nbytes for array in sent.columns) + number * sent.num_rows
    return min(1.0, float(max(left - heads, LEAST_SHARE * room) / size))


def sifted(rule: SiftRule, state: Sifting, rows: pa.RecordBatch, keep: float) -> tuple[Bools, Sifting]:
    """Which of some rows stay, ``[rows]``, about the share ``keep`` of them, and the state after them. There is at least one."""
    columns = [sift_column(rows.column(name)) for name in rule.attributes]
    looked = min(rows.num_rows, SAMPLE_ROWS)
    at = np.arange(looked) * rows.num_rows // looked
    adapting = Adapting(
        rule.plan, rule.wishes, state.sifter, deque(state.recent), state.built_from, state.until_fresh
    )
    had = state.had
    if adapting.after([column[at] for column in columns]):
        assert adapting.current is not None
        # Regions do not all begin with a row that goes: in small batches too many would.
        had = np.arange(len(adapting.current.share)) * GOLDEN % HASH_STEPS
    sifter = adapting.current
    if sifter is None:
        region, drop = np.zeros(rows.num_rows, dtype=np.int64), np.array([1.0 - keep])
    else:
        region, drop = sifter.find(columns), sifter.drop(keep)
    stay = ~dropped(region, units(drop), had)
    after = replace(
        state, attributes=rule.attributes, sifter=sifter, had=had + np.bincount(region, minlength=len(had)),
        recent=tuple(adapting.recent), parts=state.parts + 1, built_from=adapting.built_from,
        until_fresh=adapting.until_fresh,
    )
    return stay, after


def sift_column(array: pa.Array) -> Column:
    """As sifters take it: texts with None for NULL; numbers with minus infinity for it, and NaN above all."""
    if pa.types.is_string(array.type):
        return np.asarray(pc.utf8_slice_codeunits(array, 0, MOST_TEXT).to_numpy(zero_copy_only=False))
    known = array.cast(pa.float64(), safe=False).fill_null(0.0)
    found: Column = np.maximum(known.to_numpy(zero_copy_only=False), LEAST)
    found[np.isnan(found)] = np.inf
    if array.null_count:
        found[array.is_null().to_numpy(zero_copy_only=False)] = -np.inf
    return found


def sifting_to_json(state: Sifting) -> dict[str, Any]:
    """All but the sampled rows, as a JSON object."""
    offered = state.offered
    return {
        "attributes": list(state.attributes), "sifter": None if state.sifter is None else state.sifter.to_json(),
        "had": state.had.tolist(), "parts": [state.parts, len(state.recent)],
        "built": [state.built_from, state.until_fresh], "above": state.above,
        "offered": None if offered is None else [offered.since, list(offered.came), offered.blocked_s],
    }


def sifting_of(found: dict[str, Any], recent: Mapping[int, bytes]) -> Sifting:
    """The state of such an object, and of parts by their number. ValueError, KeyError, TypeError, ArrowException for others."""
    parts, kept = found["parts"]
    built_from, until_fresh = found["built"]
    sifter = None if found["sifter"] is None else from_json(found["sifter"])
    had = np.array(found["had"], dtype=np.int64)
    if had.shape != (1 if sifter is None else len(sifter.share),):
        raise ValueError("rows are counted by region")
    offered = None
    if found["offered"] is not None:
        since, came, blocked_s = found["offered"]
        offered = Offered(since, tuple((at, rows, size) for at, rows, size in came), blocked_s)
    return Sifting(
        tuple(found["attributes"]), sifter, had, tuple(_part_of(recent[n]) for n in range(parts - kept, parts)), parts,
        built_from, until_fresh, found["above"], offered,
    )


def part_bytes(part: Columns) -> bytes:
    """Sampled rows as they are stored."""
    arrays = [pa.array(column, pa.string() if column.dtype == object else pa.float64()) for column in part]
    rows = pa.RecordBatch.from_arrays(arrays, [str(place) for place in range(len(arrays))])
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    return bytes(sink.getvalue())


def _part_of(data: bytes) -> Columns:
    rows = pa.ipc.open_stream(data).read_next_batch()
    return [np.asarray(array.to_numpy(zero_copy_only=False)) for array in rows.columns]
