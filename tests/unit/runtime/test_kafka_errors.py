"""What Kafka says is told apart: of records that it does not take."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.spark.kafka_errors import of_kafka, refused_record


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("at x\norg.apache.kafka.common.errors.RecordTooLargeException: The message is 3000086 bytes when serialized which is larger than "
         "1048576, which is the value of the max.request.size configuration.\nat y",
         "The message is 3000086 bytes when serialized which is larger than 1048576, which is the value of the max.request.size configuration"),
        ("org.apache.kafka.common.errors.RecordTooLargeException: The request included a message larger than the max message size the server will accept.",
         "The request included a message larger than the max message size the server will accept"),
        ("InvalidRecordException: One or more records: [RecordError(batchIndex=0, message='Compacted topic cannot accept message without key in x-0.')]",
         "Compacted topic cannot accept message without key"),
        ("org.apache.kafka.common.errors.TimeoutException: Topic out not present in metadata after 60000 ms.", None),
    ],
)
def test_records_that_are_not_taken(text: str, reason: str | None) -> None:
    assert refused_record(text) == reason


def test_of_several_streams_the_one_that_is_spoken_of_is_shown() -> None:
    program = """
        CREATE STREAM a (n INT) WITH (connector = 'kafka', bootstrap_servers = 'one:9092', topic = 'first');
        CREATE STREAM b (n INT) WITH (connector = 'kafka', bootstrap_servers = 'two:9092', topic = 'second');
        CREATE QUERY q AS SELECT n FROM a UNION ALL SELECT n FROM b;
    """
    (query,) = compile_program(program).require().queries

    def place(text: str) -> str:
        found = of_kafka(query, text, "")
        assert found is not None
        return program[found.span.start : found.span.end]

    assert place("KAFKA_DATA_LOSS: offsets of second-0 are gone") == "b"
    assert place("KAFKA_DATA_LOSS: offsets of first-0 are gone") == "a"
    assert place("Connection to node -1 (two:9092) could not be established") == "b"
    assert place("Timed out waiting for a node assignment") == "a"


@pytest.mark.parametrize(
    ("pattern", "refused"),
    [("orders[.].*", False), ("(?<shop>a|b)", False), ("(?<=x)y", False), (r"\\p{Lower}+", False), ("(?P<shop>a)", True), ("a(", True)],
)
def test_patterns_of_topics_are_those_of_java(pattern: str, refused: bool) -> None:
    program = f"CREATE STREAM s (n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:9092', topic_pattern = '{pattern}'); SELECT n FROM s;"
    assert ("SQ0703" in {d.code for d in compile_program(program).diagnostics}) == refused
