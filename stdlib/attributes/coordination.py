"""Streams that share a channel: how much each of them sheds at the multiplexer (Ahuja 2006, section 3.2).

The coordinator knows the rate of each stream, after it shed for its own link, and the capacity of the channel; which of its
attributes it sheds, each stream finds itself, from the window that it has left. Of the excess, the thesis gives each stream a
part in proportion to its rate, which comes to the same share of attributes for all (its formulas 3.8 and 3.9). By priorities,
and over all streams the least informative attributes first, which the abstract of the thesis promises, are ours.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from streamq.dsl.records import dataclass, replace
from streamq.stdlib.attributes.kinds import Unsheddable
from streamq.stdlib.attributes.sizing import Exact, drop_ratio, exact, n_shed, residual_rate


@dataclass(frozen=True, slots=True)
class Member:
    """A stream at the channel. ``rate``: kbit/s (R_i), ``n_attrs``: attributes (N_i), both after it shed for its own link.

    ``protected``: how many of them are never shed. ``weight``: its priority, above 0; twice as much sheds half as much.
    Raises ``ValueError`` for others.
    """

    stream: str
    rate: Exact
    n_attrs: int
    protected: int = 0
    weight: Exact = 1

    def __post_init__(self) -> None:
        """Checks the numbers."""
        if self.n_attrs < 1 or not 0 <= self.protected <= self.n_attrs or exact(self.weight) == 0 or exact(self.rate) < 0:
            raise ValueError(f"{self.stream} has attributes, some of them protected, and a weight above 0")

    @property
    def sheddable_rate(self) -> Fraction:
        """Kbit/s of the attributes that may be shed, all equally wide."""
        return exact(self.rate) * (self.n_attrs - self.protected) / self.n_attrs


@dataclass(frozen=True, slots=True)
class Share:
    """What a stream sheds: ``shed_rate``: kbit/s asked of it; ``n_shed`` attributes (N'_i); ``residual``: kbit/s it has left.

    ``attrs``: which, where that is decided for all streams together.
    """

    stream: str
    shed_rate: Fraction
    n_shed: int
    residual: Fraction
    attrs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Allocation:
    """``drop_ratio``: the share of the load that is above the capacity; what each stream sheds, in the order given."""

    drop_ratio: Fraction
    shares: tuple[Share, ...]

    @property
    def residual(self) -> Fraction:
        """Kbit/s that come to the channel."""
        return sum((share.residual for share in self.shares), Fraction(0))

    def of(self, stream: str) -> Share:
        """That of a stream. ``KeyError`` where it is none of them."""
        return {share.stream: share for share in self.shares}[stream]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An attribute of a stream that may be shed. ``dispersion``: without unit, so that streams can be compared.

    ``rate``: kbit/s that it takes; None where all attributes of the stream are equally wide.
    """

    attr: str
    dispersion: float
    rate: Exact | None = None


def proportional(members: Sequence[Member], capacity: Exact, utilisation: Exact = 1) -> Allocation:
    """Each stream sheds the same share of its rate: N'_i = ⌈(R - C) / R · N_i⌉.

    ``Unsheddable`` where a stream may not shed as many, ValueError for two streams of one name.
    """
    ratio = _ratio(members, capacity, utilisation)
    return Allocation(ratio, tuple(_share(member, ratio * exact(member.rate)) for member in members))


def weighted(members: Sequence[Member], capacity: Exact, utilisation: Exact = 1) -> Allocation:
    """Each stream sheds in proportion to its rate by its weight; what one may not shed, others shed.

    With equal weights and nothing protected that is ``proportional``. ``Unsheddable`` where all together are too few.
    """
    ratio = _ratio(members, capacity, utilisation)
    left = ratio * sum((exact(m.rate) for m in members), Fraction(0))
    asked = {m.stream: Fraction(0) for m in members}
    able = [m for m in members if m.sheddable_rate > 0]
    while left > 0:
        if not able:
            raise Unsheddable(*_totals(members, ratio))
        claim = {m.stream: exact(m.rate) / exact(m.weight) for m in able}
        unit = left / sum(claim.values(), Fraction(0))
        # Who would have to shed more than all it may sheds that, and the others share what is left.
        full = [m for m in able if claim[m.stream] * unit >= m.sheddable_rate - asked[m.stream]]
        for member in full or able:
            more = member.sheddable_rate if full else asked[member.stream] + claim[member.stream] * unit
            left -= more - asked[member.stream]
            asked[member.stream] = more
        able = [m for m in able if m not in full] if full else able
    return Allocation(ratio, tuple(_share(member, asked[member.stream]) for member in members))


def across_streams(
    members: Sequence[Member], candidates: Mapping[str, Sequence[Candidate]], capacity: Exact, utilisation: Exact = 1
) -> Allocation:
    """The attributes of all streams with the least dispersion per kbit/s are shed, until the rest fits (GLOBAL).

    ``candidates``: of each stream, none that is protected. Ties go in the order of streams and candidates; what takes no
    kbit/s is never shed. ``Unsheddable`` where all of them are too few, ValueError for a candidate that is no number.
    """
    ratio = _ratio(members, capacity, utilisation)
    each: list[tuple[float, Member, str, Fraction]] = []
    for member in members:
        equal = exact(member.rate) / member.n_attrs
        for candidate in candidates.get(member.stream, ()):
            rate = equal if candidate.rate is None else exact(candidate.rate)
            if not candidate.dispersion >= 0:
                raise ValueError(f"{candidate.attr} of {member.stream} has no dispersion")
            if rate > 0:
                each.append((candidate.dispersion / float(rate), member, candidate.attr, rate))
    left = ratio * sum((exact(m.rate) for m in members), Fraction(0))
    gone: dict[str, list[tuple[str, Fraction]]] = {m.stream: [] for m in members}
    wanted = 0
    for _, member, attr, rate in sorted(each, key=lambda one: one[0]):
        if left <= 0:
            break
        gone[member.stream].append((attr, rate))
        left -= rate
        wanted += 1
    if left > 0:
        raise Unsheddable(_totals(members, ratio)[0], wanted)
    return Allocation(ratio, tuple(_chosen(m, gone[m.stream]) for m in members))


def one_stage(members: Sequence[Member], links: Mapping[str, Exact], capacity: Exact) -> Mapping[str, int]:
    """How many attributes each stream sheds for its own link and the channel together, where both capacities are known.

    ``members``: before anything is shed. It comes to as many as in two stages.
    """
    first = {m.stream: n_shed(m.rate, links[m.stream], m.n_attrs, protected=m.protected) for m in members}
    left = [_after(m, first[m.stream]) for m in members]
    return {share.stream: first[share.stream] + share.n_shed for share in proportional(left, capacity).shares}


def shed_where(attr: str, at_source: Collection[str], at_multiplexer: Collection[str]) -> str | None:
    """Whose synopsis is to be asked for an attribute: that of the SOURCE, of the MULTIPLEXER, or None as it was sent."""
    if attr in at_source:
        return "SOURCE"
    return "MULTIPLEXER" if attr in at_multiplexer else None


def _ratio(members: Sequence[Member], capacity: Exact, utilisation: Exact) -> Fraction:
    if len({m.stream for m in members}) != len(members):
        raise ValueError("streams have different names")
    return drop_ratio(sum((exact(m.rate) for m in members), Fraction(0)), capacity, utilisation)


def _after(member: Member, shed: int) -> Member:
    """The stream without so many of its attributes; one that has shed all sends nothing."""
    rate = residual_rate(member.rate, shed, member.n_attrs)
    return replace(member, rate=rate, n_attrs=max(member.n_attrs - shed, 1))


def _share(member: Member, shed_rate: Fraction) -> Share:
    """As many attributes as the rate takes, equally wide."""
    rate = exact(member.rate)
    count = math.ceil(shed_rate / rate * member.n_attrs) if rate > 0 else 0
    if count > member.n_attrs - member.protected:
        raise Unsheddable(count, member.n_attrs - member.protected, member.stream)
    return Share(member.stream, shed_rate, count, residual_rate(rate, count, member.n_attrs))


def _chosen(member: Member, gone: Sequence[tuple[str, Fraction]]) -> Share:
    shed_rate = sum((rate for _, rate in gone), Fraction(0))
    return Share(
        member.stream, shed_rate, len(gone), exact(member.rate) - shed_rate, tuple(attr for attr, _ in gone)
    )


def _totals(members: Sequence[Member], ratio: Fraction) -> tuple[int, int]:
    """Attributes that would be shed, and that may be, over all streams."""
    return (
        sum(math.ceil(ratio * m.n_attrs) for m in members),
        sum(m.n_attrs - m.protected for m in members),
    )
