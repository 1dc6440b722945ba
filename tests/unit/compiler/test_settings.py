"""``SET key = value``: what reaches the plan, and what is refused."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import compile_program

REST = "CREATE STREAM s (a INT) WITH (connector = 'memory'); SELECT a FROM s;"


def settings(text: str) -> dict[str, object]:
    return dict(compile_program(text + REST).require().settings)


def test_values_are_read_by_their_declaration() -> None:
    text = "SET shuffle_partitions = 4; SET Trigger_Interval = '1 minute 30 seconds';"
    assert settings(text) == {"shuffle_partitions": 4, "trigger_interval": 90_000}
    assert settings("SET trigger_interval = 2;") == {"trigger_interval": 2_000}
    assert settings("SET shuffle_partitions = '8';") == {"shuffle_partitions": 8}


def test_settings_of_spark_pass_as_they_are() -> None:
    text = "SET spark.sql.x = 'y'; SET 'spark.a-b' = TRUE; SET spark.n = 1.5;"
    assert settings(text) == {"spark.sql.x": "y", "spark.a-b": True, "spark.n": 1.5}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SET nothing = 1;", "SQ0701"),
        ("SET shuffle_partitions = 0;", "SQ0703"),
        ("SET shuffle_partitions = 10001;", "SQ0703"),
        ("SET shuffle_partitions = 2.5;", "SQ0703"),
        ("SET shuffle_partitions = TRUE;", "SQ0703"),
        ("SET trigger_interval = 'soon';", "SQ0703"),
        ("SET spark.sql.ansi.enabled = TRUE;", "SQ0703"),
        ("SET SPARK.SQL.SESSION.TIMEZONE = 'CET';", "SQ0703"),
        ("SET shuffle_partitions = 1; SET SHUFFLE_PARTITIONS = 1;", "SQ0109"),
        ("SET spark.x = 1; SET Spark.X = 2;", "SQ0109"),
    ],
)
def test_refused(text: str, code: str) -> None:
    assert [d.code for d in compile_program(text + REST).diagnostics] == [code]


def test_a_wrong_key_gets_the_right_one() -> None:
    (diagnostic,) = compile_program("SET shufle_partition = 1;" + REST).diagnostics
    assert diagnostic.help == "did you mean `shuffle_partitions`?"
