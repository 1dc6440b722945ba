"""The answers by definition: the programs on the reference evaluator."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from examples.nexmark.suite.bags import Bag, bag_of
from examples.nexmark.suite.events import Events
from examples.nexmark.suite.programs import PROGRAMS, TABLE_OF
from streamq.compiler.ir.logical import LogicalPlan, Scan, SourceDecl
from streamq.compiler.ir.rewrite import walk
from streamq.runtime.reference.engine import EvaluateOptions, evaluate

Batches = Sequence[Sequence[tuple[object, ...]]]


def reference_answer(plan: LogicalPlan, events: Events) -> Bag:
    """All elements of the answer where it is a stream, and its rows at the end where it is a relation.

    Only complete windows have an answer, as on Spark.
    """
    (query,) = plan.queries
    sources = {n.source.name: n.source for n in walk(query.root) if isinstance(n, Scan)}
    inputs = {name: _input(source, events) for name, source in sources.items()}
    answer = evaluate(plan, inputs, EvaluateOptions(closed=False))[query.name]
    return bag_of(answer.rows().elements())


def _input(source: SourceDecl, events: Events) -> Batches:
    names = [field.name for field in source.fields]
    if source.is_table:
        return [_side_input()]
    batches = events.batches[TABLE_OF[source.name]]
    return [
        list(zip(*(batch.column(name).to_pylist() for name in names), strict=True))
        for batch in batches
    ]


def _side_input() -> list[tuple[object, ...]]:
    with (PROGRAMS / "side_input.csv").open(encoding="utf-8", newline="") as file:
        return [(int(row["key"]), row["value"]) for row in csv.DictReader(file)]
