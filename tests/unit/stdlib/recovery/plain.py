"""The thesis' algorithms as they are printed, row by row and in fractions, and the tables that tests read."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from streamq.stdlib.recovery.columns import Column, column

DATA = Path(__file__).parent / "data"


def table(name: str, delimiter: str = ",") -> list[dict[str, str]]:
    """The rows of a file."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def package_table(package: str, file: str) -> pd.DataFrame:
    """A file of a package of data, which is not imported; without the package the test is skipped."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{package} is not installed")
    return pd.read_csv(Path(spec.submodule_search_locations[0]) / file)


def stands_for(stored: Any, value: Any, error: float, denominator: str = "sv") -> bool:
    """Whether a stored value is near enough to a value: |mv - v| * 100 <= E * |v|, in fractions."""
    if stored is None or value is None:
        return stored is value
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (stored, value))
    if not numbers or not (math.isfinite(stored) and math.isfinite(value)):
        return bool(stored == value or (stored != stored and value != value))
    of = value if denominator == "sv" else stored
    if isinstance(of, int) and abs(of) > 2**53:
        return bool(stored == value)
    return abs(Fraction(stored) - Fraction(value)) * 100 <= Fraction(error) * abs(Fraction(of))


class PlainSynopsis:
    """Algorithm 3 and its lookup for one attribute, as a dictionary."""

    def __init__(self, error: float, denominator: str = "sv") -> None:
        self.error, self.denominator = error, denominator
        self.cycle_no: dict[Any, int] = {}
        self.log: dict[Any, list[tuple[int, Any]]] = {}

    def retain(self, key: Any, value: Any) -> bool:
        """Counts a row, and tells whether its value is stored."""
        self.cycle_no[key] = self.cycle_no.get(key, 0) + 1
        log = self.log.setdefault(key, [])
        if log and stands_for(log[-1][1], value, self.error, self.denominator):
            return False
        log.append((self.cycle_no[key], value))
        return True

    def recover(self, key: Any, cycle_no: int) -> tuple[int, Any] | None:
        """The cycle and the value that were stored last up to a cycle."""
        if cycle_no > self.cycle_no.get(key, 0):
            return None
        return max((entry for entry in self.log[key] if entry[0] <= cycle_no), key=lambda e: e[0], default=None)


def same(a: Any, b: Any) -> bool:
    """Equal, where NaN is equal to itself."""
    return bool(a == b or (a != a and b != b))


def numbers(values: Sequence[float | None]) -> Column:
    """A column of numbers, also of whole ones."""
    return column([None if v is None else float(v) for v in values])


def tiled(keys: int, cycles: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The keys of rows that come cycle after cycle."""
    return np.tile(np.arange(keys), cycles)
