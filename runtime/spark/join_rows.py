"""Rows of a window join between Arrow and numpy, and what of them is kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamq.dsl.records import dataclass, replace
from streamq.runtime.spark.timeline_bucket import ARROW
from streamq.stdlib.joins.columns import Column, Sets, Values, sets
from streamq.stdlib.joins.conditions import (
    BITMAP_ITEMS,
    EQUAL,
    Condition,
    SetCondition,
    ValueCondition,
)
from streamq.stdlib.joins.selection import Floats, Ints
from streamq.stdlib.joins.window import Rows

WRAPPED = 1 - 1e-9
"""The part of the range of integers from which on their difference may have begun again."""

LARGEST = 20
WORTHS: Floats = np.append(0.0, 2.0 ** np.arange(-LARGEST, LARGEST + 1))
"""The utilities that are told apart: 0, and from a millionth to a million in steps of 2."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """``condition``, ``kinds``, ``left``, ``worths``: those of the physical step."""

    condition: tuple[Any, ...]
    kinds: tuple[str, ...]
    left: int
    worths: bool

    def values_of(self, side: int) -> range:
        """The numbers of the values of a side."""
        return range(self.left) if side == 0 else range(self.left, len(self.kinds))

    @property
    def compared(self) -> dict[str, pa.DataType]:
        """The columns that rows are compared by."""
        if self.condition[0] == "sets":
            found: dict[str, pa.DataType] = {"items": pa.list_(pa.int64())}
            return found | ({"weights": pa.list_(pa.float64())} if self.condition[1] == "INNER_PRODUCT" else {})
        found = {f"c{i}": pa.int64() if value[1] else pa.float64() for i, value in enumerate(self.condition[1])}
        return found | {"unknown": pa.int64()}

    def incoming(self) -> pa.Schema:
        """The rows of both sides as they come."""
        first = {name: pa.int64() for name in ("at", "side", "key", "row", "nulls")}
        first |= {"own": pa.bool_(), "frac": pa.float64(), "worth": pa.float64()}
        return pa.schema([*first.items(), *self.compared.items(), *((f"v{i}", ARROW[k]) for i, k in enumerate(self.kinds))])

    def kept(self, side: int) -> pa.Schema:
        """The rows of one side as they are kept."""
        first = {name: pa.int64() for name in ("at", "id", "type", "key", "nulls")}
        return pa.schema(
            [*first.items(), *self.compared.items(), *((f"v{i}", ARROW[self.kinds[i]]) for i in self.values_of(side))]
        )

    def numbered(self, rows: pa.Table, side: int, first_id: int) -> tuple[pa.Table, np.ndarray[Any, Any]]:
        """The rows of a side that came, in order of time, numbered and as they are kept; and which of them are."""
        mine = rows.filter(pc.equal(rows["side"], side))
        order = np.lexsort((_numpy(mine["row"]), _numpy(mine["at"])))
        mine = mine.take(pa.array(order))
        more = {"id": pa.array(np.arange(first_id, first_id + len(mine))), "type": pa.array(self.types(_numpy(mine["worth"])))}
        schema = self.kept(side)
        columns = [(more[f.name] if f.name in more else mine[f.name]).cast(f.type) for f in schema]
        return pa.table(columns, schema=schema), _numpy(mine["own"])

    def types(self, worth: Floats) -> Ints:
        """The types of rows that are worth so much; NULL, NaN and what is negative is worth nothing."""
        if not self.worths:
            return np.zeros(len(worth), dtype=np.int64)
        with np.errstate(invalid="ignore", divide="ignore"):
            step = np.rint(np.log2(worth)) + LARGEST + 1
        top = len(WORTHS) - 1
        return np.where(worth > 0, np.clip(np.nan_to_num(step, posinf=top, neginf=1), 1, top), 0).astype(np.int64)

    def rows(self, table: pa.Table) -> Rows:
        """The rows of one side as they are joined."""
        at, ids, types = (_numpy(table[name]) for name in ("at", "id", "type"))
        return Rows(at, ids, types, self._column(table))

    def _column(self, table: pa.Table) -> Column:
        if self.condition[0] == "sets":
            items = table["items"].combine_chunks()
            sizes = pc.fill_null(pc.list_value_length(items), 0).to_numpy().astype(np.int64)
            weights = None
            if "weights" in table.column_names:
                weights = table["weights"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
                weights = np.where(np.isfinite(weights), weights, np.inf)
            flat = items.flatten().to_numpy(zero_copy_only=False).astype(np.int64)
            return sets(np.append(0, np.cumsum(sizes)), flat, items.is_null().to_numpy(zero_copy_only=False), weights)
        null = _numpy(table["unknown"]) != 0
        names = [*(("key",) if self.condition[2] else ()), *(n for n in self.compared if n != "unknown")]
        if names == ["key"]:
            return Values(_numpy(table["key"]), null)
        records = np.empty(len(table), dtype=[(name, table.schema.field(name).type.to_pandas_dtype()) for name in names])
        for name in names:
            records[name] = _numpy(table[name])
        return Values(records, null)


def _numpy(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = column.to_numpy()
    return found


def condition_of(given: tuple[Any, ...]) -> tuple[Condition, bool]:
    """The condition of a physical step, and whether matches are found through an index."""
    if given[0] == "sets":
        return SetCondition(given[1], given[2]), False
    _, values, keyed = given
    if not values:
        return (EQUAL, True) if keyed else (ValueCondition(_always), False)
    return ValueCondition(_all_of(values), "key" if keyed else None), bool(keyed)


def coded(condition: Condition, sides: tuple[Rows, ...]) -> tuple[Condition, tuple[Rows, ...]]:
    """Sets over few items with codes for those, so that they can be bitmaps; anything else as it is."""
    if not isinstance(condition, SetCondition) or condition.kind == "INNER_PRODUCT":
        return condition, sides
    columns = [side.column for side in sides if isinstance(side.column, Sets)]
    known = np.unique(np.concatenate([column.items for column in columns]))
    if len(known) > BITMAP_ITEMS:
        return condition, sides
    found = tuple(
        replace(side, column=replace(column, items=np.searchsorted(known, column.items)))
        for side, column in zip(sides, columns, strict=True)
    )
    return replace(condition, alphabet=len(known)), found


def _always(a: Any, b: Any) -> Any:
    return np.broadcast_to(True, np.broadcast_shapes(a.shape, b.shape))


_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}


def _all_of(values: tuple[tuple[str, bool, float, float, float | None], ...]) -> Callable[[Any, Any], Any]:
    """All comparisons of values, of records of them. What NaN is compared to Spark decides."""
    def holds(a: Any, b: Any) -> Any:
        held: Any = True
        for place, (op, exact, width, slack, wraps) in enumerate(values):
            mine, theirs = a[f"c{place}"], b[f"c{place}"]
            if op == "near":
                apart = np.abs(mine - theirs)
                some = apart <= width + slack * (width + np.abs(mine) + np.abs(theirs))
                some = some if wraps is None else some | (apart >= WRAPPED * wraps)
            else:
                some = _TESTS[op](mine, theirs)
            held = held & (some if exact else some | np.isnan(mine) | np.isnan(theirs))
        return held

    return holds
