"""Programs written by ``compile --emit pyspark``, rows that were shed and kept, and runs without the library."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.artefacts import Artefacts
from tests.support.kafka_runs import counted, run, where
from tests.support.topics import Sent, Topics, json_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_an_emitted_program_does_the_same(topics: Topics, kafka: Artefacts, tmp_path: Path) -> None:
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, [Sent(json.dumps({"n": n, "t": "ü"}).encode(), b"k", (("h", b"1"),)) for n in range(20)] + [Sent(b"{")])
    schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": ["int", "null"]}, {"name": "t", "type": ["null", "string"]}]}
    (tmp_path / "r.avsc").write_text(json.dumps(schema))
    (tmp_path / "p.cql").write_text(f"""
        CREATE STREAM s (k STRING, n INT, t STRING, h MAP<STRING, STRING>) {where(topics, topic, key="k", headers="h")};
        CREATE SINK out {where(topics, out, key="k", headers="h")};
        CREATE SINK packed {where(topics, topics.make("avro"), format="avro", schema_file="r.avsc")};
        INSERT INTO out SELECT k, n, t, h FROM s WHERE n < 5;
        INSERT INTO packed SELECT n, t FROM s;
    """)
    command = [sys.executable, "-m", "streamq", "compile", "p.cql", "--emit", "pyspark", "-o", "p.py"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    environment = os.environ | {
        "PYSPARK_SUBMIT_ARGS": f"--jars {','.join(map(str, kafka.jars))} --conf spark.driver.host=127.0.0.1 pyspark-shell",
    }
    done = subprocess.run(
        [sys.executable, "p.py", "--once"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    records = topics.read(out)
    assert sorted(one.row["n"] for one in records) == [0, 1, 2, 3, 4]
    assert {(one.key, one.header("h"), one.row["t"]) for one in records} == {(b"k", b"1", "ü")}
    report_of = topics.read(topics.made[-1])
    assert len(report_of) == 20


def test_rows_that_were_shed_are_read_again(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("in", 2)
    program = f"""
        CREATE STREAM s (n INT, p INT) {where(topics, topic, partition="p", max_rows_per_trigger="150")};
        CREATE SINK out WITH (connector = 'memory');
        CREATE SINK gone WITH (connector = 'file', path = 'gone', format = 'json');
        CREATE QUERY q INTO out AS SELECT n FROM s SHED RANDOM BY 50 PERCENT RECOVER DROPPED INTO gone;
    """
    kept: list[int] = []
    for first in (0, 200):
        for part in (0, 1):
            topics.send(topic, json_records([{"n": n} for n in range(first + part, first + 200, 2)], partition=part))
        report = run(program, spark, tmp_path, checkpoint=tmp_path / "state")
        assert counted(report.totals[0])[0] == 200
        kept += [row["n"] for row in report.rows("q")]
    dropped = [json.loads(line) for file in (tmp_path / "gone").rglob("*.json") for line in file.read_text().splitlines()]
    assert sorted(kept + [row["n"] for row in dropped]) == list(range(400))
    assert all(row["p"] == row["n"] % 2 for row in dropped)


def test_a_run_without_the_library_says_which(topics: Topics, tmp_path: Path) -> None:
    (tmp_path / "p.cql").write_text(f"CREATE STREAM s (n INT) {where(topics, topics.make('in'))}; SELECT n FROM s;")
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "other.jar").write_bytes(b"PK\x05\x06" + bytes(18))
    done = subprocess.run(
        [sys.executable, "-m", "streamq", "run", "p.cql", "--once", "--jars", "jars"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.returncode == 1
    assert "error[SQ0811]: the library of connector 'kafka' is not there" in done.stderr
    assert "org.apache.spark:spark-sql-kafka-0-10_2.13:" in done.stderr


def test_the_example_runs(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "examples" / "kafka" / "shop.cql").read_text(encoding="utf-8")
    clicks, pages = topics.make("clicks", 2), topics.make("pages")
    for old, new in (("localhost:9092", topics.broker.address), ("'clicks'", f"'{clicks}'"), ("topic = 'pages'", f"topic = '{pages}'")):
        assert old in text
        text = text.replace(old, new)
    start = 1_769_860_800_000
    for second in (0, 3, 12, 60):
        records = json_records([{"page": "/a", "ms": 100}] * 5 + [{"page": "/b", "ms": 7}], key=b"v", at_ms=start + 1000 * second)
        topics.send(clicks, records)
    run(text, spark, tmp_path)
    rows = {(one.key, one.row["until"]): one.row for one in topics.read(pages)}
    first, second = "2026-01-31T12:00:10.000000Z", "2026-01-31T12:00:20.000000Z"
    assert {key: (row["clicks"], row["ms"]) for key, row in rows.items() if key[1] in (first, second)} == {
        (b"/a", first): (10, 100.0), (b"/b", first): (2, 7.0), (b"/a", second): (5, 100.0), (b"/b", second): (1, 7.0),
    }
