"""The postgres sink against a real server: exactly once, types, refusals, a server that goes away."""

from __future__ import annotations

import math
import os
import random
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from streamq.runtime.spark.writers import base, postgres_ready
from streamq.runtime.spark.writers.postgres import PostgresWriter
from tests.support.postgres import PostgresServer, free_port, postgres_server
from tests.support.sink_runs import SinkRuns, rows


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as started:
        yield started


class Database:
    """A database of the test's own."""

    def __init__(self, server: PostgresServer, name: str) -> None:
        self.server, self.name = server, name
        server.query(f"CREATE DATABASE {name}")

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return self.server.query(sql, database=self.name)

    def sink(self, name: str = "pg", table: str = "t", **options: object) -> str:
        given = {"host": "127.0.0.1", "port": self.server.port, "database": self.name, "user": "streamq", "table": table, **options}
        shown = ", ".join(f"{key} = {value if isinstance(value, int) else _text(str(value))}" for key, value in given.items())
        return f"CREATE SINK {name} WITH (connector = 'postgres', {shown});\n"

    def numbers(self, table: str = "t") -> list[int]:
        return sorted(n for (n,) in self.query(f"SELECT n FROM {table}"))


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


_made = iter(range(1_000_000))


@pytest.fixture
def db(server: PostgresServer) -> Database:
    return Database(server, f"d{next(_made)}")


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> SinkRuns:
    return SinkRuns(spark, tmp_path)


INSERT = "INSERT INTO pg SELECT n FROM numbers;"
COUNTS = "INSERT INTO pg SELECT k, COUNT(*) AS n, SUM(n) AS s FROM numbers GROUP BY k;"


def test_values_of_every_type(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1))
    runs.done(db.sink(table='a "b" \\ ü', schema="public") + """
      INSERT INTO pg SELECT
        TRUE AS bool, CAST(-1 AS TINYINT) AS tiny, CAST(-300 AS SMALLINT) AS small, CAST(70000 AS INT) AS int, n AS big,
        CAST(0.5 AS FLOAT) AS float, CAST('NaN' AS DOUBLE) AS nan, CAST('-Infinity' AS DOUBLE) AS inf,
        CAST('12345678901234567890.123' AS DECIMAL(38, 3)) AS dec, 'ü "quoted" ''x'' \\ 漢字' AS text, CAST('ab' AS BINARY) AS bin,
        DATE '0001-01-01' AS day, CAST('1582-10-04 12:00:00.123456' AS TIMESTAMP) AS moment, ts - ts AS nothing, ts - TIMESTAMP '2023-12-30 00:00:00.5' AS span,
        ARRAY(1, NULL) AS list, MAP('a', ts) AS map, NAMED_STRUCT('x', 1, 'y', CAST(NULL AS STRING)) AS "a ""x"" struct",
        CAST(NULL AS DOUBLE) AS no_double, CAST(NULL AS STRING) AS no_text, CAST(NULL AS TIMESTAMP) AS no_time
      FROM numbers;
    """)
    (row,) = db.query("""SELECT bool, tiny, small, int, big, float, nan, inf, dec::text, text, bin, day, moment, extract(epoch from nothing)::int,
      extract(epoch from span)::float8, list::text, map::text, "a ""x"" struct"::text, no_double, no_text, no_time FROM "a ""b"" \\ ü" """)
    assert math.isnan(row[6])
    assert row[:6] + row[7:] == (
        True, -1, -300, 70_000, 1, 0.5, -math.inf, "12345678901234567890.123", "ü \"quoted\" 'x' \\ 漢字", b"ab", date(1, 1, 1),
        datetime(1582, 10, 4, 12, 0, 0, 123456, UTC), 0, 172_800.5, "[1, null]", '{"a": "2024-01-01T00:00:01.000000Z"}',
        '{"x": 1, "y": null}', None, None, None,
    )
    types = dict(db.query("SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '\"a \"\"b\"\" \\ ü\"'::regclass AND attnum > 0"))
    assert types["dec"] == "numeric(38,3)"
    assert types["moment"] == "timestamp with time zone"
    assert types["map"] == "jsonb"


