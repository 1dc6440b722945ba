"""Every declared function, called with typed samples on Spark: its type is the declared one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamq.dsl.types import INT
from streamq.stdlib.calls import call_sql
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.notation import parse_parameters, parse_schema
from streamq.stdlib.patterns import NotationError
from streamq.stdlib.registry import Kind
from tests.support.function_calls import COLUMNS, all_cases, one_per_signature

pytestmark = pytest.mark.spark

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.codegen.wholeStage": "false",
}
"""What the declarations rest on; compiling hundreds of expressions for two rows is not worth it."""


@pytest.fixture(scope="module")
def samples(spark: SparkSession) -> Iterator[str]:
    """The name of a view of two rows with the sample columns and two sketches."""
    before = {key: spark.conf.get(key) for key in SETTINGS}
    for key, value in SETTINGS.items():
        spark.conf.set(key, value)
    rows = (", ".join(f"{c[n]} AS {name}" for name, c in COLUMNS.items()) for n in (1, 2))
    union = " UNION ALL ".join(f"SELECT {row}" for row in rows)
    sketches = "hll_sketch_agg(s) AS hll, kll_sketch_agg_double(d) AS kll"
    spark.sql(
        f"WITH v AS ({union}) SELECT /*+ COALESCE(1) */ * FROM v, (SELECT {sketches} FROM v)"
    ).createOrReplaceTempView("function_samples")
    spark.sql("CACHE TABLE function_samples")
    yield "function_samples"
    spark.sql("UNCACHE TABLE function_samples")
    for key, found in before.items():
        if found is not None:
            spark.conf.set(key, found)


def types_of(spark: SparkSession, view: str, items: list[str]) -> list[str]:
    """Spark's type of each expression, after all have run; for a failing one its error."""
    selected = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(items))
    try:
        frame = spark.sql(f"SELECT {selected} FROM {view}")
        frame.write.format("noop").mode("overwrite").save()
    except PySparkException as wrong:
        if len(items) == 1:
            return [str(wrong).splitlines()[0]]
        half = len(items) // 2
        return types_of(spark, view, items[:half]) + types_of(spark, view, items[half:])
    return [spark_type(field.dataType.simpleString()) for field in frame.schema]


def jobs(items: list[str]) -> Iterator[list[str]]:
    """The items in lists of a size that Spark compiles at ease."""
    for at in range(0, len(items), JOB):
        yield items[at : at + JOB]


JOB = 120


def spark_type(text: str) -> str:
    """The canonical spelling of a type as Spark prints it; an error stays what it is."""
    try:
        return str(parse_schema(text.replace("interval day to second", "interval")))
    except NotationError:
        return text


@pytest.mark.parametrize("kind", [Kind.SCALAR, Kind.AGGREGATE])
def test_result_types_are_sparks(spark: SparkSession, samples: str, kind: Kind) -> None:
    cases = all_cases(kind)
    found = [t for job in jobs([c.sql for c in cases]) for t in types_of(spark, samples, job)]
    wrong = [
        f"{case.sql}: declared {case.signature.result}, Spark has {t}"
        for case, t in zip(cases, found, strict=True)
        if t != str(case.signature.result)
    ]
    assert not wrong, "\n".join(wrong)


def test_null_arguments_give_null_where_declared(spark: SparkSession, samples: str) -> None:
    checks: list[str] = []
    for case in one_per_signature(Kind.SCALAR):
        if not case.signature.spec.null_safe:
            for i in case.free:
                null = f"CAST(NULL AS {case.signature.params[i]})"
                sql = case.with_args((*case.args[:i], null, *case.args[i + 1 :]))
                checks.append(f"({sql}) IS NULL")
    found: list[bool] = []
    for job in jobs(checks):
        every = ", ".join(f"every({sql}) AS c{i}" for i, sql in enumerate(job))
        found += spark.sql(f"SELECT {every} FROM {samples}").collect()[0]
    assert [sql for sql, null in zip(checks, found, strict=True) if not null] == []


def test_all_run_on_a_stream(spark: SparkSession, samples: str, tmp_path: Path) -> None:
    """Queries with every scalar function, then with every aggregate, over the sample rows."""
    spark.table(samples).write.parquet(str(tmp_path / "in"))
    stream = spark.readStream.schema(spark.table(samples).schema).parquet(str(tmp_path / "in"))
    stream.createOrReplaceTempView("function_stream")
    for kind, mode in ((Kind.SCALAR, "append"), (Kind.AGGREGATE, "update")):
        for n, job in enumerate(jobs([case.sql for case in one_per_signature(kind)])):
            selected = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(job))
            query = (
                spark.sql(f"SELECT {selected} FROM function_stream")
                .writeStream.format("noop")
                .outputMode(mode)
                .option("checkpointLocation", str(tmp_path / f"{kind.value}{n}"))
                .trigger(availableNow=True)
                .start()
            )
            try:
                assert query.awaitTermination(120), f"{kind.value} functions did not end in time"
            finally:
                query.stop()


