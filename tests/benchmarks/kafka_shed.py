"""Shedding 90 % of a topic before its values are read, and after: rows per second, in turns, in one session.

    python -m tests.benchmarks.kafka_shed [ROWS]

Starts a broker of its own. Each turn reads the whole topic as one micro-batch into nothing; the first of each kind is not counted. What else runs on the machine
only makes a turn slower, so the best ones say most.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import patch

from streamq.compiler.driver import compile_program
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.physical import PhysicalPlan
from streamq.compiler.options import CompileOptions
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.java import find_java
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.spark.session import create_session
from tests.support.artefacts import artefacts
from tests.support.broker import running
from tests.support.topics import Sent, Topics

TURNS = 5
PLACE = "streamq.compiler.passes.place_shedders.shed_unread"

PROGRAM = """
CREATE STREAM s (user STRING, page STRING, referrer STRING, ms INT, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts)
WITH (connector = 'kafka', bootstrap_servers = '{address}', topic = '{topic}');
CREATE SINK nothing WITH (connector = 'noop');
CREATE QUERY q INTO nothing AS SELECT user, page, referrer, ms, price, ts FROM s {shed};
"""


def compiled(program: str, above: bool) -> PhysicalPlan:
    """The plan, with its shedder above the step that reads values where it is asked for."""

    def stay(node: lg.Shed) -> lg.Logical:
        return node

    with patch(PLACE, stay) if above else nullcontext():
        plan = compile_program(program, CompileOptions()).plan
    assert plan is not None
    return plan


def main(rows: int) -> None:
    found = artefacts()
    java = str(find_java().home / "bin" / "java")
    with tempfile.TemporaryDirectory() as scratch, running(found.broker, Path(scratch) / "broker", java=java) as broker:
        topics = Topics(broker)
        topic = topics.make("clicks", 2)
        topics.send(topic, (_record(n) for n in range(rows)))
        spark = create_session({"spark.master": "local[2]", "spark.jars": ",".join(map(str, found.jars))}, app="kafka_shed")
        shed = "SHED RANDOM BY 90 PERCENT"
        programs = {
            "before": compiled(PROGRAM.format(address=broker.address, topic=topic, shed=shed), above=False),
            "after": compiled(PROGRAM.format(address=broker.address, topic=topic, shed=shed), above=True),
            "none shed": compiled(PROGRAM.format(address=broker.address, topic=topic, shed=""), above=False),
        }
        took: dict[str, list[float]] = {name: [] for name in programs}
        for turn in range(TURNS + 1):
            for name, plan in programs.items():
                report = run_plan(plan, RunOptions(once=True), session=spark)
                (totals,) = report.totals
                assert totals.rows_in == rows, report.diagnostics
                if turn > 0:
                    took[name].append(rows / totals.busy_ms * 1000)
        spark.stop()
    middle = {name: statistics.median(each) for name, each in took.items()}
    for name, each in took.items():
        print(f"{name:10} {middle[name]:>12,.0f} rows/s   ({min(each):,.0f} to {max(each):,.0f})")
    best = {name: max(each) for name, each in took.items()}
    print(f"best turns, before / after: {best['before'] / best['after']:.2f}; before / none shed: {best['before'] / best['none shed']:.2f}")
    print(f"medians,    before / after: {middle['before'] / middle['after']:.2f}; before / none shed: {middle['before'] / middle['none shed']:.2f}")


def _record(n: int) -> Sent:
    value = {
        "user": f"user-{n % 9973}", "page": f"/shop/{n % 317}/item/{n}", "referrer": f"https://example.org/search?q={n % 1013}",
        "ms": n % 5000, "price": n / 100, "ts": f"2026-01-31T12:{n // 60_000 % 60:02}:{n // 1000 % 60:02}.{n % 1000:03}Z",
    }
    return Sent(json.dumps(value).encode(), partition=n % 2)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
