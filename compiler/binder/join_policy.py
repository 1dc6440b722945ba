"""SHED JOIN: there is a join of two windows to shed, nothing asks for what nobody could tell, and what rows are worth."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.analysis.window_joins import is_windowed, length_us
from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.rewrite import measures_of, walk
from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.stdlib.joins.kinds import MOST


def sheds_join(policies: tuple[ast.Policy, ...]) -> ast.ShedJoin | None:
    """SHED JOIN of a query, if it is there."""
    methods = (p.method for p in policies if isinstance(p, ast.Shed))
    return next((m for m in methods if isinstance(m, ast.ShedJoin)), None)


def check_join(policies: tuple[ast.Policy, ...], root: lg.Logical, context: BindContext) -> None:
    """Reports a query that has no such join, or more than one; basic windows that are too short; measures of results."""
    method = sheds_join(policies)
    if method is None or not _in_range(method):
        return
    joins = [n for n in walk(root) if isinstance(n, lg.Join) and is_windowed(n)]
    if not joins:
        context.error(
            "SQ0602", "SHED JOIN in a query without a join of two streams, each in a window of time", method.span,
            help="write FROM a [RANGE 20 SECONDS] JOIN b [RANGE 20 SECONDS] ON …, or use SHED RANDOM",
        )
        return
    of_streams = [
        n for n in walk(root) if isinstance(n, lg.Join) and all(i.change is not lg.Change.STATIC for i in n.inputs)
    ]
    if len(of_streams) > 1:
        context.refusals.append(Diagnostic(
            code="SQ0601", message=f"SHED JOIN in a query with {len(of_streams)} joins of streams cannot be run yet", span=method.span,
            label="it would not be known which of them takes the time", help="make a query of each, with a sink between them",
        ))
    longest = max(length_us(i.window) for i in joins[0].inputs) / 1000
    if method.basic_window is not None and longest > MOST * method.basic_window.ms:
        context.error(
            "SQ0603", f"a window of {show_ms(round(longest))} has more than {MOST:,} basic windows of "
            f"{show_ms(method.basic_window.ms)}", method.basic_window.span,
            help=f"choose longer ones, of {show_ms(round(longest / 20))} for example",
        )
    measure = next((m for n in walk(root) for m in measures_of(n)), None)
    if measure is not None:
        context.refusals.append(Diagnostic(
            code="SQ0601", message=f"{measure.function}() of a query with SHED JOIN cannot be run yet", span=measure.origin,
            label="how many pairs were not looked for is not known row by row", help="the report of a run tells how much was compared",
        ))


def _in_range(method: ast.ShedJoin) -> bool:
    """False where its numbers are out of range, which was told."""
    long = method.basic_window is None or method.basic_window.ms > 0
    return long and (method.sample is None or 0 <= method.sample <= 1)


def join_utilities(
    item: ast.QosUtility, streams: tuple[tuple[str, tuple[lg.Field, ...]], ...], context: BindContext,
    functions: Mapping[str, lg.FunctionDecl],
) -> list[tuple[str, Expr]]:
    """What a row of each stream is worth, of those of which it is said; reports what is said of none.

    ``GREATEST(x, y)`` says the one of a stream and the other of another one, as a pair is worth the larger of its rows'.
    """
    parts: tuple[ast.Expr, ...] = (item.utility,)
    found = _each(parts, streams, functions, context)
    if found is None and isinstance(item.utility, ast.Call) and item.utility.name.text.upper() == "GREATEST":
        parts = item.utility.args
        found = _each(parts, streams, functions, context)
    if found is not None:
        return found
    scope = Scope(tuple(Entry(name, tuple((f.name, f) for f in fields)) for name, fields in streams))
    if not is_unknown(ExpressionBinder(scope, context, functions).bind(item.utility)):
        context.error(
            "SQ0602", "this UTILITY needs the columns of both rows of a pair at once", item.utility.span,
            help="say what a row of one stream is worth, or GREATEST(of the one, of the other)",
        )
    return []


def _each(
    parts: tuple[ast.Expr, ...], streams: tuple[tuple[str, tuple[lg.Field, ...]], ...],
    functions: Mapping[str, lg.FunctionDecl], context: BindContext,
) -> list[tuple[str, Expr]] | None:
    """Each stream with the first part that can be told of its rows; None where a part can be told of no stream."""
    found: dict[str, Expr] = {}
    for part in parts:
        told = False
        for name, fields in streams:
            quiet = BindContext(DiagnosticSink())
            bound = ExpressionBinder(Scope((Entry(name, tuple((f.name, f) for f in fields)),)), quiet, functions).bind(part)
            if not quiet.errors and not is_unknown(bound):
                found.setdefault(name, bound)
                context.used |= quiet.used
                told = True
        if not told:
            return None
    return list(found.items())
