"""What a pass is, and the runner that does the bookkeeping for all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter

from streamq.compiler.ir.logical import LogicalPlan
from streamq.compiler.ir.verify import verify
from streamq.compiler.notices import PlanNotice
from streamq.dsl.diagnostics import Diagnostic


@dataclass
class PassContext:
    """What passes may leave behind: notices for the user and refusals to lower."""

    notices: list[PlanNotice] = field(default_factory=list)
    refusals: list[Diagnostic] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pass:
    """A named rewrite. ``run`` gives a new plan, or None where it does not apply. ``why``: why here."""

    name: str
    run: Callable[[LogicalPlan, PassContext], LogicalPlan | None]
    why: str


@dataclass(frozen=True, slots=True)
class TraceEntry:
    """One executed pass: its name, whether the plan changed, seconds taken, the plan after it."""

    name: str
    changed: bool
    seconds: float
    plan: LogicalPlan


def run_passes(
    plan: LogicalPlan, passes: tuple[Pass, ...], context: PassContext, *, check: bool
) -> tuple[LogicalPlan, tuple[TraceEntry, ...]]:
    """Runs the passes in order; with ``check`` the plan's invariants are verified after each."""
    trace: list[TraceEntry] = []
    for step in passes:
        start = perf_counter()
        new = step.run(plan, context)
        changed = new is not None and new != plan
        plan = plan if new is None else new
        if check:
            verify(plan, step.name)
        trace.append(TraceEntry(step.name, changed, perf_counter() - start, plan))
    return plan, tuple(trace)
