"""The Stable Bloom filter: the kernel does what the definition says, and errors are what theory says."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.bloom import Bloom
from streamq.stdlib.sketches.hashing import Keys, buckets, row_seed
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_measures import (
    first_occurrences,
    fn_rate,
    fp_rate,
    gap_counts,
    gaps,
)
from streamq.stdlib.sketches.membership_plan import StablePlan, part_of, plan_stable, stable_plan
from streamq.stdlib.sketches.stable_bloom import StableBloom
from streamq.stdlib.sketches.stable_kernel import MOST_ELEMENTS, block_length, observe_block
from streamq.stdlib.sketches.stable_theory import (
    expected_missed,
    missed,
    plan_with_gaps,
    zeros_after,
)
from tests.unit.stdlib.sketches.new_keys import new_keys
from tests.unit.stdlib.sketches.plain_stable import PlainStable, step

SHAPES = [
    (97, 2, 5, 1),
    (97, 2, 15, 3),
    (200, 4, 30, 3),
    (500, 3, 33, 7),
    (64, 6, 64, 15),
    (3, 2, 3, 1),
    (2, 1, 0, 1),
    (8, 5, 1, 3),
]


def test_G1_trace() -> None:  # noqa: N802
    cells = {"A": (0, 3), "B": (1, 3), "C": (4, 6), "D": (4, 6)}
    starts = [5, 0, 2, 3, 6, 0, 4, 2]
    states = [
        "10010000",
        "10010000",
        "11010000",
        "11010000",
        "11011010",
        "10011010",
        "10011010",
        "11011010",
    ]
    values, flags = [0] * 8, ""
    for element, start, state in zip("AABACADB", starts, states, strict=True):
        flags += "NY"[step(values, cells[element], start, 2, 1)]
        assert "".join(map(str, values)) == state
    # D is new and its cells are C's; B was forgotten.
    assert flags == "NYNYNYYN"
    kernel = np.zeros(8, np.uint8)
    found = observe_block(
        kernel, np.array([cells[x] for x in "AABACADB"]).T, np.array(starts), 2, 1
    )
    assert "".join("NY"[int(flag)] for flag in found) == flags
    assert kernel.tolist() == values


@pytest.mark.parametrize(
    ("decrements", "value", "cells"),
    [
        (5, 1, dict.fromkeys([6, 9, 15, 27, 46, 47, 50], 1)),
        (15, 3, {0: 2, 3: 2, 6: 3, 9: 2, 15: 3, 27: 3, 28: 1, 40: 1, 46: 2, 47: 2, 50: 2}),
    ],
)
def test_G3_with_the_hashes(decrements: int, value: int, cells: dict[int, int]) -> None:  # noqa: N802
    keys = [1, 2, 1, 3, 1, 2, 4, 5, 6, 7, 1, 1]
    plan = stable_plan(64, 2, decrements, value)
    kernel, plain = StableBloom(plan, 42), PlainStable(plan, 42)
    assert kernel.observe(np.array(keys, np.uint64)).astype(int).tolist() == [
        0,
        0,
        1,
        0,
        1,
        1,
        0,
        0,
        0,
        0,
        1,
        1,
    ]
    assert plain.observe(keys) == [bool(x) for x in [0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1]]
    assert {int(i): int(kernel.values[i]) for i in np.flatnonzero(kernel.values)} == cells
    assert plain.values == kernel.values.tolist()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_G3_kernel_is_the_loop(shape: tuple[int, int, int, int], seed: int) -> None:  # noqa: N802
    """For random keys with many repeats, hot ones among them, in batches of random lengths."""
    drawn = np.random.default_rng(seed)
    plan = stable_plan(*shape)
    kernel, plain = StableBloom(plan, seed), PlainStable(plan, seed)
    for _ in range(12):
        keys = drawn.integers(
            0, int(drawn.choice([1, 5, 40, 10**6])), int(drawn.integers(0, 200))
        ).astype(np.uint64)
        assert kernel.observe(keys).tolist() == plain.observe(keys.tolist())
        assert kernel.values.tolist() == plain.values
        assert kernel.seen == plain.seen


@pytest.mark.parametrize("shape", [(4096, 2, 5, 1), (70_001, 3, 33, 7), (1 << 14, 2, 15, 3)])
def test_G3_kernel_is_the_loop_in_long_batches(shape: tuple[int, int, int, int]) -> None:  # noqa: N802
    plan = stable_plan(*shape)
    keys = np.random.default_rng(1).zipf(1.3, 20_000).astype(np.uint64)
    kernel, plain = StableBloom(plan, 7), PlainStable(plan, 7)
    assert len(keys) > 2 * block_length(plan.hashes, plan.decrements)
    assert kernel.observe(keys).tolist() == plain.observe(keys.tolist())
    assert kernel.values.tolist() == plain.values


@pytest.mark.parametrize("shape", [(5000, 2, 5, 1), (5000, 3, 33, 7)])
def test_batches_do_not_matter(shape: tuple[int, int, int, int]) -> None:
    keys = np.random.default_rng(2).integers(0, 3000, 3 * MOST_ELEMENTS).astype(np.uint64)
    whole = StableBloom(stable_plan(*shape), 1)
    flags = whole.observe(keys)
    for seed in range(5):
        bounds = np.sort(np.random.default_rng(seed).integers(0, len(keys), 10))
        parts = StableBloom(whole.plan, 1)
        assert np.array_equal(
            np.concatenate([parts.observe(part) for part in np.split(keys, bounds)]), flags
        )
        assert np.array_equal(parts.values, whole.values)


def test_G6_without_decrements_it_is_a_bloom_filter() -> None:  # noqa: N802
    keys = np.random.default_rng(3).integers(0, 2000, 3000).astype(np.uint64)
    stable, bloom = StableBloom(stable_plan(10_000, 7, 0, 1), 9), Bloom(10_000, 7, 9)
    assert np.array_equal(stable.observe(keys), bloom.observe(keys))
    assert np.array_equal(stable.values, bloom.values)


@pytest.mark.parametrize("shape", SHAPES)
def test_stored_and_taken_up_again(shape: tuple[int, int, int, int]) -> None:
    keys = np.random.default_rng(4).integers(0, 60, 300).astype(np.uint64)
    plan = stable_plan(*shape)
    whole, before = StableBloom(plan, 5), StableBloom(plan, 5)
    flags = whole.observe(keys)
    before.observe(keys[:100])
    stored = before.to_bytes()
    after = StableBloom.from_bytes(stored, plan, 5)
    assert after.observe(keys[100:]).tolist() == flags[100:].tolist()
    assert after.to_bytes() == whole.to_bytes()
    # 40 bytes of header, and each plane of bits in whole bytes.
    assert len(stored) == 40 + -(-plan.cells // 8) * plan.max_value.bit_length()


def test_bytes_of_other_filters_are_refused() -> None:
    plan = stable_plan(1000, 2, 5, 1)
    stored = StableBloom(plan, 5).to_bytes()
    for other in [(1001, 2, 5, 1), (1000, 3, 5, 1), (1000, 2, 6, 1), (1000, 2, 5, 3)]:
        with pytest.raises(ValueError, match="other cells, hashes, decrements or seed"):
            StableBloom.from_bytes(stored, stable_plan(*other), 5)
    with pytest.raises(ValueError, match="or seed"):
        StableBloom.from_bytes(stored, plan, 6)
    for wrong in (b"", stored[:20], b"SQSB\x02" + stored[5:], b"x" + stored[1:]):
        with pytest.raises(
            ValueError, match="not the bytes of a Stable Bloom filter of this version"
        ):
            StableBloom.from_bytes(wrong, plan, 5)
    with pytest.raises(ValueError, match="125 bytes, and there are 124"):
        StableBloom.from_bytes(stored[:-1], plan, 5)


@pytest.mark.parametrize(
    ("hashes", "decrements", "value", "fp", "zeros"),
    [
        (2, 5, 1, 0.0814, 0.7146),
        (3, 11, 1, 0.0098, 0.7857),
        (2, 15, 3, 0.0981, 0.6870),
        (3, 33, 7, 0.0948, 0.5440),
    ],
)
def test_G5_new_elements(hashes: int, decrements: int, value: int, fp: float, zeros: float) -> None:  # noqa: N802
    """Standard error of the rate over 900,000: at most .00032 for the draws. The share of zeros moves by sqrt(z(1 - z)/m),
    .0016 at most, and its square, the rate, by twice .31 * .0016 = .001 at most at a time; over 30 times or more that the
    filter is renewed, .0002. Together .0004: .001 is 2.5 of these for the largest rate; the golden's own error is in it.
    """
    plan = stable_plan(100_000, hashes, decrements, value)
    filter_ = StableBloom(plan, 11)
    filter_.observe(new_keys(100_000, 1))
    flags = filter_.observe(new_keys(900_000, 2))
    assert flags.mean() == pytest.approx(fp, abs=0.001)
    assert flags.mean() == pytest.approx(plan.fp_bound, abs=0.001)
    # Four times its deviation, .0016.
    assert (filter_.values == 0).mean() == pytest.approx(zeros, abs=0.0064)


def test_G5_missed_at_a_gap() -> None:  # noqa: N802
    """Blocks of 101 new keys, each block twice. 1.01 million duplicates: .0005 for draws, and elements of a block are
    missed together a little: of 1,000 cells 2 % are probed by two of the block, so not twice that. .004 is 4 times it.
    """
    blocks = new_keys(1_010_000, 3).reshape(-1, 101)
    keys = np.concatenate([blocks, blocks], axis=1).ravel()
    flags = StableBloom(stable_plan(1000, 2, 5, 1), 12).observe(keys)
    rate = 1 - flags.reshape(-1, 202)[:, 101:].mean()
    assert rate == pytest.approx(missed(stable_plan(1000, 2, 5, 1), np.array([100]))[0], abs=0.004)
    assert rate == pytest.approx(0.5915, abs=0.004)


@pytest.mark.parametrize("shape", [(20_000, 2, 5, 1), (20_000, 2, 15, 3)])
def test_C5_zeros_fall_to_the_limit_and_stay(shape: tuple[int, int, int, int]) -> None:  # noqa: N802
    """The mean of 10 filters: deviation sqrt(z(1 - z) / m / 10) <= .0011; 5 of these."""
    plan = stable_plan(*shape)
    filters = [StableBloom(plan, seed) for seed in range(10)]
    found = []
    at = np.array([500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000])
    for before, until in zip(np.append(0, at[:-1]).tolist(), at.tolist(), strict=True):
        for i, filter_ in enumerate(filters):
            filter_.observe(new_keys(64_000, i)[before:until])
        found.append(np.mean([(filter_.values == 0).mean() for filter_ in filters]))
    assert found == pytest.approx(zeros_after(plan, at), abs=0.0055)
    assert (np.diff(zeros_after(plan, at)) <= 0).all()
    assert min(found) > plan.zero_fraction - 0.0055


def by_bucket(keys: Keys, plan: StablePlan, parts: int) -> np.ndarray:
    """Flags of filters of their own for the parts of a stream that is split by key."""
    part_plan = part_of(plan, parts)
    bucket = buckets(keys, parts, row_seed(99, 0))
    found = np.zeros(len(keys), np.bool_)
    for part in np.split(
        np.argsort(bucket, kind="stable"), np.cumsum(np.bincount(bucket, minlength=parts))[:-1]
    ):
        found[part] = StableBloom(part_plan, 1).observe(keys[part])
    return found


@pytest.mark.parametrize("shape", [(1 << 18, 2, 5, 1), (1 << 18, 2, 15, 3)])
def test_C6_split_by_key(shape: tuple[int, int, int, int]) -> None:  # noqa: N802
    """Standard errors over half a million new elements and as many duplicates: .0003 and .0007, of a difference .001 at
    most; .005 is what is asked for.
    """
    plan = stable_plan(*shape)
    keys = crawl(1_000_000, 0.4851, seed=4)
    duplicate = ~first_occurrences(keys)
    rates = []
    for parts in (1, 8, 64, 512):
        flags = by_bucket(keys, plan, parts)
        rates.append((fp_rate(flags, duplicate), fn_rate(flags, duplicate)))
    for fp, fn in rates[1:]:
        assert abs(fp - rates[0][0]) < 0.005
        assert abs(fn - rates[0][1]) < 0.005
    assert max(fp for fp, _ in rates) < plan.fp_bound


def test_a_hot_key_is_sent_once_a_batch() -> None:
    """Half of the stream is one key. It wears out the cells of others unless it goes to the filter once a batch."""
    drawn = np.random.default_rng(8)
    keys = crawl(400_000, 0.4851, seed=6)
    hot = drawn.random(len(keys)) < 0.5
    keys[hot] = 1
    duplicate = ~first_occurrences(keys)
    plan = stable_plan(1 << 16, 2, 5, 1)
    each, once = StableBloom(plan, 1), StableBloom(plan, 1)
    flags_each = each.observe(keys)
    flags_once = np.concatenate([once.observe_once(part) for part in np.split(keys, 20)])
    assert flags_once[hot].sum() >= hot.sum() - 20
    assert (
        fn_rate(flags_once[~hot], duplicate[~hot])
        < fn_rate(flags_each[~hot], duplicate[~hot]) - 0.03
    )
    assert fp_rate(flags_once, duplicate) < plan.fp_bound
    first = StableBloom(plan, 1).observe_once(np.array([3, 3, 4, 3], np.uint64))
    assert first.tolist() == [False, True, False, True]


def test_two_filters_merged_would_be_none() -> None:
    """Why there is no merge: the larger of the cells leaves z*^2 zeros, and false positives triple."""
    plan = stable_plan(1 << 16, 2, 5, 1)
    a, b = StableBloom(plan, 1), StableBloom(plan, 1)
    a.observe(new_keys(200_000, 1))
    # Another time: at the same one both lower the same cells.
    b.seen = 1 << 40
    b.observe(new_keys(200_000, 2))
    a.values = np.maximum(a.values, b.values)
    # Deviation of the share of zeros: .002.
    assert (a.values == 0).mean() == pytest.approx(plan.zero_fraction**2, abs=0.01)
    # (1 - z*^2)^2 = .24, falling as new ones come: 1,000 have renewed a tenth of the cells; 5 deviations are .07.
    assert a.observe(new_keys(1000, 3)).mean() == pytest.approx(0.23, abs=0.07)
    assert not hasattr(a, "merged")


@pytest.mark.parametrize(
    ("bits", "fn", "fp"),
    [
        (16_384, 0.35, 0.084),
        (65_536, 0.23, 0.067),
        (262_144, 0.11, 0.030),
        (1_048_576, 0.04, 0.004),
        (4_194_304, 0.01, 0.001),
    ],
)
def test_golden_9_3_first_100_000_of_the_crawl(bits: int, fn: float, fp: float) -> None:
    """Of the thesis, figure 3.4: K=2, P=4. The stream is a look-alike: within 2.5 points. Theory of the gaps within one."""
    keys = crawl(100_000, 0.7566, seed=1)
    duplicate = ~first_occurrences(keys)
    plan = stable_plan(bits, 2, 4, 1)
    flags = StableBloom(plan, 3).observe(keys)
    assert fn_rate(flags, duplicate) == pytest.approx(fn, abs=0.025)
    assert fp_rate(flags, duplicate) == pytest.approx(fp, abs=0.025)
    theory = expected_missed(plan, gap_counts(gaps(keys))) / np.count_nonzero(duplicate)
    assert fn_rate(flags, duplicate) == pytest.approx(theory, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "fn", "fp"),
    [
        (16_384, 0.54, 0.081),
        (262_144, 0.40, 0.066),
        (4_194_304, 0.23, 0.045),
        (1 << 26, 0.05, 0.005),
    ],
)
def test_golden_9_3_first_ten_million_of_the_crawl(bits: int, fn: float, fp: float) -> None:
    keys = crawl(10_000_000, 0.4851, seed=1)
    duplicate = ~first_occurrences(keys)
    flags = StableBloom(stable_plan(bits, 2, 4, 1), 3).observe(keys)
    assert fn_rate(flags, duplicate) == pytest.approx(fn, abs=0.05)
    assert fp_rate(flags, duplicate) == pytest.approx(fp, abs=0.01)


@pytest.mark.parametrize("bits", [1 << 14, 1 << 18])
def test_plans_by_the_gaps_of_a_stream(bits: int) -> None:
    """Fewer are missed than by the plan without gaps, and about as many as expected.

    Theory is of new elements. Here duplicates set the same cells again, others are set less and are more often 0: false
    positives are below the bound, and a gap without end misses 1 - FP, up to 1, where theory has 1 - bound. So more are
    missed than expected, by that factor at most; standard error .0015.
    """
    keys = crawl(300_000, 0.6, seed=12)
    duplicate = ~first_occurrences(keys)
    of = gap_counts(gaps(keys))
    assert of.counts.sum() == np.count_nonzero(duplicate)
    plan, plain = plan_with_gaps(bits, 0.1, of), plan_stable(bits, 0.1)
    flags, flags_plain = (StableBloom(p, 1).observe(keys) for p in (plan, plain))
    assert fn_rate(flags, duplicate) < fn_rate(flags_plain, duplicate) + 0.002
    expected = expected_missed(plan, of) / of.counts.sum()
    assert expected - 0.005 < fn_rate(flags, duplicate) < expected / (1 - plan.fp_bound) + 0.005
    assert fp_rate(flags, duplicate) < 0.1


def test_false_positives_stay_below_what_was_asked_for() -> None:
    plan = plan_stable(1 << 16, 0.05)
    keys = crawl(300_000, 0.4851, seed=9)
    assert fp_rate(StableBloom(plan, 2).observe(keys), ~first_occurrences(keys)) < 0.05
