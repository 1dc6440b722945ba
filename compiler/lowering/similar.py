"""Pairs of rows that are alike, as groups of groups: each row gives one value for each set of columns, equal ones are counted.

::

    Aggregate(SIMILAR_PAIRS((a, b), 1))  ->  Aggregate(by window: squares of counts, by size of the set
                                               Aggregate(by window, size, value: counts
                                                 explode(0: the row, 1: a, 1: b, 2: (a, b))))

The sizes of self-joins that come out are PairCount's (Deng 2007, sections 5.2 and 5.3). Without MEMORY equal values are
counted as they are, which is exact; with it in as many counters, each with a sign by the value's hash (Fast-AGMS).
A set with a NULL in it equals none. What a row stands for where others were shed is counted in, and what chance adds to
the squares thereby is taken off: the sum of w (w - 1).
"""

from __future__ import annotations

from itertools import combinations
from random import Random

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import WEIGHT, AggCall, Column, Literal, Op, conjunction
from streamq.compiler.ir.sketches import PAIR_COUNTS, PairCounts, pair_counts, shown
from streamq.compiler.lowering.partial import partial
from streamq.compiler.lowering.sql import WINDOW, quote, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered, refuse
from streamq.dsl.records import dataclass, replace
from streamq.dsl.types import BOOLEAN, INT
from streamq.stdlib.sketches.kinds import DEPTH, SEED

SIZE, SKETCH_ROW, ALIKE, SIGN, TAGS = "__size", "__sketch_row", "__alike", "__sign", "__tags"
"""How many columns a set has, 0 for the row itself; the row of its sketch; its value, or counter; the counter's sign; all of these."""

PER_CALL = 100
"""Sizes of sets of one call of a block lie so far from those of the next."""


@dataclass(frozen=True, slots=True)
class _Pairs:
    """One call: its name and number in the block, and what it asks for."""

    name: str
    number: int
    call: AggCall
    asked: PairCounts

    def hash(self, place: int) -> str:
        """The column with the hash of one of the columns that are compared."""
        return f"__hash{self.number}_{place}"

    def tag(self, k: int) -> int:
        return self.number * PER_CALL + k


def has_pairs(node: lg.Aggregate) -> bool:
    return any(call.function == PAIR_COUNTS for _, call in node.aggregates)


def lower_pairs(
    node: lg.Aggregate, below: Lowered, keys: tuple[ph.Named, ...], context: LowerContext
) -> Lowered:
    """The aggregate of a block with SIMILAR_PAIRS; the others in it are computed of the rows themselves."""
    if not below.window:
        raise refuse(
            "SIMILAR_PAIRS without TUMBLE or SLIDE cannot be run yet", node.origin,
            "put [TUMBLE 1 HOUR] or [RANGE 1 HOUR SLIDE 1 MINUTE] after the stream",
        )
    calls = [(n, c) for n, c in node.aggregates if c.function == PAIR_COUNTS]
    pairs = [_Pairs(name, number, call, pair_counts(call)) for number, (name, call) in enumerate(calls)]
    weight = quote(WEIGHT) if any(p.asked.weight for p in pairs) else "1D"
    tagged = _tagged(node, below, pairs, context)
    names = below.columns | {SIZE}
    inner: list[ph.Named] = [
        ("__sum", f"sum({quote(SIGN)} * {weight})"), ("__rows", f"sum({weight})"),
        ("__spread", f"sum({weight} * ({weight} - 1D))"),
    ]
    found: dict[str, ph.Named] = {p.name: (p.name, _counts(p)) for p in pairs}
    own = Op(
        op="=", args=(Column(name=SIZE, type=INT, nullable=False), Literal(value=0, type=INT, nullable=False)), type=BOOLEAN,
        nullable=False,
    )
    for number, (name, call) in enumerate(node.aggregates):
        if call.function == PAIR_COUNTS:
            continue
        condition = conjunction((own,) if call.filter is None else (own, call.filter))
        parts = partial(f"__part{number}", name, replace(call, filter=condition), names)
        if parts is None:
            raise refuse(
                f"{shown(call.function)} beside SIMILAR_PAIRS cannot be run yet", call.origin,
                "put one of them into a query of its own; COUNT, SUM, MIN, MAX, MIN_BY, MAX_BY, and AVG but of decimals, can stand here",
            )
        inner.extend(parts[0])
        found[name] = parts[1]
    window = ((WINDOW, quote(WINDOW)),)
    tags = tuple((n, quote(n)) for n in (SIZE, SKETCH_ROW, ALIKE))
    counted = ph.Aggregate(
        tagged, (*window, *keys, *tags), tuple(inner), id=context.step_id(node, "alike"), origin=node.origin,
    )
    outer_keys = (*window, *((n, quote(n)) for n, _ in keys))
    step = ph.Aggregate(
        counted, outer_keys, tuple(found[n] for n, _ in node.aggregates), id=context.step_id(node, "aggregate"), origin=node.origin,
    )
    return Lowered(step, tuple(f.name for f in node.schema), window=True, times=frozenset({WINDOW}))


