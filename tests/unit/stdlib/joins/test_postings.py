"""The index of a basic window: golden 3.8, and that it is not read beyond the time that a probe may see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from streamq.stdlib.joins import postings as module
from streamq.stdlib.joins.conditions import EQUAL, SetCondition
from streamq.stdlib.joins.kinds import Kind
from streamq.stdlib.joins.matching import matches
from streamq.stdlib.joins.postings import Shared, postings
from tests.unit.stdlib.joins.streams import set_column, some_set, value_column

A, B, C, D = range(4)
STORED = set_column([[A, B, C], [A, C], [B, D]])
WEIGHTED = set_column([{A: 1, B: 1, C: 0.5}, {A: 0.2, C: 0.8}, {B: 1, D: 1}], weighted=True)
START, STOP = np.zeros(1, dtype=np.int64), np.full(1, 3)


def found(*given: Any, **named: Any) -> Shared:
    """All pieces of what is shared."""
    parts = [*module.shared(*given, **named)]
    none = np.empty(0, dtype=np.int64)
    columns = (np.concatenate([none, *(getattr(p, c) for p in parts)]) for c in ("probe", "row", "amount"))
    return Shared(*columns, sum(p.touched for p in parts))


def test_golden_3_8_counts_of_shared_items() -> None:
    for probe, counts in (([A, C, D], [2, 2, 1]), ([A, C], [2, 2, 0])):
        got = found(postings(STORED), set_column([probe]), START, STOP)
        assert np.bincount(got.row, got.amount, minlength=3).tolist() == counts
        assert got.touched == sum(counts)


@pytest.mark.parametrize(
    ("kind", "least", "side", "probe", "rows"),
    [
        ("OVERLAP", 2, 0, [A, C, D], [1, 2]),
        ("EQUAL", 1, 0, [A, C], [2]),
        ("SUBSET", 1, 0, [A, C], [1, 2]),  # the probe is of S1: stored sets are supersets of it
        ("SUPERSET", 1, 1, [A, C], [1, 2]),  # the probe is of S2
    ],
)
def test_golden_3_8_conditions(kind: Kind, least: float, side: int, probe: list[int], rows: list[int]) -> None:
    got = matches(SetCondition(kind, least), side, set_column([probe]), STORED, START, STOP, "INDEX")
    assert sorted(got.row + 1) == rows


def test_golden_3_8_inner_products() -> None:
    probe = set_column([{A: 0.5, C: 1, D: 0.2}], weighted=True)
    got = found(postings(WEIGHTED), probe, START, STOP, 0, weighted=True)
    assert np.bincount(got.row, got.amount, minlength=3).tolist() == pytest.approx([1.0, 0.9, 0.2])
    held = matches(SetCondition("INNER_PRODUCT", 0.95), 0, probe, WEIGHTED, START, STOP, "INDEX")
    assert (held.row + 1).tolist() == [1]


def test_sets_without_weights_weigh_one() -> None:
    got = found(postings(STORED), set_column([{A: 0.5, B: 2.0}], weighted=True), START, STOP, 0, weighted=True)
    assert got.amount.tolist() == [2.5, 0.5, 2.0]


@pytest.mark.parametrize("piece", [1, 7, 10**6])
@pytest.mark.parametrize("sparse", [0, 8, 10**9])
def test_pieces_and_ways_of_counting_give_the_same(monkeypatch: pytest.MonkeyPatch, piece: int, sparse: int) -> None:
    random = np.random.default_rng(6)
    probes, stored = ([some_set(random) or frozenset() for _ in range(n)] for n in (40, 50))
    start = random.integers(0, 51, 40)
    stop = np.maximum(start, random.integers(0, 51, 40))
    monkeypatch.setattr(module, "PIECE", piece)
    monkeypatch.setattr(module, "SPARSE", sparse)
    expected = {
        (i, j): len(p & stored[j]) for i, p in enumerate(probes) for j in range(start[i], stop[i]) if p & stored[j]
    }
    for weighted in (False, True):
        for least in (1, 2):
            got = found(postings(set_column(stored)), set_column(probes), start, stop, least, weighted)
            shares = zip(got.probe.tolist(), got.row.tolist(), got.amount.tolist(), strict=True)
            assert [((i, j), k) for i, j, k in shares] == sorted((p, k) for p, k in expected.items() if k >= least)
            assert got.touched == sum(expected.values())


def test_F13_a_probe_touches_no_posting_from_before_its_start() -> None:  # noqa: N802
    """Each posting that is read adds one to the amount of a pair, so the pairs tell which were."""
    random = np.random.default_rng(13)
    stored = [some_set(random) or frozenset() for _ in range(200)]
    index = postings(set_column(stored))
    probe = frozenset(range(5))
    for start, stop in ((150, 200), (0, 0), (199, 200), (60, 61), (0, 200), (40, 120)):
        got = found(index, set_column([probe]), np.array([start]), np.array([stop]))
        inside = (index.rows >= start) & (index.rows < stop)
        lists = np.repeat(index.keys, np.diff(index.offsets))
        assert got.touched == int((inside & np.isin(lists, list(probe))).sum())
        assert got.amount.sum() == got.touched
        counts = {j: len(probe & stored[j]) for j in range(start, stop) if probe & stored[j]}
        assert dict(zip(got.row.tolist(), got.amount.tolist(), strict=True)) == counts


def test_postings_are_in_order_of_time_within_each_list() -> None:
    index = postings(STORED)
    assert (index.keys.tolist(), index.offsets.tolist()) == ([A, B, C, D], [0, 2, 4, 6, 7])
    assert index.rows.tolist() == [0, 1, 0, 2, 0, 1, 2]
    random = np.random.default_rng(1)
    big = postings(set_column([some_set(random) for _ in range(500)]))
    for first, last in zip(big.offsets, big.offsets[1:], strict=False):
        assert np.all(np.diff(big.rows[first:last]) > 0)


def test_a_column_of_values_is_a_hash_index() -> None:
    index = postings(value_column([5, 3, None, 5]))
    assert (index.weights, index.size) == (None, 4)
    assert [a.tolist() for a in (index.keys, index.offsets, index.rows)] == [[3, 5], [0, 1, 3], [1, 0, 3]]
    stored, start = value_column([5, 3, None, 5]), np.array([1, 0, 0])
    got = matches(EQUAL, 0, value_column([5, None, 4]), stored, start, np.full(3, 4), "INDEX")
    assert (got.probe.tolist(), got.row.tolist(), got.touched) == ([0], [3], 1)


def test_empty_indexes_and_probes_share_nothing() -> None:
    none = set_column([])
    for stored, probes in ((none, none), (none, STORED), (STORED, none), (set_column([[], None]), STORED)):
        zero = np.zeros(len(probes), dtype=np.int64)
        got = found(postings(stored), probes, zero, zero + len(stored))
        assert (len(got.probe), got.touched) == (0, 0)
