"""The duckdb sink: exactly once, types, refusals, a file that another process has open."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pyspark.sql import SparkSession

from streamq.runtime.spark.writers.duckdb_file import STAGE, DuckDBWriter
from tests.support.sink_runs import SinkRuns, rows


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> SinkRuns:
    return SinkRuns(spark, tmp_path)


INSERT = "INSERT INTO duck SELECT n FROM numbers;"


def sink(table: str = "t", name: str = "duck", **options: str) -> str:
    more = "".join(f", {key} = '{value}'" for key, value in options.items())
    return f"CREATE SINK {name} WITH (connector = 'duckdb', path = 'out.duckdb', table = '{table}'{more});\n"


def ask(runs: SinkRuns, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(runs.folder / "out.duckdb")) as db:
        return db.execute(sql).fetchall()


def numbers(runs: SinkRuns, table: str = "t") -> list[int]:
    return sorted(n for (n,) in ask(runs, f"SELECT n FROM {table}"))


def test_values_of_every_type(runs: SinkRuns) -> None:
    runs.add(*rows(1))
    runs.done(sink('a "b"', schema="my schema") + """
      INSERT INTO duck SELECT
        TRUE AS bool, CAST(-1 AS TINYINT) AS tiny, CAST(-300 AS SMALLINT) AS small, CAST(70000 AS INT) AS int, n AS big,
        CAST(0.5 AS FLOAT) AS float, CAST('NaN' AS DOUBLE) AS nan, CAST('-Infinity' AS DOUBLE) AS inf,
        CAST('12345678901234567890.123' AS DECIMAL(38, 3)) AS dec, 'ü "quoted" ''x'' 漢字' AS text, CAST('ab' AS BINARY) AS bin,
        DATE '0001-01-01' AS day, CAST('1582-10-04 12:00:00.123456' AS TIMESTAMP) AS moment, ts - TIMESTAMP '2023-12-30 00:00:00.5' AS span,
        ARRAY(1, NULL) AS list, MAP('a', ts) AS map, NAMED_STRUCT('x', 1, 'y', CAST(NULL AS STRING)) AS "a ""x"" struct",
        CAST(NULL AS DOUBLE) AS no_double, CAST(NULL AS STRING) AS no_text, CAST(NULL AS TIMESTAMP) AS no_time
      FROM numbers;
    """)
    table = '"my schema"."a ""b"""'
    (row,) = ask(runs, f"""SELECT bool, tiny, small, int, big, float, nan, inf, dec::VARCHAR, text, bin, day, epoch_us(moment),
      epoch(span), list, epoch_us(map['a']), "a ""x"" struct", no_double, no_text, no_time FROM {table}""")
    assert math.isnan(row[6])
    old, new = datetime(1582, 10, 4, 12, 0, 0, 123456, UTC), datetime(2024, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert row[:6] + row[7:] == (
        True, -1, -300, 70_000, 1, 0.5, -math.inf, "12345678901234567890.123", "ü \"quoted\" 'x' 漢字", b"ab", date(1, 1, 1),
        round(old.timestamp() * 1e6), 172_800.5, [1, None], round(new.timestamp() * 1e6), {"x": 1, "y": None}, None, None, None,
    )
    types = {name: kind for name, kind, *_ in ask(runs, f"DESCRIBE {table}")}
    assert (types["dec"], types["moment"], types["span"]) == ("DECIMAL(38,3)", "TIMESTAMP WITH TIME ZONE", "INTERVAL")


def test_newest_row_of_each_key(runs: SinkRuns) -> None:
    keys = ["a", "b", None, 'c"']
    for turn in range(3):
        runs.add(*[{"k": key, "n": turn, "ts": "2024-01-01T00:00:00Z"} for key in keys for _ in range(turn + 1)])
    runs.done(sink() + "INSERT INTO duck SELECT k, COUNT(*) AS n FROM numbers GROUP BY k;")
    assert dict(ask(runs, "FROM t")) == dict.fromkeys(keys, 6)
    runs.done(sink("one") + "CREATE QUERY one INTO duck AS SELECT COUNT(*) AS n FROM numbers;", "one")
    assert numbers(runs, "one") == [24]


def test_many_rows_at_once(runs: SinkRuns) -> None:
    runs.add(*rows(*range(1, 100_001)))
    runs.add()
    runs.done(sink() + INSERT)
    assert ask(runs, "SELECT count(*), sum(n) FROM t") == [(100_000, 5_000_050_000)]
    assert ask(runs, "SELECT batch, rows FROM streamq_progress") == [(1, 100_000)]


class PlannedError(Exception):
    """What a test lets happen."""


def _raise(*_: Any) -> Any:
    raise PlannedError


def _after(real: Callable[..., Any]) -> Callable[..., Any]:
    def failing(self: Any, *args: Any) -> Any:
        real(self, *args)
        raise PlannedError

    return failing


@pytest.mark.parametrize("point", ["before staging", "after staging", "after the commit"])
@pytest.mark.parametrize("query", [INSERT, "INSERT INTO duck SELECT n % 3 AS n, COUNT(*) AS c FROM numbers GROUP BY n % 3;"], ids=["rows", "relation"])
def test_a_micro_batch_that_is_repeated_is_there_once(
    runs: SinkRuns, monkeypatch: pytest.MonkeyPatch, point: str, query: str
) -> None:
    runs.add(*rows(*range(10)))
    runs.add(*rows(*range(10, 20)))
    with monkeypatch.context() as patch:
        match point:
            case "before staging":
                patch.setattr(DuckDBWriter, "_noted", _raise)
            case "after staging":
                patch.setattr(DuckDBWriter, "_merge", _raise)
            case _:
                patch.setattr(DuckDBWriter, "write", _after(DuckDBWriter.write))
        assert runs.refused(sink() + query)[0] == "SQ0801"
    assert ask(runs, "SELECT count(*) > 0 FROM t") == [(point == "after the commit",)]
    runs.done(sink() + query)
    if query is INSERT:
        assert numbers(runs) == list(range(20))
    else:
        assert sorted(ask(runs, "SELECT n, c FROM t")) == [(0, 7), (1, 7), (2, 6)]
    assert not list((runs.folder / "checkpoint").rglob(f"{STAGE}*"))


def test_run_goes_on_and_a_new_one_is_refused(runs: SinkRuns) -> None:
    runs.add(*rows(1, 2))
    runs.done(sink() + INSERT, "first")
    runs.add(*rows(3))
    runs.done(sink() + INSERT, "first")
    assert numbers(runs) == [1, 2, 3]
    code, text = runs.refused(sink() + INSERT, "second")
    assert (code, "table `t` holds rows of another run of this query" in text) == ("SQ0806", True)
    runs.done(sink(existing="keep") + INSERT, "second")
    assert numbers(runs) == [1, 1, 2, 2, 3, 3]


def test_what_is_gone_is_missed(runs: SinkRuns) -> None:
    """Results that were written and are not there any more are no reason to begin anew without a word."""
    runs.add(*rows(1, 2))
    runs.done(sink() + INSERT)
    ask(runs, "DROP TABLE t")
    runs.add(*rows(3))
    code, text = runs.refused(sink() + INSERT)
    assert (code, "table `t` is gone, with 2 rows that this run wrote" in text) == ("SQ0806", True), text
    (runs.folder / "out.duckdb").unlink()
    code, text = runs.refused(sink() + INSERT)
    assert (code, "the file `out.duckdb` is gone, which this run has written" in text) == ("SQ0806", True), text
    runs.done(sink() + INSERT, "another")
    assert numbers(runs) == [1, 2, 3]


def test_two_queries_into_one_file(runs: SinkRuns) -> None:
    for n in range(4):
        runs.add(*rows(n))
    runs.done(sink() + sink("u", "other") + INSERT + "CREATE QUERY a INTO duck AS SELECT -n AS n FROM numbers; CREATE QUERY b INTO other AS SELECT n FROM numbers;")
    assert numbers(runs) == [-3, -2, -1, 0, 0, 1, 2, 3]
    assert numbers(runs, "u") == [0, 1, 2, 3]


def test_rows_that_a_constraint_forbids(runs: SinkRuns) -> None:
    with duckdb.connect(str(runs.folder / "out.duckdb")) as db:
        db.execute("CREATE TABLE t (n BIGINT CHECK (n < 100))")
    runs.add(*rows(1))
    runs.add(*rows(2, 4711))
    code, text = runs.refused(sink() + INSERT)
    assert (code, "DuckDB refuses rows of query `into_duck`" in text) == ("SQ0806", True)
    assert "CHECK constraint failed" in text
    assert numbers(runs) == [1]


@pytest.mark.parametrize(("made", "said"), [
    ("CREATE TABLE t (m BIGINT)", "table `t` has no column `n`"),
    ("CREATE TABLE t (n BIGINT, m INT NOT NULL)", "column `m` of table `t` is NOT NULL, and not in the result"),
    ("SELECT 1", "there is no table `t` in schema `main`"),
], ids=["column", "not null", "no table"])
def test_table_that_does_not_fit(runs: SinkRuns, made: str, said: str) -> None:
    with duckdb.connect(str(runs.folder / "out.duckdb")) as db:
        db.execute(made)
    runs.add(*rows(1))
    code, text = runs.refused(sink(create="false") + INSERT)
    assert (code, said in text) == ("SQ0806", True), text


def test_file_that_cannot_be(runs: SinkRuns) -> None:
    (runs.folder / "text.duckdb").write_text("no database" * 1000)
    runs.add(*rows(1))
    code, text = runs.refused(sink().replace("out.duckdb", "text.duckdb") + INSERT)
    assert (code, "not a valid DuckDB database file" in text) == ("SQ0806", True), text
    (runs.folder / "a.file").write_text("no folder")
    code, text = runs.refused(sink().replace("out.duckdb", "a.file/deep/out.duckdb") + INSERT)
    assert (code, "a.file/deep` of DuckDB's file cannot be made: not a directory" in text) == ("SQ0806", True), text


def test_folder_of_the_file_is_made(runs: SinkRuns) -> None:
    runs.add(*rows(1))
    runs.done(sink().replace("out.duckdb", "some/new/out.duckdb") + INSERT)
    assert (runs.folder / "some/new/out.duckdb").is_file()


HOLDER = "import duckdb, sys; db = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"


def test_file_that_another_process_has_open(runs: SinkRuns) -> None:
    runs.add(*rows(1))
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(runs.folder / "out.duckdb")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder.stdin, holder.stdout:
        assert holder.stdout.readline() == "open\n"
        code, text = runs.refused(sink(patience="1 second") + INSERT)
        assert (code, "another process has the file open" in text) == ("SQ0808", True), text
    assert holder.wait(60) == 0
    runs.done(sink() + INSERT)
    assert numbers(runs) == [1]


def test_disk_that_is_full(runs: SinkRuns) -> None:
    disk = runs.folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    there = sink().replace("out.duckdb", "disk/out.duckdb")
    try:
        runs.add(*rows(1))
        runs.done(there + INSERT)
        with (disk / "filling").open("wb", buffering=0) as filling, suppress(OSError):
            while filling.write(bytes(4096)):
                pass
        runs.add(*rows(2))
        code, text = runs.refused(there + INSERT)
        assert (code, f"`{disk}`: the disk is full" in text) == ("SQ0809", True), text
        (disk / "filling").unlink()
        runs.done(there + INSERT)
        with duckdb.connect(str(disk / "out.duckdb")) as db:
            assert db.execute("SELECT n FROM t ORDER BY n").fetchall() == [(1,), (2,)]
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
