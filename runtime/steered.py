"""What each query of a run is steered for, and how often its micro-batches begin."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.ir.goals import Goal
from streamq.compiler.ir.physical import PhysicalPlan, PhysicalQuery
from streamq.dsl.records import replace
from streamq.runtime.control.worth_group import PACE
from streamq.runtime.run import RunOptions


def goals_of(queries: Sequence[PhysicalQuery]) -> dict[str, Goal | None]:
    """The goal of each query that is run; None: it is not steered.

    The only one of those that shed together sheds by itself.
    """
    goals = {query.name: next((c.goal for c in query.controls if c.goal is not None), None) for query in queries}
    together = [(name, goal) for name, goal in goals.items() if goal is not None and goal.worth is not None]
    if len(together) == 1:
        ((name, goal),) = together
        goals[name] = replace(goal, worth=None)
    return goals


def latency_goal(query: PhysicalQuery) -> int | None:
    """How old results of the query may be, in milliseconds; None where it does not say."""
    goals = (c.goal.latency_ms for c in query.controls if c.goal is not None)
    return next((ms for ms in goals if ms is not None), None)


def interval_ms(options: RunOptions, plan: PhysicalPlan, goal: Goal | None) -> int:
    """The trigger interval of a query: its micro-batches begin at multiples of it, or as soon as the last is done."""
    if options.once:
        return 0
    if options.trigger_ms is not None:
        return options.trigger_ms
    given = dict(plan.settings).get("trigger_interval")
    if given is not None:
        return int(given)
    return 0 if goal is None or goal.worth is None or goal.latency_ms is None else round(PACE * goal.latency_ms)
