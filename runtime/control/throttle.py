"""How much of a micro-batch is kept, so that its results are as young as the query asks.

The age of a result is the time that its row waited for a micro-batch to begin, and the time of that micro-batch.
Micro-batches follow each other, so a row waits for at most one of them: where each takes half of ``LATENCY`` no
result is older than that. What a micro-batch may cost follows, and from the cost model how many rows it may keep.

The share is decided when the rows of the micro-batch are counted and none of them has been looked at (feed
forward): the first that is too large is cut already. Pure: no clock, no files.
"""

from __future__ import annotations

from streamq.compiler.ir.goals import Goal
from streamq.dsl.records import dataclass, replace
from streamq.stdlib.overload.batch_time import CostModel
from streamq.stdlib.overload.steps import Step

HEADROOM = 0.85
"""The part of the goal that is planned with at first; the rest is for micro-batches that take longer than expected."""

LEAST_HEADROOM, MOST_HEADROOM = 0.5, 1.25
"""How far what is planned with may move. Above 1: micro-batches that are shorter than the model of their cost says."""

LONGER, SHORTER = 0.003, 0.015
"""What is added where results were young enough, and taken off where they were not: in balance where one in six is not.

Small, as the share that is kept moves with it.
"""

NEAR = 0.94
"""The part of the goal above which the oldest result of a micro-batch counts as too old."""

SHORT = 0.85
"""A micro-batch that took a smaller part of what was planned was short: more could have been kept of it."""

CHEAP, MORE = 0.1, 2.0
"""So many times more is kept after a short micro-batch, where that is thought to take no larger part of the next one."""

LIMIT = 0.97
"""The part of the goal that no micro-batch may be expected to exceed, however it comes."""

PROBE_ROWS = 10_000
"""Rows of the first micro-batch of a query, of whose cost nothing is known."""

GROWTH = 4.0
"""A micro-batch may keep so many times the rows of the largest that was seen."""

LARGER, SMALLER = 1.25, 2.0
"""A micro-batch is planned to be so many times larger or smaller than the one whose rows are counted, at most.

A pause of the machine makes the next one larger, and is no reason to plan with another size.
"""

CHANGED = 0.25
"""A rate of arrival that differs by a larger part is another one, and counts at once; else it is noise."""

SLOWLY = 0.1
"""What of noise each micro-batch takes up."""

UNSURE, SURELY = 0.3, 2.0
"""What is taken up of a larger change in the share that fits, as long as it is by less than such a factor.

A few micro-batches that took long by chance can move a cost by so much; a new cost moves it on. Also what is taken up of
each change as long as the rate is new.
"""

STEADY = 3
"""Micro-batches in a row at one rate of arrival, of which the last tells whether what is planned is right."""

SETTLED = 10
"""Micro-batches in a row at one rate after which the cost at it is known, and what still changes is noise."""

LEAST_KEEP = 0.001
"""Where the goal cannot be reached at least so much is kept, so that there is something to measure and to show."""


