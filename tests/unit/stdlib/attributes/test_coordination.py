"""G11, F36 to F40: streams that share a channel."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamq.stdlib.attributes.coordination import (
    Candidate,
    Member,
    across_streams,
    one_stage,
    proportional,
    shed_where,
    weighted,
)
from streamq.stdlib.attributes.kinds import Unsheddable
from streamq.stdlib.attributes.lookalike import internet, weather
from streamq.stdlib.attributes.ranking import Ranking, ranked
from streamq.stdlib.attributes.sizing import n_shed, residual_rate

RATES = (64.4, 80.6, 76.6, 72.2)
COUNTS = (6, 8, 10, 9)
CAPACITY = 256.6
MEMBERS = [Member(f"s{i}", r, n) for i, (r, n) in enumerate(zip(RATES, COUNTS, strict=True), 1)]


def test_g11_inter_stream() -> None:
    """Example 6, in which the rates are cut off, not rounded; and what is left of the channel."""
    found = proportional(MEMBERS, CAPACITY)
    assert float(found.drop_ratio) == pytest.approx(0.126617, abs=5e-7)
    exact = [float(s.shed_rate) for s in found.shares]
    assert exact == pytest.approx([8.154, 10.205, 9.699, 9.142], abs=5.1e-4)
    assert np.all(np.abs(np.array(exact) - [8.153, 10.2, 9.69, 9.14]) < 0.01)
    assert [s.n_shed for s in found.shares] == [1, 2, 2, 2]
    assert [float(s.residual) for s in found.shares] == pytest.approx([53.667, 60.450, 61.280, 56.156], abs=5.1e-4)
    assert float(found.residual) == pytest.approx(231.552, abs=1e-3)
    assert CAPACITY - float(found.residual) == pytest.approx(25.05, abs=5e-3)
    assert found.of("s3").n_shed == 2


def candidates(dispersion: dict[str, float]) -> dict[str, list[Candidate]]:
    """As many attributes of each stream as it has but one, of that dispersion; least first."""
    return {
        m.stream: [Candidate(f"{m.stream}.a{k}", dispersion[m.stream] + k) for k in range(m.n_attrs - 1)] for m in MEMBERS
    }


def test_g11_four_attributes_are_enough_over_all_streams() -> None:
    found = across_streams(MEMBERS, candidates({"s1": 1, "s2": 50, "s3": 50, "s4": 1}), CAPACITY)
    assert [s.n_shed for s in found.shares] == [2, 0, 0, 2]
    assert float(found.residual) == pytest.approx(256.289, abs=5e-4)
    assert found.of("s1").attrs == ("s1.a0", "s1.a1")
    assert found.of("s2").attrs == ()


def test_f40_whatever_the_dispersions_seven_are_enough() -> None:
    """Attributes take 7.66 kbit/s and more, and 37.2 are too much: five are always enough. None is shed in vain."""
    random = np.random.default_rng(40)
    for _ in range(300):
        of = {m.stream: [Candidate(f"a{k}", float(random.exponential())) for k in range(m.n_attrs - 1)] for m in MEMBERS}
        found = across_streams(MEMBERS, of, CAPACITY)
        assert found.residual <= Fraction("256.6")
        assert sum(s.n_shed for s in found.shares) in (4, 5)
        values = {(s, c.attr): c.dispersion for s, each in of.items() for c in each}
        per_kbps = {(m.stream, a): v * m.n_attrs / float(m.rate) for (s, a), v in values.items() for m in MEMBERS if m.stream == s}
        gone = {(s.stream, a) for s in found.shares for a in s.attrs}
        assert max(per_kbps[x] for x in gone) < min(per_kbps[x] for x in per_kbps.keys() - gone)


def test_global_by_widths_and_bad_candidates() -> None:
    two = [Member("a", 60, 3), Member("b", 60, 3)]
    of = {"a": [Candidate("narrow", 1, 5), Candidate("wide", 2, 40)], "b": [Candidate("equal", 3), Candidate("empty", 0, 0)]}
    assert across_streams(two, of, 100).of("a").attrs == ("wide",)  # 2 / 40 before 3 / 20 and 1 / 5
    assert across_streams(two, of, 120).residual == 120
    assert across_streams(two, of, 55).residual == 55
    with pytest.raises(Unsheddable):
        across_streams(two, of, 54)
    for bad in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="no dispersion"):
            across_streams(two, {"a": [Candidate("x", bad)]}, 100)
    infinite = {"a": [Candidate("x", float("inf")), Candidate("y", 1)]}
    assert across_streams(two, infinite, 100).of("a").attrs == ("y",)


def test_f36_everything_fits() -> None:
    for policy in (proportional, weighted):
        found = policy(MEMBERS, 293.8)
        assert (found.drop_ratio, [s.n_shed for s in found.shares]) == (0, [0] * 4)
        assert found.residual == Fraction("293.8")
        assert policy(MEMBERS, 293.8, utilisation=0.9).drop_ratio == Fraction(1, 10)


def test_e31_rates_cancel() -> None:
    """The share of attributes is the same for all: what a stream sheds does not depend on its own rate."""
    random = np.random.default_rng(31)
    for _ in range(100):
        members = [Member(str(i), int(random.integers(1, 100)), int(random.integers(1, 12))) for i in range(4)]
        total = sum(int(m.rate) for m in members)
        capacity = int(random.integers(0, total + 1))
        found = proportional(members, capacity)
        assert [s.n_shed for s in found.shares] == [n_shed(total, capacity, m.n_attrs) for m in members]
        assert found.residual <= capacity


def test_weighted_is_proportional_where_weights_are_equal() -> None:
    equal = [Member(m.stream, m.rate, m.n_attrs, weight=3) for m in MEMBERS]
    assert weighted(equal, CAPACITY) == proportional(MEMBERS, CAPACITY)


def test_weighted_by_priorities() -> None:
    """Twice the weight sheds half as much of the same rate."""
    two = [Member("important", 60, 6, weight=2), Member("other", 60, 6)]
    found = weighted(two, 90)
    assert [s.shed_rate for s in found.shares] == [10, 20]
    assert [s.n_shed for s in found.shares] == [1, 2]
    assert found.residual == 90


def test_weighted_streams_that_may_shed_no_more_leave_it_to_others() -> None:
    """The second one may shed two of six: 20 of the 40 that its weight asks for, so the first sheds the rest."""
    two = [Member("a", 60, 6, weight=4), Member("b", 60, 6, protected=4)]
    found = weighted(two, 70)
    assert [s.shed_rate for s in found.shares] == [30, 20]
    assert [s.n_shed for s in found.shares] == [3, 2]
    with pytest.raises(Unsheddable):
        weighted([Member("a", 60, 6, protected=5), Member("b", 60, 6, protected=4)], 80)
    assert weighted([Member("a", 60, 6, protected=5), Member("b", 60, 6, protected=4)], 90).residual == 90


def test_weighted_fits_or_is_refused() -> None:
    random = np.random.default_rng(18)
    refused = 0
    for _ in range(300):
        members = [
            Member(str(i), int(random.integers(0, 100)), 8, int(random.integers(0, 8)), weight=int(random.integers(1, 5)))
            for i in range(5)
        ]
        total = sum(int(m.rate) for m in members)
        capacity = int(random.integers(0, total + 20))
        able = sum((m.sheddable_rate for m in members), Fraction(0))
        if total - capacity > able:
            refused += 1
            with pytest.raises(Unsheddable):
                weighted(members, capacity)
            continue
        found = weighted(members, capacity)
        assert found.residual <= capacity
        assert sum(s.shed_rate for s in found.shares) == max(total - capacity, 0)
    assert 50 < refused < 250


def test_proportional_names_the_stream_that_cannot() -> None:
    with pytest.raises(Unsheddable, match="2 attributes of b would have to be shed, and 1 may be"):
        proportional([Member("a", 60, 6), Member("b", 60, 6, protected=5)], 80)
    with pytest.raises(ValueError, match="different names"):
        proportional([Member("a", 60, 6), Member("a", 60, 6)], 80)
    for bad in ({"n_attrs": 0}, {"protected": 7}, {"weight": 0}, {"rate": -1}):
        with pytest.raises(ValueError, match=r"weight above 0|from 0"):
            Member(**{"stream": "a", "rate": 60, "n_attrs": 6, **bad})  # type: ignore[arg-type]


def test_streams_that_send_nothing() -> None:
    found = proportional([Member("quiet", 0, 6, protected=6), Member("a", 60, 6)], 30)
    assert [s.n_shed for s in found.shares] == [0, 3]
    assert weighted([Member("quiet", 0, 6), Member("a", 60, 6)], 30).of("quiet").n_shed == 0
    assert proportional([Member("quiet", 0, 6)], 0).drop_ratio == 0


def test_f39_one_stage_is_two_stages() -> None:
    """For one stream the same number of attributes, and so the same plan, as what is left is ranked the same."""
    random = np.random.default_rng(39)
    rows = weather().rows(0, 1)
    ranking = Ranking(protect=frozenset({"location"}))
    order = ranked(rows, ranking).order
    for _ in range(200):
        rate, link, capacity = 120, int(random.integers(14, 150)), int(random.integers(14, 150))
        first = n_shed(rate, link, 9, protected=1)
        left = residual_rate(rate, first, 9)
        second = n_shed(left, capacity, 9 - first, protected=1)
        plan = order[:first]
        again = ranked({n: x for n, x in rows.items() if n not in plan}, ranking).order[:second]
        merged = one_stage([Member("w", rate, 9, 1)], {"w": link}, capacity)["w"]
        assert merged == n_shed(rate, min(link, capacity), 9, protected=1)
        assert order[:merged] == plan + again


def test_f39_one_stage_of_several_streams() -> None:
    """Links of 70 take one attribute of the three with more, by Example 6; the channel takes what then is too much."""
    links = dict.fromkeys(("s1", "s2", "s3", "s4"), 70)
    first = [n_shed(r, 70, n) for r, n in zip(RATES, COUNTS, strict=True)]
    assert first == [0, 2, 1, 1]
    left = [Member(m.stream, residual_rate(m.rate, k, m.n_attrs), m.n_attrs - k) for m, k in zip(MEMBERS, first, strict=True)]
    second = [s.n_shed for s in proportional(left, 200).shares]
    assert list(one_stage(MEMBERS, links, 200).values()) == [a + b for a, b in zip(first, second, strict=True)]
    assert list(one_stage(MEMBERS, links, 0).values()) == list(COUNTS)
    assert list(one_stage(MEMBERS, dict.fromkeys(links, 0), 0).values()) == list(COUNTS)


def test_f37_each_stream_ranks_what_it_has_left() -> None:
    """The least informative attributes are gone at the source already; the multiplexer sheds the next ones of each."""
    streams = {"weather": (weather(), 2), "internet": (internet(), 1)}
    left, members = {}, []
    for name, (stream, gone) in streams.items():
        ranking = Ranking(protect=frozenset({stream.key}))
        rows = stream.rows(0, 1)
        first = ranked(rows, ranking).order[:gone]
        left[name] = {n: x for n, x in rows.items() if n not in first}, ranking, first
        members.append(Member(name, 70, len(rows) - gone, 1))
    found = proportional(members, 100)
    plans = {n: ranked(rows, ranking).order[: found.of(n).n_shed] for n, (rows, ranking, _) in left.items()}
    assert plans == {
        "weather": ("sun_set", "visibility"), "internet": ("current_index", "minimum_delay"),
    }
    assert shed_where("barometer", left["weather"][2], plans["weather"]) == "SOURCE"
    assert shed_where("sun_set", left["weather"][2], plans["weather"]) == "MULTIPLEXER"
    assert shed_where("humidity", left["weather"][2], plans["weather"]) is None
