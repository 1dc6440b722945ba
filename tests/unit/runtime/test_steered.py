"""Goals of a run, and trigger intervals."""

from __future__ import annotations

import threading
from typing import cast

from streamq.compiler.ir.physical import PhysicalPlan
from streamq.dsl.records import replace
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark.supervisor import Running, Supervisor
from streamq.runtime.spark.watching import Watch
from streamq.runtime.steered import goals_of, interval_ms
from tests.support.compiling import compile_text


def plan_of(*policies: str, settings: str = "") -> PhysicalPlan:
    text = settings + "".join(f"CREATE QUERY q{i} AS SELECT i FROM s {policy};" for i, policy in enumerate(policies))
    plan = compile_text(text).require()
    ours = {f"q{i}" for i in range(len(policies))}
    return replace(plan, queries=tuple(query for query in plan.queries if query.name in ours))


def test_queries_with_a_goal_and_no_method_have_a_worth() -> None:
    plan = plan_of("QOS LATENCY 2 SECONDS WEIGHT 3 SLOPE 0.5", "QOS LATENCY 4 SECONDS", "QOS LATENCY 2 SECONDS SHED RANDOM", "")
    found = goals_of(plan.queries)
    assert {name: goal and goal.worth for name, goal in found.items()} == {"q0": 1.5, "q1": 1.0, "q2": None, "q3": None}


def test_the_only_one_that_is_run_sheds_by_itself() -> None:
    plan = plan_of("QOS LATENCY 2 SECONDS WEIGHT 3", "QOS LATENCY 4 SECONDS")
    (goal,) = goals_of(plan.queries[:1]).values()
    assert goal is not None
    assert goal.latency_ms == 2000
    assert goal.worth is None


class Starts:
    """A supervisor whose queries all start."""

    def start(self, one: Running) -> None:
        pass


def test_the_totals_of_a_run_know_the_goals() -> None:
    plan = plan_of("QOS LATENCY 2 SECONDS", "QOS LATENCY 4 SECONDS SHED RANDOM", "")
    run = Watch(RunOptions(), SilentListener(), threading.Event())
    run.start(cast("Supervisor", Starts()), plan.queries)
    assert [one.totals.latency_goal_ms for one in run.running] == [2000, 4000, None]


def test_trigger_intervals() -> None:
    """As the run says, else as the program does; else a part of the goal of queries that shed together, and none for others."""
    plan = plan_of("QOS LATENCY 2 SECONDS", "QOS LATENCY 4 SECONDS SHED AUTO", "QOS LATENCY 2 SECONDS SHED RANDOM", "")
    goals = goals_of(plan.queries).values()
    assert [interval_ms(RunOptions(), plan, goal) for goal in goals] == [800, 1600, 0, 0]
    assert [interval_ms(RunOptions(trigger_ms=50), plan, goal) for goal in goals] == [50] * 4
    assert [interval_ms(RunOptions(once=True), plan, goal) for goal in goals] == [0] * 4
    set_ = plan_of("QOS LATENCY 2 SECONDS", "QOS LATENCY 4 SECONDS", settings="SET trigger_interval = '3 seconds';")
    assert [interval_ms(RunOptions(), set_, goal) for goal in goals_of(set_.queries).values()] == [3000] * 2
