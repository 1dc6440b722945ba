"""Kafka in, Kafka and PostgreSQL out, while processes are killed: what is there at the end is what an undisturbed run gives.

Orders are sent to a topic all the time. `streamq run` on a standalone cluster of two workers answers five queries: large
orders to a topic; windows, totals by customer, a sample of windows that is shed by hash and estimated, and what moves at
every instant, to tables. Twenty times, at random moments, the driver with its JVM, or a worker with its executors, is
killed (kill -9), and twice the broker; whatever was killed is started again. At the end:

- each table equals that of a run of the same program that nobody disturbed, row by row, with no row twice;
- windows and totals equal what is counted from the sent orders, without StreamQ and Spark;
- the topic holds each large order, repeats of a record have the same number of a micro-batch in their headers, so that readers
  can tell them, and how many there are is printed.

Run from the root of the repository; the broker and the connector come from Maven, as for ``make test-kafka``::

    python -m tests.endurance.kills [--kills 20] [--brokers 2] [--rate 400] [--seed 1]

Ends with 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.endurance.orders import ORIGIN, Answers, Sender, answers
from tests.support.artefacts import artefacts
from tests.support.broker import Broker, create_topics
from tests.support.cluster import Cluster
from tests.support.postgres import PostgresServer, postgres_server

WRITER, PASSWORD = "writer", "not told: 'quoted' \\"
"""Who writes the tables, as in production: not the owner of the server."""
PATIENCE_S = 240.0
"""How long a run may take until it has done something new."""

PROGRAM = """
CREATE STREAM orders (id BIGINT, customer INT, amount BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'orders', format = 'json', starting = 'earliest');
CREATE SINK large WITH (connector = 'kafka', bootstrap_servers = '{kafka}', topic = 'large_{run}', format = 'json', key = 'id');
CREATE SINK windows WITH ({postgres}, table = 'windows');
CREATE SINK customers WITH ({postgres}, table = 'customers');
CREATE SINK sampled WITH ({postgres}, table = 'sampled');
CREATE SINK moving WITH ({postgres}, table = 'moving');
CREATE QUERY large_orders INTO large AS SELECT id, customer, amount FROM orders WHERE amount > 900;
CREATE QUERY windows_of INTO windows AS
  SELECT WINDOW_START AS since, customer, COUNT(*) AS orders, SUM(amount) AS amount FROM orders [TUMBLE 10 SECONDS] GROUP BY customer;
CREATE QUERY totals INTO customers AS
  SELECT customer, COUNT(*) AS orders, SUM(amount) AS amount FROM orders GROUP BY customer;
CREATE QUERY sample INTO sampled AS
  SELECT WINDOW_START AS since, COUNT(*) AS orders, SUM(amount) AS amount FROM orders [TUMBLE 10 SECONDS] GROUP BY customer % 4
  SHED RANDOM BY 40 PERCENT RECOVER ESTIMATE;
CREATE QUERY latest INTO moving AS
  SELECT customer, COUNT(*) AS orders FROM orders [RANGE 10 SECONDS] WHERE amount > 990 GROUP BY customer;
