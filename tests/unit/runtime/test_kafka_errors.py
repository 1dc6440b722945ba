"""What Kafka says is told apart: of records that it does not take."""

from __future__ import annotations

import pytest

from streamq.runtime.spark.kafka_errors import refused_record


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