VALUES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("SPLIT_INDEX", ("'a|b|c'", "'|'", "1"), "'b'"),
    ("SPLIT_INDEX", ("'a|b|'", "'|'", "2"), "''"),
    ("SPLIT_INDEX", ("'a|b'", "'|'", "2"), "NULL"),
    ("SPLIT_INDEX", ("'a|b'", "'|'", "-1"), "NULL"),
    ("SPLIT_PART", ("'a|b|c'", "'|'", "-1"), "'c'"),
    ("SPLIT_PART", ("'a|b'", "'|'", "0"), "NULL"),
    ("ELEMENT_AT", ("array(1, 2)", "-1"), "2"),
    ("ELEMENT_AT", ("array(1, 2)", "0"), "NULL"),
    ("ELEMENT_AT", ("array(1, 2)", "3"), "NULL"),
    ("GET", ("array(1, 2)", "2"), "NULL"),
    ("SLICE", ("array(1, 2, 3)", "2", "2"), "array(2, 3)"),
    ("SLICE", ("array(1, 2, 3)", "0", "2"), "NULL"),
    ("SLICE", ("array(1, 2, 3)", "1", "-1"), "NULL"),
    ("ARRAY_INSERT", ("array(1, 2)", "0", "9"), "NULL"),
    ("BIT_GET", ("5L", "2"), "1"),
    ("BIT_GET", ("5L", "64"), "NULL"),
    ("BITXOR", ("5", "1"), "4"),
    ("BITNOT", ("5",), "-6"),
    ("ZEROIFNULL", ("CAST(NULL AS INT)",), "0"),
    ("TO_BINARY", ("'zz'",), "NULL"),
    ("TO_NUMBER", ("'zz'", "'999'"), "NULL"),
    ("TO_DATE", ("'2024-02-30'",), "NULL"),
    ("TO_TIMESTAMP", ("'2024-1-1'", "'yyyy-MM-dd'"), "NULL"),
    ("TIMESTAMP_SECONDS", ("1e15D",), "NULL"),
    ("TIMESTAMP_SECONDS", ("0.5D",), "TIMESTAMP'1970-01-01 00:00:00.5'"),
    ("TIMESTAMP_MILLIS", ("9223372036854775807L",), "NULL"),
    ("MAKE_DATE", ("2024", "13", "1"), "NULL"),
    ("PARSE_URL", ("'http://a b/'", "'HOST'"), "NULL"),
    ("PARSE_URL", ("'http://a.b/c?id=7'", "'QUERY'", "'id'"), "'7'"),
    ("URL_DECODE", ("'%zz'",), "NULL"),
    ("UNHEX", ("'zz'",), "NULL"),
    ("GET_JSON_OBJECT", ("'{'", "'$.a'"), "NULL"),
    ("DATE_TRUNC", ("'fortnight'", "TIMESTAMP'2024-01-01 00:00:00'"), "NULL"),
    ("CONV", ("'12'", "99", "10"), "NULL"),
    ("MOD", ("5", "0"), "NULL"),
    ("LN", ("0D",), "NULL"),
    ("TRY_ADD", ("2147483647", "1"), "NULL"),
    ("STR_TO_MAP", ("'a:1,a:2'",), "map('a', '2')"),
    ("CONCAT_WS", ("'-'", "'a'", "NULL", "'b'"), "'a-b'"),
    ("SEQUENCE", ("1", "5", "2"), "array(1, 3, 5)"),
    ("SEQUENCE", ("5", "1", "-2"), "array(5, 3, 1)"),
    ("SEQUENCE", ("5", "1", "1"), "NULL"),
    ("SEQUENCE", ("1", "5", "0"), "NULL"),
)
"""Calls with their value: the templates of our own, and bad input, which must give NULL."""


def test_values_of_templates_and_of_bad_input(spark: SparkSession, samples: str) -> None:
    checks: list[str] = []
    for name, args, value in VALUES:
        overloads = (FUNCTIONS[name], *FUNCTIONS[name].overloads)
        spec = next(s for s in overloads if parse_parameters(s.params).takes(len(args)))
        call = call_sql(spec, args, result=INT)
        same = f"to_json(struct({call})) = to_json(struct({value}))"
        checks.append(f"({call}) IS NULL" if value == "NULL" else same)
    found = spark.sql(f"SELECT {', '.join(checks)} FROM {samples} LIMIT 1").collect()[0]
    assert [check for check, right in zip(checks, found, strict=True) if not right] == []
