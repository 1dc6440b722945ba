"""Rebuilding logical plans: the one place that knows which fields hold inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import (
    WINDOW_FIELDS,
    AggCall,
    Column,
    Expr,
    Quality,
    columns_of,
    transform,
)
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.records import replace
from streamq.dsl.source import Span


def with_inputs(node: lg.Logical, inputs: tuple[lg.Logical, ...]) -> lg.Logical:
    """The same operator over other inputs; the node itself where nothing changed."""
    if all(a is b for a, b in zip(node.inputs, inputs, strict=True)):
        return node
    match node:
        case lg.Join() | lg.Compare():
            return replace(node, left=inputs[0], right=inputs[1])
        case lg.Union():
            return replace(node, branches=inputs)
        case (
            lg.Watermark() | lg.Filter() | lg.Project() | lg.Shed() | lg.Window()
            | lg.Aggregate() | lg.Distinct() | lg.Sort() | lg.ToStream()
        ):
            return replace(node, input=inputs[0])
        case _:
            raise TypeError(f"{type(node).__name__} has no inputs to replace")


def rewrite_up(
    node: lg.Logical, rule: Callable[[lg.Logical], lg.Logical | None],
    memo: dict[int, lg.Logical] | None = None,
) -> lg.Logical:
    """Applies the rule to every operator, inputs first. Shared nodes stay shared."""
    memo = {} if memo is None else memo
    done = memo.get(id(node))
    if done is None:
        inputs = tuple(rewrite_up(i, rule, memo) for i in node.inputs)
        rebuilt = with_inputs(node, inputs)
        done = memo[id(node)] = rule(rebuilt) or rebuilt
    return done


def walk(node: lg.Logical) -> Iterator[lg.Logical]:
    """Every operator once, inputs first, left to right."""
    seen: set[int] = set()
    stack: list[tuple[lg.Logical, bool]] = [(node, False)]
    while stack:
        top, done = stack.pop()
        if done:
            yield top
        elif id(top) not in seen:
            seen.add(id(top))
            stack.append((top, True))
            stack.extend((below, False) for below in reversed(top.inputs))


def stream_of(node: lg.Logical) -> str | None:
    """The stream that is whole at this operator: scanned, its columns computed, its rows stamped."""
    match node:
        case lg.Watermark():
            return stream_of(node.input)
        case lg.Project(input=lg.Scan() as scan):
            # The columns that a stream computes come from its declaration, as the scan does.
            declared = (node.owner, node.origin) == (scan.owner, scan.origin)
            return stream_of(scan) if declared else None
        case lg.Scan():
            return None if node.source.is_table else node.source.name
        case _:
            return None


MAX_OPERATORS = 20_000
"""Operators of one query, shared ones counted wherever they are read."""

MAX_LEVELS = 250
"""Operators above one another; what runs a plan recurses into it too."""


def check_size(root: lg.Logical, span: Span) -> None:
    """Raises ``Abort`` for a query that no machine could run, before anything recurses into it."""
    sizes: dict[int, tuple[int, int]] = {}
    for node in walk(root):
        below = [sizes[id(i)] for i in node.inputs]
        operators = 1 + sum(n for n, _ in below)
        levels = 1 + max((n for _, n in below), default=0)
        if operators > MAX_OPERATORS or levels > MAX_LEVELS:
            raise Abort(Diagnostic(
                code="SQ0108", span=span, help="split it into queries that pass rows through sinks",
                message=f"query is too large: more than {MAX_OPERATORS:,} operators, or "
                f"{MAX_LEVELS:,} above one another",
            ))
        sizes[id(node)] = operators, levels


def exprs_of(node: lg.Logical) -> tuple[Expr, ...]:
    """The expressions that an operator evaluates over its input."""
    match node:
        case lg.Filter():
            return (node.predicate,)
        case lg.Project():
            return tuple(e for _, e in node.items)
        case lg.Aggregate():
            return (*(e for _, e in node.keys), *(e for _, e in node.aggregates))
        case lg.Sort():
            return tuple(i.expr for i in node.order)
        case lg.Join():
            return () if node.condition is None else (node.condition,)
        case (
            lg.Scan() | lg.Watermark() | lg.Shed() | lg.Window() | lg.Distinct() | lg.Union()
            | lg.Compare() | lg.ToStream()
        ):
            return ()
        case _:
            raise TypeError(f"not an operator: {type(node).__name__}")


def measures_of(node: lg.Logical) -> Iterator[Quality]:
    """What the operator asks of its input's rows: COMPLETENESS() and the like."""
    return (part for expr in exprs_of(node) for part in walk_expr(expr) if isinstance(part, Quality))


def map_exprs(node: lg.Logical, change: Callable[[Expr], Expr]) -> lg.Logical:
    """The operator with each of the expressions that it evaluates replaced by one of the same type."""
    match node:
        case lg.Filter():
            return replace(node, predicate=change(node.predicate))
        case lg.Project():
            return replace(node, items=tuple((n, change(e)) for n, e in node.items))
        case lg.Aggregate():
            keys = tuple((n, change(e)) for n, e in node.keys)
            aggregates: list[tuple[str, AggCall]] = []
            for name, made in node.aggregates:
                changed = change(made)
                assert isinstance(changed, AggCall)
                aggregates.append((name, changed))
            return replace(node, keys=keys, aggregates=tuple(aggregates))
        case lg.Sort():
            return replace(node, order=tuple(replace(i, expr=change(i.expr)) for i in node.order))
        case lg.Join() if node.condition is not None:
            return replace(node, condition=change(node.condition))
        case _:
            assert not exprs_of(node), f"expressions of {type(node).__name__}"
            return node


def substitute(expr: Expr, items: dict[str, Expr]) -> Expr:
    """The expression with columns replaced by what they stand for below, at the same places."""

    def put(e: Expr) -> Expr | None:
        item = items.get(e.name) if isinstance(e, Column) else None
        return item if item is None or item.origin == e.origin else replace(item, origin=e.origin)

    return transform(expr, put)


def is_window_field(expr: Expr, schema: tuple[lg.Field, ...]) -> bool:
    """True for a pseudo-column of the window, False where a real column has its name."""
    return (
        isinstance(expr, Column)
        and expr.name in WINDOW_FIELDS
        and not any(f.name == expr.name for f in schema)
    )


def ranked_by(node: lg.Shed) -> frozenset[str]:
    """The columns that say what a row is worth, in which region it lies, how old it is, or in which window."""
    if node.sift is not None:
        return frozenset(node.sift.attributes)
    if node.rank is None and node.window_ms is None:
        return frozenset()
    if node.rank is not None and node.rank.utility is not None:
        return columns_of(node.rank.utility)
    return frozenset({node.time})
