"""Weather over an uplink of 60 kbit/s, offered at 1, 1.5 and 2.5 times that: what went, what was shed, what came of an AVG.

``streamq edge`` reads a file that grows, and sends it through a wire that counts; ``streamq run`` has three queries: the rows
themselves, an AVG of all columns with what was shed recovered within five percent, and the same without. Places of the look-alike
of the thesis's weather, a cycle of 75 at a time.

Run from the root of the repository::

    python -m tests.benchmarks.uplink [--seconds 90] [--loads 1 1.5 2.5]

Ends with 1 where more went in any stretch of time than the capacity and one bucket, where a row is missing or there twice, where a
recovered value is outside of its bounds, or where recovery does not make the error of AVG smaller.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow.dataset as ds

from streamq.stdlib.attributes.lookalike import Lookalike, weather
from tests.benchmarks.wire import EPOCH_S, Station, Wire, kbps_of, most_above

KBPS = 60.0
BUCKET = 8_192
WINDOW_S = 5
"""Of event time: each window has five cycles, and so five values of each place."""

COLUMNS = ("temperature", "dew_point", "barometer", "wind_speed", "humidity", "sun_rise", "visibility", "sun_set")
ROW_BYTES = 8 * len(COLUMNS) + 9 + 8
"""Of a row as Arrow has it: numbers, a name with its offset, the time."""

PROGRAM = """
CREATE STREAM weather (
  location STRING, {columns}, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS
)
SHED ATTRIBUTES TO CAPACITY {kbps} KBPS
WITH (connector = 'edge', folder = 'inbox', listen = '127.0.0.1:{port}', token = 'env:STREAMQ_EDGE_TOKEN', read = 'station.jsonl', bucket = {bucket},
  cycle_rows = 75, wait = '20 seconds');
CREATE SINK rows WITH (connector = 'file', format = 'parquet', path = 'rows');
CREATE SINK recovered WITH (connector = 'file', format = 'parquet', path = 'recovered');
CREATE SINK plain WITH (connector = 'file', format = 'parquet', path = 'plain');
CREATE QUERY all_rows INTO rows AS SELECT *, {bounds}, shed_columns FROM weather
  RECOVER ALL FROM SYNOPSIS ERROR 5 PERCENT CYCLE (location);
CREATE QUERY with_recovery INTO recovered AS {averages}
  RECOVER ALL FROM SYNOPSIS ERROR 5 PERCENT CYCLE (location);
CREATE QUERY without INTO plain AS {averages};
"""
AVERAGES = "SELECT location, WINDOW_START AS since, {calls} FROM weather [TUMBLE {window} SECONDS] GROUP BY location"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of one load: all that is printed, and what is wrong."""

    line: str
    wrong: tuple[str, ...]


def measure(load: float, seconds: float, folder: Path) -> Outcome:
    rows_per_s = load * KBPS * 125 / ROW_BYTES
    cycles = int(seconds * rows_per_s / 75)
    data = weather(cycles)
    port = free_port()
    (folder / "uplink.cql").write_text(program(port))
    (folder / "station.jsonl").touch()
    run = started(folder, "run", "uplink.cql", "--checkpoint", "state", "-q")
    with Wire(("127.0.0.1", port)) as wire:
        station = Station(data, folder / "station.jsonl", rows_per_s)
        edge = started(folder, "edge", "uplink.cql", "--to", wire.address)
        listening(port)
        station.start()
        began = time.monotonic()
        station.join()
        fed = time.monotonic()
        wait_until(lambda: landed(folder) >= station.written, 120)
        stop(edge)
    wait_until(lambda: count(folder / "rows") >= station.written, 120)
    stop(run)
    return judged(load, data, folder, wire, began, fed)


