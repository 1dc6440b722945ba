"""What a pass is, and the runner that does the bookkeeping for all of them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from streamq.compiler.ir.logical import LogicalPlan
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.ir.verify import verify
from streamq.compiler.notices import PlanNotice
from streamq.compiler.recursion import deep_recursion
from streamq.dsl.records import dataclass, field


@dataclass
class PassContext:
    """What passes may leave behind: notices for the user."""

    notices: list[PlanNotice] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pass:
    """A named rewrite. ``run`` gives a new plan, or None where it does not apply. ``why``: why here."""

    name: str
    run: Callable[[LogicalPlan, PassContext], LogicalPlan | None]
    why: str


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One executed pass: its name, the plans before and after it, seconds taken."""

    name: str
    before: LogicalPlan
    plan: LogicalPlan
    seconds: float

    @property
    def changed(self) -> bool:
        """Whether the pass did anything; compares whole plans, so only those who show it ask."""
        if self.before is self.plan:
            return False
        with deep_recursion():
            if self.before != self.plan:
                return True
        return _operators(self.before) != _operators(self.plan)


def _operators(plan: LogicalPlan) -> int:
    """How many there are, those that are shared counted once."""
    return len({id(node) for query in plan.queries for node in walk(query.root)})


def run_passes(
    plan: LogicalPlan, passes: tuple[Pass, ...], context: PassContext, *, check: bool
) -> tuple[LogicalPlan, tuple[TraceEntry, ...]]:
    """Runs the passes in order; with ``check`` the plan's invariants are verified after each."""
    trace: list[TraceEntry] = []
    for step in passes:
        start = perf_counter()
        before, new = plan, step.run(plan, context)
        plan = before if new is None else new
        trace.append(TraceEntry(step.name, before, plan, perf_counter() - start))
        if check:
            verify(plan, step.name)
    return plan, tuple(trace)
