"""When two rows are a pair: bitmaps and indexes against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamq.stdlib.joins import matching
from streamq.stdlib.joins.columns import Sets, Values, concat, sets
from streamq.stdlib.joins.conditions import (
    EQUAL,
    Condition,
    Kind,
    SetCondition,
    ValueCondition,
    band,
    bitmaps,
    block,
)
from streamq.stdlib.joins.matching import Method, matches, prepared
from tests.unit.stdlib.joins.streams import Pred, column_of, set_column, some_set, value_column

KINDS: list[tuple[Kind, float, Pred]] = [
    ("EQUAL", 1, lambda a, b: a == b),
    ("SUBSET", 3, lambda a, b: a <= b),  # ``least`` is of overlaps and products
    ("SUBSET", 1, lambda a, b: a <= b),
    ("SUPERSET", 1, lambda a, b: a >= b),
    ("OVERLAP", 1, lambda a, b: len(a & b) >= 1),
    ("OVERLAP", 2, lambda a, b: len(a & b) >= 2),
    ("OVERLAP", 3, lambda a, b: len(a & b) >= 3),
]


def merged(a: list[int], b: list[int]) -> int:
    """How many items two rising lists share, by one pass over both."""
    i = j = shared = 0
    while i < len(a) and j < len(b):
        shared += a[i] == b[j]
        i, j = i + (a[i] <= b[j]), j + (a[i] >= b[j])
    return shared


def by_merge(kind: Kind, least: float, a: frozenset[int], b: frozenset[int]) -> bool:
    shared = merged(sorted(a), sorted(b))
    return {
        "EQUAL": shared == len(a) == len(b), "SUBSET": shared == len(a), "SUPERSET": shared == len(b),
        "OVERLAP": shared >= least,
    }[kind]


def brute(pred: Pred, side: int, probes: list[Any], stored: list[Any], start: Any, stop: Any) -> set[tuple[int, int]]:
    return {
        (i, j) for i, p in enumerate(probes) for j in range(start[i], stop[i]) for s in [stored[j]]
        if p is not None and s is not None and (pred(p, s) if side == 0 else pred(s, p))
    }


def found(
    condition: Condition, side: int, probes: list[Any], stored: list[Any], start: Any, stop: Any, how: Method
) -> list[tuple[int, int]]:
    ready = [prepared(condition, column_of(condition, some), how) for some in (probes, stored)]
    got = matches(condition, side, ready[0], ready[1], np.asarray(start), np.asarray(stop), how)
    return list(zip(got.probe.tolist(), got.row.tolist(), strict=True))


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("kind", "least", "pred"), KINDS)
def test_F2_F12_merge_bitmap_and_index_agree_on_random_sets(  # noqa: N802
    kind: Kind, least: float, pred: Pred, side: int
) -> None:
    random = np.random.default_rng(2)
    pairs = 0
    for _ in range(5):
        probes, stored = ([some_set(random) for _ in range(n)] for n in (60, 90))
        start = random.integers(0, 91, 60)
        stop = np.maximum(start, random.integers(0, 91, 60))
        expected = brute(pred, side, probes, stored, start, stop)
        assert expected == brute(lambda a, b: by_merge(kind, least, a, b), side, probes, stored, start, stop)
        for alphabet, how in ((10, "SCAN"), (None, "INDEX")):
            got = found(SetCondition(kind, least, alphabet), side, probes, stored, start, stop, how)
            assert set(got) == expected
            assert len(got) == len(expected)
        pairs += len(expected)
    assert pairs > 10


@pytest.mark.parametrize("side", [0, 1])
def test_F2_F12_inner_products_are_those_of_a_merge(side: int) -> None:  # noqa: N802
    random = np.random.default_rng(3)

    def weighted() -> dict[int, float] | None:
        items = some_set(random)
        return None if items is None else {x: float(random.integers(-3, 9)) / 10 for x in items}

    def product(a: dict[int, float], b: dict[int, float]) -> float:
        return sum(a[x] * b[x] for x in sorted(a.keys() & b.keys()))

    probes, stored = [weighted() for _ in range(200)], [weighted() for _ in range(150)]
    start, stop = np.zeros(200, dtype=np.int64), np.full(200, 150)
    for least in (0.05, 0.24, 0.5):
        # Tenths are no binary fractions, so a sum that is just ``least`` may come out a little less.
        expected = brute(lambda a, b, c=least: product(a, b) >= c - 1e-12, side, probes, stored, start, stop)
        got = found(SetCondition("INNER_PRODUCT", least), side, probes, stored, start, stop, "INDEX")
        assert set(got) == expected
        assert len(got) == len(expected) > 10


@pytest.mark.parametrize("words", [1, 2, 3, 4, 8])
def test_bitmaps_count_all_items_of_any_alphabet(words: int) -> None:
    """The whole alphabet, one item less, and none: counts up to 512 do not overflow."""
    size = 64 * words
    column = set_column([range(size), range(1, size), [], [size - 1]])
    made = bitmaps(column, size)
    expected = np.array([[size, size - 1, 0, 1], [size - 1, size - 1, 0, 1], [0] * 4, [1, 1, 0, 1]])
    for least in (1, size - 1, size):
        assert np.array_equal(block(SetCondition("OVERLAP", least, size), 0, made, made), expected >= least)
    assert np.array_equal(block(SetCondition("EQUAL", alphabet=size), 0, made, made), np.eye(4, dtype=bool))


@pytest.mark.parametrize("kind", ["EQUAL", "SUBSET", "SUPERSET"])
@pytest.mark.parametrize(("alphabet", "how"), [(10, "SCAN"), (None, "INDEX")])
def test_a_null_on_one_side_only_matches_nothing(kind: Kind, alphabet: int | None, how: Method) -> None:
    condition = SetCondition(kind, alphabet=alphabet)
    for probes, stored, expected in (([None], [[]], []), ([[]], [None], []), ([[]], [[]], [(0, 0)])):
        assert found(condition, 0, probes, stored, [0], [1], how) == expected


@pytest.mark.parametrize("block_size", [1, 4, 100])
def test_blocks_of_any_size_give_the_same(monkeypatch: pytest.MonkeyPatch, block_size: int) -> None:
    random = np.random.default_rng(7)
    probes, stored = [some_set(random) for _ in range(50)], [some_set(random) for _ in range(60)]
    start = random.integers(0, 61, 50)
    stop = np.maximum(start, random.integers(0, 61, 50))
    monkeypatch.setattr(matching, "BLOCK", block_size)
    monkeypatch.setattr(matching, "SMALL", max(1, block_size // 2))
    got = found(SetCondition("OVERLAP", 1, 10), 0, probes, stored, start, stop, "SCAN")
    assert sorted(got) == sorted(brute(lambda a, b: len(a & b) >= 1, 0, probes, stored, start, stop))


def test_items_outside_of_the_alphabet_are_refused() -> None:
    for item in (-1, 10):
        with pytest.raises(IndexError, match="not below 10"):
            bitmaps(set_column([[3], [item]]), 10)


@pytest.mark.parametrize("least", [0, -1, float("nan")])
def test_a_condition_that_sets_without_a_shared_item_meet_is_refused(least: float) -> None:
    with pytest.raises(ValueError, match="share nothing"):
        SetCondition("OVERLAP", least)


VALUES: list[tuple[Condition, Pred, tuple[Method, ...]]] = [
    (EQUAL, lambda a, b: a == b, ("SCAN", "INDEX")),
    (band(2), lambda a, b: abs(a - b) <= 2, ("SCAN",)),
    (ValueCondition(lambda a, b: a * 2 < b), lambda a, b: a * 2 < b, ("SCAN",)),
    (ValueCondition(lambda a, b: True), lambda a, b: True, ("SCAN",)),
]


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize(("condition", "pred", "methods"), VALUES)
def test_F12_conditions_on_values_are_brute_force(  # noqa: N802
    condition: Condition, pred: Pred, methods: tuple[Method, ...], side: int
) -> None:
    random = np.random.default_rng(4)
    probes, stored = ([None if random.random() < 0.2 else int(random.integers(12)) for _ in range(n)] for n in (70, 80))
    start = random.integers(0, 81, 70)
    stop = np.maximum(start, random.integers(0, 81, 70))
    expected = brute(pred, side, probes, stored, start, stop)
    assert len(expected) > 50
    for how in methods:
        got = found(condition, side, probes, stored, start, stop, how)
        assert set(got) == expected
        assert len(got) == len(expected)


@pytest.mark.parametrize("how", ["SCAN", "INDEX"])
def test_nan_equals_nothing_and_is_within_no_band(how: Method) -> None:
    values = value_column([float("nan"), 1.0, float("inf")])
    start, stop = np.zeros(3, dtype=np.int64), np.full(3, 3)
    got = matches(EQUAL, 0, values, values, start, stop, how)
    assert sorted(zip(got.probe.tolist(), got.row.tolist(), strict=True)) == [(1, 1), (2, 2)]
    assert block(band(5), 0, values, values).tolist() == [[False] * 3, [False, True, False], [False] * 3]


def test_equality_of_texts_goes_through_the_index_as_well() -> None:
    texts, others = (Values(np.array(v), np.zeros(3, bool)) for v in (["b", "a", "c"], ["c", "xx", "b"]))
    start, stop = np.zeros(3, dtype=np.int64), np.full(3, 3)
    for how in ("SCAN", "INDEX"):
        got = matches(EQUAL, 0, texts, others, start, stop, how)
        assert sorted(zip(got.probe.tolist(), got.row.tolist(), strict=True)) == [(0, 2), (2, 0)]


def test_a_condition_on_other_columns_is_refused() -> None:
    values, items = value_column([1]), set_column([[1]])
    with pytest.raises(TypeError, match="does not compare"):
        block(SetCondition("EQUAL", alphabet=5), 0, values, items)
    with pytest.raises(ValueError, match="all values, all sets"):
        concat([values, items])
    with pytest.raises(ValueError, match="all weighted sets"):
        concat([items, set_column([{1: 0.5}], weighted=True)])


def test_raw_sets_are_sorted_and_repeats_are_one_item() -> None:
    null = np.array([False, True, False, False])
    made = sets(np.array([0, 3, 5, 5, 7]), np.array([7, 2, 7, 1, 1, 4, 3]), null)
    assert (made.offsets.tolist(), made.items.tolist()) == ([0, 2, 2, 2, 4], [2, 7, 3, 4])
    raw = np.array([7, 2, 7, 1, 1, 4, 3])
    weighted = sets(np.array([0, 3, 5, 5, 7]), raw, null, np.array([0.5, 1, 0.25, 9, 9, 4, 3]))
    assert weighted.weights is not None
    assert (weighted.items.tolist(), weighted.weights.tolist()) == ([2, 7, 3, 4], [1, 0.75, 3, 4])


def test_taking_and_joining_rows_of_sets() -> None:
    given = [{1: 0.5, 3: 2.0}, None, {}, {2: 1.0}]
    column = set_column(given, weighted=True)
    taken = column.take(np.array([3, 0, 0, 1]))
    expected = set_column([given[i] for i in (3, 0, 0, 1)], weighted=True)
    for one, other in ((taken, expected), (concat([column.take(slice(2)), column.take(slice(2, 4))]), column)):
        assert isinstance(one, Sets)
        assert one.weights is not None
        assert other.weights is not None
        assert [a.tolist() for a in (one.offsets, one.items, one.weights, one.null)] == [
            a.tolist() for a in (other.offsets, other.items, other.weights, other.null)
        ]
