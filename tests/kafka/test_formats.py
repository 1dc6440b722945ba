"""Records in every format become the rows that were sent, and rows the records that are read back."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.kafka_runs import counted, run, try_run, where
from tests.support.topics import Sent, Topics, json_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2026, 1, 31, 12, 0, 0, 123456, UTC)
NOON_MS = 1_769_860_800_123


def test_json_with_all_parts_of_a_record(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("in", partitions=3)
    topics.send(topic, [
        Sent('{"i": 1, "t": "grün", "at": "2026-01-31T12:00:00.123456Z"}'.encode(), "schlüssel-ß".encode(), (("h", b"1"), ("h", b"2")), 2, NOON_MS),
        Sent(b'{"i": null, "o": {"a": [1, 2]}}', None, (), 1, NOON_MS + 1),
        Sent(None, b"gone", (("why", None),), 0, NOON_MS + 2),
        Sent(b'{"i": "x"}', b"bad"), Sent(b"", b"empty"), Sent(b"nonsense", b"bad"), Sent(b"[]", b"bad"),
        Sent(b'{"i": 1}\n{"i": 2}', b"two"), Sent(b'{"i": 1} more', b"two"), Sent(b'{"i": 1}}', b"two"), Sent(b"null", b"bad"),
    ])
    report = run(f"""
        CREATE STREAM s (k STRING, i INT, t STRING, at TIMESTAMP, o STRUCT<a: ARRAY<INT>>, h MAP<STRING, STRING>, p INT, n BIGINT,
          ts TIMESTAMP, name STRING)
        {where(topics, topic, key="k", headers="h", partition="p", offset="n", timestamp="ts", topic_column="name")};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT * FROM s;
    """, spark, tmp_path)
    rows = {row["k"]: row for row in report.rows("q")}
    assert counted(report.totals[0]) == (11, 3, 0, 8)
    first = rows["schlüssel-ß"]
    assert (first["i"], first["t"], first["p"], first["n"], first["name"]) == (1, "grün", 2, 0, topic)
    assert first["at"] == NOON
    assert dict(first["h"]) == {"h": "2"}
    assert first["ts"] == datetime.fromtimestamp(NOON_MS / 1000, UTC)
    assert (rows[None]["i"], rows[None]["h"]) == (None, None)
    assert rows[None]["o"] == {"a": [1, 2]}
    assert (rows["gone"]["i"], rows["gone"]["t"], dict(rows["gone"]["h"])) == (None, None, {"why": None})


def test_csv(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("in")
    lines = ['1;"a;b";31.01.2026', "2;;", "x;y;", "3;z", "4;ok;30.01.2026"]
    topics.send(topic, [Sent(line.encode()) for line in lines] + [Sent(None)])
    report = run(f"""
        CREATE STREAM s (i INT, t STRING, d DATE)
        {where(topics, topic, format="csv", delimiter=";", date_format="dd.MM.yyyy")};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT i, d, t FROM s;
    """, spark, tmp_path)
    assert counted(report.totals[0]) == (6, 4, 0, 2)
    assert [tuple(row.values()) for row in report.rows("q")] == [
        (1, date(2026, 1, 31), "a;b"), (2, None, None), (4, date(2026, 1, 30), "ok"), (None, None, None),
    ]


def test_raw_bytes_and_text(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, [Sent(b"\x00\xff", b"a"), Sent(None, b"b"), Sent(b"", b"c")])
    run(f"""
        CREATE STREAM s (k STRING, v BINARY) {where(topics, topic, format="raw", key="k")};
        CREATE SINK out {where(topics, out, format="raw", key="k")};
        INSERT INTO out SELECT k, v FROM s;
    """, spark, tmp_path)
    assert [(one.key, one.value) for one in topics.read(out)] == [(b"a", b"\x00\xff"), (b"b", None), (b"c", b"")]


SCHEMA = {
    "type": "record", "name": "bid", "fields": [
        {"name": "id", "type": "long"},
        {"name": "who", "type": ["null", "string"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "unread", "type": {"type": "array", "items": "int"}},
    ],
}


def avro(schema: dict[str, Any], row: dict[str, Any], header: bytes = b"") -> bytes:
    import fastavro

    target = io.BytesIO()
    fastavro.schemaless_writer(target, fastavro.parse_schema(schema), row)
    return header + target.getvalue()


@pytest.mark.parametrize("header", [b"", b"\x00\x00\x00\x00\x2a"])
def test_avro_as_its_schema_says(topics: Topics, spark: SparkSession, tmp_path: Path, header: bytes) -> None:
    (tmp_path / "bid.avsc").write_text(json.dumps(SCHEMA))
    topic = topics.make("in")
    rows = [{"id": 1, "who": "Zoë", "at": NOON, "unread": [1]}, {"id": 2, "who": None, "at": NOON, "unread": []}]
    twice = avro(SCHEMA, rows[0], header) + avro(SCHEMA, rows[1])
    topics.send(topic, [Sent(avro(SCHEMA, row, header)) for row in rows] + [Sent(b"\x01"), Sent(None), Sent(b""), Sent(twice)])
    options = {"format": "avro", "schema_file": "bid.avsc"} | ({"wire_header": "true"} if header else {})
    report = run(f"""
        CREATE STREAM s (who STRING, id BIGINT, at TIMESTAMP) {where(topics, topic, **options)};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT id, who, at FROM s;
    """, spark, tmp_path)
    assert counted(report.totals[0]) == (6, 3, 0, 3)
    millis = NOON.replace(microsecond=123000)
    assert [tuple(row.values()) for row in report.rows("q")] == [(1, "Zoë", millis), (2, None, millis), (None, None, None)]


def test_avro_behind_a_header_that_was_not_told_is_malformed(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """Its first bytes can be read: as fields without values."""
    topic = topics.make("in")
    topics.send(topic, [Sent(b"\x00\x00\x00\x00\x01\x02\x0a\x02\x04hi")])
    program = f"""
        CREATE STREAM s (i INT, t STRING) {where(topics, topic, format="avro", on_error="%s")};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT i, t FROM s;
    """
    assert counted(run(program % "count", spark, tmp_path).totals[0]) == (1, 0, 0, 1)
    assert [d.code for d in try_run(program % "fail", spark, tmp_path).diagnostics] == ["SQ0804"]


def test_headers_of_a_topic_that_streamq_wrote_are_not_passed_on(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, [Sent(b"x", headers=(("a", b"1"), ("streamq-query", b"other"), ("streamq-batch", b"9")))])
    run(f"""
        CREATE STREAM s (v STRING, h MAP<STRING, STRING>) {where(topics, topic, format="raw", headers="h")};
        CREATE SINK out {where(topics, out, format="raw", headers="h")};
        CREATE QUERY q INTO out AS SELECT v, h FROM s;
    """, spark, tmp_path)
    (one,) = topics.read(out)
    names = [name for name, _ in one.headers]
    assert sorted(names) == ["a", "streamq-batch", "streamq-query", "streamq-run"]
    assert (one.header("streamq-query"), one.header("streamq-batch")) == (b"q", b"0")


COLUMNS = "i INT, l BIGINT, x DOUBLE, d DECIMAL(10,2), t STRING, b BOOLEAN, day DATE, ts TIMESTAMP, tags ARRAY<STRING>, m MAP<STRING, INT>"


@pytest.mark.parametrize("kind", ["json", "avro"])
def test_there_and_back(topics: Topics, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """What one query writes the next reads as it was."""
    first, second = topics.make("in"), topics.make("out")
    rows = [
        {"i": 1, "l": 1 << 40, "x": 0.1, "d": 1.25, "t": 'a "b" \\ ü', "b": True, "day": "2026-01-31", "ts": NOON.isoformat(),
         "tags": ["a", None], "m": {"k": 1}},
        {"i": None},
    ]
    topics.send(first, json_records(rows))
    run(f"""
        CREATE STREAM s ({COLUMNS}) {where(topics, first)};
        CREATE SINK out {where(topics, second, format=kind)};
        INSERT INTO out SELECT * FROM s;
    """, spark, tmp_path)
    report = run(f"""
        CREATE STREAM s ({COLUMNS}) {where(topics, second, format=kind)};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT * FROM s;
    """, spark, tmp_path)
    whole, nothing = report.rows("q")
    assert whole == {
        "i": 1, "l": 1 << 40, "x": 0.1, "d": Decimal("1.25"), "t": 'a "b" \\ ü', "b": True, "day": date(2026, 1, 31), "ts": NOON,
        "tags": ["a", None], "m": whole["m"],
    }
    assert dict(whole["m"]) == {"k": 1}
    assert set(nothing.values()) == {None}


def test_csv_out(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, json_records([{"i": 1, "t": 'a;"b'}, {"i": None, "t": None}]))
    run(f"""
        CREATE STREAM s (i INT, t STRING) {where(topics, topic)};
        CREATE SINK out {where(topics, out, format="csv", delimiter=";", escape='"')};
        INSERT INTO out SELECT i, t FROM s;
    """, spark, tmp_path)
    assert [one.value for one in topics.read(out)] == [b'1;"a;""b"', b";"]


def test_keys_and_headers_of_a_sink(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out, pairs = topics.make("in"), topics.make("out"), topics.make("pairs")
    topics.send(topic, [Sent(b'{"i": 7, "t": "x"}', headers=(("who", b"me"),)), Sent(b'{"i": null, "t": "y"}')])
    run(f"""
        CREATE STREAM s (i INT, t STRING, h MAP<STRING, BINARY>) {where(topics, topic, headers="h")};
        CREATE SINK out {where(topics, out, key="i", headers="h")};
        CREATE SINK pairs {where(topics, pairs, key="i, t")};
        CREATE QUERY one INTO out AS SELECT i, t, h FROM s;
        CREATE QUERY two INTO pairs AS SELECT t, i FROM s;
    """, spark, tmp_path)
    first, second = topics.read(out)
    assert (first.key, first.row, first.header("who")) == (b"7", {"i": 7, "t": "x"}, b"me")
    assert (first.header("streamq-query"), first.header("streamq-batch")) == (b"one", b"0")
    assert (second.key, dict(second.headers).keys()) == (None, {"streamq-query", "streamq-run", "streamq-batch"})
    assert [json.loads(one.key or b"") for one in topics.read(pairs)] == [{"i": 7, "t": "x"}, {"i": None, "t": "y"}]


def test_a_relation_goes_by_its_key(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, json_records([{"who": w, "n": n} for n in range(10) for w in ("a", "b")]))
    program = f"""
        CREATE STREAM s (who STRING, n INT) {where(topics, topic, max_rows_per_trigger="6")};
        CREATE SINK out {where(topics, out)};
        CREATE QUERY q INTO out AS SELECT who, SUM(n) AS total FROM s GROUP BY who;
    """
    run(program, spark, tmp_path)
    records = topics.read(out)
    last = {one.key: one.row for one in records}
    assert len(records) > 2
    assert last == {b"a": {"who": "a", "total": 45}, b"b": {"who": "b", "total": 45}}
