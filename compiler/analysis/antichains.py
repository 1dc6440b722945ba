"""What sets of places can save, and at which loss, where none of a set lies below another (an antichain).

For a price of the saving, the best set is an antichain of greatest weight, and that is a minimum cut. All prices
together give a convex curve. Most orders fall into parts that lie side by side, whose curves add up, or above each
other, of which one is chosen; only what is left is cut. ``networkx`` could do that too, but its import alone takes
longer than a road map may.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import inf
from operator import itemgetter
from typing import NamedTuple


class Corner(NamedTuple):
    """A set of places, as bits, that all drop as much as they may: no mix of others saves as much at less loss."""

    saving: float
    loss: float
    taken: int


Curve = tuple[Corner, ...]
"""Corners of growing saving, along which each unit of it costs more; it starts with NOTHING."""

NOTHING = Corner(0.0, 0.0, 0)

SMALL = 1e-12
"""Differences below this share are errors of floats."""


def bits(mask: int) -> Iterator[int]:
    """The places of the bits that are set, from the lowest."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def together(curves: Iterable[Curve]) -> Curve:
    """Of parts that lie side by side: the steps of all, the cheapest first."""
    steps = [step for curve in curves for step in zip(prices(curve), pairwise(curve), strict=True)]
    steps.sort(key=itemgetter(0))
    saving, loss, taken = NOTHING
    corners = [NOTHING]
    for _, (a, b) in steps:
        saving += b.saving - a.saving
        loss += b.loss - a.loss
        taken ^= a.taken ^ b.taken
        if saving > corners[-1].saving:
            corners.append(Corner(saving, loss, taken))
    return tuple(corners)


def prices(curve: Curve) -> list[float]:
    """What a unit of saving costs on each step: it never falls, whatever errors the floats have."""
    found: list[float] = []
    price = 0.0
    for a, b in pairwise(curve):
        price = max(price, (b.loss - a.loss) / (b.saving - a.saving))
        found.append(price)
    return found


def either(curves: Iterable[Curve]) -> Curve:
    """Of parts of which only one can be chosen: the corners of their convex hull."""
    corners = sorted(corner for curve in curves for corner in curve[1:])
    least = SMALL * corners[-1].saving if corners else 0.0
    hull = [NOTHING]
    for corner in corners:
        while len(hull) > 1 and corner.loss <= hull[-1].loss:
            hull.pop()
        if corner.saving - hull[-1].saving <= least:
            continue
        while len(hull) > 1 and _above(hull[-1], hull[-2], corner):
            hull.pop()
        hull.append(corner)
    return tuple(hull)


def _above(corner: Corner, left: Corner, right: Corner) -> bool:
    """Whether a corner lies on the line between two others, or above it."""
    return (corner.loss - left.loss) * (right.saving - left.saving) >= (
        (right.loss - left.loss) * (corner.saving - left.saving)
    )


def heaviest_antichain(weights: Sequence[int], below: Sequence[int]) -> int:
    """The members of an order, as bits, that weigh most together where none lies below another.

    ``below``: of each member, the bits of all that lie below it. By Dilworth it is what a minimum cut leaves: each has
    its weight to give to members below it and to take from those above, as far as it goes.
    """
    give, take = list(weights), list(weights)
    held: list[dict[int, int]] = [{} for _ in weights]
    hungry = sum(1 << i for i, weight in enumerate(weights) if weight)
    reached = tried = 0

    def push(giver: int, amount: int) -> int:
        """Moves some of the amount down, if need be by making room: what a taker has then comes from another."""
        nonlocal hungry, reached, tried
        free = below[giver] & hungry
        if free:
            taker = (free & -free).bit_length() - 1
            sent = min(amount, take[taker])
            take[taker] -= sent
            if not take[taker]:
                hungry ^= 1 << taker
            held[taker][giver] = held[taker].get(giver, 0) + sent
            return sent
        while rest := below[giver] & ~reached:
            low = rest & -rest
            reached |= low
            holds = held[low.bit_length() - 1]
            for other, has in holds.items():
                if has and not tried >> other & 1:
                    tried |= 1 << other
                    if sent := push(other, min(amount, has)):
                        holds[other] -= sent
                        holds[giver] = holds.get(giver, 0) + sent
                        return sent
        return 0

    moved = True
    while moved:
        moved, reached, tried = False, 0, 0
        for giver in range(len(give)):
            if give[giver]:
                tried |= 1 << giver
                while give[giver] and (sent := push(giver, give[giver])):
                    give[giver] -= sent
                    moved = True
    return sum(1 << i for i, weight in enumerate(weights) if weight and tried & ~reached & 1 << i)