def test_newest_row_of_each_key(runs: SinkRuns, db: Database) -> None:
    draw, truth = random.Random(7), dict[str | None, tuple[int, int]]()
    for _ in range(6):
        batch = [{"k": draw.choice(["a", "b", 'c"', None, *map(str, range(20))]), "n": draw.randrange(100), "ts": "2024-01-01T00:00:00Z"} for _ in range(40)]
        for row in batch:
            count, total = truth.get(row["k"], (0, 0))
            truth[row["k"]] = (count + 1, total + row["n"])
        runs.add(*batch)
    report = runs.done(db.sink() + COUNTS)
    found = {k: (n, s) for k, n, s in db.query("SELECT k, n, s FROM t")}
    assert found == truth
    assert report.totals[0].rows_out == db.query("SELECT rows FROM streamq_progress")[0][0] > len(truth)


def test_result_of_one_row(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2))
    runs.add(*rows(3))
    runs.done(db.sink() + "INSERT INTO pg SELECT COUNT(*) AS n FROM numbers;")
    assert db.numbers() == [3]


def test_changes_are_appended(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2), {"k": "late", "n": 9, "ts": "2024-01-01T01:00:00Z"})
    runs.done(db.sink() + "INSERT INTO pg SELECT n FROM numbers [RANGE 1 MINUTE] WHERE k = 'k';")
    assert sorted(db.query("SELECT n, change FROM t")) == [(1, "+"), (1, "-"), (2, "+"), (2, "-")]


def test_micro_batch_without_rows(runs: SinkRuns, db: Database) -> None:
    runs.add()
    runs.add(*rows(5))
    runs.done(db.sink() + "INSERT INTO pg SELECT n FROM numbers WHERE n > 3;")
    assert db.numbers() == [5]
    assert db.query("SELECT batch, rows FROM streamq_progress") == [(1, 1)]


def test_many_rows_at_once(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(*range(1, 100_001)))
    runs.done(db.sink() + INSERT)
    assert db.query("SELECT count(*), sum(n) FROM t") == [(100_000, "5000050000")]


class PlannedError(Exception):
    """What a test lets happen."""


def _before(name: str) -> Callable[..., Any]:
    def failing(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise PlannedError(name)

    return failing


def _after(real: Callable[..., Any]) -> Callable[..., Any]:
    def failing(self: Any, *args: Any, **kwargs: Any) -> Any:
        real(self, *args, **kwargs)
        raise PlannedError("after")

    return failing


@pytest.mark.parametrize("query", [INSERT, "INSERT INTO pg SELECT n % 3 AS n, COUNT(*) AS c FROM numbers GROUP BY n % 3;"], ids=["rows", "relation"])
@pytest.mark.parametrize("point", ["before staging", "after staging", "before the commit", "after the commit"])
def test_a_micro_batch_that_is_repeated_is_there_once(
    runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch, point: str, query: str
) -> None:
    runs.add(*rows(*range(10)))
    runs.add(*rows(*range(10, 20)))
    with monkeypatch.context() as patch:
        match point:
            case "before staging":
                patch.setattr(PostgresWriter, "_stage", _before("staging"))
            case "after staging":
                patch.setattr(PostgresWriter, "_merge", _before("merge"))
            case "before the commit":
                real = base.is_there
                calls = iter(range(100))
                # The second look is inside the transaction.
                patch.setattr("streamq.runtime.spark.writers.postgres.is_there", lambda *a: _raise() if next(calls) == 1 else real(*a))
            case _:
                patch.setattr(PostgresWriter, "write", _after(PostgresWriter.write))
        assert runs.refused(db.sink() + query)[0] == "SQ0801"
    there = db.query("SELECT count(*) FROM t")[0][0]
    assert there == (0 if point != "after the commit" else 10 if query is INSERT else 3)
    runs.done(db.sink() + query)
    if query is INSERT:
        assert db.numbers() == list(range(20))
    else:
        assert sorted(db.query("SELECT n, c FROM t")) == [(0, 7), (1, 7), (2, 6)]
    assert db.query("SELECT batch FROM streamq_progress") == [(1,)]
    assert db.query("SELECT relname FROM pg_class WHERE relname LIKE 'streamq_stage%'") == []


def _raise() -> bool:
    raise PlannedError("in the transaction")


def test_run_goes_on_from_its_checkpoint(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2))
    runs.done(db.sink() + INSERT)
    runs.done(db.sink() + INSERT)
    runs.add(*rows(3))
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [1, 2, 3]


