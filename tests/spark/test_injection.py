"""Names and texts that are chosen to do harm, as Spark reads them: trees of the same form, answers with the very names and texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.runtime.paths import file_name
from streamq.runtime.reference.functions.patterns import like_matches
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.testing import StreamScript
from tests.support.hostile import NAMES, named, sql_texts, text

NAMED = ("a`b", "a'b\"", "a\\'b", "'); DROP TABLE x; --", "a.b", "a\r\nb\u202e", "${env:PATH}${spark.app.name}", "select")

RUN = """
CREATE STREAM {s} ({a} INT, {b} STRING, {t} TIMESTAMP, WATERMARK FOR {t} AS {t} - INTERVAL 1 SECOND) WITH (connector = 'memory');
CREATE SINK {m} WITH (connector = 'memory');
CREATE VIEW {v} AS SELECT {a}, {b}, {t}, {text} AS {x} FROM {s} WHERE {b} LIKE '%' OR {b} = {text};
CREATE QUERY {q} INTO {m} AS SELECT {b}, {x}, {b} = {text} AS {y}, {b} || {text} AS {z}, MAP({text}, {a}) AS {w}, NAMED_STRUCT({text}, {a}) AS {o} FROM {v};
CREATE QUERY {g} INTO {m} AS SELECT {b}, COUNT(*) AS {n} FROM {s} [TUMBLE 1 MINUTE] GROUP BY {b} SHED RANDOM BY 0 PERCENT;
"""


@cache
def _trees(spark: SparkSession, name: str) -> tuple[tuple[Any, ...], ...]:
    """The form of the tree of each text that the plan of the program has for Spark."""
    parser = spark._jsparkSession.sessionState().sqlParser()  # type: ignore[attr-defined]
    plan = compile_program(named(name, None if name.strip() else "text")).require()
    found: dict[str, tuple[Any, ...]] = {}
    for kind, sql in sql_texts(plan):
        if sql not in found:
            found[sql] = tuple(_form(parser.parseExpression(sql))) if kind == "expression" else (parser.parseDataType(sql).getClass().getName(),)
    return tuple(found[sql] for _, sql in sql_texts(plan))


def _form(node: Any) -> Iterator[str]:
    """The classes of all nodes, from the root on, and how many parts its names have."""
    kind = node.getClass().getSimpleName()
    parts = f" of {node.nameParts().size()} parts" if kind in ("UnresolvedAttribute", "UnresolvedFunction") else ""
    yield f"{kind}{parts}"
    children = node.children()
    for place in range(children.size()):
        yield from _form(children.apply(place))


@pytest.mark.parametrize("name", NAMED)
def test_spark_reads_trees_of_the_same_form(spark: SparkSession, name: str) -> None:
    assert _trees(spark, name) == _trees(spark, "h")


@pytest.mark.parametrize("name", NAMED)
def test_names_and_texts_come_back_as_they_are(spark: SparkSession, tmp_path: Path, name: str) -> None:
    plan = compile_program(named(name, program=RUN)).require()
    script = StreamScript(tmp_path / file_name(f"{name}s"))
    row = {f"{name}a": 1, f"{name}b": name, f"{name}t": "2024-01-01 00:00:00"}
    script.add(row, {**row, f"{name}b": "other"})
    script.add({**row, f"{name}t": "2024-01-01 00:05:00"})
    report = run_plan(replace(plan, base_dir=str(tmp_path)), RunOptions(once=True, memory_dir=str(tmp_path)), session=spark)
    assert report.diagnostics == ()
    rows = report.rows(f"{name}q")
    assert len(rows) == 3
    assert list(rows[0]) == [f"{name}{column}" for column in "bxyzwo"]
    same = next(row for row in rows if row[f"{name}b"] == name)
    assert same[f"{name}x"] == name
    assert same[f"{name}y"] is True
    assert same[f"{name}z"] == name * 2
    assert dict(same[f"{name}w"]) == {name: 1}
    assert dict(same[f"{name}o"]) == {name: 1}
    assert sorted(tuple(row.values()) for row in report.rows(f"{name}g")) == sorted([(name, 1), ("other", 1)])


@pytest.mark.parametrize("pattern", ["%", "\\%", "a'b", "${env:PATH}", "\\\\", ".*"])
def test_patterns_match_what_they_say(spark: SparkSession, tmp_path: Path, pattern: str) -> None:
    """The reference evaluator says which; both are given the same texts."""
    values = [*NAMES, "%", "_", "a", "100%", "a'b", "${env:PATH}", "\\", "x.*y", "[a-z]", "%'; --", "", "\\%"]
    program = f"CREATE STREAM s (b STRING) WITH (connector = 'memory'); CREATE SINK m WITH (connector = 'memory');\nCREATE QUERY q INTO m AS SELECT b FROM s WHERE b LIKE {text(pattern)};"
    values = list(dict.fromkeys(values))
    StreamScript(tmp_path / "s").add(*({"b": value} for value in values))
    report = run_plan(replace(compile_program(program).require(), base_dir=str(tmp_path)), RunOptions(once=True, memory_dir=str(tmp_path)), session=spark)
    assert report.diagnostics == ()
    assert sorted(row["b"] for row in report.rows("q")) == sorted(value for value in values if like_matches(value, pattern))


