"""Topics of a test: made, filled and read back with a client that is not Spark's."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.broker import Broker, create_topics

PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A record: as it is sent, or as it came. ``at_ms``: its time, now unless said."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    at_ms: int = 0

    @property
    def row(self) -> Any:
        """The value, which is JSON."""
        return None if self.value is None else json.loads(self.value)

    def header(self, name: str) -> bytes | None:
        return dict(self.headers)[name]


@dataclass(slots=True)
class Topics:
    """``prefix``: what the names begin with of all topics that are made here."""

    broker: Broker
    prefix: str = ""
    made: list[str] = field(default_factory=list)

    def make(self, name: str, partitions: int = 1) -> str:
        full = self.prefix + name
        create_topics(self.broker, {full: partitions})
        self.made.append(full)
        return full

    def send(self, topic: str, records: Iterable[Sent]) -> None:
        """Sends records and waits until the broker has them."""
        from confluent_kafka import Producer

        producer = Producer(self.broker.client() | {"linger.ms": 5})
        lost: list[object] = []
        for one in records:
            producer.produce(
                topic, value=one.value, key=one.key, headers=list(one.headers), partition=one.partition,
                timestamp=one.at_ms, on_delivery=lambda error, _: lost.append(error) if error else None,
            )
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        assert not lost, lost[0]

    def read(self, topic: str) -> list[Sent]:
        """All records that a topic has now, by partition, each in its order."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer(self.broker.client() | {"group.id": "reader", "enable.auto.commit": False})
        try:
            parts = consumer.list_topics(topic, PATIENCE_S).topics[topic].partitions
            ends = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), PATIENCE_S) for p in parts}
            consumer.assign([TopicPartition(topic, p, low) for p, (low, _) in ends.items()])
            wanted = sum(high - low for low, high in ends.values())
            found: list[Sent] = []
            until = time.monotonic() + PATIENCE_S
            while len(found) < wanted and time.monotonic() < until:
                message = consumer.poll(0.5)
                if message is not None and message.error() is None:
                    found.append(Sent(
                        message.value(), message.key(), tuple(message.headers() or ()), message.partition(), message.timestamp()[1]
                    ))
        finally:
            consumer.close()
        assert len(found) == wanted
        return sorted(found, key=lambda one: one.partition)


def json_records(rows: Sequence[object], **rest: Any) -> list[Sent]:
    return [Sent(json.dumps(row).encode(), **rest) for row in rows]