FIRST_LEAST = 0.5
"""What is kept of a query with a bound on its error, before anything is known of that."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """What the controller publishes for the decisions to come.

    ``latency_ms``: the goal, or ``rows_per_s`` where that is not 0; ``model``: what micro-batches cost; ``least``:
    a share that the query must keep; ``counted``: rows that were there for each that was expected, before the
    micro-batch was read. ``share``: what a query that sheds together with others keeps of a usual micro-batch; None: as
    much as its own goal allows. ``coverage``, ``late``: what is told of the query, the share of its sources' rows that
    was kept in the last seconds, and how many rows were late so far. ``fixed_share``: the share that is kept whatever comes,
    in place of a goal. ``ranks``: what is in the rows, where some go first (``stdlib/overload/ranks.py``); ``newest``:
    the latest event time seen, in microseconds since 1970. ``window_ms``: where whole windows stay or go, their
    length, and ``late_ms``, how long after their end they take rows; ``steps``: which of them. ``seen``: the last micro-batch that all this takes in.
    ``sifter``: the version of the sifter that rows go by (``runtime/control/sifting.py``); None as long as there is none.
    ``needed``: the share of the rows that the query wants which the sifter keeps for it; ``sampled``: the largest share
    of all rows that is looked at for it. ``held``: rows of state after the last micro-batch; ``holding``: how many there
    are in the long run if one row is kept each millisecond. ``read_until``: the time of the newest record that was read, in
    milliseconds since 1970, where records say when they came; ``unread``: how many were left. ``counted_spared``: as ``counted``, of streams of which no
    row goes. ``vain``: the share that is kept where the goal is out of reach (``stdlib/overload/in_vain.py``).
    """

    latency_ms: float
    model: CostModel = CostModel()
    least: float = LEAST_KEEP
    counted: float = 1.0
    rows_per_s: float = 0.0
    share: float | None = None
    coverage: float = 1.0
    late: int = 0
    fixed_share: float | None = None
    ranks: tuple[float, ...] = ()
    newest: float | None = None
    headroom: float = HEADROOM
    window_ms: int = 0
    late_ms: int = 0
    steps: tuple[Step, ...] = ()
    seen: int = -1
    sifter: int | None = None
    needed: float = 0.0
    sampled: float | None = None
    held: int = 0
    holding: float = 0.0
    counted_spared: float = 1.0
    read_until: float | None = None
    unread: int = 0
    vain: float = 0.0

    def aged(self, age_ms: float, decision: Decision) -> Throttle:
        """With more planned where the oldest row of a micro-batch was young enough, else with less.

        ``decision``: that of the micro-batch. Where nothing was shed more would not be kept if more were planned, and
        where the goal is beyond reach to plan less does not help.
        """
        if age_ms > NEAR * self.latency_ms:
            less = max(LEAST_HEADROOM, self.headroom - SHORTER)
            return replace(self, headroom=less) if decision.reachable else self
        return replace(self, headroom=min(MOST_HEADROOM, self.headroom + LONGER)) if decision.keep < 1 else self


def first_throttle(goal: Goal) -> Throttle:
    """What holds for a goal before anything is known."""
    latency = 0.0 if goal.latency_ms is None else float(goal.latency_ms)
    least = max(goal.least, LEAST_KEEP if goal.error is None else FIRST_LEAST)
    fixed = None if goal.percent is None else 1.0 - goal.percent / 100
    return Throttle(
        latency, least=least, rows_per_s=goal.rows_per_s or 0.0, fixed_share=fixed, window_ms=goal.window_ms or 0,
        late_ms=goal.late_ms, needed=goal.needed, sampled=goal.sampled,
    )


@dataclass(frozen=True, slots=True)
class Decision:
    """The share of a micro-batch that is kept.

    ``rate``: rows that arrive in a millisecond, noise taken out; 0 before any did. ``reachable``: False where no
    share can meet the goal. ``usual``: the throttle fraction, the share of a micro-batch of usual size, noise taken out.
    ``steady``: micro-batches in a row before this one that came at its rate.
    """

    keep: float = 1.0
    rate: float = 0.0
    reachable: bool = True
    usual: float = 1.0
    steady: int = 0


def decide(
    throttle: Throttle, arrived: int, waited_ms: float, before: Decision, spared: int = 0, behind_ms: float = 0.0
) -> Decision:
    """The share of ``arrived`` rows to keep, after the decision ``before``.

    ``waited_ms``: how long ago the micro-batch before this one began, which the oldest of the rows have waited.
    ``spared``: as many of the rows are of streams of which none goes; the share is that of the others. ``behind_ms``: how
    old they are, where they were left by micro-batches before: then they have come at another rate.
    """
    if arrived <= spared:
        return before
    if throttle.fixed_share is not None:
        return Decision(throttle.fixed_share)
    if throttle.rows_per_s > 0:
        share = throttle.rows_per_s * max(waited_ms, 1.0) / 1000 / arrived
        return Decision(min(1.0, share), arrived / max(waited_ms, 1.0))
    stays = spared / arrived
    rate = _smoothed(before.rate, arrived / max(waited_ms, 1.0))
    steady = before.steady + 1 if _same_rate(before.rate, rate) else 0
    cost = throttle.model.cost
    if cost is None:
        return Decision(_within(_of_others(PROBE_ROWS / arrived, stays), throttle.least), rate, steady=steady)
    planned = throttle.headroom * throttle.latency_ms
    # Micro-batches of very different sizes are a guess, so they are approached step by step.
    wanted = rate * planned / 2
    usual = min(max(wanted, arrived / SMALLER), arrived * LARGER)
    # The state is what it becomes if as much is kept from now on; for this micro-batch it is what it is.
    holding = throttle.holding * rate / usual
    usual_budget = cost.budget(usual, planned / 2, holding=holding)
    most = GROWTH * max(throttle.model.most_kept, PROBE_ROWS)
    left = max(LIMIT * throttle.latency_ms - max(waited_ms, behind_ms), planned / 4)
    burst = before.keep == 1 and cost.time(arrived, arrived, throttle.held) <= left
    usual_keep = 1.0 if burst else min(1.0, _of_others(usual_budget / usual, stays))
    if throttle.share is not None:
        usual_keep = throttle.share
    elif steady > 0 and max(before.usual, usual_keep) < 1:
        usual_keep = _followed(before.usual, usual_keep, steady >= SETTLED, UNSURE if usual == wanted else SLOWLY)
    fits = min(cost.budget(arrived, left, throttle.held), most) / arrived
    kept = _within(min(usual_keep, _of_others(fits, stays)), throttle.least)
    if throttle.share is None and steady > 0 and behind_ms == 0 and waited_ms < SHORT * planned / 2:
        tried = _tried(before, cost.each(holding) * arrived, planned / 2)
        kept, usual_keep = max(kept, tried), max(usual_keep, tried)
    whole = (stays + (1 - stays) * kept) * usual
    reachable = kept > throttle.least or cost.time(usual, whole, holding * whole) <= planned / 2
    if not reachable:
        # What a group gives is not gone beyond, so that those that share evenly still do.
        kept = max(kept, throttle.vain if throttle.share is None else min(throttle.vain, throttle.share))
    return Decision(kept, rate, reachable, usual_keep, steady)


def _tried(before: Decision, work_ms: float, planned_ms: float) -> float:
    """What is kept at least where the micro-batch before was shorter than planned, and more can cost next to nothing.

    A cost that was learned at a slow start takes rows for dearer than they are, and as long as next to none is kept nothing tells.
    ``work_ms``: what all rows of the micro-batch are thought to cost, beyond being read.
    """
    return min(1.0, MORE * before.keep) if before.keep * work_ms < CHEAP * planned_ms else 0.0


def _of_others(share: float, stays: float) -> float:
    """The share of the other rows that is kept where ``share`` of all may be, and ``stays`` of all is in any case."""
    return max(0.0, share - stays) / (1 - stays)


def _same_rate(before: float, now: float) -> bool:
    """True where the rate of a decision is that of the one before, but for noise."""
    return before > 0 and abs(now / before - 1) <= SLOWLY * CHANGED * 1.01


def _smoothed(before: float, now: float) -> float:
    if before > 0 and abs(now / before - 1) <= CHANGED:
        return before + SLOWLY * (now - before)
    return now


def _followed(before: float, now: float, settled: bool, unsure: float) -> float:
    """The throttle fraction at one rate of arrival, where only what is known of the cost has changed.

    ``unsure``: what is taken up of a change that may be more than noise; less where it is that of a micro-batch of
    another size than wanted. ``settled``: small changes are noise.
    """
    if before <= 0 or not 1 / SURELY < now / before < SURELY:
        return now
    noise = settled and abs(now / before - 1) <= CHANGED
    return before + (SLOWLY if noise else unsure) * (now - before)


def _within(keep: float, least: float) -> float:
    return min(1.0, max(least, keep))
