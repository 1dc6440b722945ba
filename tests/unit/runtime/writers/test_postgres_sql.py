"""What PostgreSQL and DuckDB are told, as text: names and values that cannot leave their quotes, statements, types."""

from __future__ import annotations

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.compiler.lowering.sql import spark_type
from streamq.dsl.types import ATOMIC_NAMES, INTERVAL, Array, Chars, Decimal, Map, Struct, Type
from streamq.runtime.spark.writers import duckdb_sql, postgres_sql
from streamq.runtime.spark.writers.postgres_sql import Table, column_type, literal, quoted

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20)


def read_back(sql: str, mark: str) -> tuple[str, str]:
    """What a reader of SQL takes for the name or text at the start, and what stands after it."""
    assert sql[0] == mark
    at, found = 1, ""
    while True:
        if sql[at] == mark:
            if sql[at + 1 : at + 2] != mark:
                return found, sql[at + 1 :]
            at += 1
        found += sql[at]
        at += 1


@given(NAMES)
def test_names_stay_within_their_quotes(name: str) -> None:
    assert read_back(quoted(name) + " rest", '"') == (name, " rest")
    assert read_back(duckdb_sql.quoted(name) + " rest", '"') == (name, " rest")


@settings(deadline=None)
@given(NAMES)
def test_texts_stay_within_their_quotes(text: str) -> None:
    shown = literal(text)
    if "\\" in text:
        assert shown[0] == "E"
        assert "\\" not in shown.replace("\\\\", "")
        shown = shown[1:].replace("\\\\", "\\")
    assert read_back(shown + " rest", "'") == (text, " rest")
    assert duckdb.sql(f"SELECT {duckdb_sql.literal(text)}").fetchall() == [(text,)]


@settings(deadline=None, max_examples=25)
@given(NAMES, NAMES, NAMES)
def test_statements_of_duckdb_hold_any_name(schema: str, column: str, key: str) -> None:
    if column.lower() == key.lower() or schema.lower() in ("main", "temp", "system", "memory", "pg_catalog", "information_schema"):
        return
    with duckdb.connect() as db:
        table = duckdb_sql.Table(schema, "t", (column, key), ("INTEGER", "VARCHAR"), (key,))
        db.execute(f"CREATE SCHEMA {duckdb_sql.quoted(schema)}")
        db.execute(table.make())
        for value in (1, 2):
            db.execute(f"CREATE OR REPLACE TEMP VIEW staged AS SELECT {value} AS {quoted(column)}, 'k' AS {quoted(key)}")
            db.execute(*table.merge())
        assert db.execute(f"FROM {table.path}").fetchall() == [(2, "k")]


STAGED = Table("s", "t", ("a", 'b"'), ("bigint", "array<int>"), ("bigint", "jsonb"))


def test_rows_are_added() -> None:
    assert STAGED.make(equal_nulls=True) == 'CREATE TABLE IF NOT EXISTS "s"."t" ("a" bigint, "b""" jsonb)'
    assert STAGED.make_staging('"s"."stage"') == 'CREATE UNLOGGED TABLE "s"."stage" (c0 bigint, c1 text, part text, seq bigint)'
    assert STAGED.merge('"s"."stage"', ["x", "y"]) == (
        'INSERT INTO "s"."t" ("a", "b""") SELECT c0, CAST(c1 AS jsonb) FROM "s"."stage" WHERE part IN (\'x\', \'y\')',
    )


def test_rows_replace_those_of_their_key() -> None:
    table = Table("s", "t", ("k", "v"), ("string", "string"), ("text", "uuid"), ("k",))
    assert table.make(equal_nulls=True).endswith('UNIQUE NULLS NOT DISTINCT ("k"))')
    assert table.make(equal_nulls=False).endswith('PRIMARY KEY ("k"))')
    assert table.merge("stage", ["x"]) == (
        'INSERT INTO "s"."t" ("k", "v") SELECT c0, CAST(c1 AS uuid) FROM (SELECT DISTINCT ON (c0) * FROM stage WHERE part IN (\'x\') '
        'ORDER BY c0, part DESC, seq DESC) AS newest ON CONFLICT ("k") DO UPDATE SET "v" = EXCLUDED."v"',
    )
    only_keys = Table("s", "t", ("k",), ("string",), ("text",), ("k",))
    assert only_keys.merge("stage", ["x"])[0].endswith('ON CONFLICT ("k") DO NOTHING')


def test_one_row_has_the_table_for_itself() -> None:
    table = Table("s", "t", ("n",), ("bigint",), ("bigint",), only_row=True)
    assert table.merge("stage", ["x"]) == (
        'DELETE FROM "s"."t"', 'INSERT INTO "s"."t" ("n") SELECT c0 FROM stage WHERE part IN (\'x\') ORDER BY part DESC, seq DESC LIMIT 1',
    )


@pytest.mark.parametrize("kind", ["text", "character varying(3)", "character(2)", "name"])
def test_texts_are_not_cut_by_a_cast(kind: str) -> None:
    assert "CAST" not in Table("s", "t", ("a",), ("string",), (kind,)).merge("stage", ["x"])[0]


EVERY_TYPE: list[Type] = [
    *dict.fromkeys(ATOMIC_NAMES.values()), INTERVAL, Decimal(38, 18), Chars("VARCHAR", 3), Chars("CHAR", 3),
    Array(INTERVAL), Map(Decimal(3, 1), Array(INTERVAL)), Struct((("a", INTERVAL),)),
]


@pytest.mark.parametrize("kind", EVERY_TYPE, ids=str)
def test_every_type_of_the_language_has_a_column(kind: Type) -> None:
    if not isinstance(kind, Array | Map | Struct):
        said = spark_type(kind).lower()
        spark = "string" if said == "string" else said.replace(", ", ",")
        assert column_type(spark) is not None, spark
        assert spark.startswith("decimal") or spark in duckdb_sql.TYPES
    else:
        assert column_type(spark_type(kind).lower()) == "jsonb"


def test_intervals_come_back_from_the_number_that_parquet_has() -> None:
    table = duckdb_sql.Table("main", "t", ("span", "n"), ("INTERVAL", "BIGINT"), ("n",))
    assert table.staged(["a'b.parquet"]) == (
        "CREATE OR REPLACE TEMP VIEW staged AS SELECT to_microseconds(c0) AS \"span\", c1 AS \"n\" FROM read_parquet(['a''b.parquet']) "
        "QUALIFY row_number() OVER (PARTITION BY c1 ORDER BY seq DESC) = 1"
    )


def test_progress_has_the_same_columns_in_both() -> None:
    def columns(sql: str) -> list[str]:
        inner = sql[sql.index("(") + 1 :].split("PRIMARY KEY")[0]
        return [part.split()[0] for part in inner.split(",") if part.strip()]

    assert columns(postgres_sql.NOTED) == columns(duckdb_sql.MAKE_PROGRESS) == ["target", "query", "run", "batch", "rows", "noted_at"]
