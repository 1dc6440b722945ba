"""Runs over topics: restarts, shedding, backlogs, and brokers that are not as they should be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.run import SilentListener
from tests.support.artefacts import Artefacts
from tests.support.broker import HOST, Broker, free_port, running
from tests.support.certificates import PASSWORD as STORE_PASSWORD
from tests.support.certificates import certificates
from tests.support.kafka_runs import counted, run, try_run, where
from tests.support.topics import Sent, Topics, json_records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def numbers(first: int, count: int, partitions: int = 3) -> list[Sent]:
    return [Sent(json.dumps({"n": n}).encode(), f"k{n % 10}".encode(), partition=n % partitions) for n in range(first, first + count)]


def test_a_restart_goes_on_where_it_was(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic, out = topics.make("in", 3), topics.make("out", 3)
    program = f"""
        CREATE STREAM s (n INT) {where(topics, topic, max_rows_per_trigger="40")};
        CREATE SINK out {where(topics, out)};
        CREATE QUERY q INTO out AS SELECT n FROM s;
    """
    for first in (0, 100):
        topics.send(topic, numbers(first, 100))
        report = run(program, spark, tmp_path, checkpoint=tmp_path / "state")
        assert report.totals[0].rows_in == 100
    records = topics.read(out)
    assert sorted(one.row["n"] for one in records) == list(range(200))
    assert len({one.header("streamq-run") for one in records}) == 1
    per_batch = Counter(int(one.header("streamq-batch") or b"-1") for one in records)
    assert sum(per_batch.values()) == 200
    assert all(count <= 42 for count in per_batch.values())


def test_two_queries_of_a_program_read_all_of_a_topic(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("in", 2)
    topics.send(topic, numbers(0, 60, 2))
    report = run(f"""
        CREATE STREAM s (n INT) {where(topics, topic)};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY even INTO out AS SELECT n FROM s WHERE n % 2 = 0;
        CREATE QUERY odd INTO out AS SELECT n FROM s WHERE n % 2 = 1;
    """, spark, tmp_path)
    assert [counted(one)[0] for one in report.totals] == [60, 60]
    assert sorted(r["n"] for q in ("even", "odd") for r in report.rows(q)) == list(range(60))


def test_where_a_run_begins(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("in")
    topics.send(topic, [Sent(b'{"n": 1}', at_ms=1_000_000), Sent(b'{"n": 2}', at_ms=3_000_000)])
    for starting, expected in (
        ("earliest", [1, 2]), ("latest", []), ("1970-01-01 00:50:00", [2]), ("2300-01-01", []), ("1969-12-31 23:59:59.999", [1, 2]),
    ):
        report = run(f"""
            CREATE STREAM s (n INT) {where(topics, topic, starting=starting)};
            CREATE SINK out WITH (connector = 'memory');
            CREATE QUERY q INTO out AS SELECT n FROM s;
        """, spark, tmp_path)
        assert [row["n"] for row in report.rows("q")] == expected


def test_what_is_shed_is_not_read(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    """A shedder below the values keeps the same records as one above them, and each is counted once."""
    topic = topics.make("in", 3)
    good = numbers(0, 3000)
    topics.send(topic, [Sent(b"{", one.key, partition=one.partition) if i % 7 == 0 else one for i, one in enumerate(good)])
    stream = f"CREATE STREAM s (k STRING, n INT) {where(topics, topic, key='k')};"
    kept: dict[str, list[int]] = {}
    for method in ("RANDOM BY 50 PERCENT", "RANDOM BY KEY (k) BY 50 PERCENT"):
        report = run(f"""
            {stream} CREATE SINK out WITH (connector = 'memory');
            CREATE QUERY q INTO out AS SELECT k, n FROM s SHED {method};
        """, spark, tmp_path)
        arrived, let, shed, malformed = counted(report.totals[0])
        rows = report.rows("q")
        kept[method] = sorted(row["n"] for row in rows)
        assert (arrived, let) == (3000, len(rows))
        assert shed > 0
        assert malformed > 0
        if "KEY" in method:
            whole = Counter(f"k{n % 10}" for n in range(3000) if n % 7)
            assert all(count == whole[key] for key, count in Counter(row["k"] for row in rows).items())
        else:
            assert 0.4 < shed / arrived < 0.6
            assert 0.1 < malformed / (arrived - shed) < 0.18
    both = run(f"""
        {stream} CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT n FROM s UNION ALL SELECT n + 10000 FROM s SHED RANDOM BY 50 PERCENT;
    """, spark, tmp_path)
    arrived, let, _, malformed = counted(both.totals[0])
    assert (arrived, let) == (6000, 2 * len(kept["RANDOM BY 50 PERCENT"]))
    assert malformed > 0
    assert sorted(n for n in (r["n"] for r in both.rows("q")) if n < 10000) == kept["RANDOM BY 50 PERCENT"]


def test_no_broker_is_told_at_once(spark: SparkSession, tmp_path: Path) -> None:
    port, began = free_port(), time.monotonic()
    report = try_run(f"""
        CREATE STREAM s (n INT) WITH (connector = 'kafka', bootstrap_servers = '127.0.0.1:{port}', topic = 'a');
        SELECT n FROM s;
    """, spark, tmp_path)
    assert [d.code for d in report.diagnostics] == ["SQ0808"]
    assert report.diagnostics[0].notes == (f"127.0.0.1:{port}: connection refused",)
    assert time.monotonic() - began < 5


def test_an_unknown_topic_is_told_with_those_alike(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("orders")
    for program in (
        f"CREATE STREAM s (n INT) {where(topics, topic + 'x')}; SELECT n FROM s;",
        f"CREATE STREAM s (n INT) {where(topics, topic)}; CREATE SINK out {where(topics, topic + 'x')}; INSERT INTO out SELECT n FROM s;",
    ):
        (found,) = try_run(program, spark, tmp_path).diagnostics
        assert found.code == "SQ0808"
        assert found.message == f"there is no topic `{topic}x` at `{topics.broker.address}`"
        assert topic in found.help


@dataclass(slots=True)
class Samples(SilentListener):
    """Sends more whenever a micro-batch is done."""

    topics: Topics
    topic: str
    each: list[list[Sent]]
    seen: list[QuerySample] = field(default_factory=list)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.seen.append(sample)
        if self.each:
            self.topics.send(self.topic, self.each.pop())


def test_a_backlog_is_seen_and_counts_to_the_age(topics: Topics, spark: SparkSession, tmp_path: Path) -> None:
    topic = topics.make("in")
    old = round(time.time() * 1000) - 60_000
    topics.send(topic, [Sent(b'{"n": 1}', at_ms=old + n) for n in range(1000)])
    listener = Samples(topics, topic, [json_records([{"n": 2}] * 300, at_ms=round(time.time() * 1000))])
    run(f"""
        CREATE STREAM s (n INT) {where(topics, topic, max_rows_per_trigger="250")};
        CREATE SINK out WITH (connector = 'memory');
        CREATE QUERY q INTO out AS SELECT n FROM s QOS LATENCY 2 SECONDS SHED RANDOM;
    """, spark, tmp_path, listener, checkpoint=tmp_path / "state")
    first, *rest = listener.seen
    assert first.backlog_rows == 750
    assert first.backlog_age_ms > 55_000
    assert first.result_age_ms > 55_000
    assert sum(s.rows_in for s in listener.seen) >= 1000
    assert rest[-1].backlog_rows == 0
    decided = [json.loads(file.read_text()) for file in (tmp_path / "state" / "q" / "decisions").iterdir()]
    assert max(one["waited_ms"] for one in decided) > 55_000


PASSWORD = 'pa"ss\\w}o;rd $x'


@pytest.fixture
def locked(kafka: Artefacts, tmp_path: Path) -> Iterator[Broker]:
    from streamq.runtime.spark.java import find_java

    java = str(find_java().home / "bin" / "java")
    made = certificates(tmp_path / "certificates", HOST)
    with running(kafka.broker, tmp_path / "broker", java=java, user="alice", password=PASSWORD, certificates=made) as one:
        yield one


def login(broker: Broker, folder: Path, password: str) -> dict[str, str]:
    """The options of a user who shows a certificate and a password, whose secrets are files of the folder."""
    (folder / "secret.txt").write_text(password + "\n")
    (folder / "store.txt").write_text(STORE_PASSWORD + "\n")
    assert broker.certificates is not None
    return {
        "security_protocol": "SASL_SSL", "username": "alice", "password": "file:secret.txt",
        "truststore_location": str(broker.certificates.trusted), "truststore_password": "file:store.txt",
        "keystore_location": str(broker.certificates.store("client")), "keystore_password": "file:store.txt", "key_password": "file:store.txt",
    }


def test_a_password_is_never_shown(locked: Broker, kafka: Artefacts, tmp_path: Path) -> None:
    """In the output of no command, in no log, in no checkpoint; and it is the right one, with all its odd characters. So are
    those of the stores with certificates: the broker is asked over TLS, and asks who is there.
    """
    topics = Topics(locked)
    topic, out = topics.make("in"), topics.make("out")
    topics.send(topic, json_records([{"n": n} for n in range(5)]))
    given = login(locked, tmp_path, PASSWORD)
    (tmp_path / "p.cql").write_text(f"""
        CREATE STREAM s (n INT) {where(topics, topic, **given)};
        CREATE SINK out {where(topics, out, **given)};
        INSERT INTO out SELECT n FROM s;
    """)
    commands = {
        "run": ["run", "p.cql", "--once", "--json", "--checkpoint", "state", "--log-file", "spark.log", "--report", "r.json"],
        "explain": ["explain", "p.cql", "--stage", "physical"], "spark": ["explain", "p.cql", "--stage", "spark"],
        "compile": ["compile", "p.cql"], "pyspark": ["compile", "p.cql", "--emit", "pyspark"],
    }
    environment = os.environ | {"STREAMQ_JARS": str(kafka.connector)}
    said = ""
    for name, argv in commands.items():
        done = subprocess.run(
            [sys.executable, "-m", "streamq", *argv], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300, check=False,
        )
        assert done.returncode == 0, (name, done.stdout[-2000:], done.stderr[-2000:])
        said += done.stdout + done.stderr
    assert sorted(one.row["n"] for one in topics.read(out)) == [0, 1, 2, 3, 4]
    written = [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and p.name not in ("secret.txt", "store.txt") and "broker" not in p.parts]
    for part in (PASSWORD, PASSWORD.replace("\\", "\\\\").replace('"', '\\"'), "w}o;rd", STORE_PASSWORD, "tr;u{st}"):
        assert part not in said
        assert not any(part.encode() in text for text in written)


def test_a_wrong_password_is_told(locked: Broker, spark: SparkSession, tmp_path: Path) -> None:
    topics = Topics(locked)
    given = login(locked, tmp_path, "wrong")
    (found,) = try_run(f"CREATE STREAM s (n INT) {where(topics, 'a', **given)}; SELECT n FROM s;", spark, tmp_path).diagnostics
    assert found.code == "SQ0808"
    assert "uthentication" in found.notes[0]


def test_a_broker_that_is_killed_is_waited_for(kafka: Artefacts, spark: SparkSession, tmp_path: Path) -> None:
    from streamq.runtime.spark.java import find_java

    with running(kafka.broker, tmp_path / "broker", java=str(find_java().home / "bin" / "java")) as broker:
        topics = Topics(broker)
        topic, out = topics.make("in"), topics.make("out")
        program = f"""
            CREATE STREAM s (n INT) {where(topics, topic)};
            CREATE SINK out {where(topics, out)};
            CREATE QUERY q INTO out AS SELECT n FROM s;
        """
        topics.send(topic, numbers(0, 50, 1))
        run(program, spark, tmp_path, checkpoint=tmp_path / "state")
        broker.kill()
        broker.start()
        topics.send(topic, numbers(50, 50, 1))
        run(program, spark, tmp_path, checkpoint=tmp_path / "state")
        assert sorted(one.row["n"] for one in topics.read(out)) == list(range(100))
