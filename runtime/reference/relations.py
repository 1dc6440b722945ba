"""The meaning of each operator over relations, as facts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import groupby

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import WINDOW_FIELDS
from streamq.dsl.ast import R2S
from streamq.dsl.types import Array, Map, Struct, Type
from streamq.runtime.reference.aggregates import Aggregate, compile_aggregate
from streamq.runtime.reference.expressions import Udfs, compile_expr
from streamq.runtime.reference.facts import (
    BEGINNING,
    FOREVER,
    Fact,
    Facts,
    changes_of,
    map_snapshots,
    snapshots,
    sort_key,
)
from streamq.runtime.reference.values import Row, to_datetime

Function = Callable[[Row], object]


def over(node: lg.Logical) -> tuple[str, ...]:
    """The columns that expressions over the relation may read: its own, then those of its window."""
    return (*(f.name for f in node.schema), *WINDOW_FIELDS)


def seen(fact: Fact) -> Row:
    """The values of those columns."""
    if fact.frame is None:
        return (*fact.row, None, None)
    return (*fact.row, to_datetime(fact.frame.start), to_datetime(fact.frame.end))


def by_row(node: lg.Logical, udfs: Udfs) -> Callable[[Fact], Fact | None]:
    """What an operator that looks at one row at a time makes of it; None where it takes it away."""
    match node:
        case lg.Filter():
            test = compile_expr(node.predicate, over(node.input), udfs)
            return lambda fact: fact if test(seen(fact)) is True else None
        case lg.Project():
            items = [compile_expr(e, over(node.input), udfs) for _, e in node.items]

            def project(fact: Fact) -> Fact:
                row = seen(fact)
                return fact._replace(row=tuple([item(row) for item in items]))

            return project
        case lg.Shed() if node.weight:
            # Nothing is shed here, so each row stands for itself.
            return lambda fact: fact._replace(row=(*fact.row, 1.0))
        case lg.Shed():
            return lambda fact: fact
        case _:
            raise TypeError(f"{type(node).__name__} needs more than a row")


def aggregated(node: lg.Aggregate, facts: Facts, udfs: Udfs) -> Facts:
    """One row per group that has rows; without keys one row in all, from the first row on.

    The rows of each session are a group of their own, as are those of each sliding window.
    """
    columns = over(node.input)
    keys = [compile_expr(e, columns, udfs) for _, e in node.keys]
    calls = [compile_aggregate(call, columns, udfs) for _, call in node.aggregates]
    groups: dict[tuple[object, Row], Facts] = defaultdict(list)
    for fact in facts:
        row = seen(fact)
        groups[fact.frame, tuple(key(row) for key in keys)].append(fact)
    found: Facts = []
    for (_, key), group in groups.items():
        frame = group[0].frame
        last = None
        for start, end, held in snapshots(group):
            if last is not None and not keys and last < start:
                found.append(Fact(_row(key, calls, []), last, start))
            found.append(Fact(_row(key, calls, held), start, end, frame))
            last = end
        if last is not None and not keys and frame is None and last < FOREVER:
            found.append(Fact(_row(key, calls, []), last, FOREVER))
    return joined_up(found)


def _row(key: Row, calls: list[Aggregate], held: Facts) -> Row:
    rows, instants = [seen(fact) for fact in held], [fact.start for fact in held]
    return (*key, *(call(rows, instants) for call in calls))


def distinct(facts: Facts) -> Facts:
    """Each row once while it is there at all."""
    return joined_up(map_snapshots(facts, lambda held: dict.fromkeys(f.row for f in held)))


def compared(node: lg.Compare, left: Facts, right: Facts) -> Facts:
    """EXCEPT and INTERSECT at every instant; with ALL each copy of a row counts."""
    marked = [
        fact._replace(row=(*fact.row, side), frame=None)
        for side, facts in enumerate((left, right)) for fact in facts
    ]
    both = node.op == "INTERSECT"

    def compare(held: Facts) -> Iterable[Row]:
        ours, theirs = (Counter(f.row[:-1] for f in held if f.row[-1] == side) for side in (0, 1))
        if node.all:
            return (ours & theirs if both else ours - theirs).elements()
        return [row for row in ours if (row in theirs) == both]

    return joined_up(map_snapshots(marked, compare))


def joined_up(facts: Iterable[Fact]) -> Facts:
    """Facts of equal rows, one of which ends where the other starts, as one fact."""
    by_value: dict[tuple[object, Row], Facts] = defaultdict(list)
    for fact in facts:
        by_value[fact.frame, fact.row].append(fact)
    found: Facts = []
    for group in by_value.values():
        group.sort(key=lambda fact: fact.start)
        whole = group[0]
        for fact in group[1:]:
            if fact.start == whole.end:
                whole = whole._replace(end=fact.end)
            else:
                found.append(whole)
                whole = fact
        found.append(whole)
    return found


def sorted_rows(node: lg.Sort, facts: Facts, udfs: Udfs) -> Facts:
    """The first rows in order; ties go by the rows' values, downwards only where all keys go down."""
    columns = over(node.input)
    keys = [(compile_expr(i.expr, columns, udfs), i) for i in node.order]
    down = all(i.descending and not i.nulls_first for i in node.order)
    places = [k for k, f in enumerate(node.schema) if _is_ordered(f.type)]

    def first(held: Facts) -> list[Row]:
        held = sorted(held, key=lambda f: sort_key(tuple(f.row[k] for k in places)), reverse=down)
        for key, item in reversed(keys):
            held.sort(key=_rank(key, item), reverse=item.descending)
        return [fact.row for fact in held[: node.limit]]

    return joined_up(map_snapshots(facts, first))


def _rank(key: Function, item: lg.SortItem) -> Callable[[Fact], tuple[object, ...]]:
    first = item.nulls_first != item.descending

    def rank(fact: Fact) -> tuple[object, ...]:
        value = key(seen(fact))
        return (0 if first else 2,) if value is None else (1, sort_key(value))

    return rank


def _is_ordered(t: Type) -> bool:
    match t:
        case Map():
            return False
        case Array():
            return _is_ordered(t.element)
        case Struct():
            return all(_is_ordered(f) for _, f in t.fields)
        case _:
            return True


def to_stream(node: lg.ToStream, facts: Facts) -> Facts:
    """ISTREAM: what comes. DSTREAM: what leaves. RSTREAM: all that is there, whenever something changes.

    Under a window that only changes at its slides, RSTREAM gives each of its results once.
    """
    if node.op is R2S.RSTREAM:
        if facts and all(f.frame is not None or f.end == f.start + 1 for f in facts):
            return [Fact(f.row, f.start, FOREVER) for f in facts]
        found: Facts = []
        bag: Counter[Row] = Counter()
        for at, changes in groupby(changes_of(facts), key=lambda change: change.at):
            for change in changes:
                bag[change.row] += change.count
            if at != BEGINNING:
                found += [Fact(row, at, FOREVER) for row in bag.elements()]
        return found
    sign = 1 if node.op is R2S.ISTREAM else -1
    net: Counter[tuple[int, Row]] = Counter()
    for change in changes_of(facts):
        if change.count * sign > 0:
            net[change.at, change.row] += abs(change.count)
    return [Fact(row, at, FOREVER) for (at, row), count in net.items() for _ in range(count)]
