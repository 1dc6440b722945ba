"""Queries on a machine that all of them share, on paper: what runs gets equal parts of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from streamq.compiler.ir.goals import Goal
from streamq.runtime.control.controller import Controller
from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS
from streamq.runtime.control.steering import Steering
from streamq.runtime.control.throttle import Decision, decide
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.overload.batch_time import Cost

CORES = 2
TICK_S = 0.02


@dataclass
class Running:
    """A query: what its micro-batches cost one core, how many rows came until a time, and the micro-batch that runs.

    ``done``: of each micro-batch when it ended, rows that arrived, that were kept, and the age of the oldest, in seconds.
    """

    name: str
    cost: Cost
    came: Callable[[float], float]
    controller: Controller
    goal_ms: int
    interval_ms: float
    batch: int = 0
    planned: float = 0.0
    began: float = 0.0
    left_ms: float = 0.0
    rows: tuple[int, int] = (0, 0)
    decision: Decision = field(default_factory=Decision)
    done: list[tuple[float, int, int, float]] = field(default_factory=list)
    running: bool = False

    def begin(self, now: float, noise: float) -> None:
        """Takes what came since the micro-batch before took its input, if anything did."""
        arrived = round(self.came(now)) - round(self.came(self.began))
        if arrived <= 0 and self.batch:
            self.began, self.planned = now, self.began
            return
        waited_ms = (now - self.began) * 1000
        self.decision = decide(self.controller.throttle, arrived, waited_ms, self.decision)
        decided = Decided(self.decision, arrived, now * 1000, self.controller.throttle, waited_ms)
        DecisionLog(self.controller.checkpoint / DECISIONS).decide(self.batch, lambda _: decided)
        kept = round(arrived * self.decision.keep)
        self.planned, self.began, self.running = self.began, now, True
        self.rows, self.left_ms = (arrived, kept), self.cost.time(arrived, kept) * noise

    def end(self, now: float) -> QuerySample:
        """What is seen of the micro-batch."""
        arrived, kept = self.rows
        age = now - self.planned
        self.running = False
        self.done.append((now, arrived, kept, age))
        self.batch += 1
        return QuerySample(
            self.name, self.batch - 1, now, rows_in=arrived, kept=kept, shed=arrived - kept,
            batch_ms=round((now - self.began) * 1000), result_age_ms=round(age * 1000),
        )


def shared(
    folder: Path, costs: list[Cost], rate: float | list[Callable[[float], float]], goals: list[Goal], seconds: float,
    noise: float = 0.1, seed: int = 1, pause: float = 0.4, most_cores: int = 1, slow: dict[str, float] | None = None,
) -> list[Running]:
    """All queries on ``CORES``: those that run get equal parts of it. A micro-batch begins ``pause`` goals after the last.

    ``rate``: rows per second, or of each query the rows that came until a time. ``most_cores``: how many a query can use.
    ``slow``: queries of which the first three micro-batches take so many times longer.
    """
    random = np.random.default_rng(seed)
    steering = Steering()
    came = rate if isinstance(rate, list) else [lambda now, per_s=rate: per_s * now] * len(costs)
    queries = []
    for number, (cost, goal, rows) in enumerate(zip(costs, goals, came, strict=True)):
        name = f"q{number}"
        (folder / name).mkdir()
        goal_ms = goal.latency_ms or 0
        steering.add(name, goal, folder / name, interval_ms=pause * goal_ms)
        queries.append(Running(name, cost, rows, steering._controllers[name], goal_ms, pause * goal_ms))
    now = 0.5
    for query in queries:
        query.begin(now, 3.0)
    while now < seconds:
        now += TICK_S
        part = min(most_cores, CORES / max(1, sum(q.running for q in queries))) * TICK_S * 1000
        for query in queries:
            query.left_ms -= part
            if query.running and query.left_ms <= 0:
                steering.after(query.end(now))
            if not query.running and (now - query.began) * 1000 >= query.interval_ms:
                early = (slow or {}).get(query.name, 1.0) if query.batch < 3 else 1.0
                query.begin(now, early * float(random.lognormal(0, noise)))
    return queries


def coverages(queries: list[Running], since: float, until: float = np.inf) -> np.ndarray:
    """The share of its rows that each query kept in a time."""
    rows = [[(arrived, kept) for at, arrived, kept, _ in q.done if since < at <= until] for q in queries]
    return np.array([sum(kept for _, kept in of) / sum(arrived for arrived, _ in of) for of in rows])


def late(queries: list[Running], since: float) -> list[float]:
    """The share of micro-batches of each query whose results were older than its goal."""
    return [float(np.mean([age > q.goal_ms / 1000 for at, _, _, age in q.done if at > since])) for q in queries]
