"""``streamq edge`` and ``streamq run`` as processes over HTTP, killed in the middle: each row is there, once, with what came back."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.dataset as ds
import pytest

PLACES, CYCLES = 10, 120
DEADLINE_S = 300.0
PROGRAM = """
CREATE STREAM weather (location STRING, humidity DOUBLE, wind DOUBLE, n INT, ts TIMESTAMP, WATERMARK FOR ts)
SHED ATTRIBUTES KEEP (n) TO CAPACITY 24 KBPS
RECOVER (humidity) FROM SYNOPSIS ERROR 2 PERCENT CYCLE (location)
WITH (connector = 'edge', folder = 'inbox', read = 'station.jsonl', listen = '127.0.0.1:{port}', token_file = 'edge.token',
  bucket = 4096, wait = '120 seconds');
CREATE SINK rows WITH (connector = 'file', format = 'parquet', path = 'rows');
INSERT INTO rows SELECT location, humidity, humidity_lo, humidity_hi, wind, n FROM weather;
"""


def humidity(n: int) -> float:
    return 40.0 + n % PLACES + (n // PLACES) % 11


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with socket.socket() as some:
        some.bind(("127.0.0.1", 0))
        port = some.getsockname()[1]
    (tmp_path / "p.cql").write_text(PROGRAM.format(port=port))
    (tmp_path / "edge.token").write_text("a token")
    with (tmp_path / "station.jsonl").open("w") as out:
        for n in range(PLACES * CYCLES):
            second = n // PLACES
            row = {"location": f"l{n % PLACES}", "humidity": humidity(n), "wind": n / 7, "n": n,
                   "ts": f"2024-01-01T00:{second // 60:02}:{second % 60:02}Z"}
            out.write(json.dumps(row) + "\n")
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Starts commands in the folder; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*argv: str) -> subprocess.Popen[bytes]:
        log = (folder / f"{argv[0]}.log").open("ab")
        process = subprocess.Popen([sys.executable, "-m", "streamq", *argv], cwd=folder, stdout=log, stderr=log, start_new_session=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(DEADLINE_S)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {DEADLINE_S} s"
        pause.wait(0.05)


def landed(folder: Path) -> int:
    return sum(ds.dataset(path, format="parquet").count_rows() for path in (folder / "inbox" / "weather" / "rows").glob("[!.]*.parquet"))


def written(folder: Path) -> list[str]:
    """The files of the sink that count: those of micro-batches that are done."""
    log = folder / "rows" / "_spark_metadata"
    return sorted({
        str(folder / "rows" / json.loads(line)["path"].rpartition("/")[2])
        for path in (log.iterdir() if log.exists() else ()) if path.name.isdigit()
        for line in path.read_text().splitlines()[1:]
    })


def count(files: list[str]) -> int:
    return ds.dataset(files, format="parquet").count_rows() if files else 0


@pytest.mark.long
def test_both_sides_are_killed_and_no_row_is_lost_or_there_twice(
    folder: Path, start: Callable[..., subprocess.Popen[bytes]]
) -> None:
    edge, run = start("edge", "p.cql"), start("run", "p.cql", "--checkpoint", "state", "-q")
    wait_until(lambda: landed(folder) > 100, "rows landing")
    os.killpg(edge.pid, signal.SIGKILL)
    edge = start("edge", "p.cql")
    before = landed(folder)
    wait_until(lambda: landed(folder) > before + 100, "more rows landing")
    os.killpg(run.pid, signal.SIGKILL)
    run = start("run", "p.cql", "--checkpoint", "state", "-q")
    wait_until(lambda: landed(folder) >= PLACES * CYCLES, "all rows landing")
    wait_until(lambda: count(written(folder)) >= PLACES * CYCLES, "all rows in the sink")
    for process in (edge, run):
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
    rows = ds.dataset(written(folder), format="parquet").to_table().to_pylist()
    assert sorted(row["n"] for row in rows) == list(range(PLACES * CYCLES))
    for row in rows:
        true = humidity(row["n"])
        assert row["humidity_lo"] <= true <= row["humidity_hi"]
        assert abs(row["humidity"] - true) <= 0.02 * true
        assert row["wind"] in (None, row["n"] / 7)
    assert any(row["wind"] is None for row in rows)