class Curves:
    """The curve of any set of places, each worked out once.

    ``tops``: of each place, what it saves and loses if it drops as much as it may. ``below``: as in ``Places``.
    """

    def __init__(self, tops: Sequence[tuple[float, float]], below: Sequence[int]) -> None:
        self.tops, self.below = tops, below
        self.near = list(below)
        for i, lower in enumerate(below):
            for j in bits(lower):
                self.near[j] |= 1 << i
        self._known: dict[int, Curve] = {0: (NOTHING,)}

    def of(self, places: int) -> Curve:
        """The curve of all antichains of these places."""
        known = self._known.get(places)
        if known is None:
            known = self._known[places] = self._made(places)
        return known

    def _made(self, places: int) -> Curve:
        if not places & (places - 1):
            return (NOTHING, Corner(*self.tops[places.bit_length() - 1], places))
        parts = self._parts(places, 0)
        if len(parts) > 1:
            return together(map(self.of, parts))
        parts = self._parts(places, -1)
        if len(parts) > 1:
            return either(map(self.of, parts))
        return self._cut(self._alike(places))

    def _parts(self, places: int, flip: int) -> list[int]:
        """The parts with no places near each other; with ``flip`` -1: with none that are not."""
        parts = []
        while places:
            part = new = places & -places
            while new:
                i = new.bit_length() - 1
                found = (self.near[i] ^ flip) & places & ~part
                part |= found
                new = new & ~(1 << i) | found
            parts.append(part)
            places &= ~part
        return parts

    def _alike(self, places: int) -> dict[int, int]:
        """Groups of places that are near to the same others, each by one of its members."""
        groups = {i: 1 << i for i in bits(places)}
        before = 0
        while before != len(groups):
            before = len(groups)
            for itself in (0, 1):
                left = sum(1 << i for i in groups)
                first: dict[int, int] = {}
                for i in list(groups):
                    same = first.setdefault((self.near[i] | itself << i) & left, i)
                    if same != i:
                        groups[same] |= groups.pop(i)
        return groups

    def _cut(self, groups: dict[int, int]) -> Curve:
        """The curve where nothing else helps: a cut for the price of each line from corner to corner, as long as there
        is something below that line.
        """
        members = list(groups)
        curves = [self.of(group) for group in groups.values()]
        costs = [prices(curve) for curve in curves]
        below = [sum(1 << n for n, j in enumerate(members) if self.below[i] >> j & 1) for i in members]

        def best(loss: float, saving: float) -> Corner:
            """The corner that is farthest below a line of that rise."""
            price = loss / saving if saving else inf
            at = [c[bisect_left(cost, price)] for c, cost in zip(curves, costs, strict=True)]
            worth = [max(0.0, loss * c.saving - saving * c.loss) for c in at]
            scale = 2.0**60 / (max(worth) or 1.0)
            chosen = [at[n] for n in bits(heaviest_antichain([int(w * scale) for w in worth], below))]
            return Corner(
                sum(c.saving for c in chosen), sum(c.loss for c in chosen), sum(c.taken for c in chosen)
            )

        done, ahead = [NOTHING], [best(1.0, 0.0)]
        while ahead:
            a, b = done[-1], ahead[-1]
            loss, saving = b.loss - a.loss, b.saving - a.saving
            found = best(loss, saving)
            gain = loss * (found.saving - a.saving) - saving * (found.loss - a.loss)
            between = found.saving > a.saving and found.loss < b.loss
            if between and gain > SMALL * (loss * b.saving + saving * b.loss):
                ahead.append(found)
            else:
                done.append(ahead.pop())
        return either([tuple(done)])
