"""One channel that several edges send over: how much of it each may take, and when it may take more.

Each stream sheds the same share of its rate (Ahuja 2006, section 3.2: the capacity of a stream is in proportion to its
rate), or a share by its weight; one that is silent keeps a floor, by which it can say that it is back. Plans reach edges
late or not at all. So what an edge may be sending is the most that any plan allows by which it may still go, and a plan
that gives more is made only of what no edge may be sending: others are known to go by plans that give less, or have not
been heard of for a lease, after which an edge falls back to its floor by itself.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Literal, get_args

from streamq.dsl.records import dataclass, replace
from streamq.runtime.edge.at_run.central import Contact
from streamq.stdlib.attributes import coordination

PERIOD_S = 5.0
"""How often a channel is split anew."""

LEASE_S = 5.0
"""For how long an edge goes by its plan without being answered."""

LEAST_KBPS, LEAST_SHARE = 1.0, Fraction(1, 100)
"""The floor of a stream: the larger of both, the second one of the capacity."""

STEPS = 1024
"""Capacities are whole multiples of a part of a kbit/s, of which sums have no rounding."""

CHANGE = Fraction(1, 100)
"""A plan is not changed for less, or each would be ranked anew all the time."""

Policy = Literal["proportional", "weighted"]


@dataclass(frozen=True, slots=True)
class ChannelRule:
    """``capacity_kbps`` that all streams have together; ``policy``: whether what they shed is by their weights.

    Raises ``ValueError`` for what cannot be.
    """

    capacity_kbps: float
    policy: Policy = "proportional"

    def __post_init__(self) -> None:
        """Checks both."""
        if not 0 < self.capacity_kbps < math.inf or self.policy not in get_args(Policy):
            raise ValueError(f"a channel has a capacity, and is split by {' or '.join(get_args(Policy))}")


@dataclass(frozen=True, slots=True)
class Granted:
    """Plans by which an edge may go, ``(revision, kbps)`` by revision, infinite where nobody knows; the last is in force."""

    plans: tuple[tuple[int, float], ...]

    @classmethod
    def unsure(cls, revision: int, kbps: float) -> Granted:
        """A plan that follows others of which nothing is known, as those of an earlier run."""
        return cls(((revision - 1, math.inf), (revision, kbps)))

    @property
    def revision(self) -> int:
        """Of the plan that is in force."""
        return self.plans[-1][0]

    @property
    def kbps(self) -> float:
        """What the plan in force gives."""
        return self.plans[-1][1]

    @property
    def most(self) -> float:
        """What the edge may be sending."""
        return max(kbps for _, kbps in self.plans)

    def after(self, kbps: float) -> Granted:
        """With another plan in force from now on."""
        return Granted((*self.plans, (self.revision + 1, kbps)))

    def known(self, contact: Contact | None, lapsed: bool) -> Granted:
        """Without plans by which the edge does not go any more, as it said.

        ``lapsed``: it fell back to its floor, and when it comes again it gets the plan in force.
        """
        if contact is not None and contact.revision > self.revision:
            return Granted((*self.plans, (contact.revision, math.inf)))
        if lapsed:
            return Granted(self.plans[-1:])
        told = -1 if contact is None else contact.revision
        return Granted(tuple(plan for plan in self.plans if plan[0] >= told))


@dataclass(frozen=True, slots=True)
class Member:
    """A stream at a channel. ``weight``: its priority, above 0; twice as much sheds half as much.

    ``owes``: whether values are asked for that did not come yet, and so a stream that offers nothing has something to say.
    """

    stream: str
    granted: Granted
    contact: Contact | None = None
    weight: float = 1.0
    owes: bool = False

    def lapsed(self, now_s: float, since_s: float) -> bool:
        """Whether its edge fell back to its floor. ``since_s``: from when on it would have been heard of."""
        return now_s - (since_s if self.contact is None else self.contact.at_s) > LEASE_S

    def heard(self, contact: Contact | None, now_s: float, since_s: float) -> Member:
        """With what its edge said last."""
        member = replace(self, contact=contact)
        return replace(member, granted=self.granted.known(contact, member.lapsed(now_s, since_s)))

    def offered(self, now_s: float, since_s: float) -> Fraction:
        """Kbit/s that it is offered, as far as is known: 0 of a stream that is silent."""
        return Fraction(0 if self.contact is None or self.lapsed(now_s, since_s) else self.contact.offered_kbps)

    def state(self, now_s: float, since_s: float) -> str:
        """What a channel does not wait for the end of a period to look at again."""
        if self.contact is None or self.lapsed(now_s, since_s):
            return "gone"
        return "sends" if self.contact.offered_kbps > 0 else "owes" if self.owes else "idle"


def floor_kbps(capacity_kbps: float, streams: int) -> float:
    """What each stream always has. ValueError where a channel is too narrow for them."""
    capacity = Fraction(capacity_kbps)
    floor = _down(min(max(Fraction(LEAST_KBPS), capacity * LEAST_SHARE), capacity / max(streams, 1)))
    if not floor:
        raise ValueError(f"a channel of {capacity_kbps:g} kbit/s is too narrow for {streams} streams")
    return floor


def wanted(members: Sequence[Member], rule: ChannelRule, now_s: float, since_s: float) -> dict[str, float]:
    """The capacity of each stream in kbit/s, if all plans came at once; together at most that of the channel.

    C_i = C * R_i / R of those that are not silent, of which each has at least its floor; where R is above C, ``weighted``
    takes from each in proportion to R_i by its weight instead. A stream that only owes answers counts with an equal part of
    what nobody is offered.
    """
    capacity, floor = Fraction(rule.capacity_kbps), Fraction(floor_kbps(rule.capacity_kbps, len(members)))
    found = {member.stream: floor for member in members}
    rates = {member.stream: member.offered(now_s, since_s) for member in members}
    rest = max(capacity - sum(rates.values()), Fraction(0)) / max(len(members), 1)
    rates |= {member.stream: rest for member in members if member.state(now_s, since_s) == "owes"}
    heard = [member for member in members if rates[member.stream] > 0]
    left = capacity - floor * (len(members) - len(heard))
    while heard:
        shares = _shares(heard, rates, left, rule.policy)
        above = [member for member in heard if shares[member.stream] > floor]
        if len(above) == len(heard):
            found |= shares
        left -= floor * (len(heard) - len(above))
        heard = above if len(above) < len(heard) else []
    return {stream: _down(kbps) for stream, kbps in found.items()}


def lowered(members: Sequence[Member], wants: Mapping[str, float], rule: ChannelRule) -> dict[str, float]:
    """The plans that give less than those in force: they can be given out at any time.

    Where nobody knows what is in force, only the floor surely is not more.
    """
    floor = floor_kbps(rule.capacity_kbps, len(members))
    found = {}
    for member in members:
        kbps = wants[member.stream] if member.granted.kbps < math.inf else floor
        if kbps < member.granted.kbps and not _alike(kbps, member.granted.kbps):
            found[member.stream] = kbps
    return found


def raised(members: Sequence[Member], wants: Mapping[str, float], rule: ChannelRule) -> dict[str, float]:
    """The plans that give more, of what no edge may be sending; each gets the same part of what it misses.

    What is known of members has to be of after the plans in force were given out.
    """
    floor = floor_kbps(rule.capacity_kbps, len(members))
    may = {m.stream: max(m.granted.most, floor) for m in members}
    if math.inf in may.values():
        return {}
    free = Fraction(rule.capacity_kbps) - sum(map(Fraction, may.values()))
    more = {stream: max(Fraction(wants[stream]) - Fraction(may[stream]), Fraction(0)) for stream in may}
    part = min(Fraction(1), max(free, Fraction(0)) / (sum(more.values()) or 1))
    found = {}
    for member in members:
        stream = member.stream
        kbps = _down(min(Fraction(wants[stream]), Fraction(may[stream]) + part * more[stream]))
        if kbps > member.granted.kbps and not _alike(kbps, member.granted.kbps):
            found[stream] = kbps
    return found


def owed(members: Sequence[Member], wants: Mapping[str, float]) -> bool:
    """Whether a stream is to have more than it has."""
    return any(m.granted.kbps < wants[m.stream] and not _alike(wants[m.stream], m.granted.kbps) for m in members)


def _shares(
    heard: Sequence[Member], offered: Mapping[str, Fraction], capacity: Fraction, policy: Policy
) -> dict[str, Fraction]:
    rates = {member.stream: offered[member.stream] for member in heard}
    total = sum(rates.values(), Fraction(0))
    if policy == "proportional" or total <= capacity:
        return {stream: capacity * rate / total for stream, rate in rates.items()}
    # Each as if it had one attribute: how many of its own it sheds, an edge finds itself.
    at = [coordination.Member(m.stream, rates[m.stream], 1, weight=Fraction(m.weight)) for m in heard]
    return {share.stream: rates[share.stream] - share.shed_rate for share in coordination.weighted(at, capacity).shares}


def _alike(kbps: float, other: float) -> bool:
    return other < math.inf and abs(Fraction(kbps) - Fraction(other)) <= CHANGE * Fraction(other)


def _down(kbps: Fraction) -> float:
    return math.floor(kbps * STEPS) / STEPS
