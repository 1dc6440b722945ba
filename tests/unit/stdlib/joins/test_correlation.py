"""Golden 3.4 (learning) and F7: which basic windows hold partners."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.joins.correlation import Counts, differ, quantile, unknown


def test_golden_3_4_learning() -> None:
    """γ=.1, r=.5, λ=100, 5 s: 25 full probes of 100 rows each in a basic window of 1 s."""
    compared = 0.1 * 0.5 * 100 * 5 * 100
    found = unknown(3).after([25, 0, 50], [compared] * 3, decay=0.0)
    assert found.match_p.tolist() == [0.01, 0, 0.02]
    assert found.order.tolist() == [2, 0, 1]
    assert found.average == pytest.approx(0.01)


@pytest.mark.parametrize("planted", [0, 1, 10, 20])
def test_F7_planted_basic_window_is_found(planted: int) -> None:  # noqa: N802
    """In 4 periods about 59 decayed matches in it, 6 in others: of 20 Poisson ones one is more with less than 1e-9."""
    random = np.random.default_rng(7 + planted)
    p = np.full(21, 0.002)
    p[planted] = 0.02
    for _ in range(50):
        learned = unknown(21)
        for _ in range(4):
            compared = np.full(21, 100.0 * random.binomial(500, 0.1 * 0.2))
            learned = learned.after(random.binomial(compared.astype(int), p), compared)
        assert learned.uneven
        assert learned.order[0] == planted


def test_keeps_what_was_learned_where_nothing_was_compared() -> None:
    learned = unknown(3).after([90, 30, 10], [1000, 1000, 1000])
    assert learned.order.tolist() == [0, 1, 2]
    later = learned.after([0, 0, 90], [0, 0, 1000], decay=0.0)
    assert later.match_p.tolist() == [0.09, 0.03, 0.09]
    assert later.order.tolist() == [0, 2, 1]
    for _ in range(5000):  # counters that faded all the same would be nothing
        later = later.after([0, 0, 0], [0, 0, 0])
    assert later.match_p == pytest.approx([0.09, 0.03, 0.09])
    assert later.order.tolist() == [0, 2, 1]


def test_counters_fade() -> None:
    learned = unknown(2).after([100, 0], [1000, 1000]).after([0, 100], [1000, 1000])
    assert learned.recent.matches.tolist() == [80, 100]
    assert learned.recent.compared.tolist() == [1800, 1800]
    assert learned.recent.squares.tolist() == pytest.approx([1640, 1640])
    assert learned.evidence.matches.tolist() == [95, 100]
    assert learned.matches == 180
    assert learned.match_p == pytest.approx([80 / 1800, 100 / 1800])


def test_order_is_newest_first_until_the_profile_is_uneven_and_learned_from_then_on() -> None:
    weak = unknown(4).after([3, 5, 2, 4], [1000] * 4)
    assert not weak.uneven
    assert weak.order.tolist() == [0, 1, 2, 3]
    strong = weak.after([3, 80, 2, 4], [1000] * 4)
    assert strong.uneven
    assert strong.order.tolist() == [1, 3, 0, 2]
    even = strong.after([5, 6, 4, 5], [1000] * 4, decay=0.0)
    assert even.order.tolist() == [1, 0, 3, 2]


def test_no_matches_at_all() -> None:
    learned = unknown(5)
    for _ in range(10):
        learned = learned.after(np.zeros(5), np.full(5, 1e6))
    assert not learned.uneven
    assert learned.order.tolist() == list(range(5))
    assert learned.average == 0


def test_a_silent_stream_and_rates_a_thousand_times_apart() -> None:
    silent = unknown(4).after(np.zeros(4), np.zeros(4))
    assert silent.match_p.tolist() == [0] * 4
    # A window with few rows: matches of one comparison each do not tell anything.
    few = unknown(4).after([1, 0, 0, 0], [1, 1, 1, 1])
    assert not few.uneven
    many = unknown(4).after([1000, 0, 0, 0], [1e6, 1e3, 1e3, 1e3])
    assert not many.uneven  # 0 of 3,000 where 3 are expected


def test_one_basic_window_has_one_order() -> None:
    assert unknown(1).after([5], [10]).order.tolist() == [0]


@pytest.mark.parametrize(
    ("matches", "compared", "decay"),
    [([1, 1], [1, 1], 0.8), ([-1, 0, 0], [1, 1, 1], 0.8), ([2, 0, 0], [1, 1, 1], 0.8), ([0, 0, 0], [1, 1, np.inf], 0.8),
     ([np.nan, 0, 0], [1, 1, 1], 0.8), ([0, 0, 0], [1, 1, 1], 1.5)],
)
def test_counts_are_checked(matches: list[float], compared: list[float], decay: float) -> None:
    with pytest.raises(ValueError, match=r"counts are of|are matches"):
        unknown(3).after(matches, compared, decay)


def test_quantiles_are_those_of_chi_squared() -> None:
    stats = pytest.importorskip("scipy.stats")
    for probability in (0.95, 0.99, 0.999):
        exact = stats.chi2.ppf(probability, [1, 2, 19, 63])
        off = np.abs([quantile(d, probability) for d in (1, 2, 19, 63)] / exact - 1)
        assert off[0] < 0.04
        assert off[1] < 0.03
        assert np.all(off[2:] < 0.005)


def even_share(periods: int, level: float, p: float = 0.001, remembered: bool = False, trials: int = 2000) -> float:
    """How often equal probabilities are taken for different ones; the newest and the oldest basic window are half full."""
    random = np.random.default_rng(periods)
    sizes = np.array([5000, *[10_000] * 18, 5000])
    wrong = 0
    for _ in range(trials):
        learned = unknown(20)
        for _ in range(periods):
            learned = learned.after(random.binomial(sizes, p), sizes)
        wrong += differ(learned.evidence if remembered else learned.recent, level)
    return wrong / trials


@pytest.mark.parametrize("periods", [1, 6])
def test_equal_probabilities_differ_as_often_as_the_level_says(periods: int) -> None:
    """Binomial around 0.05 with 2,000 trials: three standard deviations are 0.015. Decayed counts as they are had 0.001."""
    assert even_share(periods, 0.05) == pytest.approx(0.05, abs=0.015)


def test_few_matches_keep_the_level_more_or_less() -> None:
    """About 19 matches a trial, one in each basic window: at 0.01 at most three standard deviations more, 0.017."""
    assert even_share(1, 0.01, 1e-4) <= 0.017
    assert 0 < even_share(2, 0.01, 1e-4, remembered=True) <= 0.017


def periods_until_seen(profile: np.ndarray, p: float, compared: int) -> float:
    """The median over 50 trials."""
    random = np.random.default_rng(5)
    found = []
    for _ in range(50):
        learned, count = unknown(len(profile)), 0
        while not learned.uneven:
            each = np.full(len(profile), compared)
            learned = learned.after(random.binomial(each, len(profile) * profile * p), each)
            count += 1
        found.append(count)
    return float(np.median(found))


def test_a_peak_is_seen() -> None:
    """Twelve of 100 matches in each of two slices of 20, as with κ = 0.6: 48 matches a period, and where it is rare 3."""
    profile = np.full(20, 0.76 / 18)
    profile[14:16] = 0.12
    assert periods_until_seen(profile, 0.0012, 2000) <= 4
    profile = np.full(20, 0.46 / 18)
    profile[14:16] = 0.27
    assert periods_until_seen(profile, 0.000075, 2000) <= 10


def test_arrays_of_before_stay() -> None:
    """States are values: nothing of one is changed by making the next."""
    one = unknown(3).after([9, 3, 0], [100, 100, 0])
    kept = [[getattr(of, name).copy() for name in Counts.__slots__] for of in (one.recent, one.evidence)]
    order = one.order.copy()
    one.after([1, 50, 20], [100, 100, 100])
    for of, before in zip((one.recent, one.evidence), kept, strict=True):
        assert all(np.array_equal(getattr(of, name), was) for name, was in zip(Counts.__slots__, before, strict=True))
    assert np.array_equal(one.order, order)
