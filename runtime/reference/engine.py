"""Evaluates bound programs over finite input, by CQL's definitions (Arasu, Babu and Widom 2006, section 4).

Nothing is optimized and nothing is shed: this is what an answer is when nothing is lost.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache

from streamq.compiler.analysis.moving import read_in_order, runs_on_changes
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.passes.assign_watermarks import keeps_state
from streamq.dsl.ast import R2S
from streamq.dsl.records import dataclass
from streamq.runtime.reference import relations as ops
from streamq.runtime.reference.answers import Answer, Inputs
from streamq.runtime.reference.expressions import Udfs
from streamq.runtime.reference.facts import BEGINNING, FOREVER, Fact, Facts, changes_of
from streamq.runtime.reference.joins import join
from streamq.runtime.reference.values import Instant, to_instant
from streamq.runtime.reference.watermarks import Clock
from streamq.runtime.reference.windows import (
    MICROS,
    apply_window,
    ends_at,
    is_complete,
    sessions_in_turn,
)


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """``watermark``: late rows are left out and counted, where the query keeps anything at all. A row is late
    where the watermark of the batches before its own has passed its windows; ``behind``: less so many of them.
    Spark's judgement is 1 behind. Rows without a window that ends are late only where answers come in order of
    time, so that nothing can be said of the past any more.

    ``closed``: the input is over, so all windows are complete; else only those that the watermark has passed
    give results.
    """

    watermark: bool = False
    closed: bool = True
    behind: int = 0


def evaluate(
    plan: lg.LogicalPlan, inputs: Inputs, options: EvaluateOptions | None = None,
    udfs: Udfs | None = None,
) -> dict[str, Answer]:
    """The answer of each query of a bound program, by name. Sources without input are empty.

    ``udfs``: the functions that the program declares, as far as its queries call them.

    Raises ``ReferenceUnsupported`` for a function that has no executable meaning here.
    """
    options = options or EvaluateOptions()
    return {q.name: _Evaluation(q, inputs, options, udfs or {}).answer() for q in plan.queries}


class _Evaluation:
    """One query over the input."""

    def __init__(
        self, query: lg.LogicalQuery, inputs: Inputs, options: EvaluateOptions, udfs: Udfs
    ) -> None:
        self.query = query
        self.inputs = inputs
        self.options = options
        self.udfs = udfs
        self.memo: dict[int, Facts] = {}
        self.late: dict[str, int] = {}
        self.judges = options.watermark and (keeps_state(query.root) or runs_on_changes(query.root))
        self.in_order = read_in_order(query.root) if self.judges else frozenset()
        self.arrivals: dict[int, list[tuple[int, Fact]]] = {}
        self.clock = Clock(tuple(
            (node.delay_ms * MICROS, [(batch, fact.start) for batch, fact in self._stamped(node)])
            for node in walk(query.root) if isinstance(node, lg.Watermark)
        ))

    def answer(self) -> Answer:
        root = self.query.root
        changes = changes_of(self.facts(root))
        return Answer(
            self.query.name, tuple(f.name for f in root.schema), tuple(f.type for f in root.schema),
            root.change is lg.Change.APPEND or isinstance(root, lg.ToStream), tuple(changes),
            tuple(sorted(self.late.items())),
        )

    def facts(self, node: lg.Logical) -> Facts:
        """The bag of an operator at all instants; shared operators are evaluated once."""
        if id(node) not in self.memo:
            self.memo[id(node)] = self._facts(node)
        return self.memo[id(node)]

    def _facts(self, node: lg.Logical) -> Facts:
        match node:
            case lg.Scan():
                return [fact for _, fact in self._arrived(node)]
            case lg.Watermark() if id(node) in self.in_order:
                return [fact for _, fact in self._on_time(node, self._stamped(node), lg.Unbounded())]
            case lg.Watermark():
                return [fact for _, fact in self._stamped(node)]
            case lg.Filter() | lg.Project() | lg.Shed():
                below = self.facts(node.input)
                return [new for new in map(ops.by_row(node, self.udfs), below) if new is not None]
            case lg.Window():
                return self._window(node)
            case lg.Aggregate():
                return ops.aggregated(node, self.facts(node.input), self.udfs)
            case lg.Distinct() if node.approx is not None:
                once = lg.ToStream(node.input, R2S.ISTREAM)
                return ops.to_stream(once, ops.distinct(self.facts(node.input)))
            case lg.Distinct():
                return ops.distinct(self.facts(node.input))
            case lg.Sort():
                return ops.sorted_rows(node, self.facts(node.input), self.udfs)
            case lg.Join():
                return join(node, self.facts(node.left), self.facts(node.right), self.udfs)
            case lg.Union():
                return [fact for branch in node.branches for fact in self.facts(branch)]
            case lg.Compare():
                return ops.compared(node, self.facts(node.left), self.facts(node.right))
            case lg.ToStream():
                return ops.to_stream(node, self.facts(node.input))
            case _:
                raise TypeError(f"no meaning for {type(node).__name__}")

    def _arrived(self, node: lg.Logical) -> list[tuple[int, Fact]]:
        """Rows by the batch they came in. Until they are stamped, the order of arrival is their time."""
        if id(node) in self.arrivals:
            return self.arrivals[id(node)]
        if not isinstance(node, lg.Scan):
            found = self._each(node, self._arrived(node.inputs[0]))
        else:
            batches = self.inputs.get(node.source.name, ())
            static = node.source.is_table
            found = []
            for number, batch in enumerate(batches):
                for row in batch:
                    start = BEGINNING if static else len(found)
                    found.append((number, Fact(tuple(row), start, FOREVER)))
        self.arrivals[id(node)] = found
        return found

    def _stamped(self, node: lg.Watermark) -> list[tuple[int, Fact]]:
        """The rows stamped with their event time; rows without one are malformed."""
        place = [f.name for f in node.schema].index(node.column)
        found = []
        for batch, fact in self._arrived(node.input):
            stamp = fact.row[place]
            if isinstance(stamp, datetime):
                found.append((batch, fact._replace(start=to_instant(stamp))))
        return found

    def _window(self, node: lg.Window) -> Facts:
        columns = tuple(f.name for f in node.schema)
        if isinstance(node.spec, lg.Unbounded) or not self.judges:
            facts = apply_window(node.spec, self.facts(node.input), columns)
        elif isinstance(node.spec, lg.Sliding):
            # A row may come too late for some of its windows and in time for others.
            facts = [
                framed for limit, fact in self._on_time(node, self._batched(node.input), node.spec)
                for framed in apply_window(node.spec, [fact], columns)
                if not is_complete(framed, limit)
            ]
        elif isinstance(node.spec, lg.Session):
            kept = self._on_time(node, self._batched(node.input), node.spec)
            facts = sessions_in_turn(node.spec, kept, columns)
        else:
            kept = self._on_time(node, self._batched(node.input), node.spec)
            facts = apply_window(node.spec, [fact for _, fact in kept], columns)
        if self.options.closed:
            return facts
        end = self.clock.end
        return [fact for fact in facts if is_complete(fact, end)]

    def _on_time(
        self, node: lg.Logical, rows: list[tuple[int, Fact]], spec: lg.WindowSpec
    ) -> list[tuple[Instant, Fact]]:
        """The rows that came before the watermark had passed the last window they are in, with that watermark."""
        kept: list[tuple[Instant, Fact]] = []
        before = cache(self.clock.before)
        for batch, fact in rows:
            limit = before(batch - self.options.behind)
            if ends_at(spec, fact) > limit:
                kept.append((limit, fact))
            else:
                name = _source_of(node)
                self.late[name] = self.late.get(name, 0) + 1
        return kept

    def _batched(self, node: lg.Logical) -> list[tuple[int, Fact]]:
        """Rows of a stream with their batch; rows of a computed stream come with the first one."""
        match node:
            case lg.Watermark():
                return self._stamped(node)
            case lg.Filter() | lg.Project() | lg.Shed():
                return self._each(node, self._batched(node.input))
            case _:
                return [(0, fact) for fact in self.facts(node)]

    def _each(self, node: lg.Logical, rows: list[tuple[int, Fact]]) -> list[tuple[int, Fact]]:
        """The rows with their batches, each as the operator leaves it."""
        change = ops.by_row(node, self.udfs)
        changed = ((batch, change(fact)) for batch, fact in rows)
        return [(batch, fact) for batch, fact in changed if fact is not None]


def _source_of(node: lg.Logical) -> str:
    return next((n.source.name for n in walk(node) if isinstance(n, lg.Scan)), "")
