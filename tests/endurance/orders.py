"""Orders in Kafka, sent while processes are killed, and what the queries over them must have answered at the end."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

ORIGIN = datetime(2024, 1, 1, tzinfo=UTC)
CUSTOMERS, LARGE, WINDOW_S, LATE_S = 40, 900, 10, 5
LAST_S = 10 * 86_400
"""The event time of the order that closes all windows, after which none comes."""


@dataclass(frozen=True, slots=True)
class Order:
    """``second``: of its event time, since the first order."""

    id: int
    customer: int
    amount: int
    second: float

    def to_json(self) -> bytes:
        stamp = (ORIGIN + timedelta(seconds=self.second)).isoformat().replace("+00:00", "Z")
        return json.dumps({"id": self.id, "customer": self.customer, "amount": self.amount, "ts": stamp}).encode()


def orders(seed: int, per_s: int) -> Iterator[Order]:
    """Without end: amounts are whole, so that sums do not depend on their order; event times are up to ``LATE_S`` / 2 late."""
    random = np.random.default_rng(seed)
    block, made = 1000, 0
    while True:
        customers = random.integers(0, CUSTOMERS, block)
        amounts = random.integers(1, 1000, block)
        late = random.random(block) * LATE_S / 2
        for n in range(block):
            number = made + n
            yield Order(number, int(customers[n]), int(amounts[n]), max(0.0, number / per_s - float(late[n])))
        made += block


@dataclass
class Sender:
    """Sends orders at a rate until it is told to stop, each once, whatever becomes of the broker meanwhile.

    ``sent``: those that the broker has acknowledged.
    """

    servers: str
    topic: str
    per_s: int
    seed: int = 1
    sent: list[Order] = field(default_factory=list)
    failed: str = ""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        """Stops, sends the order that closes all windows, and waits until all are acknowledged."""
        self._stop.set()
        assert self._thread is not None
        self._thread.join()
        assert not self.failed, self.failed

    def _run(self) -> None:
        from confluent_kafka import Producer

        # Idempotent: a message that is sent again after the broker came back is one message.
        producer = Producer({
            "bootstrap.servers": self.servers, "enable.idempotence": True, "acks": "all", "linger.ms": 20,
            "message.timeout.ms": 600_000, "log_level": 0, "reconnect.backoff.max.ms": 1000,
        })

        def heard(order: Order, error: object) -> None:
            if error is None:
                self.sent.append(order)
            else:
                self.failed = str(error)

        source = orders(self.seed, self.per_s)
        while not self._stop.wait(0.05):
            for _ in range(max(1, self.per_s // 20)):
                self._send(producer, next(source), heard)
            producer.poll(0)
        producer.flush(300)
        # One for each part of the topic, as the watermark is that of all parts together: Spark takes the latest time of any.
        self._send(producer, Order(-1, 0, 1, LAST_S), heard)
        if producer.flush(300):
            self.failed = "the broker did not acknowledge all orders"

    def _send(self, producer: object, order: Order, heard: object) -> None:
        while True:
            try:
                producer.produce(  # type: ignore[attr-defined]
                    self.topic, key=str(order.customer), value=order.to_json(), on_delivery=lambda e, _, o=order: heard(o, e),  # type: ignore[operator]
                )
                return
            except BufferError:
                producer.poll(0.2)  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Answers:
    """What must have been answered: ids of large orders; (start of the window, customer) and customer to (orders, amount)."""

    large: frozenset[int]
    windows: dict[tuple[int, int], tuple[int, int]]
    customers: dict[int, tuple[int, int]]


def answers(sent: list[Order]) -> Answers:
    """Straight from the orders; those of the closing order's window never close."""
    counted: Counter[tuple[int, int]] = Counter()
    summed: Counter[tuple[int, int]] = Counter()
    for order in sent:
        if order.id >= 0:
            key = (int(order.second // WINDOW_S) * WINDOW_S, order.customer)
            counted[key] += 1
            summed[key] += order.amount
    whole: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for order in sent:
        whole[order.customer] += 1
        total[order.customer] += order.amount
    return Answers(
        frozenset(o.id for o in sent if o.amount > LARGE),
        {key: (counted[key], summed[key]) for key in counted}, {key: (whole[key], total[key]) for key in whole},
    )
