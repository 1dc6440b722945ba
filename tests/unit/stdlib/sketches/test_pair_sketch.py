"""C21 to C23 and C26: pairs from sketches; shards add up to the bit; bytes; better than a random sample of that size."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.pair_count import join_offline, self_join_offline, self_join_sizes
from streamq.stdlib.sketches.pair_count import join_sizes as exact_join_sizes
from streamq.stdlib.sketches.pair_exact import compared_join, sampled_pairs
from streamq.stdlib.sketches.pair_sketch import (
    PairSketch,
    empty_pair_sketch,
    from_bytes,
    join,
    join_err,
)
from streamq.stdlib.sketches.similarity_plan import inversion_weights, pair_weights, plan_similarity
from streamq.stdlib.sketches.super_values import records
from streamq.stdlib.sketches.titles import titles

TITLES = titles(20_000, seed=2)
HALF = plan_similarity(6, 1, 0.5)


def sketch(n: int = 20_000, width: int = 1000, depth: int = 3, seed: int = 0) -> PairSketch:
    return empty_pair_sketch(HALF, width, depth, seed).added(TITLES.take(slice(0, n)))


def same(a: PairSketch, b: PairSketch) -> bool:
    return a.to_bytes() == b.to_bytes()


def test_C21_sizes_are_within_three_deviations() -> None:  # noqa: N802
    for seed in range(5):
        exact = self_join_sizes(TITLES, HALF, seed)
        off = np.abs(sketch(seed=seed).self_join_sizes() / exact - 1)
        assert off.max() < 3 * np.sqrt(2 / 1000)


def test_C21_estimates_are_right_on_average() -> None:  # noqa: N802
    """24 seeds of one row each, as a median of rows has a little bias: within 3 standard errors for each k."""
    exact = self_join_offline(TITLES, plan_similarity(6, 1)).pairs
    found = np.array([sketch(depth=1, seed=seed).estimate().pairs for seed in range(24)])
    errors = found.std(axis=0, ddof=1)[1:] / np.sqrt(24)
    assert (np.abs(found.mean(axis=0) - exact)[1:] < 3 * errors).all()


def test_what_sketches_add_to_the_error() -> None:
    """With rate 1 there is no other error: its deviation over 60 seeds is at most that, and not far below."""
    plan, some = plan_similarity(6, 4, 1.0), TITLES.take(slice(0, 3000))
    found = [empty_pair_sketch(plan, 200, 1, seed).added(some) for seed in range(60)]
    sizes = [float(f.estimate().pairs[4:].sum()) for f in found]
    said = float(np.mean([f.sketch_err for f in found]))
    # A deviation of 60 is good to 9 %: 3 of these.
    assert 0.73 * said < np.std(sizes, ddof=1) < 1.27 * said


def test_C25_what_sketches_add_to_the_error_of_a_join() -> None:  # noqa: N802
    """The same of 60 joins of the same records, one of which is a record as many times as there are others.

    The variance that is told has J^2 where the true one has J^2 less twice the sum of f^2 g^2: it is above by little.
    """
    plan = plan_similarity(6, 4, 1.0)
    one = np.repeat(TITLES.values[:1], 500, axis=0)
    a, b = TITLES.take(slice(0, 3000)), records(np.append(TITLES.values[:2000], one, axis=0))
    found = [
        [empty_pair_sketch(plan, 200, 1, seed, side).added(of) for side, of in enumerate((a, b))]
        for seed in range(60)
    ]
    sizes = [float(join(*both).pairs[4:].sum()) for both in found]
    said = float(np.mean([join_err(*both) for both in found]))
    assert 0.73 * said < np.std(sizes, ddof=1) < 1.27 * said


def test_C26_shards_add_up_to_the_bit() -> None:  # noqa: N802
    whole, empty = sketch(), empty_pair_sketch(HALF, 1000)
    shards = [empty.added(TITLES.take(slice(i, None, 3))) for i in range(3)]
    assert same(shards[0].merged(shards[1]).merged(shards[2]), whole)
    assert same(shards[2].merged(shards[0].merged(shards[1])), whole)
    assert same(
        shards[0].added(TITLES.take(slice(1, None, 3))).added(TITLES.take(slice(2, None, 3))), whole
    )
    assert same(whole.minus(shards[0]).minus(shards[1]), shards[2])
    order = np.random.default_rng(5).permutation(20_000)
    assert same(empty.added(TITLES.take(order)), whole)
    assert (empty.counts == 0).all()
    assert empty.n == 0


def test_bytes_are_the_sketch() -> None:
    plan = plan_similarity(6, 4, 0.3, untagged=True)
    made = empty_pair_sketch(plan, 50, 2, seed=-7, side=1).added(TITLES)
    data = made.to_bytes()
    again = from_bytes(data)
    assert (again.plan, again.n, again.seed, again.side) == (plan, 20_000, made.seed, 1)
    assert same(again, made)
    assert same(again.merged(made), made.merged(again))
    with pytest.raises(ValueError, match="other than"):
        from_bytes(data[:-1])
    with pytest.raises(ValueError, match="not in"):
        from_bytes(data[:-3])
    with pytest.raises(ValueError, match="are missing"):
        from_bytes(data[: -3 * len(made.sketches[0].to_bytes())])
    with pytest.raises(ValueError, match="one depth, width and seed"):
        from_bytes(data.replace(made.seed.to_bytes(8, "little"), bytes(8), 1))
    with pytest.raises(ValueError, match="no PairSketch"):
        from_bytes(b"SQP0" + data[4:])


def test_C22_join_from_sketches() -> None:  # noqa: N802
    """Off from the exact joins of the same super-values by the deviations of a row: sqrt((F2(a) F2(b) + J^2) / w), 4 of them."""
    a, b = TITLES.take(slice(0, 12_000)), records(TITLES.values[8_000:])
    plan, other = plan_similarity(6, 3, 0.5), plan_similarity(6, 3, 1.0)
    sketches = (
        empty_pair_sketch(plan, 2000).added(a),
        empty_pair_sketch(other, 2000, side=1).added(b),
    )
    found = join(*sketches)
    exact = join_offline(a, b, plan, other)
    f2 = [s.self_join_sizes() for s in sketches]
    sizes = exact_join_sizes(a, b, plan, other)
    deviations = np.sqrt((f2[0] * f2[1] + sizes**2.0) / 2000)
    errors = np.sqrt(np.array(pair_weights(plan, other)) ** 2 @ deviations**2)
    assert (np.abs(found.pairs - exact.pairs)[3:] < 4 * errors).all()
    of_size = np.linalg.norm(np.array(inversion_weights(plan, other)) * deviations)
    assert abs(found.size - exact.size) < 4 * of_size
    assert found.possible == 12_000 * 12_000
    swapped = join(sketches[1], sketches[0])
    assert swapped.pairs[3:] == pytest.approx(found.pairs[3:])


def test_C22_joins_are_right_on_average() -> None:  # noqa: N802
    a, b = TITLES.take(slice(0, 3000)), records(TITLES.values[2000:5000])
    plan = plan_similarity(6, 4, 0.5)
    exact = join_offline(a, b, plan_similarity(6, 4)).pairs
    found = np.array(
        [
            join(
                empty_pair_sketch(plan, 500, 1, seed).added(a),
                empty_pair_sketch(plan, 500, 1, seed, 1).added(b),
            ).pairs
            for seed in range(40)
        ]
    )
    errors = found.std(axis=0, ddof=1)[4:] / np.sqrt(40)
    assert (np.abs(found.mean(axis=0) - exact)[4:] < 3 * errors).all()


def test_C23_search_in_a_sketch() -> None:  # noqa: N802
    """Right on average, over 40 seeds, and exact where nothing collides."""
    one = TITLES.take(slice(275, 276))
    exact = compared_join(TITLES, one)
    plan = plan_similarity(6, 4, 0.5)
    found = np.array(
        [empty_pair_sketch(plan, 1000, 1, s).added(TITLES).search(one).pairs for s in range(40)]
    )
    errors = found.std(axis=0, ddof=1)[4:] / np.sqrt(40)
    assert (np.abs(found.mean(axis=0) - exact)[4:] < 3 * errors).all()
    few = records(np.array([[1, 2, 3], [1, 2, 9], [7, 5, 6]], np.uint64))
    asked = records(np.array([[1, 2, 3]], np.uint64))
    wide = empty_pair_sketch(plan_similarity(3, 1), 1 << 16, 5).added(few)
    assert wide.search(asked).pairs[1:].tolist() == [0, 1, 1]
    assert wide.estimate().unordered.pairs[1:].tolist() == [0, 1, 0]


def test_sketches_that_do_not_fit_are_refused() -> None:
    mine = empty_pair_sketch(HALF, 100)
    for other in (
        empty_pair_sketch(HALF, 101),
        empty_pair_sketch(HALF, 100, 5),
        empty_pair_sketch(HALF, 100, seed=1),
        empty_pair_sketch(HALF, 100, side=1),
        empty_pair_sketch(plan_similarity(6, 1, 0.25), 100),
    ):
        for call in (mine.merged, mine.minus):
            with pytest.raises(ValueError, match="one plan, shape, seed and side"):
                call(other)
    with pytest.raises(ValueError, match="one shape and seed"):
        join(mine, empty_pair_sketch(HALF, 100, seed=1, side=1))
    for joined in (join, join_err):
        with pytest.raises(ValueError, match="side=1"):
            joined(mine, mine)
    with pytest.raises(ValueError, match="both sides"):
        join(mine, empty_pair_sketch(plan_similarity(6, 2), 100, side=1))
    with pytest.raises(ValueError, match="2 to 2"):
        empty_pair_sketch(HALF, 1)
    with pytest.raises(ValueError, match="0 or 1"):
        empty_pair_sketch(HALF, 100, side=-1)


def test_estimates_are_possible() -> None:
    nothing = empty_pair_sketch(HALF, 100).estimate()
    assert (nothing.size, nothing.possible) == (0, 0)
    single = empty_pair_sketch(HALF, 4, 1).added(TITLES.take(slice(0, 1))).estimate()
    assert single.size == 0
    for seed in range(5):
        found = sketch(200, 10, 1, seed).estimate()
        assert 0 <= found.size <= found.possible == 200 * 199


def test_G18_memory_of_a_sketch() -> None:  # noqa: N802
    """As many counters of 32 bits as 750 records of six attributes of 64."""
    assert (
        empty_pair_sketch(plan_similarity(6, 4, 0.5), 1000).counts.size
        == 9000
        == 750 * 6 * 64 // 32
    )


@pytest.mark.slow
@pytest.mark.parametrize("data", range(3))
def test_sketches_beat_a_random_sample_of_the_same_memory(data: int) -> None:
    """X_4 of 200,000 titles, 9,000 counters of 32 bits against 750 records: the mean error of ten seeds."""
    plan, many = plan_similarity(6, 4, 0.5), titles(200_000, seed=data)
    exact = float(self_join_offline(many, plan_similarity(6, 4)).pairs[4])
    online = [empty_pair_sketch(plan, 1000, 3, seed).added(many).estimate() for seed in range(10)]
    sampled = [sampled_pairs(many, 4, 750, seed) for seed in range(10)]
    errors = [
        np.mean([abs(float(f.pairs[4]) / exact - 1) for f in found]) for found in (online, sampled)
    ]
    assert errors[0] < errors[1]
