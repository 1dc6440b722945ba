"""Function calls: scalar functions, aggregates, quality functions and the program's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamq.compiler.binder.arguments import bound_filter, coerced, has_aggregate, matched
from streamq.compiler.binder.context import UNKNOWN, is_unknown, unknown
from streamq.compiler.binder.sketches import bind_sketch
from streamq.compiler.ir import expr as ir
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.logical import FunctionDecl
from streamq.dsl import ast
from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.source import Span
from streamq.dsl.types import converts_silently, with_article
from streamq.stdlib.functions import FUNCTIONS, lookup
from streamq.stdlib.registry import FunctionSpec, Kind
from streamq.stdlib.signatures import Signature

if TYPE_CHECKING:
    from streamq.compiler.binder.expressions import ExpressionBinder
    from streamq.compiler.binder.scope import Scope

_HOPS = "[RANGE 10 MINUTES SLIDE 1 MINUTE]"
_AS_WINDOWS = {
    "TUMBLE": "[TUMBLE 1 MINUTE]",
    "WINDOW": "[TUMBLE 1 MINUTE]",
    "HOP": _HOPS,
    "SLIDE": _HOPS,
    "SESSION": "[SESSION 5 MINUTES]",
    "SESSION_WINDOW": "[SESSION 5 MINUTES]",
}


def bind_call(binder: ExpressionBinder, node: ast.Call) -> Expr:
    """The typed call; unknown names get a suggestion, wrong arguments the signature."""
    own = binder.functions.get(node.name.text.casefold())
    if own is not None:
        binder.context.used.add(("function", node.name.text.casefold()))
        return _bind_own(binder, node, own)
    spec = lookup(node.name.text)
    if spec is None:
        known = [*FUNCTIONS, *(f.name for f in binder.functions.values())]
        for arg in node.args:
            binder.bind(arg)
        return binder.context.error(
            "SQ0204", f"unknown function `{node.name.text}`", node.name.span, label="not found",
            help=_window_help(node.name.text, binder.scope) or did_you_mean(node.name.text, known),
        )
    if spec.kind not in (Kind.AGGREGATE, Kind.SKETCH) and (node.star or node.distinct or node.filter is not None):
        what = "*" if node.star else "DISTINCT" if node.distinct else "FILTER"
        return binder.context.error(
            "SQ0302", f"{spec.name} is not an aggregate, so {what} has no meaning in it", node.span
        )
    if spec.kind is Kind.SKETCH:
        return bind_sketch(binder, node, spec)
    if node.approx is not None:
        return binder.context.error(
            "SQ0302", f"{spec.name} is no estimate from a sketch, so it has no error or memory", node.approx.span,
            help="leave it out",
        )
    args = tuple(binder.bind(arg) for arg in node.args)
    if is_unknown(*args):
        return ir.Literal(value=None, type=UNKNOWN, origin=node.span)
    if spec.kind is Kind.AGGREGATE:
        return _bind_aggregate(binder, node, spec, args)
    found = matched(binder, node, spec, args)
    if found is None:
        return unknown(node.span)
    if spec.kind is Kind.QUALITY:
        return ir.Quality(function=spec.name, type=found.result, nullable=False,
                          origin=node.span)
    return scalar_call(binder, found, args, node.span)


def _window_help(name: str, scope: Scope) -> str:
    """The window behind a stream that is meant by a function of that name in other languages; empty where none is."""
    window = _AS_WINDOWS.get(name.upper().removesuffix("_START").removesuffix("_END"))
    if window is None:
        return ""
    # Where the span of an input is just its name, that name is no alias.
    names = [e.alias for e in scope.entries if e.span.end - e.span.start == len(e.alias)]
    stream = names[0] if len(names) == 1 else "stream"
    return f"a window stands behind the stream: `{stream} {window}`; its columns are WINDOW_START and WINDOW_END"


def scalar_call(
    binder: ExpressionBinder, found: Signature, args: tuple[Expr, ...], span: Span
) -> Expr:
    """The call that matched, its arguments brought to the types of the parameters."""
    return ir.Call(
        function=found.spec.name, args=coerced(binder, args, found), spec=found.spec, type=found.result,
        nullable=_nullable(found.spec, args), origin=span,
    )


def _nullable(spec: FunctionSpec, args: tuple[Expr, ...]) -> bool:
    """COALESCE is not NULL where one argument is not; other functions may give NULL."""
    return not (spec.name == "COALESCE" and any(not a.nullable for a in args))


def _bind_aggregate(
    binder: ExpressionBinder, node: ast.Call, spec: FunctionSpec, args: tuple[Expr, ...]
) -> Expr:
    if node.star and spec.name != "COUNT":
        return binder.context.error("SQ0302", f"only COUNT takes `*`, not {spec.name}", node.span)
    if has_aggregate(binder, args, spec.name):
        return unknown(node.span)
    condition = bound_filter(binder, node)
    if condition is not None and is_unknown(condition):
        return condition
    if not (args or node.star) and spec.name == "COUNT":
        return binder.context.error(
            "SQ0302", "COUNT needs an argument", node.span, help="COUNT(*) counts the rows",
        )
    found = matched(binder, node, spec, args)
    if found is None:
        return unknown(node.span)
    nullable = spec.name not in ir.COUNTS
    return ir.AggCall(
        function=spec.name, args=coerced(binder, args, found), spec=found.spec, distinct=node.distinct,
        filter=condition, type=found.result, nullable=nullable, origin=node.span,
    )


def _bind_own(binder: ExpressionBinder, node: ast.Call, own: FunctionDecl) -> Expr:
    args = tuple(binder.bind(arg) for arg in node.args)
    shape = f"{own.name}({', '.join(str(t) for _, t in own.parameters)})"
    if node.star or node.distinct or node.filter is not None or node.approx is not None or len(args) != len(own.parameters):
        return binder.context.error(
            "SQ0302", f"{own.name} takes {len(own.parameters)} arguments", node.span,
            help=f"it is used as {shape}",
        )
    for arg, (name, type_) in zip(args, own.parameters, strict=True):
        if not is_unknown(arg) and not converts_silently(arg.type, type_):
            return binder.context.error(
                "SQ0302", f"`{name}` of {own.name} is {with_article(type_)}, not {with_article(arg.type)}", arg.origin,
                help=f"it is used as {shape}",
            )
    if is_unknown(*args):
        return ir.Literal(value=None, type=UNKNOWN, origin=node.span)
    brought = tuple(
        binder.coerce(a, t) for a, (_, t) in zip(args, own.parameters, strict=True)
    )
    return ir.Udf(function=own.name, args=brought, type=own.returns, origin=node.span)
