"""Where shedders stand, and which share of the rows each of them drops: so much saved at the least loss.

No row meets two shedders, so the places of a plan are an antichain, and for given places the shares follow by loss per
saving. The corners of the curve of all antichains are best plans. Between two corners a mix of both would be best, but
their places may exclude each other: there, places are tried in and out until no plan can lose less. The road map holds
best plans for growing savings, so that a run only looks them up.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from math import inf

from streamq.compiler.analysis.antichains import (
    NOTHING,
    SMALL,
    Corner,
    Curve,
    Curves,
    bits,
    either,
    together,
)
from streamq.compiler.analysis.shed_places import Place, Places
from streamq.dsl.records import dataclass

FINE = 1 / 40_000
"""A gap of the road map that is left: the share of all saving that it spans, by the share of all loss that it jumps."""

LOOKED, LOOKED_IN_ALL = 64, 600
"""For how many sets of places the road map looks to find one plan between two corners, and all of them."""


@dataclass(frozen=True, slots=True)
class Shedder:
    """Drops ``share`` of the rows at a place."""

    place: Place
    share: float

    @property
    def saving(self) -> float:
        """The cost per second that it takes away, without its own."""
        return self.share * self.place.saving - self.place.test

    @property
    def loss(self) -> float:
        return self.share * self.place.loss


@dataclass(frozen=True, slots=True)
class Plan:
    """``saving``: cost per second; ``loss``: share of the value of all answers.

    ``least``: no plan that saves as much loses less than this. It is the loss itself where that is known to be best.
    """

    shedders: tuple[Shedder, ...]
    saving: float
    loss: float
    least: float


KEEP_ALL = Plan((), 0.0, 0.0, 0.0)


def filled(places: Iterable[Place], needed: float) -> tuple[Shedder, ...] | None:
    """The shares at which these places, or some of them, save so much together; None where all of them save less.

    The next place is only used where those before drop as much as they may, so each pays its own test, and no more.
    """
    error = SMALL * needed
    shedders = []
    for place in sorted(places, key=lambda p: p.loss / p.saving):
        if needed <= error:
            break
        share = min(place.most, (needed + place.test) / place.saving)
        needed -= share * place.saving - place.test
        shedders.append(Shedder(place, share))
    return tuple(shedders) if needed <= error else None


def _plan(shedders: Iterable[Shedder], least: float | None = None) -> Plan:
    found = tuple(shedders)
    loss = sum((s.loss for s in found), 0.0)
    saving = sum((s.saving for s in found), 0.0)
    return Plan(found, saving, loss, loss if least is None else min(least, loss))


@dataclass(frozen=True)
class RoadMap:
    """Plans of growing saving, the first of which drops nothing; each saves what it does at the least loss."""

    plans: tuple[Plan, ...]

    @property
    def most(self) -> float:
        """All that can be saved."""
        return self.plans[-1].saving

    def at(self, needed: float) -> Plan:
        """The plan for a saving, which is the last one where no plan saves as much.

        Between two plans it is one of them with other shares: not always the best, but no worse than its ``least`` says.
        """
        if needed <= 0:
            return self.plans[0]
        n = bisect_left(self.plans, needed, key=lambda p: p.saving)
        if n == len(self.plans) or self.plans[n].saving == needed:
            return self.plans[min(n, len(self.plans) - 1)]
        around = self.plans[n - 1 : n + 1]
        tried = (filled((s.place for s in plan.shedders), needed) for plan in around)
        least = max(around[0].least, _along(self._floor, needed))
        plans = [_plan(shedders, least) for shedders in tried if shedders is not None]
        return min(plans, key=lambda p: p.loss, default=around[1])

    @cached_property
    def _floor(self) -> Curve:
        """The corners again: no plan lies below the lines between them."""
        return either([(NOTHING, *(Corner(p.saving, p.least, 0) for p in self.plans[1:]))])


def _around(curve: Curve, saving: float) -> tuple[Corner, Corner]:
    """The corners on both sides of a saving."""
    n = min(bisect_left(curve, saving, key=lambda c: c.saving), len(curve) - 1)
    return curve[max(n - 1, 0)], curve[n]


def _along(curve: Curve, saving: float) -> float:
    """The loss on the line between two corners."""
    low, high = _around(curve, saving)
    width = high.saving - low.saving
    part = min(1.0, (saving - low.saving) / width) if width else 0.0
    return low.loss + part * (high.loss - low.loss)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Some places are taken, some still free, as bits; ``low`` and ``high``: the corners around what is needed."""

    taken: int
    free: int
    low: Corner
    high: Corner
    least: float


