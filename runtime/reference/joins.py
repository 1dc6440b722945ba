"""Joins of time-varying bags: a pair holds while both of its rows do."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Expr, Op, columns_of, conjuncts
from streamq.dsl.ast import JoinKind
from streamq.runtime.reference.expressions import Evaluate, Udfs, compile_expr
from streamq.runtime.reference.facts import Fact, Facts
from streamq.runtime.reference.values import Instant, Row


def join(node: lg.Join, left: Facts, right: Facts, udfs: Udfs) -> Facts:
    """The pairs that meet the condition, and for outer joins each row while it has no partner."""
    left_names = tuple(f.name for f in node.left.schema)
    right_names = tuple(f.name for f in node.right.schema)
    left_keys, right_keys, rest = _equalities(node.condition, left_names, right_names)
    key_of = [_row_of([compile_expr(e, names, udfs) for e in keys]) for keys, names in (
        (left_keys, left_names), (right_keys, right_names))]
    tests = [compile_expr(e, (*left_names, *right_names), udfs) for e in rest]
    shelves = _shelves(right, key_of[1])
    found: Facts = []
    met_right: dict[int, list[tuple[Instant, Instant]]] = defaultdict(list)
    alone: Facts = []
    keeps_left = node.kind in (JoinKind.LEFT, JoinKind.FULL)
    keeps_right = node.kind in (JoinKind.RIGHT, JoinKind.FULL)
    for fact in left:
        met: list[tuple[Instant, Instant]] = []
        key = key_of[0](fact.row)
        partners = () if None in key else shelves.get(key, _NO_SHELF).overlapping(fact)
        for partner in partners:
            row = fact.row + partner.row
            if all(test(row) is True for test in tests):
                start, end = max(fact.start, partner.start), min(fact.end, partner.end)
                found.append(Fact(row, start, end, fact.frame or partner.frame))
                met.append((start, end))
                if keeps_right:
                    met_right[id(partner)].append((start, end))
        if keeps_left:
            nulls = (None,) * len(right_names)
            alone += [Fact(fact.row + nulls, a, b, fact.frame) for a, b in _without(fact, met)]
    if keeps_right:
        nulls = (None,) * len(left_names)
        alone += [
            Fact(nulls + fact.row, a, b, fact.frame)
            for fact in right for a, b in _without(fact, met_right[id(fact)])
        ]
    return found + alone


class _Shelf:
    """Facts in order of their start, to find those that overlap another."""

    __slots__ = ("facts", "longest", "starts")

    def __init__(self, facts: Facts) -> None:
        self.facts = sorted(facts, key=lambda fact: fact.start)
        self.starts = [fact.start for fact in self.facts]
        self.longest = max((fact.end - fact.start for fact in facts), default=0)

    def overlapping(self, other: Fact) -> Iterable[Fact]:
        first = bisect_left(self.starts, other.start - self.longest)
        last = bisect_left(self.starts, other.end)
        return (fact for fact in self.facts[first:last] if fact.end > other.start)


_NO_SHELF = _Shelf([])


def _shelves(facts: Facts, key_of: Callable[[Row], Row]) -> dict[Row, _Shelf]:
    by_key: dict[Row, Facts] = defaultdict(list)
    for fact in facts:
        key = key_of(fact.row)
        if None not in key:
            by_key[key].append(fact)
    return {key: _Shelf(group) for key, group in by_key.items()}


def _row_of(parts: Sequence[Evaluate]) -> Callable[[Row], Row]:
    return lambda row: tuple(part(row) for part in parts)


def _equalities(
    condition: Expr | None, left: tuple[str, ...], right: tuple[str, ...]
) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """Both sides of each equality between the inputs, and what remains of the condition."""
    left_keys: list[Expr] = []
    right_keys: list[Expr] = []
    rest: list[Expr] = []
    for part in conjuncts(condition):
        sides = part.args if isinstance(part, Op) and part.op == "=" else ()
        for a, b in (sides, sides[::-1]) if len(sides) == 2 else ():
            if a.type == b.type and _reads(a, left) and _reads(b, right):
                left_keys.append(a)
                right_keys.append(b)
                break
        else:
            rest.append(part)
    return left_keys, right_keys, rest


def _reads(expr: Expr, names: tuple[str, ...]) -> bool:
    columns = columns_of(expr)
    return bool(columns) and columns <= set(names)


def _without(fact: Fact, met: list[tuple[Instant, Instant]]) -> Iterable[tuple[Instant, Instant]]:
    """The stretches of the fact in which it met nobody."""
    at = fact.start
    for start, end in sorted(met):
        if start > at:
            yield at, start
        at = max(at, end)
    if at < fact.end:
        yield at, fact.end
