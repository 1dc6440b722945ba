"""Sketches read over Arrow arrays: bytes as Spark makes them, built here from what they are said to be."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from streamq.runtime.spark import sketch_readers
from streamq.runtime.spark.sketch_readers import frequency, join, self_join
from streamq.stdlib.functions.sketch_parts import PARTS, READERS
from streamq.stdlib.sketches.hashing import mix64
from streamq.stdlib.sketches.lookalike import zipf
from streamq.stdlib.sketches.spark_bytes import spark_columns

HASH_A = np.array([1569548985, 1287635511, 801123445, 1900435123, 777777777], np.int64)
WIDTH = 512
Keys = NDArray[np.int64]
PARTS_OF_GROUPS = pa.list_(pa.struct([("sketch", pa.binary()), ("weights", pa.float64())]))


def hashes(keys: Keys) -> Keys:
    """What stands for xxhash64."""
    return mix64(keys.astype(np.int64).view(np.uint64)).view(np.int64)


def sketch(keys: Keys) -> bytes:
    """Version 1, total, depth, width, factors, counters: all with the highest byte first."""
    counts = np.zeros((len(HASH_A), WIDTH), np.int64)
    for row, cells in enumerate(spark_columns(hashes(keys), HASH_A, WIDTH).T):
        np.add.at(counts[row], cells, 1)
    head = struct.pack(">iqii", 1, len(keys), len(HASH_A), WIDTH)
    return head + HASH_A.astype(">i8").tobytes() + counts.astype(">i8").tobytes()


def one(keys: Keys, weights: float | None = None) -> list[dict[str, object]]:
    return [{"sketch": sketch(keys), "weights": weights}]


def parts(groups: list[Keys]) -> pa.Array:
    """Each group's sketch in one part, of which the weight is not told."""
    return pa.array([one(keys) for keys in groups], PARTS_OF_GROUPS)


def same(value: object, n: int) -> pa.Array:
    return pa.array([value] * n)


def answers(read: Callable[..., pa.Array], *arrays: pa.Array, level: float = 0.95, method: str | None = "AUTO") -> list[list[float]]:
    n = len(arrays[0])
    settings = [same(level, n)] if method is None else [same(level, n), same(method, n)]
    found: list[list[float]] = read(*arrays, *settings).to_pylist()
    return found


@pytest.fixture(scope="module")
def groups() -> list[Keys]:
    return [zipf(5000, 1000, skew, seed) for seed, skew in enumerate((0.0, 0.8, 1.2, 2.0))]


def test_every_reader_is_where_the_plan_says() -> None:
    for part, (_, reader) in READERS.items():
        module, _, name = reader.target.partition(":")
        assert module == sketch_readers.__name__
        assert callable(getattr(sketch_readers, name))
        assert len(reader.parameters) == len(PARTS[part].params)


@pytest.mark.parametrize("method", ["AUTO", "CM", "CMM"])
def test_self_joins_of_groups(groups: list[Keys], method: str) -> None:
    found = answers(self_join, parts(groups), pa.array([len(g) for g in groups]), method=method)
    for keys, (estimate, low, high) in zip(groups, found, strict=True):
        truth = float((np.unique(keys, return_counts=True)[1] ** 2).sum())
        assert low <= truth <= high
        assert low <= estimate <= high
        if method == "CM":
            assert estimate >= truth


def test_the_estimator_follows_the_skew(groups: list[Keys]) -> None:
    """Even keys are read without noise, very skewed ones as Count-Min does."""
    data, rows = parts(groups), pa.array([len(g) for g in groups])
    chosen, least, middle = (answers(self_join, data, rows, method=m) for m in ("AUTO", "CM", "CMM"))
    assert chosen[0][0] == middle[0][0] != least[0][0]
    assert chosen[3][0] == least[3][0] != middle[3][0]


def test_frequencies(groups: list[Keys]) -> None:
    wanted = [int(np.bincount(keys).argmax()) for keys in groups]
    found = answers(
        frequency, parts(groups), pa.array([len(g) for g in groups]), pa.array(hashes(np.array(wanted))),
    )
    for keys, key, (estimate, low, high) in zip(groups, wanted, found, strict=True):
        assert low <= (keys == key).sum() <= high
        assert estimate == round(estimate)


def test_joins(groups: list[Keys]) -> None:
    left, right = groups[1:], groups[:-1]
    found = answers(
        join, parts(left), pa.array(map(len, left)), parts(right), pa.array(map(len, right)), same(0, len(left)),
        method=None,
    )
    for a, b, (estimate, low, high) in zip(left, right, found, strict=True):
        counts = [np.bincount(side, minlength=1001)[:1001] for side in (a, b)]
        assert low <= float(counts[0] @ counts[1]) <= high
        assert low <= estimate <= high


def test_groups_without_rows_and_without_a_sketch() -> None:
    data = pa.array([one(np.array([], np.int64)), None, one(np.array([5, 5, 6]))], PARTS_OF_GROUPS)
    rows = pa.array([0, None, 3])
    assert answers(self_join, data, rows)[:2] == [[0.0, 0.0, 0.0]] * 2
    assert answers(self_join, data, rows)[2][0] == 5.0
    assert answers(frequency, data, rows, pa.array(hashes(np.array([5, 5, 5]))))[2][0] == 2.0
    assert answers(join, data, rows, data, rows, rows, method=None)[0] == [0.0, 0.0, 0.0]
    assert answers(self_join, parts([]), pa.array([], pa.int64())) == []


