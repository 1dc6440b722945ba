"""A micro-batch engine on paper: rows come, wait for a micro-batch, and are done when it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from streamq.runtime.control.controller import COVERAGE_S, held_by
from streamq.runtime.control.throttle import STEADY, Decision, Throttle, decide
from streamq.stdlib.overload.batch_time import BatchTime, Cost
from streamq.stdlib.overload.in_vain import InVain


@dataclass(frozen=True)
class Batch:
    """One micro-batch: when it began and ended (seconds), its rows, and how old the results are (ms).

    ``ages``: of 20 rows that came at equal distances, the oldest first. ``usual``: the throttle fraction.
    """

    began: float
    ended: float
    arrived: int
    kept: int
    keep: float
    reachable: bool
    ages: tuple[float, ...]
    usual: float = 1.0


@dataclass
class Engine:
    """``rate``: rows per second at a time; ``cost``: what a micro-batch that begins at a time really costs.

    ``noise``: the standard deviation of a micro-batch's time, as a part of it. ``first``: how many times longer
    the first one takes, in which code is compiled. One micro-batch in ``pause_every`` takes ``pause_ms`` longer.
    ``states``: rows of state that each kept row makes, for ``lives_s`` seconds.
    """

    rate: Callable[[float], float]
    cost: Callable[[float], Cost]
    latency_ms: float = 2000.0
    noise: float = 0.05
    first: float = 3.0
    seed: int = 1
    sheds: bool = True
    pause_ms: float = 0.0
    pause_every: int = 20
    states: float = 0.0
    lives_s: float = 15.0

    def run(self, seconds: float) -> list[Batch]:
        random = np.random.default_rng(self.seed)
        throttle, vain = Throttle(self.latency_ms), InVain()
        now, planned, decision = 0.0, 0.0, Decision()
        found: list[Batch] = []
        while now < seconds:
            arrived = self._between(planned, now)
            if arrived == 0:
                planned, now = now, now + 0.05
                continue
            decision = decide(throttle, arrived, (now - planned) * 1000, decision)
            keep = decision.keep if self.sheds else 1.0
            kept = int(random.binomial(arrived, keep))
            held = self._held(found, now)
            ms = self.cost(now).time(arrived, kept, held) * float(random.lognormal(0, self.noise))
            ms *= 1 if found else self.first
            if len(found) % self.pause_every == self.pause_every - 1:
                ms += self.pause_ms
            ended = now + ms / 1000
            ages = (ended - np.linspace(planned, now, 20)) * 1000
            found.append(
                Batch(now, ended, arrived, kept, keep, decision.reachable, tuple(ages.tolist()), decision.usual)
            )
            model = throttle.model.after(BatchTime(arrived, kept, ms, held))
            state = self._held(found, ended)
            recent = [batch for batch in found if batch.ended >= ended - COVERAGE_S]
            holding = held_by(throttle.holding, state, sum(one.kept for one in recent), (ended - recent[0].began) * 1000)
            vain = vain.after(ms, not decision.reachable and ages[0] > self.latency_ms)
            throttle = replace(throttle, model=model, held=state, holding=holding, vain=vain.share)
            if len(found) > 1 and decision.steady >= STEADY:
                throttle = throttle.aged(ages[0], decision)
            planned, now = now, ended
        return found

    def _held(self, batches: list[Batch], now: float) -> int:
        return round(self.states * sum(batch.kept for batch in after(batches, now - self.lives_s)))

    def _between(self, start: float, end: float) -> int:
        """Rows that come in a time, by the rate in the middle of short pieces of it."""
        edges = np.arange(start, end, 0.01)
        steps = np.minimum(edges + 0.01, end) - edges
        return round(float(sum(self.rate(at + 0.005) * step for at, step in zip(edges, steps, strict=True))))


def after(batches: list[Batch], second: float, until: float = float("inf")) -> list[Batch]:
    return [batch for batch in batches if second <= batch.began < until]


def age_at(batches: list[Batch], percent: float) -> float:
    """The percentile of the age of all rows that are kept."""
    ages = np.concatenate([batch.ages for batch in batches])
    weights = np.repeat([batch.kept / 20 for batch in batches], 20)
    order = np.argsort(ages)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(ages[order][np.searchsorted(share, percent / 100)])


def kept_rate(batches: list[Batch]) -> float:
    """Rows kept per second."""
    return sum(batch.kept for batch in batches) / (batches[-1].ended - batches[0].began)