def test_new_run_into_the_table_of_another(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2))
    runs.done(db.sink() + INSERT, "first")
    code, text = runs.refused(db.sink() + INSERT, "second")
    assert (code, "table `t` holds rows of another run of this query" in text) == ("SQ0806", True)
    runs.done(db.sink(existing="keep") + INSERT, "second")
    # Its first micro-batch has the number that one of the other had, and is there all the same.
    assert db.numbers() == [1, 1, 2, 2]
    db.query("DELETE FROM t")
    runs.done(db.sink() + INSERT, "third")
    assert db.numbers() == [1, 2]


def test_rows_of_others_stay(runs: SinkRuns, db: Database) -> None:
    db.query("CREATE TABLE t (id serial PRIMARY KEY, n numeric(10, 2), note text DEFAULT 'none')")
    db.query("INSERT INTO t (n) VALUES (77)")
    runs.add(*rows(1))
    runs.done(db.sink(create="false") + INSERT)
    assert db.query("SELECT n::int, note FROM t ORDER BY id") == [(77, "none"), (1, "none")]
    one = db.sink() + "CREATE QUERY one INTO pg AS SELECT COUNT(*) AS n FROM numbers;"
    assert "holds rows of others, and the result is a single one" in runs.refused(one, "one")[1]


def test_texts_become_what_a_column_is(runs: SinkRuns, db: Database) -> None:
    db.query("CREATE TABLE t (k uuid, n varchar(3))")
    runs.add({"k": "6f1c0f5e-0000-4000-8000-000000000001", "n": 7, "ts": "2024-01-01T00:00:00Z"})
    runs.done(db.sink() + "INSERT INTO pg SELECT k, CAST(n AS STRING) AS n FROM numbers;")
    assert db.query("SELECT k::text, n FROM t") == [("6f1c0f5e-0000-4000-8000-000000000001", "7")]


def test_two_queries(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2, 3))
    both = db.sink() + db.sink("other", "u") + INSERT + "CREATE QUERY two INTO pg AS SELECT -n AS n FROM numbers;"
    runs.done(both + "CREATE QUERY three INTO other AS SELECT n FROM numbers WHERE n > 1;")
    assert db.numbers() == [-3, -2, -1, 1, 2, 3]
    assert db.numbers("u") == [2, 3]


def test_rows_that_a_constraint_forbids(runs: SinkRuns, db: Database) -> None:
    db.query("CREATE TABLE t (n bigint CHECK (n < 100), secret text DEFAULT 'of another row')")
    runs.add(*rows(1))
    runs.add(*rows(2, 4711))
    code, text = runs.refused(db.sink() + INSERT)
    assert code == "SQ0806"
    assert "the PostgreSQL server refuses rows of query `into_pg`" in text
    assert 'violates check constraint "t_n_check"' in text
    assert "4711" not in text
    assert "of another row" not in text
    assert db.numbers() == [1]
    db.query("ALTER TABLE t DROP CONSTRAINT t_n_check")
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [1, 2, 4711]


def test_refused_rows_are_put_aside_and_the_query_goes_on(runs: SinkRuns, db: Database) -> None:
    db.query("CREATE TABLE t (n bigint CHECK (n < 100))")
    for number in (1, 4711, 2):
        runs.add(*rows(number))
    runs.done(f"SET dead_letters = '{runs.folder}/dead';" + db.sink() + INSERT)
    assert db.numbers() == [1, 2]
    assert db.query("SELECT batch, rows FROM streamq_progress") == [(2, 2)]
    assert [p.name for p in (runs.folder / "dead").rglob("batch-*")] == ["batch-1"]
    runs.add(*rows(3))
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [1, 2, 3]


@pytest.mark.parametrize("more", ["", ", part text, seq text, c0 text, c1 text, c2 text"], ids=["", "names of staged columns"])
def test_two_nulls_of_a_key_are_one_whatever_the_index_says(runs: SinkRuns, db: Database, more: str) -> None:
    db.query(f"CREATE TABLE t (k varchar(9), n int, s text{more})")
    db.query("CREATE UNIQUE INDEX ON t (k)")
    for n in (1, 2, 3):
        runs.add(*rows(n, key="a"), {"k": None, "n": n, "ts": "2024-01-01T00:00:00Z"})
    runs.done(db.sink() + COUNTS)
    assert sorted(db.query("SELECT k, n, s FROM t"), key=str) == [("a", 3, "6"), (None, 3, "6")]