class Planner:
    """Finds plans for the places of a program; what it finds out for one serves the next."""

    def __init__(self, places: Places) -> None:
        self.places = places.places
        self.useful = sum(1 << i for i, p in enumerate(self.places) if p.useful)
        tops = [(p.most * p.saving - p.test, p.most * p.loss) for p in self.places]
        self.curves = Curves(tops, places.below)
        self.alike = self._alike()
        self.looked = 0

    def _alike(self) -> dict[int, int]:
        """The places with the same numbers and the same others near them, of which it is all one which are taken."""
        groups: dict[tuple[float, ...], int] = {}
        for i in bits(self.useful):
            p = self.places[i]
            key = (p.saving, p.loss, p.test, p.most, self.curves.near[i] & self.useful)
            groups[key] = groups.get(key, 0) | 1 << i
        return {i: group for group in groups.values() for i in bits(group)}

    def plan(self, needed: float, without: Sequence[str] = (), looked: int = 10_000) -> Plan | None:
        """The plan that saves so much at the least loss; None where none does.

        ``without``: places that it may not use. ``looked``: after so many sets of places the best so far has to do;
        its ``least`` then says how far from the best it may be.
        """
        if needed <= 0:
            return KEEP_ALL
        free = sum(1 << i for i in bits(self.useful) if self.places[i].name not in without)
        end, order = self.looked + looked, count()
        waiting: list[tuple[float, int, _Choice]] = []
        best: tuple[Shedder, ...] | None = None
        loss, least = inf, inf
        ahead = [self._choice(0, free, needed)]
        while True:
            for choice in ahead:
                if choice is None:
                    continue
                shedders = filled((self.places[i] for i in bits(choice.taken | choice.high.taken)), needed)
                if shedders is not None and (lost := sum(s.loss for s in shedders)) < loss:
                    best, loss = shedders, lost
                heappush(waiting, (choice.least, next(order), choice))
            if not waiting:
                break
            least, _, choice = heappop(waiting)
            if least >= loss * (1 - SMALL):
                break
            if self.looked >= end:
                return None if best is None else _plan(best, least)
            ahead = self._split(choice, needed)
        return None if best is None else _plan(best)

    def _choice(self, taken: int, free: int, needed: float) -> _Choice | None:
        """What is left to choose, with a bound of the loss; None where it cannot save enough."""
        fixed = [self.places[i] for i in bits(taken)]
        goal = needed + sum(p.test for p in fixed)
        self.looked += 1
        curve = together([
            self.curves.of(free), *((NOTHING, Corner(p.most * p.saving, p.most * p.loss, 0)) for p in fixed),
        ])
        if goal > curve[-1].saving * (1 + SMALL):
            return None
        return _Choice(taken, free, *_around(curve, goal), _along(curve, goal))

    def _split(self, choice: _Choice, needed: float) -> list[_Choice | None]:
        """With and without one of the places in which the two corners differ."""
        differing = list(bits(choice.low.taken ^ choice.high.taken))
        if not differing:
            return []
        most = max(differing, key=lambda i: self.curves.tops[i][0])
        alike = self.alike[most] & choice.free
        first = alike & -alike
        near = self.curves.near[first.bit_length() - 1]
        return [
            self._choice(choice.taken | first, choice.free & ~near & ~first, needed),
            self._choice(choice.taken, choice.free & ~alike, needed),
        ]

    def road_map(self) -> RoadMap:
        """The corners, and plans between them where much more is lost as soon as a little more has to be saved."""
        plans = [self._whole(c.taken) for c in self.curves.of(self.useful)]
        most = plans[-1]
        end = self.looked + LOOKED_IN_ALL
        found = [plans[0]]
        ahead = plans[:0:-1]
        while ahead:
            low, high = found[-1], ahead[-1]
            width = high.saving - low.saving
            first = filled((s.place for s in high.shedders), low.saving + width / 1000)
            jump = 0.0 if first is None else sum(s.loss for s in first) - low.loss
            middle = None
            if width * jump > FINE * most.saving * most.loss and self.looked < end:
                middle = self.plan(low.saving + width / 2, looked=LOOKED)
            if middle is None:
                found.append(ahead.pop())
            else:
                ahead.append(middle)
        return RoadMap(tuple(_rising(found)))

    def _whole(self, taken: int) -> Plan:
        """The plan in which these places drop as much as they may."""
        return _plan(Shedder(self.places[i], self.places[i].most) for i in bits(taken))


def _rising(plans: Sequence[Plan]) -> list[Plan]:
    """The plans of growing saving without those that lose more than one that saves more."""
    kept: list[Plan] = []
    for plan in plans:
        while len(kept) > 1 and kept[-1].loss > plan.loss:
            kept.pop()
        kept.append(plan)
    return kept
