"""What changes around topics: streams that come and go under a checkpoint, and rows that cannot pass."""

from __future__ import annotations

import json
from base64 import b64decode
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kafka.test_runs import numbers
from tests.support.kafka_runs import run, try_run, where
from tests.support.topics import Sent, Topics, json_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CHECKED = """
import pyarrow as pa

def checked(n):
    if 13 in n.to_pylist():
        raise ValueError("13 is no number")
    return n
"""


def test_streams_come_and_go_under_a_checkpoint(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """Each record is read once, whichever streams of the union are there and in which order."""
    one, two, out = topics.make("one", 2), topics.make("two", 2), topics.make("out")
    streams = f"""
        CREATE STREAM a (n INT) {where(topics, one)};
        CREATE STREAM b (n INT) {where(topics, two)};
        CREATE SINK out {where(topics, out)};
    """
    changes = ("SELECT n FROM a", "SELECT n FROM b UNION ALL SELECT n FROM a", "SELECT n FROM b", "SELECT n FROM a UNION ALL SELECT n FROM b")
    # What came to a stream while it was not there is read when it is.
    expected = [set(range(50)), set(range(200)), {*range(200), *range(250, 300)}, set(range(400))]
    for turn, query in enumerate(changes):
        topics.send(one, numbers(100 * turn, 50, 2))
        topics.send(two, numbers(100 * turn + 50, 50, 2))
        run(f"{streams} CREATE QUERY q INTO out AS {query};", spark, tmp_path, checkpoint=tmp_path / "state")
        assert {record.row["n"] for record in topics.read(out)} == expected[turn]
    records = [record.row["n"] for record in topics.read(out)]
    assert sorted(records) == list(range(400))


@pytest.mark.usefixtures("functions_allowed")
def test_records_that_cannot_pass_are_dead_letters(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """All of a record is there: what was its key, and its value as it was, also one that is no JSON."""
    topic, out = topics.make("in"), topics.make("out")
    (tmp_path / "own_checks.py").write_text(CHECKED)
    broken = Sent(b"\xffno json", b"\x00key", (("from", b"\x01"),))
    topics.send(topic, [*numbers(0, 10, 1), *numbers(10, 9, 1), broken, *numbers(20, 10, 1)])
    report = run(f"""
        SET dead_letters = 'dead'; SET restart_delay = '10 milliseconds'; SET tries = 2;
        CREATE STREAM s (n INT) {where(topics, topic, max_rows_per_trigger="10")};
        CREATE FUNCTION checked (n INT) RETURNS INT AS 'own_checks:checked';
        CREATE SINK out {where(topics, out)};
        CREATE QUERY q INTO out AS SELECT checked(n) AS n FROM s;
    """, spark, tmp_path, checkpoint=tmp_path / "state")
    totals = report.totals[0]
    assert sorted(record.row["n"] for record in topics.read(out)) == [*range(10), *range(20, 30)]
    assert (totals.rows_in, totals.kept, totals.dead) == (30, 20, 10)
    place = tmp_path / "dead" / "q" / "batch-1"
    letters = [json.loads(line) for part in (place / "s").glob("*.json") for line in part.read_text().splitlines()]
    assert [one["offset"] for one in letters] == list(range(10, 20))
    assert {(one["topic"], one["partition"]) for one in letters} == {(topic, 0)}
    assert (b64decode(letters[9]["key"]), b64decode(letters[9]["value"])) == (broken.key, broken.value)
    assert [(h["key"], b64decode(h["value"])) for h in letters[9]["headers"]] == list(broken.headers)


def test_records_that_a_topic_does_not_take_are_put_aside(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, json_records([{"n": 1, "size": 10}, {"n": 2, "size": 3_000_000}, {"n": 3, "size": 10}]))
    program = f"""
        CREATE STREAM s (n INT, size INT) {where(topics, topic, max_rows_per_trigger="1")};
        CREATE SINK out {where(topics, out)};
        CREATE QUERY q INTO out AS SELECT n, REPEAT('x', size) AS text FROM s;
    """
    (refused,) = try_run(program, spark, tmp_path, checkpoint=tmp_path / "one").diagnostics
    assert (refused.code, refused.message) == ("SQ0806", f"topic `{out}` refuses rows of query `q`")
    assert "larger than 1048576" in refused.notes[0]
    letters = "SET dead_letters = 'dead'; SET restart_delay = '10 milliseconds'; SET tries = 2;"
    report = run(letters + program, spark, tmp_path, checkpoint=tmp_path / "two")
    assert {record.row["n"] for record in topics.read(out)} == {1, 3}
    assert (report.totals[0].rows_in, report.totals[0].refused) == (3, 1)
    (file,) = (tmp_path / "dead" / "q").glob("batch-1/refused/*.json")
    assert json.loads(file.read_text())["n"] == 2