def test_keys_alone_may_be_null(runs: SinkRuns, db: Database) -> None:
    db.query("CREATE TABLE t (k text, n bigint, UNIQUE (n, k))")
    for _ in range(2):
        runs.add(*rows(1, 2), {"k": None, "n": 1, "ts": "2024-01-01T00:00:00Z"})
    runs.done(db.sink() + "INSERT INTO pg SELECT k, n FROM numbers GROUP BY k, n;")
    assert sorted(db.query("SELECT k, n FROM t"), key=str) == [("k", 1), ("k", 2), (None, 1)]


def test_table_that_is_gone_is_missed(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2))
    runs.done(db.sink() + INSERT)
    db.query("DROP TABLE t")
    runs.add(*rows(3))
    code, text = runs.refused(db.sink() + INSERT)
    assert (code, "table `t` is gone, with 2 rows that this run wrote" in text) == ("SQ0806", True)
    db.query("CREATE TABLE t (n bigint)")
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [3]


def test_progress_that_is_gone_is_missed(runs: SinkRuns, db: Database) -> None:
    runs.add(*rows(1, 2))
    runs.done(db.sink() + INSERT)
    db.query("DROP TABLE streamq_progress")
    runs.add(*rows(3))
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [1, 2, 3]
    db.query("DROP TABLE streamq_progress")
    # Killed after the commit of the database, before that of Spark.
    for commit in (runs.folder / "checkpoint").glob("*/commits/*1*"):
        commit.unlink()
    code, text = runs.refused(db.sink() + INSERT)
    assert (code, "nobody can tell whether micro-batch 1 is in table `t`" in text) == ("SQ0806", True)
    runs.done(db.sink(existing="keep") + INSERT)
    assert db.numbers() == [1, 2, 3, 3]


