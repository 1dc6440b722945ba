"""The plans that a central run begins with: those of its program, after whatever edges have from a run before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from streamq.dsl.records import replace
from streamq.runtime.edge.at_run.channel import (
    LEASE_S,
    ChannelRule,
    Granted,
    Member,
    floor_kbps,
)
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.plan import BadPlan, EdgePlan
from streamq.runtime.edge.plan_file import to_json


def checked(streams: Sequence[Incoming], channels: Mapping[str, float | ChannelRule]) -> dict[str, ChannelRule]:
    """The rules of channels. ValueError for two streams of one name, a channel that is not there, and one too narrow."""
    if len({one.plan.stream for one in streams}) < len(streams):
        raise ValueError("streams have different names")
    if unknown := sorted({one.channel for one in streams} - {""} - set(channels)):
        raise ValueError(f"there is no channel {', '.join(unknown)}")
    rules = {name: rule if isinstance(rule, ChannelRule) else ChannelRule(rule) for name, rule in channels.items()}
    for name, rule in rules.items():
        floor_kbps(rule.capacity_kbps, len(of_channel(streams, name)))
    return rules


def of_channel(streams: Sequence[Incoming], channel: str) -> tuple[Incoming, ...]:
    """The streams of a channel, in order."""
    return tuple(one for one in streams if one.channel == channel)


def first_plans(
    streams: Sequence[Incoming], rules: Mapping[str, ChannelRule], stored: Mapping[str, EdgePlan | None]
) -> dict[str, EdgePlan]:
    """The plan of each stream. ``stored``: those that were in force in an earlier run, None where there was none.

    What streams of a channel had, they keep if it still fits together; else all begin with their floors. Nothing is
    raised before it is known what edges go by.
    """
    found = {}
    for one in streams:
        plan, before = one.plan, stored.get(one.plan.stream)
        if one.channel:
            rule, members = rules[one.channel], of_channel(streams, one.channel)
            floor = floor_kbps(rule.capacity_kbps, len(members))
            had = [max(p.capacity_kbps, floor) for p in map(stored.get, (m.plan.stream for m in members)) if p is not None]
            fits = len(had) == len(members) and sum(map(Fraction, had)) <= Fraction(rule.capacity_kbps)
            kbps = max(before.capacity_kbps, floor) if fits and before is not None else floor
            plan = shared(plan, kbps, floor, plan.revision + 1)
        found[plan.stream] = plan if before is None else _following(plan, before)
    return found


def shared(plan: EdgePlan, kbps: float, floor: float, revision: int) -> EdgePlan:
    """A plan with a share of a channel, which is never more than the link of the edge itself has."""
    kbps = min(kbps, plan.capacity_kbps)
    return replace(plan, capacity_kbps=kbps, floor_kbps=min(floor, kbps), lease_s=LEASE_S, revision=revision)


def member(one: Incoming, plan: EdgePlan) -> Member:
    """A stream at its channel, by its first plan. Edges may have any plan of before."""
    return Member(one.plan.stream, Granted.unsure(plan.revision, plan.capacity_kbps), weight=one.weight)


def _following(plan: EdgePlan, before: EdgePlan) -> EdgePlan:
    """After one of an earlier run; a stream of other columns begins anew, as edges do."""
    try:
        plan.succeeds(before)
    except BadPlan:
        return plan
    same = replace(plan, revision=before.revision)
    if to_json(same, token=False) == to_json(before, token=False):
        return same
    return replace(plan, revision=max(plan.revision, before.revision + 1))
