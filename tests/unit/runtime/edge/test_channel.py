from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_run.central import Contact
from streamq.runtime.edge.at_run.channel import (
    LEASE_S,
    PERIOD_S,
    ChannelRule,
    Granted,
    Member,
    floor_kbps,
    wanted,
)
from streamq.runtime.edge.at_run.sharing import Sharing
from streamq.stdlib.attributes.sizing import n_shed

NOW = 100.0


def member(stream: str, rate: float, weight: float = 1.0, at_s: float = NOW, kbps: float = 1.0) -> Member:
    return Member(stream, Granted(((1, kbps),)), Contact(b"o" * 8, at_s, 1, rate), weight)


def split(*members: Member, capacity: float = 100.0, policy: str = "proportional") -> list[float]:
    found = wanted(members, ChannelRule(capacity, policy), NOW, 0.0)
    assert sum(map(Fraction, found.values())) <= Fraction(capacity)
    return [found[m.stream] for m in members]


def test_each_sheds_the_same_share_of_its_attributes() -> None:
    rates = [300.0, 100.0, 80.0, 20.0]
    found = split(*(member(str(i), rate) for i, rate in enumerate(rates)))
    assert found == pytest.approx([60, 20, 16, 4], abs=0.01)
    for rate, kbps in zip(rates, found, strict=True):
        assert n_shed(rate, kbps, 9) == math.ceil(Fraction(4, 5) * 9)


def test_where_all_fits_the_rest_is_given_too() -> None:
    assert split(member("a", 30.0), member("b", 10.0)) == [75.0, 25.0]
    assert split(member("a", 30.0), member("b", 10.0, weight=9.0), policy="weighted") == [75.0, 25.0]


def test_by_weight_what_is_shed_is_less() -> None:
    # 100 of 200 are too much, of which the second sheds a third of what the first does.
    assert split(member("a", 100.0), member("b", 100.0, weight=3.0), policy="weighted") == [25.0, 75.0]
    # One that would shed all it has keeps its floor.
    assert split(member("a", 100.0), member("b", 100.0, weight=1000.0), policy="weighted") == [1.0, 99.0]


def test_one_that_is_silent_has_a_floor() -> None:
    gone = member("gone", 50.0, at_s=NOW - LEASE_S - 0.1)
    never = Member("never", Granted(((1, 1.0),)))
    assert split(member("a", 50.0), gone, never, member("idle", 0.0), capacity=400.0) == [388.0, 4.0, 4.0, 4.0]
    assert split(gone, never) == [1.0, 1.0]
    assert split(member("a", 1e300), member("b", 5e-324)) == [99.0, 1.0]


def test_one_that_only_owes_answers_has_a_part_of_what_nobody_is_offered() -> None:
    def owing(stream: str) -> Member:
        return replace(member(stream, 0.0), owes=True)

    assert split(owing("a"), member("idle", 0.0)) == [99.0, 1.0]
    assert split(owing("a"), owing("b")) == [50.0, 50.0]
    # 40 of 100 are offered, of the others each of four has a quarter.
    assert split(member("a", 40.0), owing("b"), member("idle", 0.0), member("gone", 9.0, at_s=0.0)) == pytest.approx(
        [98 * 40 / 55, 98 * 15 / 55, 1.0, 1.0], abs=0.01
    )
    assert split(member("a", 140.0), owing("b")) == [99.0, 1.0]


def test_floors() -> None:
    assert floor_kbps(60.0, 3) == 1.0
    assert floor_kbps(1000.0, 3) == 10.0
    assert floor_kbps(2.0, 4) == 0.5
    with pytest.raises(ValueError, match="too narrow for 4 streams"):
        floor_kbps(0.001, 4)
    for capacity, policy in ((0, "proportional"), (math.inf, "weighted"), (1, "global")):
        with pytest.raises(ValueError, match="a channel has a capacity"):
            ChannelRule(capacity, policy)


@dataclass(slots=True)
class Edge:
    """An edge as far as a channel knows of it; answers come late, or never. It counts its lease from when it spoke."""

    rate: float
    floor: float
    revision: int = 1
    kbps: float = 1e9
    since_s: float = -math.inf
    off_until_s: float = 0.0
    waits: tuple[float, float, int, float] | None = None
    said: Contact | None = None

    def sending(self, now: float) -> float:
        return max(self.kbps, self.floor) if now - self.since_s <= LEASE_S else self.floor