"""
TABLES = ("windows", "customers", "sampled", "moving")


@dataclass
class Trial:
    """What runs, and what was done to it. ``folder``: programs, checkpoints, logs; ``done``: what was killed, by kind."""

    folder: Path
    broker: Broker
    cluster: Cluster
    postgres: PostgresServer
    jars: Path
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    process: subprocess.Popen[bytes] | None = None
    began: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self.began:6.0f} s  {text}", flush=True)

    def start(self, name: str, *more: str) -> None:
        """`streamq run` of a program, with its checkpoint."""
        argv = [
            sys.executable, "-m", "streamq", "run", f"{name}.cql", "--checkpoint", f"state-{name}", "--master", self.cluster.master,
            "--jars", str(self.jars), "--quiet", "--events", f"{name}.events", "--set", "spark.executor.memory=700m", *more,
        ]
        with (self.folder / f"{name}.log").open("ab") as log:
            self.process = subprocess.Popen(argv, cwd=self.folder, stdout=log, stderr=log, start_new_session=True, env=self.environment())

    def environment(self) -> dict[str, str]:
        return os.environ | {"PG_PASSWORD": PASSWORD}

    def commits(self, name: str) -> int:
        """Micro-batches that were done so far, by all queries."""
        folders = (self.folder / f"state-{name}").glob("*/commits")
        return sum(max((int(p.name) + 1 for p in folder.iterdir() if p.name.isdecimal()), default=0) for folder in folders)

    def wait(self, holds: Callable[[], bool], what: str, name: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            if self.process is not None and self.process.poll() is not None:
                raise SystemExit(f"the run ended by itself with {self.process.returncode}: {self.last_lines(name)}")
            if time.monotonic() > deadline:
                raise SystemExit(f"{what} did not happen in {PATIENCE_S:g} s: {self.last_lines(name)}")
            time.sleep(0.1)

    def last_lines(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text("utf-8", "replace")[-3000:]

    def kill_driver(self, name: str) -> None:
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.start(name)

    def kill_worker(self) -> None:
        self.cluster.kill_worker(self.chance.randrange(2))
        self.cluster.start_worker(wait=False)

    def kill_broker(self) -> None:
        self.broker.kill()
        time.sleep(self.chance.uniform(0.5, 4.0))
        self.broker.start()

    def disturb(self, name: str, kills: int, brokers: int) -> None:
        """Kills at random moments: each after the run has done something since the last one."""
        kinds = ["driver" if n % 5 < 3 else "worker" for n in range(kills)]
        self.chance.shuffle(kinds)
        for after in self.chance.sample(range(1, kills), brokers):
            kinds.insert(after, "broker")
        for number, kind in enumerate(kinds, 1):
            before = self.commits(name)
            self.wait(lambda before=before: self.commits(name) >= before + 3, "progress", name)  # type: ignore[misc]
            time.sleep(self.chance.uniform(0.0, 3.0))
            self.say(f"{number:2} of {len(kinds)}: kill -9 of the {kind}, {self.commits(name)} micro-batches done")
            match kind:
                case "driver":
                    self.kill_driver(name)
                case "worker":
                    self.kill_worker()
                case _:
                    self.kill_broker()
            self.done[kind] += 1

    def finish(self, name: str) -> None:
        """Stops a run that goes on, and then takes what is there, until nothing new comes."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE_S)
        for _ in range(2):
            self.start(name, "--once")
            assert self.process is not None
            code = self.process.wait(600)
            if code:
                raise SystemExit(f"--once ended with {code}: {self.last_lines(name)}")

    def rows(self, schema: str, table: str) -> Counter[tuple[Any, ...]]:
        """Of numbers of floating point, whose sums depend on their order, nine digits."""
        return Counter(tuple(float(f"{v:.9g}") if isinstance(v, float) else v for v in row) for row in self.postgres.query(f'SELECT * FROM "{schema}"."{table}"'))


def records(broker: Broker, topic: str) -> list[tuple[int, str]]:
    """The id of each record, and which micro-batch of which query it is of."""
    import json

    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(broker.client() | {"group.id": "kills", "enable.auto.commit": False})
    found: list[tuple[int, str]] = []
    for part in consumer.list_topics(topic, timeout=30).topics[topic].partitions:
        place = TopicPartition(topic, part, 0)
        _, end = consumer.get_watermark_offsets(place, timeout=30)
        consumer.assign([place])
        at = 0
        while at < end:
            for message in consumer.consume(10_000, timeout=5):
                assert message.error() is None, message.error()
                headers = dict(message.headers() or ())
                found.append((json.loads(message.value())["id"], (headers["streamq-query"] + b"/" + headers["streamq-batch"]).decode()))
                at = message.offset() + 1
    consumer.close()
    return found


