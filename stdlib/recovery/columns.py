"""The values of one attribute, of many rows at once: numbers, whole numbers, or anything else that is only equal or not.

A NULL is no value; NaN is a value, as in Spark. Errors relative to a value are defined for numbers and whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Kind = Literal["number", "integer", "other"]
"""float64, int64, and what has no relative error: texts, booleans, dates and times."""

LEAST_INTEGER = -(2**63)


@dataclass(frozen=True, slots=True)
class Column:
    """One value of each row, ``[rows]``, of one ``kind``; ``null``: ``[rows]``, where the value means nothing.

    ``column`` makes them of arrays and lists.
    """

    kind: Kind
    values: NDArray[Any]
    null: Bools

    def __post_init__(self) -> None:
        """Checks the kind and the lengths."""
        if self.kind not in get_args(Kind) or self.values.ndim != 1 or self.values.shape != self.null.shape:
            raise ValueError("a column has a kind, and a value and whether it is NULL for each row")

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.null)

    def take(self, index: Any) -> Column:
        """The rows at positions, of a slice, or where a mask is true."""
        return Column(self.kind, self.values[index], self.null[index])

    def item(self, row: int) -> Any:
        """The value of one row as a plain Python value, None for NULL."""
        return None if self.null[row] else self.values[row].item()


def column(given: Sequence[Any] | NDArray[Any], null: Bools | None = None) -> Column:
    """The column of an array, a masked array, or a list with None for NULL.

    ``null``: ``[rows]``, what is NULL besides. Raises ``ValueError`` for values of several kinds, for whole numbers that do
    not fit in 64 bits (the least of them neither), and for texts that end in the character 0, which numpy would cut off.
    """
    array, missing = _array(given)
    if null is not None:
        if np.shape(null) != missing.shape:
            raise ValueError("there is a NULL or not for each row")
        missing = missing | null
    match array.dtype.kind:
        case "f":
            return Column("number", array.astype(np.float64, copy=False), missing)
        case "i" | "u":
            if np.any((array > 2**63 - 1) | (array == LEAST_INTEGER)):
                raise ValueError("whole numbers are kept in 64 bits, without the least of them")
            return Column("integer", array.astype(np.int64, copy=False), missing)
        case "U" | "b" | "M" | "m":
            return Column("other", array, missing)
    raise ValueError(f"values of type {array.dtype} cannot be kept")


def nothing(like: Column, rows: int) -> Column:
    """So many NULLs of the kind of another column."""
    return Column(like.kind, np.zeros(rows, dtype=like.values.dtype), np.ones(rows, dtype=bool))


def alike(columns: Sequence[Column]) -> list[Column]:
    """The same columns, at least one, of one type: what is only NULLs is of any type.

    Raises ``ValueError`` where types are different.
    """
    kinds = [c.values.dtype.kind for c in columns]
    telling = [i for i, c in enumerate(columns) if not c.null.all()]
    if len({kinds[i] for i in telling}) > 1:
        types = sorted({str(columns[i].values.dtype) for i in telling})
        raise ValueError(f"an attribute keeps its type: values are {' and '.join(types)}")
    like = telling[0] if telling else 0
    return [c if kind == kinds[like] else nothing(columns[like], len(c)) for c, kind in zip(columns, kinds, strict=True)]


def concat(columns: Sequence[Column]) -> Column:
    """The rows of all columns, at least one. Raises ``ValueError`` where types are different."""
    same = alike(columns)
    return Column(same[0].kind, np.concatenate([c.values for c in same]), np.concatenate([c.null for c in same]))


def _array(given: Sequence[Any] | NDArray[Any]) -> tuple[NDArray[Any], Bools]:
    """A plain array of one type, and what in it is NULL."""
    if isinstance(given, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(given), np.zeros(1, given.dtype), given.data), np.ma.getmaskarray(given)
    if isinstance(given, np.ndarray) and given.dtype != object:
        missing = np.isnat(given) if given.dtype.kind in "mM" else np.zeros(len(given), dtype=bool)
        return given, missing
    items = list(given)
    missing = np.array([x is None for x in items], dtype=bool)
    some = [x for x in items if x is not None]
    sample = _typed(some)
    array = np.zeros(len(items), dtype=sample.dtype)
    array[~missing] = sample
    return array, missing


def _typed(some: list[Any]) -> NDArray[Any]:
    """An array of values that are all booleans, all whole numbers, all numbers, or all texts."""
    if not some:
        return np.zeros(0)
    if all(isinstance(x, str) for x in some):
        if any(x.endswith("\0") for x in some):
            raise ValueError("a text that ends in the character 0 cannot be kept")
        return np.array(some)
    for kinds, dtype in (((bool, np.bool_), np.bool_), ((int, np.integer), np.int64), (_NUMBERS, np.float64)):
        if all(isinstance(x, kinds) and isinstance(x, bool | np.bool_) == (dtype is np.bool_) for x in some):
            try:
                return np.array(some, dtype=dtype)
            except OverflowError:
                raise ValueError("whole numbers are kept in 64 bits, without the least of them") from None
    raise ValueError("values of an attribute are all numbers, all texts, or all booleans")


_NUMBERS = (int, float, np.integer, np.floating)
