"""Options and columns of Kafka: what they become, and what Avro makes of columns."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from streamq.dsl.types import BIGINT, BINARY, STRING, TIMESTAMP, Type
from streamq.stdlib.avro_schema import END, READ, field_names, schema_of, told_as_read
from streamq.stdlib.connectors import find_connector, tells_rows_apart, validate_options
from streamq.stdlib.kafka_columns import parts_of
from streamq.stdlib.kafka_options import is_client_secret, servers
from streamq.stdlib.notation import parse_schema
from streamq.stdlib.options import OptionValue
from streamq.stdlib.row_units import rows_per_unit


def read(role: str = "stream", **options: OptionValue) -> tuple[dict[str, OptionValue], list[str]]:
    spec = find_connector("kafka", role)
    assert spec is not None
    found, problems = validate_options(spec, {"bootstrap_servers": "h:9092", "topic": "a"} | options, role)
    return found, [p.code for p in problems]


def test_defaults_of_a_stream_lose_nothing() -> None:
    found, problems = read()
    assert problems == []
    assert found == {
        "bootstrap_servers": "h:9092", "topic": "a", "format": "json", "starting": "earliest", "fail_on_data_loss": True,
        "age_by_timestamp": True, "on_error": "count",
    }


def test_options_of_the_client_go_to_it_as_they_are() -> None:
    found, problems = read(**{"Kafka.Client.Id": "me", "kafka.fetch.min.bytes": 5, "kafka.check.crcs": False})
    assert problems == []
    assert [found[f"kafka.{n}"] for n in ("client.id", "fetch.min.bytes", "check.crcs")] == ["me", "5", "false"]


@pytest.mark.parametrize("name", ["kafka.sasl.jaas.config", "kafka.ssl.key.password", "kafka.ssl.keystore.key", "kafka.x.token"])
def test_secrets_of_the_client_never_stand_in_a_program(name: str) -> None:
    assert is_client_secret(name)
    assert read(**{name: "open"})[1] == ["SQ0708"]
    assert read(**{name: "env:X"}) == ({**read()[0], name: "env:X"}, [])


@pytest.mark.parametrize("name", [
    "kafka.sasl.oauthbearer.token.endpoint.url", "kafka.sasl.oauthbearer.client.credentials.client.id", "kafka.client.id",
    "kafka.ssl.truststore.location",
])
def test_what_says_something_of_a_secret_is_none(name: str) -> None:
    assert not is_client_secret(name)
    assert read(**{name: "open"})[1] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a:1,b.c:22", (("a", 1), ("b.c", 22))), ("[::1]:9", (("::1", 9),)), ("a", None), (":1", None), ("a:0", None), ("a:1,", None)],
)
def test_servers(text: str, expected: object) -> None:
    assert servers(text) == expected


def test_several_topics_and_times_to_begin_at() -> None:
    found, problems = read(topic="a, b.c", starting="2026-01-31T12:00:00+01:00")
    assert (found["topic"], found["starting"], problems) == ("a,b.c", "2026-01-31 11:00:00", [])
    assert read("sink", topic="a,b")[1] == ["SQ0703"]


def test_a_user_is_shown_in_plain_unless_said() -> None:
    login: dict[str, OptionValue] = {"username": "me", "password": "env:P", "security_protocol": "SASL_SSL"}
    assert read(**login)[0]["sasl_mechanism"] == "PLAIN"
    assert read(**login, sasl_mechanism="scram-sha-512")[0]["sasl_mechanism"] == "SCRAM-SHA-512"
    assert read(**(login | {"security_protocol": "SSL"}))[1] == ["SQ0702"]


def test_columns_that_are_parts_of_a_record() -> None:
    names = ["K", "a", "ts"]
    assert parts_of({"key": "k", "timestamp": "ts", "format": "json"}, names) == {"K": "key", "ts": "timestamp"}
    assert parts_of({"key": "k", "format": "raw"}, ["K", "a"]) == {"K": "key", "a": "value"}


def test_records_have_places_of_their_own() -> None:
    assert tells_rows_apart("kafka", {}, ["a"])
    assert rows_per_unit("kafka", {}) == 1.0


COLUMNS: list[tuple[str, str, Any]] = [
    ("b", "BOOLEAN", True), ("i", "INT", 1), ("s", "SMALLINT", 2), ("l", "BIGINT", 1 << 40), ("x", "DOUBLE", 0.5), ("t", "STRING", "ü"),
    ("y", "BINARY", b"\0"), ("d", "DECIMAL(10,2)", Decimal("1.25")), ("at", "TIMESTAMP", datetime(2026, 1, 31, 1, 2, 3, 4, UTC)),
    ("a", "ARRAY<INT>", [1, None]), ("m", "MAP<STRING, BIGINT>", {"k": 1}), ("o", "STRUCT<p: STRUCT<q: INT>>", {"p": {"q": 1}}),
]


def test_schemas_hold_the_values_of_their_columns() -> None:
    typed: list[tuple[str, Type, bool]] = [(name, parse_schema(t), True) for name, t, _ in COLUMNS]
    schema = json.loads(schema_of(typed))
    row = {name: value for name, _, value in COLUMNS}
    for one in (row, dict.fromkeys(row)):
        target = io.BytesIO()
        fastavro.schemaless_writer(target, fastavro.parse_schema(schema), one)
        target.seek(0)
        assert fastavro.schemaless_reader(target, fastavro.parse_schema(schema), None) == one


def test_a_reader_sees_where_a_value_ends() -> None:
    schema = schema_of([("i", BIGINT, False), ("k", STRING, True), ("v", BINARY, True), ("ts", TIMESTAMP, True)])
    told = told_as_read(schema)
    assert field_names(told) == ("i", "k", "v", "ts", READ)
    target = io.BytesIO()
    fastavro.schemaless_writer(target, json.loads(schema), {"i": 1})
    target.seek(0)
    whole = target.getvalue()
    marked = fastavro.parse_schema(json.loads(told))
    for value, ends_there in ((whole, True), (whole + b"\x02", False), (bytes(5) + whole, False)):
        found = fastavro.schemaless_reader(io.BytesIO(value + END), marked, None)
        assert isinstance(found, dict)
        assert (found[READ] == END) == ends_there
    with pytest.raises((EOFError, IndexError)):
        fastavro.schemaless_reader(io.BytesIO(whole[:-1] + END), marked, None)
    with pytest.raises(ValueError, match="record"):
        told_as_read('"string"')