def _tagged(
    node: lg.Aggregate, below: Lowered, pairs: list[_Pairs], context: LowerContext
) -> ph.Step:
    """Each row once as it is, and once for each of its sets of columns."""
    hashes: list[ph.Named] = []
    drawn: list[ph.Named] = []
    tags = [f"array({_tag(0, 0, '0L', '1')})"]
    for one in pairs:
        kept = "" if one.call.filter is None else f" OR NOT coalesce({to_sql(one.call.filter, below.columns)}, FALSE)"
        for place, arg in enumerate(one.asked.columns):
            text = to_sql(arg, below.columns)
            hashes.append((one.hash(place), f"if({text} IS NULL{kept}, NULL, xxhash64({place}, {text}))"))
        for k, l_k in zip(one.asked.plan.ks, one.asked.plan.n_proj, strict=True):
            values = _values(one, k)
            if l_k == len(values):
                tags.append(f"array({', '.join(tag for value in values for tag in _tags(one, k, value))})")
                continue
            # Which sets stand beside each other is mixed, but the same in every run.
            Random(SEED).shuffle(values)
            drawn.append((f"__sets{one.tag(k)}", f"array({', '.join(values)})"))
            tags.append(_drawn(one, k, l_k, len(values)))
    step_id = context.step_id(node, "sets")
    step = ph.Select(below.step, (*below.passed(below.names), *hashes), id=step_id, origin=node.origin)
    if drawn:
        # By no more than chance: equal rows that drew the same sets would count too much. Spark draws anew in each micro-batch.
        draws = tuple((f"__draw{name.removeprefix('__sets')}", "rand()") for name, _ in drawn)
        step = ph.Select(step, (*below.passed(below.names), *((n, quote(n)) for n, _ in hashes), *drawn, *draws), id=step_id, origin=node.origin)
    exploded = ph.Select(
        step, (*below.passed(below.names), (TAGS, f"explode(concat({', '.join(tags)}))")), id=step_id, origin=node.origin,
    )
    fields = tuple((n, f"{quote(TAGS)}.{quote(n)}") for n in (SIZE, SKETCH_ROW, ALIKE, SIGN))
    told = ph.Select(exploded, (*below.passed(below.names), *fields), id=step_id, origin=node.origin)
    return ph.Where(told, f"{quote(ALIKE)} IS NOT NULL", id=step_id, origin=node.origin)


def _values(one: _Pairs, k: int) -> list[str]:
    """SQL of the values of a row's sets of k columns; NULL where one of them is."""
    values = []
    for chosen in combinations(range(len(one.asked.columns)), k):
        parts = [quote(one.hash(place)) for place in chosen]
        unknown = " OR ".join(f"{part} IS NULL" for part in parts)
        values.append(f"if({unknown}, NULL, xxhash64({k}, {', '.join(parts)}))")
    return values


def _drawn(one: _Pairs, k: int, drawn: int, sets: int) -> str:
    """SQL of the tags of so many sets in a row, from a place that is drawn: each is drawn as often as any other, and none twice."""
    tag = one.tag(k)
    values = quote(f"__sets{tag}")
    first = f"1 + CAST(floor({quote(f'__draw{tag}')} * {sets}) AS INT)"
    tags = ", ".join(_tags(one, k, "e"))
    return f"flatten(transform(slice(concat({values}, {values}), {first}, {drawn}), e -> array({tags})))"


def _tags(one: _Pairs, k: int, value: str) -> list[str]:
    if not one.asked.width:
        return [_tag(one.tag(k), 0, value, "1")]
    return [
        _tag(
            one.tag(k), row, f"if({value} IS NULL, NULL, pmod(xxhash64({value}, {row}, {SEED}), {one.asked.width}L))",
            f"if(xxhash64({value}, {row}, {SEED + 1}) % 2 = 0, 1, -1)",
        )
        for row in range(DEPTH)
    ]


def _tag(size: int, row: int, alike: str, sign: str) -> str:
    return f"named_struct('{SIZE}', {size}, '{SKETCH_ROW}', {row}, '{ALIKE}', {alike}, '{SIGN}', {sign})"


def _counts(one: _Pairs) -> str:
    """For each size of a set the size of the self-join of its values, and how many there were; then the sum of w (w - 1)."""
    items = []
    for k in one.asked.plan.ks:
        at = f"{quote(SIZE)} = {one.tag(k)}"
        squares = "`__sum` * `__sum` - `__spread`"
        if one.asked.width:
            rows = ", ".join(f"sum(if({at} AND {quote(SKETCH_ROW)} = {row}, {squares}, 0D))" for row in range(DEPTH))
            items.append(f"get(array_sort(array({rows})), {DEPTH // 2})")
        else:
            items.append(f"sum(if({at}, {squares}, 0D))")
        items.append(f"sum(if({at} AND {quote(SKETCH_ROW)} = 0, `__rows`, 0D))")
    spread = f"sum(if({quote(SIZE)} = 0, `__spread`, 0D))"
    return f"array({', '.join(items)}, {spread})"
