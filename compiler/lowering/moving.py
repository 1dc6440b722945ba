"""Relations that move, as streams of changes (ADR 0008): their columns, and the steps that make and end them."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.rewrite import is_window_field
from streamq.compiler.lowering.carry import (
    EMPTY,
    NULL_BITS,
    Carried,
    can_carry,
    carried,
    decode,
    encode,
    null_bits,
)
from streamq.compiler.lowering.sql import SESSION, WINDOW, quote, to_sql
from streamq.compiler.lowering.state import (
    LowerContext,
    Lowered,
    bare,
    refuse,
    refuse_raw_session,
)
from streamq.dsl.records import dataclass, replace
from streamq.dsl.types import with_article

TIME, AT, SIGN, END = "__time", "__at", "__sign", "__end"
"""The hidden columns: event time with the watermark; the instant in microseconds; 1 or -1; when it goes."""

SIDE = "__side"
"""What an operator that gives rows of several kinds tells of each."""

HIDDEN = (TIME, AT, SIGN, END)
FOREVER = f"{2**63 - 1}L"

@dataclass(frozen=True, slots=True)
class Moving:
    """A step whose rows are changes, and its visible columns. ``grows``: rows only come, and never go.

    ``due``: every change has come to its instant, none is known before. ``netted``: the columns in which no two
    changes of one instant cancel each other; None where they may, and where one of them is gone. ``can_net``: the same
    where the operator below can be told to cancel them, with ``told``. ``anew``: rows are told when they come, with the instant
    at which they go, and the columns in which none that comes equals one that goes at that instant; None where one may. ``at_end``: the
    time column is that of a window, which is the last microsecond before the window ends and the row comes.
    """

    step: ph.Step
    names: tuple[str, ...]
    grows: bool = False
    due: bool = False
    netted: frozenset[str] | None = None
    can_net: frozenset[str] | None = None
    anew: frozenset[str] | None = None
    at_end: bool = False

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.names)

    def passed(self, names: Sequence[str]) -> tuple[ph.Named, ...]:
        return tuple((n, quote(n)) for n in (*names, *HIDDEN))

    def over(self, step: ph.Step, names: tuple[str, ...] | None = None) -> Moving:
        return replace(self, step=step, names=self.names if names is None else names)


def from_stream(node: lg.Logical, below: Lowered, time: str, context: LowerContext) -> Moving:
    """The rows of a stream, which come at their event time and stay."""
    items = tuple(
        (n, bare(quote(n)) if n in below.times else quote(n)) for n in below.names
    )
    hidden = (
        (TIME, quote(time)), (AT, f"unix_micros({quote(time)})"), (SIGN, "1L"), (END, FOREVER),
    )
    step = ph.Select(below.step, (*items, *hidden), id=context.step_id(node, "changes"),
                     origin=node.origin)
    return Moving(step, below.names, grows=True)


def from_windows(node: lg.Logical, below: Lowered, context: LowerContext) -> Moving:
    """The results of windows: each holds from its window's end until the next one's, those of sessions at the end."""
    spec = node.window
    refuse_raw_session(below, node.origin)
    if below.sessions:
        window, length_us = SESSION, 1
    elif isinstance(spec, lg.Sliding) and WINDOW in below.times:
        window, length_us = WINDOW, spec.slide_ms * 1000
    else:
        raise refuse("these results cannot be joined with other times yet", node.origin,
                     "send them to a sink, and read them as another stream")
    end = f"unix_micros({quote(WINDOW)}.`end`)"
    hidden = (
        (TIME, f"window_time({quote(window)})"), (AT, end), (SIGN, "1L"),
        (END, f"{end} + {length_us}L"),
    )
    items = tuple(
        (n, bare(quote(n)) if n in below.times else quote(n)) for n in below.names
    )
    step = ph.Select(below.step, (*items, *hidden), id=context.step_id(node, "changes"),
                     origin=node.origin)
    return Moving(step, below.names, at_end=True)


def until(node: lg.Window, below: Moving, length_us: int, context: LowerContext) -> Moving:
    """Rows that come and stay, each now for a length of time."""
    items = (
        *((n, quote(n)) for n in below.names), (TIME, quote(TIME)), (AT, quote(AT)),
        (SIGN, quote(SIGN)), (END, f"{quote(AT)} + {length_us}L"),
    )
    step = ph.Select(below.step, items, id=context.step_id(node, "window"), origin=node.origin)
    return Moving(step, below.names, at_end=below.at_end)


def packed(
    node: lg.Logical, below: Moving, fields: Sequence[lg.Field], texts: Sequence[str], key: str,
    context: LowerContext, *, side: str = "0L", first: int = 0, others: Sequence[Carried] = (),
) -> tuple[ph.Step, tuple[Carried, ...]]:
    """The changes as a stateful operator takes them: ``fields`` are its values, ``texts`` their SQL.

    ``key``: SQL of the operator's key. ``first``: the position of the first value. ``others``: the values of the
    other side, which are empty here.
    """
    values = carried(fields, first)
    for value in values:
        if not can_carry(value.type):
            raise refuse(
                f"`{value.name}` is {with_article(value.type)}, which a window that moves cannot keep yet",
                node.origin, "select single entries of it",
            )
    pairs = list(zip(values, texts, strict=True))
    items: list[ph.Named] = [(v.column, encode(v, t)) for v, t in pairs]
    items += [(v.column, EMPTY[v.kind]) for v in others]
    items.sort(key=lambda item: int(item[0][1:]))
    items += [
        (TIME, quote(TIME)), ("at", quote(AT)), ("sign", quote(SIGN)), ("end", quote(END)),
        ("side", side), ("key", key), ("nulls", null_bits(pairs, first)),
    ]
    step = ph.Select(below.step, tuple(items), id=context.step_id(node, "packed"),
                     origin=node.origin)
    return step, values


def stateful(
    node: lg.Logical, packed_step: ph.Step, operator: str, params: tuple[tuple[str, object], ...],
    kinds: tuple[str, ...], results: tuple[Carried, ...], context: LowerContext, *, by: str,
    tells_side: bool = False,
) -> Moving:
    """An operator over packed changes, and its values unpacked again.

    ``kinds``: of the values that it takes; ``results``: those that it gives. ``by``: ``key`` or ``row``, the hash
    by which its state is cut into buckets. ``tells_side``: its ``side`` becomes the column ``SIDE``.
    """
    columns = [f"v{i}" for i in range(len(kinds))]
    if operator == "rows" and len(columns) > NULL_BITS:
        # The order of rows of one instant goes by all values, and by those without a bit for NULL it would be another.
        raise refuse(
            f"[ROWS n] over {len(columns)} columns cannot be run yet, only over {NULL_BITS}", node.origin,
            "select the columns that are needed and the event time in a view, and put the window after it",
        )
    # A hash passes over NULL, so it takes in where the NULLs are.
    nulls = [quote("nulls"), *(f"{quote(c)} IS NULL" for c in columns[NULL_BITS:])]
    row = f"xxhash64({', '.join([*map(quote, columns), *nulls])})"
    hidden = (TIME, "at", "sign", "end", "side", "key", "nulls")
    bucket = f"CAST(pmod({row if by == 'row' else quote('key')}, {ph.BUCKETS}) AS INT)"
    items = (
        ("__bucket", bucket), *((n, quote(n)) for n in hidden), ("row", row),
        *((c, quote(c)) for c in columns),
    )
    step_id = context.step_id(node, operator)
    hashed = ph.Select(packed_step, items, id=step_id, origin=node.origin)
    step = ph.Stateful(
        hashed, operator, params, kinds, tuple(v.kind for v in results), id=step_id,
        origin=node.origin,
    )
    unpacked = (
        *((v.name, decode(v, i)) for i, v in enumerate(results)), (TIME, quote(TIME)),
        (AT, "`at`"), (SIGN, "`sign`"), (END, "`end`"),
        *(((SIDE, "`side`"),) if tells_side else ()),
    )
    out = ph.Select(step, unpacked, id=context.step_id(node, "unpacked"), origin=node.origin)
    return Moving(out, tuple(v.name for v in results), due=True)


def told(step: ph.Step, name: str, value: object) -> ph.Step | None:
    """The step with one more thing said to the operator that its changes come from; None where none is right below."""
    match step:
        case ph.Stateful() if name not in dict(step.params):
            return replace(step, params=(*step.params, (name, value)))
        case ph.Select() if (SIGN, quote(SIGN)) not in step.items and (SIGN, "`sign`") not in step.items:
            return None
        case ph.Select() | ph.Where():
            below = told(step.input, name, value)
            return None if below is None else replace(step, input=below)
        case _:
            return None


def net_changes(node: lg.Logical, below: Moving, context: LowerContext) -> Moving:
    """Changes that have come to their instant, without those that cancel each other."""
    if below.due and below.netted is not None:
        return below
    step = None if below.can_net is None else told(below.step, "nets", True)
    if step is not None:
        return replace(below.over(step), netted=below.can_net)
    return counted(node, "keep", (below,), node.schema, context)


def counted(
    node: lg.Logical, rule: str, sides: Sequence[Moving], fields: Sequence[lg.Field],
    context: LowerContext,
) -> Moving:
    """The rows of one or two relations of equal columns, counted by a rule of ``stdlib/timelines/counts.py``."""
    steps, values = zip(*(
        packed(node, side, fields, [quote(n) for n in side.names], "0L", context, side=f"{number}L")
        for number, side in enumerate(sides)
    ), strict=True)
    step = steps[0] if len(steps) == 1 else ph.UnionAll(
        steps, id=context.step_id(node, "sides"), origin=node.origin
    )
    kinds = tuple(v.kind for v in values[0])
    found = stateful(node, step, "counts", (("rule", rule),), kinds, values[0], context, by="row")
    return replace(found, netted=frozenset(found.names))


def sql_over(expr: Expr, below: Moving, node: lg.Logical) -> str:
    """An expression over the columns of changes; refuses the bounds of a window, which these rows do not have."""
    refuse_bounds(expr, node)
    return to_sql(expr, below.columns)


def refuse_bounds(expr: Expr, node: lg.Logical) -> None:
    """Refuses the bounds of a window in an expression over changes."""
    schema = tuple(f for i in node.inputs for f in i.schema)
    for part in walk_expr(expr):
        if is_window_field(part, schema):
            raise refuse(
                "the bounds of a window cannot be read where relations of different windows meet",
                part.origin, "select WINDOW_START and WINDOW_END in the view that has the window",
            )


def hash_of(texts: Sequence[str]) -> str:
    """SQL of one number for the values; the same number where there are none."""
    if len(texts) < 2:
        return f"xxhash64({texts[0]})" if texts else "0L"
    # Spark's hash leaves NULLs out, so that it would not see which of the values is one.
    nulls = " + ".join(f"IF({text} IS NULL, {1 << i}L, 0L)" for i, text in enumerate(texts[:62]))
    return f"xxhash64({', '.join(texts)}, {nulls})"