def judged(trial: Trial, expected: Answers) -> bool:
    good = True

    def say(holds: bool, text: str) -> None:
        nonlocal good
        good = good and holds
        print(f"{'yes' if holds else 'NO ':3}  {text}", flush=True)

    for table in TABLES:
        rough, calm = trial.rows("rough", table), trial.rows("calm", table)
        difference = sum(((rough - calm) + (calm - rough)).values())
        say(not difference and bool(calm), f"{table}: {rough.total():,} rows, {calm.total():,} of the undisturbed run, {difference} different")
    windows = {(round((since.replace(tzinfo=ORIGIN.tzinfo) - ORIGIN).total_seconds()), customer): (int(count), int(amount))
               for since, customer, count, amount in trial.rows("rough", "windows")}
    say(windows == expected.windows, f"windows: {len(windows):,} as counted from the orders ({len(expected.windows):,})")
    customers = {customer: (int(count), int(amount)) for customer, count, amount in trial.rows("rough", "customers")}
    say(customers == expected.customers, f"customers: {len(customers)} totals as counted from the orders")
    found = records(trial.broker, "large_rough")
    ids = Counter(id_ for id_, _ in found)
    say(set(ids) == expected.large, f"large: {len(ids):,} different orders of {len(expected.large):,}")
    batches: dict[int, set[str]] = {}
    for id_, batch in found:
        batches.setdefault(id_, set()).add(batch)
    say(all(len(of) == 1 for of in batches.values()), f"large: {len(found) - len(ids)} records came again (at least once), each with the batch of the first")
    calm_ids = Counter(id_ for id_, _ in records(trial.broker, "large_calm"))
    say(calm_ids == Counter(expected.large), f"large: the undisturbed run sent {calm_ids.total():,}, each once")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--brokers", type=int, default=2)
    parser.add_argument("--rate", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, help="work in this folder, and leave all there")
    args = parser.parse_args()
    jars = artefacts()
    with ExitStack() as stack:
        folder = args.keep or Path(stack.enter_context(TemporaryDirectory(prefix="streamq-kills-", ignore_cleanup_errors=True)))
        folder.mkdir(parents=True, exist_ok=True)
        broker = Broker(jars.broker, folder / "broker").start()
        stack.callback(lambda: broker.kill())
        create_topics(broker, {"orders": 3, "large_rough": 2, "large_calm": 2})
        postgres = stack.enter_context(postgres_server())
        postgres.query(f"CREATE ROLE {WRITER} LOGIN PASSWORD " + "'" + PASSWORD.replace("'", "''") + "'")
        cluster = stack.enter_context(Cluster(folder / "cluster"))
        trial = Trial(folder, broker, cluster, postgres, jars.connector, random.Random(args.seed))
        for run in ("rough", "calm"):
            postgres.query(f'CREATE SCHEMA "{run}" AUTHORIZATION {WRITER}')
            where = (f"connector = 'postgres', host = '127.0.0.1', port = {postgres.port}, database = 'postgres', "
                     f"user = '{WRITER}', password = 'env:PG_PASSWORD', schema = '{run}'")
            (folder / f"{run}.cql").write_text(PROGRAM.format(kafka=broker.address, run=run, postgres=where))
        sender = Sender(broker.address, "orders", args.rate, args.seed)
        sender.start()
        trial.start("rough")
        stack.callback(lambda: trial.process is not None and trial.process.poll() is None and os.killpg(trial.process.pid, signal.SIGKILL))
        trial.disturb("rough", args.kills, args.brokers)
        sender.finish()
        trial.say(f"{len(sender.sent):,} orders were sent; killed: {dict(trial.done)}")
        trial.finish("rough")
        trial.say("the disturbed run has taken all; now one that nobody disturbs")
        trial.finish("calm")
        trial.say("both are done")
        return 0 if judged(trial, answers(sender.sent)) else 1


if __name__ == "__main__":
    threading.excepthook = lambda args: print(args.exc_value, file=sys.stderr)
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # Leaves its servers through the stack.
    sys.exit(main())
