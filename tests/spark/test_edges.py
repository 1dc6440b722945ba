"""Rows that come from an edge, on Spark: what was shed, what came back within its bounds, and what a restart makes of it."""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalPlan
from streamq.compiler.options import CompileOptions
from streamq.runtime.edge.at_run.compiled import edge_plan
from streamq.runtime.edge.at_source.folder_sender import FolderSender
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.at_source.source import Files
from streamq.runtime.edge.at_source.store import Store
from streamq.runtime.metrics import RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan

PLACES, CYCLES = 12, 40
PROGRAM = """
CREATE STREAM weather (
  location STRING, humidity DOUBLE, barometer DOUBLE, wind DOUBLE, calm BOOLEAN, ts TIMESTAMP,
  fraction AS humidity / 100, WATERMARK FOR ts AS ts - INTERVAL 1 SECOND
)
SHED ATTRIBUTES TO CAPACITY 8 KBPS
RECOVER (humidity, calm) FROM SYNOPSIS ERROR 5 PERCENT CYCLE (location)
WITH (connector = 'edge', folder = 'inbox', read = 'station.jsonl', wait = '{wait}');
CREATE SINK rows WITH (connector = 'memory');
CREATE SINK means WITH (connector = 'memory');
CREATE SINK asks WITH (connector = 'memory');
CREATE QUERY all_rows INTO rows AS
  SELECT location, ts, humidity, humidity_lo, humidity_hi, fraction, barometer, wind, calm, shed_columns FROM weather;
CREATE QUERY by_place INTO means AS
  SELECT location, WINDOW_START AS since, AVG(humidity) AS humidity, AVG(humidity_lo) AS low, AVG(humidity_hi) AS high, AVG(wind) AS wind
  FROM weather [TUMBLE 10 SECONDS] GROUP BY location;
CREATE QUERY asks_for_wind INTO asks AS SELECT location, ts, wind FROM weather RECOVER (wind) FROM SYNOPSIS;
"""


def humidity(place: int, cycle: int) -> float:
    return 50.0 + place + 6 * ((cycle * (place + 1)) % 7) / 7


