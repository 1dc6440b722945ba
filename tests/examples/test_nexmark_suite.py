"""All 24 queries of NEXMark: by definition, by a program in SQL, and on Spark the answers are the same."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from examples.nexmark.suite.compare import YES, Suite
from examples.nexmark.suite.programs import QUERIES

EVENTS = int(os.environ.get("STREAMQ_NEXMARK_EVENTS", "2000"))
"""Five seconds of event time, half of them before midnight: few, but every query has an answer."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return Suite(tmp_path_factory.mktemp("nexmark"), EVENTS)


@pytest.fixture(scope="module")
def suite_with_spark(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Suite:
    return Suite(tmp_path_factory.mktemp("nexmark"), EVENTS, spark)


@pytest.mark.parametrize("query", QUERIES)
def test_reference_gives_the_independent_answer(query: str, suite: Suite) -> None:
    line = suite.ask(query)
    assert (line.reference, line.notes) == (YES, ())
    assert line.rows


@pytest.mark.parametrize("query", QUERIES)
def test_spark_gives_the_answer_of_the_reference(query: str, suite_with_spark: Suite) -> None:
    line = suite_with_spark.ask(query)
    assert (line.spark, line.notes) == (YES, ())


def test_every_query_has_a_program_and_an_answer() -> None:
    folder = Path(__file__).parents[2] / "examples" / "nexmark"
    programs = {file.stem for file in folder.glob("q*.cql")}
    answers = {file.stem for file in (folder / "suite" / "answers").glob("*.sql")}
    assert programs == answers == set(QUERIES)
