"""What a legal logical plan is, checked after every pass in tests and under ``--verify``."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Column, Expr
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.rewrite import exprs_of, is_window_field, walk
from streamq.dsl.diagnostics import InternalError
from streamq.dsl.types import BOOLEAN


def verify(plan: lg.LogicalPlan, stage: str) -> None:
    """Raises ``InternalError`` with the stage and operator where an invariant is broken."""
    for query in plan.queries:
        for node in walk(query.root):
            _check_columns(node, stage)
            _check_shape(node, stage)


def _fail(node: lg.Logical, stage: str, what: str) -> InternalError:
    name = type(node).__name__
    return InternalError(f"after {stage}: {name} of `{node.owner}` {what}; please report this")


def _check_columns(node: lg.Logical, stage: str) -> None:
    schema = tuple(f for i in node.inputs for f in i.schema)
    names = [f.name for f in schema]
    if len(set(names)) != len(names) and not isinstance(node, lg.Union | lg.Compare):
        raise _fail(node, stage, f"reads two columns of one name: {names}")
    types = {f.name: f.type for f in schema}
    for expr in exprs_of(node):
        for part in walk_expr(expr):
            if isinstance(part, Column) and not is_window_field(part, schema):
                if part.name not in types:
                    raise _fail(node, stage, f"reads `{part.name}`, its input has {names}")
                if types[part.name] != part.type:
                    raise _fail(node, stage, f"reads `{part.name}` as {part.type}")
            if is_window_field(part, schema) and all(n.window is None for n in walk(node)):
                raise _fail(node, stage, "reads window bounds without a window")


def _check_shape(node: lg.Logical, stage: str) -> None:
    match node:
        case lg.Filter():
            _single_rows(node, stage)
            _boolean(node, node.predicate, stage)
        case lg.Join() if node.condition is not None:
            _single_rows(node, stage)
            _boolean(node, node.condition, stage)
        case lg.Union() | lg.Compare():
            shapes = {tuple((f.name, f.type) for f in b.schema) for b in node.inputs}
            if len(shapes) != 1:
                raise _fail(node, stage, f"unites different shapes: {shapes}")
        case lg.Watermark():
            if node.input.field(node.column) is None:
                raise _fail(node, stage, f"stamps by `{node.column}`, which is not there")
        case lg.Project() | lg.Sort():
            _single_rows(node, stage)
        case _:
            pass


def _single_rows(node: lg.Logical, stage: str) -> None:
    if any(isinstance(part, AggCall) for expr in exprs_of(node) for part in walk_expr(expr)):
        raise _fail(node, stage, "holds an aggregate")


def _boolean(node: lg.Logical, expr: Expr, stage: str) -> None:
    if expr.type != BOOLEAN:
        raise _fail(node, stage, f"tests a {expr.type}")
