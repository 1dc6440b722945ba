"""Attributes of many rows at once: which are numbers, which values are equal, how wide they are.

Columns are anything that makes an array of one dimension, in order of arrival. NULL is None, NaN or NaT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]
Columns = Mapping[str, Any]
"""Attributes by name, in the order in which they were declared; all of one length."""

_NUMBERS = (Number, Decimal, Fraction, np.number, np.bool_)
NUMBER_BYTES = 8


def array_of(values: Any) -> Array:
    """The column as an array. ValueError where it is not one value for each row."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"a column has one dimension, not {array.ndim}")
    return array


def row_count(columns: Columns) -> int:
    """How many rows there are. ValueError without columns, or where they differ."""
    counts = {name: len(array_of(values)) for name, values in columns.items()}
    if len(set(counts.values())) != 1:
        raise ValueError(f"columns are equally long: {counts}")
    return next(iter(counts.values()))


def nulls(array: Array) -> Bools:
    """Where there is no value."""
    match array.dtype.kind:
        case "O":
            none: Any = None
            return np.asarray((array == none) | (array != array), dtype=np.bool_)
        case "f" | "c":
            return np.isnan(array)
        case "M" | "m":
            return np.isnat(array)
    return np.zeros(len(array), dtype=bool)


def is_numeric(array: Array) -> bool:
    """Whether values are numbers, truth values or times; digits in a text are text. Of NULLs that have no type none is."""
    if array.dtype.kind != "O":
        return array.dtype.kind in "biufMm"
    kinds = set(map(type, array.tolist())) - {type(None)}
    return len(kinds) > 0 and all(issubclass(kind, _NUMBERS) for kind in kinds)


def numbers(values: Any) -> Floats:
    """The values as numbers, NaN for NULL and for what is infinite; times in seconds. ValueError where they are none."""
    array = array_of(values)
    if not is_numeric(array) and not np.all(nulls(array)):
        raise ValueError("values are numbers")
    if array.dtype.kind in "Mm":
        unit = "datetime64[us]" if array.dtype.kind == "M" else "timedelta64[us]"
        return np.where(np.isnat(array), np.nan, array.astype(unit).astype(np.int64) / 1e6)
    found = array.astype(np.float64)
    return np.where(np.isfinite(found), found, np.nan)


def codes(values: Any) -> Ints:
    """A number for each value, the same for equal ones: 0 for NULL, others from 1 in the order of values."""
    array = array_of(values)
    none = nulls(array)
    if array.dtype.kind == "O":
        array = np.asarray(array.astype(np.float64) if is_numeric(array) else array.astype(str))
    found = np.zeros(len(array), dtype=np.int64)
    found[~none] = np.unique(array[~none], return_inverse=True)[1] + 1
    return found


def combined(of: Iterable[Ints]) -> Ints:
    """A number for each combination of values, from 0. ValueError without columns."""
    stacked = np.stack(list(of))
    return np.asarray(np.unique(stacked, axis=1, return_inverse=True)[1].reshape(-1), dtype=np.int64)


def encoded_bytes(values: Any) -> float:
    """How wide values are on average: of numbers what their type takes, of others their text in UTF-8, of NULL nothing."""
    array = array_of(values)
    if array.dtype.kind != "O" and is_numeric(array):
        return float(array.dtype.itemsize)
    given = array[~nulls(array)]
    if len(given) == 0:
        return 0.0
    if is_numeric(array):
        return NUMBER_BYTES * len(given) / len(array)
    texts = given if given.dtype.kind == "S" else np.strings.encode(given.astype(np.str_), "utf-8")
    return float(np.strings.str_len(texts).sum()) / len(array)
