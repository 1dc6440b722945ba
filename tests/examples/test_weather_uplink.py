"""The weather example over a narrow wire: an edge as a process, and its answers against what was measured."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamq.runtime.metrics import RunReport
from tests.examples.running import EXAMPLES, compile_file, into_memory, run_to_end

pytestmark = pytest.mark.spark

DEADLINE_S = 120.0
CYCLE = 72
"""Rows of the last, not whole one wait for others."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program with a wire that is wider, so that nobody waits long for the whole year."""
    made = tmp_path_factory.mktemp("uplink")
    text = (EXAMPLES / "weather" / "uplink.cql").read_text()
    assert "400 KBPS" in text
    (made / "uplink.cql").write_text(text.replace("400 KBPS", "1 MBPS"))
    shutil.rmtree(made / "data", ignore_errors=True)
    subprocess.run([sys.executable, EXAMPLES / "weather" / "prepare.py", made / "data"], check=True, stdout=subprocess.DEVNULL)
    return made


@pytest.fixture(scope="module")
def measured(folder: Path) -> pd.DataFrame:
    parts = [pd.read_json(file, lines=True) for file in sorted((folder / "data" / "weather").glob("*.json"))]
    rows = pd.concat(parts)[["origin", "time_hour", "temp", "humid", "wind_speed", "pressure"]]
    return rows.assign(time_hour=pd.to_datetime(rows["time_hour"], utc=True))


@pytest.fixture(scope="module")
def report(spark: SparkSession, folder: Path, measured: pd.DataFrame) -> RunReport:
    """What a run makes of all whole cycles."""
    wanted = len(measured) // CYCLE * CYCLE
    log = folder / "edge.log"
    with log.open("wb") as out:
        edge = subprocess.Popen([sys.executable, "-m", "streamq", "edge", "uplink.cql"], cwd=folder, stdout=out, stderr=out)
    try:
        until, pause = time.monotonic() + DEADLINE_S, threading.Event()
        # It tells so every ten seconds.
        while f"{wanted:,} rows" not in log.read_text() or "bytes wait" in log.read_text().splitlines()[-1]:
            assert time.monotonic() < until, log.read_text()
            assert edge.poll() is None, log.read_text()
            pause.wait(0.1)
        return run_to_end(into_memory(compile_file(folder / "uplink.cql").require()), spark)
    finally:
        edge.send_signal(signal.SIGTERM)
        edge.wait(DEADLINE_S)


def test_all_rows_come_and_what_was_shed_comes_back(report: RunReport, measured: pd.DataFrame) -> None:
    (came,) = report.received
    assert came.rows == len(measured) // CYCLE * CYCLE
    assert came.shed > 0
    assert came.recovered > 0
    assert (came.late, came.not_retained, came.dropped, came.bad) == (0, 0, 0, 0)


def test_humidity_lies_between_its_bounds(report: RunReport, measured: pd.DataFrame) -> None:
    days = measured.assign(day=measured["time_hour"].dt.floor("D")).groupby(["origin", "day"])
    true: dict[Any, Any] = {key: of.mean(numeric_only=True) for key, of in days}
    rows = report.rows("daily")
    assert len(rows) > 1_000
    for row in rows:
        day = true[row["origin"], pd.Timestamp(row["day"])]
        assert row["temp"] == pytest.approx(day["temp"], rel=1e-12)
        assert row["humid_least"] <= day["humid"] * (1 + 1e-12)
        assert row["humid_most"] >= day["humid"] * (1 - 1e-12)
        assert row["humid"] == pytest.approx(day["humid"], rel=0.05)
        if row["pressure"] is not None:
            assert row["pressure"] == pytest.approx(day["pressure"], rel=0.05)


def test_storms_are_found_exactly(report: RunReport, measured: pd.DataFrame) -> None:
    whole = measured.iloc[: len(measured) // CYCLE * CYCLE]
    storms = whole[whole["wind_speed"] > 35]
    assert len(storms) > 10
    found = {(r["origin"], pd.Timestamp(r["time_hour"]), r["wind_speed"]) for r in report.rows("storms")}
    assert found == set(zip(storms["origin"], storms["time_hour"], storms["wind_speed"], strict=True))
