"""Simulates traffic, runs ``linear_road.cql`` on it, and holds every answer against the check.

From the root of the repository, or with ``make linear-road``::

    python -m examples.linear_road.run [--engine reference] [--minutes 40] [--seed 1] [--only tolls,warnings]

Ends with 1 where a row differs, and where the program cannot be run.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import replace

from examples.linear_road.check import expected
from examples.linear_road.engines import (
    Bag,
    RunFailed,
    bag_of_table,
    compiled,
    difference,
    reference_answers,
    spark_answer,
)
from examples.linear_road.simulation import DATA, Plan, Traffic, simulate, write
from streamq.compiler.driver import CompileResult
from streamq.dsl.diagnostics import Abort, Severity

SHOWN = 3
"""Rows that are shown of those that differ."""

Answered = tuple[str, Bag, float]
"""The name of a query, its answer, and the seconds that it took."""


def main() -> int:
    """Prints a line for each query, and the first rows that differ."""
    options = _arguments()
    traffic = simulate(Plan(seed=options.seed, minutes=options.minutes))
    write(traffic, DATA)
    print(f"{len(traffic.reports):,} reports, {len(traffic.trips):,} questions")
    program = compiled(DATA.parent)
    on_spark = options.engine == "spark"
    if program.logical is None or (on_spark and program.plan is None):
        for diagnostic in program.diagnostics:
            if diagnostic.severity is Severity.ERROR:
                print(f"{diagnostic.code}: {diagnostic.message}")
        return 1
    wanted = {name: bag_of_table(table) for name, table in expected(traffic).items()}
    asked = options.only or list(wanted)
    if unknown := set(asked) - set(wanted):
        sys.exit(f"no query {', '.join(sorted(unknown))}: there are {', '.join(wanted)}")
    answers = _on_spark(program, asked) if on_spark else _by_definition(program, traffic, asked)
    print(f"{'query':20}{'rows':>8}{'differences':>13}{'seconds':>9}")
    equal = 0
    for name, found, seconds in answers:
        missing, more = difference(found, wanted[name])
        count = missing.total() + more.total()
        equal += not count
        print(f"{name:20}{found.total():8,}{count:13,}{seconds:9.1f}", flush=True)
        for sign, rows in (("missing", missing), ("too much", more)):
            for row in list(rows)[:SHOWN]:
                print(f"  {sign}: {row}")
    print(f"{equal} of {len(asked)} equal")
    return 0 if equal == len(asked) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Runs Linear Road and checks its answers.")
    parser.add_argument("--engine", choices=("spark", "reference"), default="spark")
    parser.add_argument("--minutes", type=int, default=Plan.minutes, help="of simulated traffic")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--only", metavar="NAMES", type=lambda text: text.split(","), help="of queries")
    return parser.parse_args()


def _by_definition(
    program: CompileResult, traffic: Traffic, asked: Collection[str]
) -> Iterator[Answered]:
    """The queries on the reference evaluator."""
    assert program.logical is not None
    for query in (q for q in program.logical.queries if q.name in asked):
        began = time.perf_counter()
        alone = replace(program.logical, queries=(query,))
        yield query.name, reference_answers(alone, traffic)[query.name], time.perf_counter() - began


def _on_spark(program: CompileResult, asked: Collection[str]) -> Iterator[Answered]:
    """The queries on Spark, one after the other."""
    plan = program.require()
    from streamq.runtime.spark.own_session import own_session

    with own_session(
        {"spark.sql.shuffle.partitions": 2}, app="linear-road", help="`streamq doctor` looks at Java"
    ) as session:
        for query in (q for q in plan.queries if q.name in asked):
            began = time.perf_counter()
            try:
                found = spark_answer(plan, query, session)
            except RunFailed as failed:
                print(f"{query.name} failed: {failed}")
                continue
            yield query.name, found, time.perf_counter() - began


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Abort as stop:
        sys.exit(f"{stop.diagnostic.message}: {stop.diagnostic.help}")