def test_table_that_changed_while_its_server_was_away(runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    write = PostgresWriter.write

    def away(writer: PostgresWriter, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        if number == 1 and db.query("SELECT 1 FROM pg_attribute WHERE attrelid = 't'::regclass AND attname = 'n'"):
            db.query("ALTER TABLE t RENAME n TO m")
            raise base.failure(writer.target, "the server", base.Trouble("unreachable", "away"))
        write(writer, batch, number, stopping)

    monkeypatch.setattr(PostgresWriter, "write", away)
    runs.add(*rows(1))
    runs.add(*rows(2))
    code, text = runs.refused("SET tries = 2; SET restart_delay = '10 milliseconds';" + db.sink() + INSERT)
    assert (code, "table `t` has no column `n`" in text, "dead_letters" in text) == ("SQ0810", True, False), text


def test_text_that_postgres_cannot_hold(runs: SinkRuns, db: Database) -> None:
    runs.add({"k": "a\0b", "n": 1, "ts": "2024-01-01T00:00:00Z"})
    code, text = runs.refused(db.sink() + "INSERT INTO pg SELECT k FROM numbers;")
    assert (code, "invalid byte sequence" in text) == ("SQ0806", True)


@pytest.mark.parametrize(("made", "query", "said"), [
    ("CREATE TABLE t (m bigint)", INSERT, "table `t` has no column `n`"),
    ("CREATE TABLE t (n bigint, m int NOT NULL)", INSERT, "column `m` of table `t` is NOT NULL, and not in the result"),
    ("CREATE TABLE t (k text, n bigint, s bigint)", COUNTS, "table `t` has no unique index on k, by which rows replace each other"),
    ("CREATE TABLE t (k text UNIQUE DEFERRABLE, n bigint, s bigint)", COUNTS, "table `t` has no unique index on k, by which rows replace each other"),
    ("CREATE VIEW t AS SELECT 1::bigint AS n", INSERT, "`t` is no table"),
    ("SELECT 1", INSERT, "there is no table `t` in schema `public`"),
], ids=["column", "not null", "index", "deferrable", "view", "no table"])
def test_table_that_does_not_fit(runs: SinkRuns, db: Database, made: str, query: str, said: str) -> None:
    db.query(made)
    runs.add(*rows(1))
    code, text = runs.refused(db.sink(create="false") + query)
    assert (code, said in text) == ("SQ0806", True), text
    assert not (runs.folder / "checkpoint").exists()


def test_unique_index_of_two_columns(runs: SinkRuns, db: Database) -> None:
    db.query("CREATE TABLE t (a text, b bigint, c bigint, PRIMARY KEY (b, a))")
    runs.add(*rows(1, 1, 2))
    runs.done(db.sink() + "INSERT INTO pg SELECT k AS a, n AS b, COUNT(*) AS c FROM numbers GROUP BY k, n;")
    assert sorted(db.query("SELECT a, b, c FROM t")) == [("k", 1, 2), ("k", 2, 1)]


def test_who_may_not(runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    db.query(f"CREATE ROLE reader_{db.name} LOGIN PASSWORD 'pass word'")
    db.query("CREATE TABLE t (n bigint)")
    monkeypatch.setenv("PG_TEST", "pass word")
    limited = {"user": f"reader_{db.name}", "password": "env:PG_TEST"}
    runs.add(*rows(1))
    assert "may not create tables in schema `public`" in runs.refused(db.sink(**limited) + INSERT)[1]
    db.query("CREATE SCHEMA work")
    db.query(f"GRANT ALL ON SCHEMA work TO reader_{db.name}")
    granted = db.sink(staging_schema="work", create="false", **limited) + INSERT
    assert "the user may not INSERT in table `t`" in runs.refused(granted)[1]
    db.query(f"GRANT INSERT ON t TO reader_{db.name}")
    runs.done(granted)
    assert db.numbers() == [1]
    db.query(f"REVOKE INSERT ON t FROM reader_{db.name}")
    db.query("GRANT INSERT ON t TO PUBLIC")
    monkeypatch.setattr(postgres_ready, "_check_privileges", lambda *_: None)
    db.query("REVOKE INSERT ON t FROM PUBLIC")
    runs.add(*rows(2))
    code, text = runs.refused(granted)
    assert (code, text.splitlines()[0]) == ("SQ0806", "sink `pg` cannot be written: permission denied for table t")


@pytest.mark.parametrize("uri", [False, True], ids=["options", "uri"])
def test_wrong_password_is_not_told(runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch, uri: bool) -> None:
    db.query(f"CREATE ROLE writer_{db.name} LOGIN PASSWORD 'right'")
    monkeypatch.setenv("PG_TEST", f"postgresql://writer_{db.name}:wr%40ng@127.0.0.1:{db.server.port}/{db.name}" if uri else "wr@ng")
    sink = "CREATE SINK pg WITH (connector = 'postgres', table = 't', uri = 'env:PG_TEST');\n" if uri else db.sink(user=f"writer_{db.name}", password="env:PG_TEST")
    code, text = runs.refused(sink + INSERT)
    assert code == "SQ0806"
    assert "password authentication failed" in text
    assert "wr@ng" not in text
    assert "wr%40ng" not in text


def test_missing_database_and_schema(runs: SinkRuns, db: Database) -> None:
    code, text = runs.refused(db.sink(database="nowhere") + INSERT)
    assert (code, 'database "nowhere" does not exist' in text) == ("SQ0806", True)
    code, text = runs.refused(db.sink(schema="nowhere") + INSERT)
    assert (code, "there is no schema `nowhere`" in text) == ("SQ0806", True)


def test_nobody_listens(runs: SinkRuns, db: Database) -> None:
    code, text = runs.refused(db.sink(port=free_port()) + INSERT)
    assert (code, "Connection refused" in text) == ("SQ0808", True)
    assert not (runs.folder / "checkpoint").exists()


def test_table_that_another_holds(runs: SinkRuns, db: Database) -> None:
    import adbc_driver_postgresql.dbapi as adbc

    runs.add(*rows(1))
    runs.done(db.sink() + INSERT)
    runs.add(*rows(2))
    with adbc.connect(db.server.uri(db.name)) as holder, holder.cursor() as cursor:
        cursor.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        code, text = runs.refused(db.sink(patience="100 milliseconds") + INSERT)
        assert (code, "lock timeout" in text) == ("SQ0808", True), text
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [1, 2]


def test_table_and_checkpoint_of_different_times(runs: SinkRuns, db: Database) -> None:
    for n in range(3):
        runs.add(*rows(n))
    runs.done(db.sink() + INSERT)
    db.query("UPDATE streamq_progress SET batch = 0")
    assert "sink `pg` is behind the checkpoint" in runs.refused(db.sink() + INSERT)[1]
    db.query("UPDATE streamq_progress SET batch = 7")
    assert "sink `pg` is ahead of the checkpoint" in runs.refused(db.sink() + INSERT)[1]
    db.query("UPDATE streamq_progress SET batch = 2")
    runs.done(db.sink() + INSERT)


def test_server_that_crashes_in_the_middle(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    """Staged rows are lost in a crash of the server, and found to be."""
    with postgres_server() as server:
        db = Database(server, "crashing")
        runs.add(*rows(*range(50)))
        runs.add(*rows(*range(50, 100)))
        real = PostgresWriter._stage

        def crashing(self: PostgresWriter, batch: DataFrame, name: str) -> Any:
            parts = real(self, batch, name)
            if name.endswith("_1"):
                server.kill()
            return parts

        with monkeypatch.context() as patch:
            patch.setattr(PostgresWriter, "_stage", crashing)
            code, _ = runs.refused(db.sink() + INSERT)
        assert code == "SQ0808"
        assert runs.refused(db.sink() + INSERT)[0] == "SQ0808"
        server.start()
        assert db.numbers() == list(range(50))
        runs.done(db.sink() + INSERT)
        assert db.numbers() == list(range(100))


def test_staged_rows_that_a_crash_took_are_missed(runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.add(*rows(*range(50)))
    real = PostgresWriter._stage

    def emptied(self: PostgresWriter, batch: DataFrame, name: str) -> Any:
        parts = real(self, batch, name)
        db.query(f"TRUNCATE {name}")
        return parts

    with monkeypatch.context() as patch:
        patch.setattr(PostgresWriter, "_stage", emptied)
        code, text = runs.refused(db.sink() + INSERT)
    assert (code, "of 50 rows that were sent 0 are there" in text) == ("SQ0808", True)
    assert db.numbers() == []
    runs.done(db.sink() + INSERT)
    assert db.numbers() == list(range(50))


def test_run_waits_for_a_server_that_is_restarted(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    with postgres_server() as server:
        db = Database(server, "restarted")
        for n in range(3):
            runs.add(*rows(n))
        real = PostgresWriter.write
        restarts: list[threading.Timer] = []

        def stopping(self: PostgresWriter, batch: DataFrame, number: int, stop: threading.Event) -> None:
            if number == 1:
                server.stop()
                restarts.append(threading.Timer(0.7, server.start))
                restarts[0].start()
            real(self, batch, number, stop)

        monkeypatch.setattr(PostgresWriter, "write", stopping)
        runs.done(db.sink(patience="60 seconds") + INSERT)
        restarts[0].join()
        assert db.numbers() == [0, 1, 2]


def test_repeated_task_counts_once(runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a try of a task left behind that Spark gave up is not taken for rows."""
    runs.add(*rows(1, 2))
    real = PostgresWriter._stage

    def twice(self: PostgresWriter, batch: DataFrame, name: str) -> Any:
        real(self, batch, name)
        return real(self, batch, name)

    monkeypatch.setattr(PostgresWriter, "_stage", twice)
    runs.done(db.sink() + INSERT)
    assert db.numbers() == [1, 2]


def test_no_secret_in_plan_or_report(runs: SinkRuns, db: Database, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PG_TEST", "hunter2hunter2")
    runs.add(*rows(1))
    report = runs.done(db.sink(password="env:PG_TEST") + INSERT)
    written = [file.read_bytes() for file in (runs.folder / "checkpoint").rglob("*") if file.is_file()]
    assert not any(b"hunter2hunter2" in text for text in written)
    assert "hunter2hunter2" not in repr(report)
    assert "hunter2hunter2" not in "".join(capfd.readouterr())
    assert os.environ["PG_TEST"] == "hunter2hunter2"