def judged(load: float, data: Lookalike, folder: Path, wire: Wire, began: float, fed: float) -> Outcome:
    rows = ds.dataset(folder / "rows", format="parquet").to_table().to_pandas()
    wrong = []
    excess = most_above(wire.went, KBPS)
    if excess > BUCKET:
        wrong.append(f"{excess:.0f} bytes above the capacity, of a bucket of {BUCKET}")
    expected = len(data.series(COLUMNS[0]))
    distinct = len(rows[["location", "ts"]].drop_duplicates())
    if len(rows) != expected or distinct != expected:
        wrong.append(f"{expected} rows were offered, {len(rows)} came, {distinct} of them different")
    cycle = cycles_of(rows["ts"])
    place = rows["location"].map({key: i for i, key in enumerate(data.keys)}).to_numpy()
    shed = np.array([len(names) for names in rows["shed_columns"]])
    outside, missing = 0, 0
    for name in COLUMNS:
        true = data.values[name][cycle, place]
        value, low, high = (rows[name + end].to_numpy(float) for end in ("", "_lo", "_hi"))
        missing += int(np.isnan(value).sum())
        known = ~np.isnan(value)
        outside += int(np.sum(~((low[known] <= true[known]) & (true[known] <= high[known]))))
        outside += int(np.sum(np.abs(value[known] - true[known]) > 0.05 * np.abs(true[known]) * (1 + 1e-12)))
    if outside:
        wrong.append(f"{outside} recovered values are outside of their bounds")
    back, back_null = average_error(folder / "recovered", data)
    without, without_null = average_error(folder / "plain", data)
    if shed.max() > 0 and not (back_null < without_null or back < without):
        wrong.append("recovery does not help")
    line = (
        f"{load:>4.1f} x  {kbps_of(wire.went, began, fed):>6.1f} kbit/s  most above {excess:>6.0f} B   rows {len(rows):>6,}/{expected:,}   "
        f"shed {np.median(shed):.0f} of {len(COLUMNS)}   AVG recovered: error {back:.3%}, {back_null:.1%} NULL   "
        f"without: {without:.3%}, {without_null:.1%} NULL   values that did not come back {missing / max(shed.sum(), 1):.1%}"
    )
    return Outcome(line, tuple(wrong))


def average_error(folder: Path, data: Lookalike) -> tuple[float, float]:
    """The mean relative error of the averages of whole windows, and the share of them that are NULL."""
    answers = ds.dataset(folder, format="parquet").to_table().to_pandas()
    first = cycles_of(answers["since"])
    place = answers["location"].map({key: i for i, key in enumerate(data.keys)}).to_numpy()
    errors: list[float] = []
    null = total = 0
    for name in COLUMNS:
        values = data.values[name]
        for at, key, found in zip(first, place, answers[f"avg_{name}"].to_numpy(float), strict=True):
            if at + WINDOW_S > len(values):
                continue
            total += 1
            if np.isnan(found):
                null += 1
                continue
            true = values[at : at + WINDOW_S, key].mean()
            errors.append(abs(found - true) / max(abs(true), 1e-9))
    return float(np.mean(errors)) if errors else float("nan"), null / max(total, 1)


def cycles_of(stamps: pd.Series[Any]) -> npt.NDArray[np.int64]:
    """The cycles whose seconds these are."""
    begin = pd.Timestamp(EPOCH_S, unit="s", tz=stamps.dt.tz)
    return np.asarray((stamps - begin) // pd.Timedelta(seconds=1), dtype=np.int64)


def program(port: int) -> str:
    calls = ", ".join(f"AVG({c}) AS avg_{c}" for c in COLUMNS)
    return PROGRAM.format(
        columns=", ".join(f"{c} DOUBLE" for c in COLUMNS), kbps=KBPS, port=port, bucket=BUCKET,
        bounds=", ".join(f"{c}_lo, {c}_hi" for c in COLUMNS), averages=AVERAGES.format(calls=calls, window=WINDOW_S),
    )


def started(folder: Path, *argv: str) -> subprocess.Popen[bytes]:
    """A command of streamq in a folder; what it says goes to a file."""
    log = (folder / f"{argv[0]}.log").open("ab")
    path = os.pathsep.join(p for p in (os.environ.get("PYTHONPATH", ""),) if p)
    return subprocess.Popen(
        [sys.executable, "-m", "streamq", *argv], cwd=folder, stdout=log, stderr=log, env=os.environ | {"STREAMQ_EDGE_TOKEN": "secret"} | ({"PYTHONPATH": path} if path else {})
    )


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    process.wait(120)


def free_port() -> int:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        return int(some.getsockname()[1])


def listening(port: int) -> None:
    """Until somebody takes messages there."""

    def there() -> bool:
        with socket.socket() as some:
            return some.connect_ex(("127.0.0.1", port)) == 0

    wait_until(there, 120)


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    """Looks five times a second, and gives up without a word: what is missing is judged at the end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if holds():
            return
        time.sleep(0.2)


def landed(folder: Path) -> int:
    return count(folder / "inbox" / "weather" / "rows")


def count(folder: Path) -> int:
    """Rows in a folder of Parquet."""
    try:
        return sum(ds.dataset(path, format="parquet").count_rows() for path in folder.glob("[!._]*.parquet"))
    except OSError:
        return 0


def main(argv: Sequence[str] | None = None) -> int:
    """One load after the other, on a wire of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--loads", type=float, nargs="+", default=[1.0, 1.5, 2.5])
    args = parser.parse_args(argv)
    wrong = 0
    for load in args.loads:
        with TemporaryDirectory(prefix="streamq-uplink-") as folder:
            outcome = measure(load, args.seconds, Path(folder))
        print(outcome.line, flush=True)
        for text in outcome.wrong:
            print(f"       NO: {text}", flush=True)
        wrong += len(outcome.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