def test_rows_that_were_shed_count_for_those_that_were_kept() -> None:
    """Half of the rows at random, each for two: 30 samples of one stream, whose mean is within four standard errors of the truth."""
    keys = zipf(8000, 500, 0.8, 3)
    random = np.random.default_rng(17)
    kept = [keys[random.random(len(keys)) < 0.5] for _ in range(30)]
    found = answers(self_join, parts(kept), same(len(keys), 30), method="AUTO")
    truth = float((np.unique(keys, return_counts=True)[1] ** 2).sum())
    estimates = np.array([one[0] for one in found])
    error = estimates.std(ddof=1) / np.sqrt(30)
    # The sketch's own error is the same in all 30, as keys and seed are: a mean of 5 rows, sqrt(2 / 511 / 5) of the truth.
    assert abs(estimates.mean() - truth) < 4 * error + 3 * truth * np.sqrt(2 / 511 / 5)
    assert sum(low <= truth <= high for _, low, high in found) >= 27
    key = int(np.bincount(keys).argmax())
    found = answers(frequency, parts(kept), same(len(keys), 30), same(int(hashes(np.array([key]))[0]), 30))
    assert sum(low <= (keys == key).sum() <= high for _, low, high in found) >= 27
    other = zipf(6000, 500, 0.8, 9)
    sides = parts(kept), same(len(keys), 30), parts([other] * 30), same(len(other), 30), same(0, 30)
    counts = [np.bincount(side, minlength=501)[:501] for side in (keys, other)]
    found = answers(join, *sides, method=None)
    assert sum(low <= float(counts[0] @ counts[1]) <= high for _, low, high in found) >= 27


def test_a_row_is_one_pair_with_itself_however_many_it_stands_for() -> None:
    """JOIN_SIZE of a column with itself, of a fifth of the rows: without what is taken off it would be four rows too much for each row."""
    keys = zipf(6000, 3000, 0.5, 11)
    random = np.random.default_rng(29)
    kept = [keys[random.random(len(keys)) < 0.2] for _ in range(20)]
    rows = same(len(keys), 20)
    found = answers(join, parts(kept), rows, parts(kept), rows, rows, method=None)
    estimates = np.array([one[0] for one in found])
    truth = float((np.unique(keys, return_counts=True)[1] ** 2).sum())
    error = estimates.std(ddof=1) / np.sqrt(20)
    # The mean of five rows of 512 counters, the same in all 20: sqrt(2 / 511 / 5) of the truth and its surplus, with the middle row's 1.25.
    assert abs(estimates.mean() - truth) < 4 * error + 3 * 1.25 * np.sqrt(2 / 511 / 5) * (truth + 4 * len(keys))
    assert 4 * len(keys) > 8 * error, "so much would be seen"


def test_a_join_of_nothing() -> None:
    none = parts([]), pa.array([], pa.int64())
    assert answers(join, *none, *none, pa.array([], pa.int64()), method=None) == []


def test_many_groups_are_read_some_at_a_time(monkeypatch: pytest.MonkeyPatch, groups: list[Keys]) -> None:
    data, rows = parts(groups), pa.array(map(len, groups))
    at_once = answers(self_join, data, rows)
    monkeypatch.setattr(sketch_readers, "AT_ONCE", 1)
    assert answers(self_join, data, rows) == at_once


def test_panes_are_summed() -> None:
    keys = zipf(6000, 800, 1.0, 2)
    panes = pa.array([[part for pane in np.array_split(keys, 6) for part in one(pane)]], PARTS_OF_GROUPS)
    rows = pa.array([len(keys)])
    assert answers(self_join, panes, rows) == answers(self_join, parts([keys]), rows)
    key = pa.array(hashes(keys[:1]))
    assert answers(frequency, panes, rows, key) == answers(frequency, parts([keys]), rows, key)


def test_each_part_counts_by_its_own_weight() -> None:
    """Values drift while the share that is kept does: the mean weight of all rows would give a self-join size far off."""
    random = np.random.default_rng(5)
    early, late = np.full(4000, 1), np.full(4000, 2)
    truth = 2 * 4000.0**2
    found, by_mean = [], []
    for _ in range(40):
        sampled = [keys[random.random(4000) < p] for keys, p in ((early, 0.8), (late, 0.1))]
        weighted = [part for keys, w in zip(sampled, (1.25, 10.0), strict=True) for part in one(keys, len(keys) * w)]
        mean = [part for keys in sampled for part in one(keys)]
        for given, into in ((weighted, found), (mean, by_mean)):
            into += answers(self_join, pa.array([given], PARTS_OF_GROUPS), pa.array([8000]))
    estimates = np.array([estimate for estimate, *_ in found])
    # A count of 4000 at p = .1 varies by 4000 · 9: its square by 2 · 4000 · sqrt(36,000), 9.5 % of itself, 4.7 % of both. 4 standard errors.
    assert abs(estimates.mean() / truth - 1) < 4 * 0.048 / np.sqrt(40)
    assert sum(low <= truth <= high for _, low, high in found) >= 36
    assert abs(np.mean([estimate for estimate, *_ in by_mean]) / truth - 1) > 0.3