def wind(place: int, cycle: int) -> float:
    return float(place + (cycle // 8) % 3)


def write_rows(folder: Path, first: int, end: int) -> None:
    with (folder / "station.jsonl").open("a") as out:
        for cycle in range(first, end):
            for place in range(PLACES):
                row = {
                    "location": f"l{place:02}", "humidity": humidity(place, cycle), "barometer": 29.9, "wind": wind(place, cycle),
                    "calm": cycle % 5 == 0, "ts": f"2024-01-01T00:{cycle // 60:02}:{cycle % 60:02}Z",
                }
                out.write(json.dumps(row) + "\n")


def compiled(folder: Path, wait: str = "60 seconds") -> PhysicalPlan:
    return compile_program(PROGRAM.format(wait=wait), CompileOptions(base_dir=str(folder), verify=True)).require()


@contextmanager
def edge_at_work(folder: Path, plan: PhysicalPlan) -> Iterator[None]:
    """An edge in a thread, for which time goes as fast as it likes. First all of its source is sent."""
    sent, stopping = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(_edge, folder, plan, sent, stopping)
        try:
            assert sent.wait(60) or work.done()
            yield
        finally:
            stopping.set()
        work.result()


def _edge(folder: Path, plan: PhysicalPlan, sent: threading.Event, stopping: threading.Event) -> None:
    (told,) = plan.edges
    asked = edge_plan(told, plan.edges)
    now = 1000.0
    with Store(folder / "weather.edge", asked) as store:
        source, sender = Files(folder / "station.jsonl", follow=False), FolderSender(folder / "inbox", asked)
        site = Site(asked, source, store, sender, lambda: now, lambda: now)
        site.start()
        while not stopping.is_set():
            now += max(min(site.turn(last=True), 0.25), 0.001)
            if site.done:
                sent.set()
                stopping.wait(0.002)


def run(spark: SparkSession, folder: Path, plan: PhysicalPlan) -> RunReport:
    report = run_plan(plan, RunOptions(once=True, checkpoint=folder / "state"), session=spark)
    assert report.diagnostics == ()
    return report


def second(cell: object) -> int:
    """The cycle of a row, by its time."""
    text = str(cell)
    return int(text[14:16]) * 60 + int(text[17:19])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path, 0, CYCLES)
    return tmp_path


def test_what_was_shed_comes_back_within_its_bounds(spark: SparkSession, folder: Path) -> None:
    plan = compiled(folder)
    with edge_at_work(folder, plan):
        report = run(spark, folder, plan)
    rows = report.rows("all_rows")
    assert sorted((str(r["location"]), second(r["ts"])) for r in rows) == sorted(
        (f"l{p:02}", c) for p in range(PLACES) for c in range(CYCLES)
    )
    shed = {name for row in rows for name in row["shed_columns"]}
    assert {"humidity", "wind"} <= shed <= {"humidity", "barometer", "wind", "calm"}
    for row in rows:
        place, cycle = int(str(row["location"])[1:]), second(row["ts"])
        true = humidity(place, cycle)
        assert row["humidity_lo"] <= true <= row["humidity_hi"]
        assert abs(row["humidity"] - true) <= 0.05 * true
        assert row["fraction"] == row["humidity"] / 100
        exact = "humidity" not in row["shed_columns"]
        assert not exact or row["humidity_lo"] == row["humidity"] == row["humidity_hi"] == true
        assert row["calm"] is (cycle % 5 == 0)
        for name, value in (("wind", wind(place, cycle)), ("barometer", 29.9)):
            assert row[name] == (None if name in row["shed_columns"] else value)
    assert any(row["humidity_lo"] < row["humidity_hi"] for row in rows)
    (came,) = report.received
    assert (came.stream, came.rows, came.late, came.not_retained, came.bad) == ("weather", PLACES * CYCLES, 0, 0, 0)
    assert came.shed == sum(len(row["shed_columns"]) for row in rows)
    assert came.recovered == sum(len({"humidity", "calm", "wind"} & set(row["shed_columns"])) for row in rows)


def test_answers_of_a_query_rest_on_what_came_back_for_it(spark: SparkSession, folder: Path) -> None:
    plan = compiled(folder)
    with edge_at_work(folder, plan):
        report = run(spark, folder, plan)
    means = report.rows("by_place")
    assert len(means) == PLACES * (CYCLES // 10 - 1)
    for row in means:
        place, since = int(str(row["location"])[1:]), second(row["since"])
        true = sum(humidity(place, c) for c in range(since, since + 10)) / 10
        assert row["low"] <= true * (1 + 1e-12)
        assert row["high"] >= true * (1 - 1e-12)
        assert abs(row["humidity"] - true) <= 0.05 * true
    # It is another query that asks for the wind.
    assert all(row["wind"] == wind(int(str(row["location"])[1:]), second(row["ts"])) for row in report.rows("asks_for_wind"))
    assert len(report.rows("asks_for_wind")) == PLACES * CYCLES
    assert any(row["wind"] is None for row in means)


def test_a_run_goes_on_where_it_was(spark: SparkSession, folder: Path) -> None:
    plan = compiled(folder)
    with edge_at_work(folder, plan):
        first = run(spark, folder, plan)
    write_rows(folder, CYCLES, CYCLES + 10)
    with edge_at_work(folder, plan):
        then = run(spark, folder, plan)
    for report, cycles in ((first, range(CYCLES)), (then, range(CYCLES, CYCLES + 10))):
        assert {second(row["ts"]) for row in report.rows("all_rows")} == set(cycles)
        assert len(report.rows("all_rows")) == PLACES * len(cycles)
        assert all(row["humidity"] is not None for row in report.rows("all_rows"))
    assert {second(row["since"]) for row in then.rows("by_place")} == {CYCLES - 10}


def test_without_its_edge_rows_go_on_without_what_was_shed(spark: SparkSession, folder: Path) -> None:
    plan = compiled(folder, wait="0 seconds")
    with edge_at_work(folder, plan):
        pass
    report = run(spark, folder, plan)
    rows = report.rows("all_rows")
    assert len(rows) == PLACES * CYCLES
    assert all((row["humidity"] is None) == ("humidity" in row["shed_columns"]) for row in rows)
    assert any(row["humidity"] is None for row in rows)
    (came,) = report.received
    assert came.recovered == 0
    assert came.late > 0


def test_two_runs_do_not_share_a_folder(spark: SparkSession, folder: Path) -> None:
    plan = compiled(folder)
    (folder / "inbox").mkdir()
    with (folder / "inbox" / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        report = run_plan(plan, RunOptions(once=True), session=spark)
    (wrong,) = report.diagnostics
    assert wrong.code == "SQ0807"
    assert "another run" in wrong.message


SIFTED = """
CREATE STREAM weather (
  location STRING, humidity DOUBLE, barometer DOUBLE, wind DOUBLE, calm BOOLEAN, ts TIMESTAMP, WATERMARK FOR ts
)
SHED SIFTER ON (wind) TO CAPACITY 4 KBPS
WITH (connector = 'edge', folder = 'inbox', read = 'station.jsonl');
CREATE SINK rows WITH (connector = 'memory');
CREATE SINK stormy WITH (connector = 'memory');
CREATE QUERY all_rows INTO rows AS SELECT location, ts, wind, humidity, barometer FROM weather WHERE wind >= 9;
CREATE QUERY storms INTO stormy AS SELECT location, ts, wind FROM weather WHERE wind > 10;
"""


def test_rows_that_queries_want_come_and_all_others_are_counted(spark: SparkSession, folder: Path) -> None:
    plan = compile_program(SIFTED, CompileOptions(base_dir=str(folder), verify=True)).require()
    with edge_at_work(folder, plan):
        report = run(spark, folder, plan)
    (came,) = report.received
    assert came.rows + came.dropped == PLACES * CYCLES
    assert came.dropped > 0
    assert came.shed == 0
    wanted = sum(wind(p, c) > 10 for p in range(PLACES) for c in range(CYCLES))
    # By chance each row would be there with the share of all that came.
    assert len(report.rows("storms")) / wanted > 1.5 * came.rows / (PLACES * CYCLES)
    assert all(row["humidity"] is not None for row in report.rows("all_rows"))
