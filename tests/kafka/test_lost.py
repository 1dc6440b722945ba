"""Records that are gone, and brokers that go away in the middle of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.run import Event, Happened, SilentListener
from tests.support.artefacts import Artefacts
from tests.support.broker import Broker, running
from tests.support.kafka_runs import run, try_run, where
from tests.support.topics import Topics, json_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_records_that_are_gone_end_the_run_unless_said_otherwise(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    from confluent_kafka import TopicPartition
    from confluent_kafka.admin import AdminClient

    def program(more: str = "") -> str:
        return f"""
            CREATE STREAM s (n INT) {where(topics, topic, **({"fail_on_data_loss": more} if more else {}))};
            CREATE SINK out WITH (connector = 'memory');
            CREATE QUERY q INTO out AS SELECT n FROM s;
        """

    topic = topics.make("in")
    topics.send(topic, json_records([{"n": n} for n in range(10)]))
    run(program(), spark, tmp_path, checkpoint=tmp_path / "state")
    topics.send(topic, json_records([{"n": n} for n in range(10, 30)]))
    admin = AdminClient(topics.broker.client())
    for future in admin.delete_records([TopicPartition(topic, 0, 20)]).values():
        future.result(30)
    (found,) = try_run(program(), spark, tmp_path, checkpoint=tmp_path / "state").diagnostics
    assert "are gone from its topic" in found.message
    assert "fail_on_data_loss" in found.help
    report = run(program("false"), spark, tmp_path, checkpoint=tmp_path / "state")
    assert [row["n"] for row in report.rows("q")] == list(range(20, 30))


@dataclass(slots=True)
class KillsAfterTheFirst(SilentListener):
    """Kills the broker after a micro-batch; when the query has failed for it, starts it and sends another record."""

    broker: Broker
    topic: str
    codes: list[str] = field(default_factory=list)
    restarts: int = 0
    killed: bool = False

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        if not self.killed:
            self.killed = True
            self.broker.kill()

    def happened(self, what: Happened) -> None:
        if what.event is Event.FAILURE and what.diagnostic is not None:
            self.codes.append(what.diagnostic.code)
            if len(self.codes) == 1:
                self.broker.start()
                Topics(self.broker).send(self.topic, json_records([{"n": 2}]))
        self.restarts += what.event is Event.RESTART


def test_a_broker_that_goes_away_is_told_and_waited_for(kafka: Artefacts, spark: SparkSession, tmp_path: Path) -> None:
    """In the time that Kafka's client takes for it, here set short."""
    from streamq.runtime.spark.java import find_java

    with running(kafka.broker, tmp_path / "broker", java=str(find_java().home / "bin" / "java")) as broker:
        topics = Topics(broker)
        topic = topics.make("in")
        topics.send(topic, json_records([{"n": 1}]))
        options = {"kafka.request.timeout.ms": "1000", "kafka.default.api.timeout.ms": "1500"}
        listed = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
        program = f"""
            CREATE STREAM s (n INT) {where(topics, topic)[:-1]}, {listed});
            CREATE SINK out WITH (connector = 'memory');
            CREATE QUERY q INTO out AS SELECT n FROM s;
        """
        listener = KillsAfterTheFirst(broker, topic)
        report = try_run(program, spark, tmp_path, listener, once=False, duration_s=200.0, limit=2)
    assert report.ended_by == "limit"
    assert report.diagnostics == ()
    assert set(listener.codes) == {"SQ0808"}
    assert listener.restarts >= 1
    assert [row["n"] for row in report.rows("q")] == [1, 2]
