"""Predicates as boxes."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sifters.boxes import MOST, Boxes, boxes
from streamq.stdlib.sifters.predicates import (
    Both,
    Compare,
    Either,
    Everywhere,
    Not,
    Operator,
    Predicate,
)

OPERATORS: tuple[Operator, ...] = ("<", "<=", ">", ">=", "=", "!=")


def apart(found: Boxes) -> bool:
    """True where no two boxes meet."""
    lo = np.maximum(found.lo[:, None], found.lo[None])
    hi = np.minimum(found.hi[:, None], found.hi[None])
    meet = np.all(lo < hi, axis=2)
    return bool(np.array_equal(meet, np.eye(len(found), dtype=bool)))


def test_3_1_a_negation_of_both_and_either() -> None:
    """Not (x1 < 4 and (x1 > 3 or x2 < 5)) is x1 >= 4, or x1 <= 3 and x2 >= 5."""
    predicate = Not(Both((Compare(0, "<", 4), Either((Compare(0, ">", 3), Compare(1, "<", 5))))))
    found = boxes(predicate, 2)
    assert apart(found)
    x1, x2 = (a.ravel() for a in np.meshgrid(np.arange(0, 8, 0.25), np.arange(0, 8, 0.25)))
    assert np.array_equal(found.holds(np.stack([x1, x2], axis=1)), (x1 >= 4) | ((x1 <= 3) & (x2 >= 5)))


def tree(random: np.random.Generator, depth: int, whole: bool) -> Predicate:
    kind = random.integers(4) if depth else 3
    if kind == 3:
        value = float(random.integers(-1, 6)) if random.random() < 0.7 else float(random.uniform(-1, 6))
        return Compare(int(random.integers(3)), OPERATORS[random.integers(6)], value, whole)
    parts = tuple(tree(random, depth - 1, whole) for _ in range(random.integers(1, 4)))
    return Both(parts) if kind == 0 else Either(parts) if kind == 1 else Not(parts[0])


def truth(predicate: Predicate, rows: np.ndarray) -> np.ndarray:
    match predicate:
        case Not(part):
            return ~truth(part, rows)
        case Both(parts):
            return np.all([truth(p, rows) for p in parts], axis=0)
        case Either(parts):
            return np.any([truth(p, rows) for p in parts], axis=0)
        case Compare(a, op, v, _):
            x = rows[:, a]
            return {"<": x < v, "<=": x <= v, ">": x > v, ">=": x >= v, "=": x == v, "!=": x != v}[op]
    raise AssertionError(predicate)


@pytest.mark.parametrize("whole", [False, True])
def test_s1_boxes_hold_the_rows_that_the_predicate_holds(whole: bool) -> None:
    random = np.random.default_rng(5)
    exact = 0
    for _ in range(150):
        predicate = tree(random, 3, whole)
        rows = np.where(random.random((10_000, 3)) < 0.5, random.integers(-2, 7, (10_000, 3)), random.uniform(-2, 7, (10_000, 3)))
        rows = np.rint(rows) if whole else rows
        found = boxes(predicate, 3)
        wanted = truth(predicate, rows)
        assert apart(found)
        held = found.holds(rows)
        assert np.all(held[wanted])
        exact += np.array_equal(held, wanted)
    assert exact >= 145  # the others had more boxes than are kept apart


def test_too_many_boxes_become_one_around_them() -> None:
    many = Either(tuple(Compare(0, "=", float(2 * n), whole=True) for n in range(MOST + 40)))
    found = boxes(many, 1)
    assert len(found) == 1
    rows = np.arange(0.0, 2 * (MOST + 40), 2.0)[:, None]
    assert found.holds(rows).all()


def test_an_impossible_predicate_has_no_box() -> None:
    assert len(boxes(Both((Compare(0, "<", 1), Compare(0, ">", 2))), 1)) == 0
    assert len(boxes(Compare(0, "=", 1.5, whole=True), 1)) == 0
    assert len(boxes(Compare(0, "<", float("nan")), 1)) == 0


def test_ranges_of_one_attribute_that_touch_are_one() -> None:
    found = boxes(Either(tuple(Compare(0, "=", float(n), whole=True) for n in (5, 1, 2, 3, 9))), 2)
    assert list(zip(found.lo[:, 0].tolist(), found.hi[:, 0].tolist(), strict=True)) == [(0.5, 3.5), (4.5, 5.5), (8.5, 9.5)]


def test_null_is_in_the_box_of_all_rows_and_in_that_of_no_comparison() -> None:
    null = np.array([[-np.inf]])
    assert boxes(Everywhere(), 1).holds(null).all()
    assert boxes(Not(Everywhere()), 1).holds(null).all()
    for op in OPERATORS:
        assert not boxes(Compare(0, op, 3), 1).holds(null).any()
        assert not boxes(Not(Compare(0, op, 3)), 1).holds(null).any()