@dataclass(slots=True)
class World:
    seed: int
    policy: str
    capacity: float = 240.0
    now: float = 0.0
    edges: dict[str, Edge] = field(default_factory=dict)
    plans: dict[str, tuple[int, float]] = field(default_factory=dict)
    random: random.Random = field(default_factory=random.Random)
    broken: bool = False
    owing: bool = False

    def __post_init__(self) -> None:
        self.random.seed(self.seed)
        names = "abcde"
        floor = floor_kbps(self.capacity, len(names))
        self.edges = {name: Edge(self.random.uniform(0, 150), floor) for name in names}
        self.plans = dict.fromkeys(names, (2, floor))

    def sharing(self, unsure: bool = False) -> Sharing:
        members = tuple(
            Member(n, Granted.unsure(r + 1, kbps) if unsure else Granted(((1, kbps), (r, kbps))), weight=1.0 + i)
            for i, (n, (r, kbps)) in enumerate(self.plans.items())
        )
        if unsure:
            self.plans = {n: (r + 1, kbps) for n, (r, kbps) in self.plans.items()}
        rule = ChannelRule(self.capacity, self.policy)
        # Who owes what has no effect on what edges may send, and is anything here.
        return Sharing(
            rule, members, lambda stream: self.edges[stream].said, self.give, self.now,
            lambda stream: self.owing and self.random.random() < 0.3,
        )

    def give(self, stream: str, revision: int, kbps: float) -> None:
        if self.broken and self.random.random() < 0.5:
            raise OSError("no space left")
        assert revision > self.plans[stream][0]
        self.plans[stream] = (revision, kbps)
        if self.broken and self.random.random() < 0.5:
            raise OSError("nobody knows whether it is there")
        # While plans are given out, some edges speak.
        self.speak(0.2)

    def speak(self, share: float) -> None:
        for name, edge in self.edges.items():
            if edge.waits is None and self.now >= edge.off_until_s and self.random.random() < share:
                edge.said = Contact(b"o" * 8, self.now, edge.revision, edge.rate)
                late = self.random.choice([0.0, 0.0, 0.3, 2.0, 9.0, math.inf])
                edge.waits = (self.now + min(late, 3.0), self.now, *self.plans[name])
                if late == math.inf or late > 3.0:
                    # It gives up, and nothing comes of the answer.
                    edge.waits = (self.now + 3.0, -math.inf, *self.plans[name])

    def tick(self) -> None:
        self.now += 0.25
        for edge in self.edges.values():
            if edge.waits is not None and edge.waits[0] <= self.now:
                _, spoke, revision, kbps = edge.waits
                edge.waits = None
                if spoke > -math.inf:
                    edge.since_s = spoke
                    edge.revision, edge.kbps = max((edge.revision, edge.kbps), (revision, kbps))
            if self.random.random() < 0.01:
                edge.off_until_s = self.now + self.random.uniform(0, 20)
            if self.random.random() < 0.02:
                edge.rate = self.random.choice([0.0, 1.0, self.random.uniform(0, 300)])
        self.speak(0.6)

    @property
    def total(self) -> Fraction:
        return sum((Fraction(edge.sending(self.now)) for edge in self.edges.values()), Fraction(0))


@pytest.mark.parametrize("policy", ["proportional", "weighted"])
@pytest.mark.parametrize("seed", range(8))
def test_edges_never_send_more_than_the_channel_has(seed: int, policy: str) -> None:
    world = World(seed, policy, owing=seed % 2 == 1)
    sharing = world.sharing()
    used = []
    for turn in range(2400):
        world.tick()
        world.broken = turn % 400 > 350
        if turn % 800 == 799:
            # Another run, which knows the plans that were in force, and not those before them.
            sharing = world.sharing(unsure=True)
        try:
            sharing.step(world.now)
        except OSError:
            assert world.broken
        assert world.total <= Fraction(world.capacity)
        used.append(float(world.total))
    # And it is used.
    assert max(used) > 0.97 * world.capacity
    assert sum(used) / len(used) > 0.25 * world.capacity


@pytest.mark.parametrize("still", ["gone", "idle"])
def test_what_a_silent_stream_had_is_given_to_others_within_two_periods(still: str) -> None:
    world = World(0, "proportional", capacity=90.0)
    world.edges = {name: Edge(60.0, 1.0) for name in "abc"}
    world.plans = dict.fromkeys("abc", (2, 1.0))
    sharing = world.sharing()

    def second(speaking: str) -> None:
        world.now += 1.0
        for name in speaking:
            edge = world.edges[name]
            edge.said = Contact(b"o" * 8, world.now, edge.revision, edge.rate)
            edge.since_s, (edge.revision, edge.kbps) = world.now, world.plans[name]
        sharing.step(world.now)

    for _ in range(10):
        second("abc")
    assert [kbps for _, kbps in world.plans.values()] == [30.0] * 3
    if still == "idle":
        world.edges["c"].rate = 0.0
    for _ in range(int(2 * PERIOD_S)):
        second("ab" if still == "gone" else "abc")
    assert [kbps for _, kbps in world.plans.values()] == [44.5, 44.5, 1.0]
    world.edges["c"].rate = 60.0
    for _ in range(int(2 * PERIOD_S)):
        second("abc")
    assert [kbps for _, kbps in world.plans.values()] == [30.0] * 3


def test_an_edge_with_a_plan_that_nobody_knows_gets_another() -> None:
    world = World(0, "proportional", capacity=90.0)
    sharing = world.sharing()
    world.edges["a"].said = Contact(b"o" * 8, 1.0, 77, 60.0)
    assert not sharing.step(1.0)
    # Others are not waited for longer than a lease.
    world.edges["a"].said = Contact(b"o" * 8, 6.0, 77, 60.0)
    assert sharing.step(6.0)
    assert world.plans["a"][0] == 78
    assert sharing.members[0].granted.most == math.inf
    assert all(kbps == 1.0 for _, kbps in list(world.plans.values())[1:])
    world.edges["a"].said = Contact(b"o" * 8, 7.0, 78, 60.0)
    assert sharing.step(7.0)
    assert not sharing.step(7.0 + PERIOD_S / 2)
    assert world.plans["a"][1] == 86.0
    assert sharing.members[0].granted.most == world.plans["a"][1]
