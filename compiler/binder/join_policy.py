"""SHED JOIN: there is a join of two windows to shed, nothing asks for what nobody could tell, and what rows are worth."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.analysis.window_joins import is_windowed, length_us
from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.binder.expressions import ExpressionBinder
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.binder.worth import is_worth
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import Expr
from streamq.compiler.ir.goals import LEFT, RIGHT
from streamq.compiler.ir.rewrite import measures_of, walk
from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.dsl.records import replace
from streamq.stdlib.joins.kinds import MOST, USUAL


def sheds_join(policies: tuple[ast.Policy, ...]) -> ast.ShedJoin | None:
    """SHED JOIN of a query, if it is there."""
    methods = (p.method for p in policies if isinstance(p, ast.Shed))
    return next((m for m in methods if isinstance(m, ast.ShedJoin)), None)


def check_join(
    policies: tuple[ast.Policy, ...], root: lg.Logical, context: BindContext, functions: Mapping[str, lg.FunctionDecl]
) -> tuple[tuple[str, Expr], ...]:
    """Reports a query that has no such join, or more than one; basic windows that are too short; measures of results.

    Gives what rows of the inputs of the join are worth, under ``LEFT`` and ``RIGHT``, where it is said.
    """
    method = sheds_join(policies)
    if method is None or not _in_range(method):
        return ()
    node = next((n for n in walk(root) if isinstance(n, lg.Join) and is_windowed(n)), None)
    if node is None:
        context.error(
            "SQ0602", "SHED JOIN in a query without an inner join of two streams, each in a window of time", method.span,
            help="write FROM a [RANGE 20 SECONDS] JOIN b [RANGE 20 SECONDS] ON …, or use SHED RANDOM",
        )
        return ()
    joins = _joins_of_streams(root, {})
    if joins > 1:
        context.refusals.append(Diagnostic(
            code="SQ0601", message=f"SHED JOIN in a query with {joins} joins of streams cannot be run yet", span=method.span,
            label="it would not be known which of them takes the time", help="make a query of each, with a sink between them",
        ))
    longest = max(length_us(i.window) for i in node.inputs) / 1000
    if method.basic_window is not None and longest > MOST * method.basic_window.ms:
        context.error(
            "SQ0603", f"a window of {show_ms(round(longest))} has more than {MOST:,} basic windows of "
            f"{show_ms(method.basic_window.ms)}", method.basic_window.span,
            help=f"choose longer ones, of {show_ms(round(longest / USUAL))} for example",
        )
    measure = next((m for n in walk(root) for m in measures_of(n)), None)
    if measure is not None:
        context.refusals.append(Diagnostic(
            code="SQ0601", message=f"{measure.function}() of a query with SHED JOIN cannot be run yet", span=measure.origin,
            label="how many pairs were not looked for is not known row by row", help="the report of a run tells how much was compared",
        ))
    items = (i for p in policies if isinstance(p, ast.Qos) for i in p.items)
    utility = next((i for i in items if isinstance(i, ast.QosUtility)), None)
    return () if utility is None else _utilities(utility, node, context, functions)


def _joins_of_streams(node: lg.Logical, memo: dict[int, int]) -> int:
    """How many there are, those of a view as often as it is read."""
    if id(node) not in memo:
        here = isinstance(node, lg.Join) and all(i.change is not lg.Change.STATIC for i in node.inputs)
        memo[id(node)] = here + sum(_joins_of_streams(i, memo) for i in node.inputs)
    return memo[id(node)]


def _in_range(method: ast.ShedJoin) -> bool:
    """False where its numbers are out of range, which was told."""
    long = method.basic_window is None or method.basic_window.ms > 0
    return long and (method.sample is None or 0 <= method.sample <= 1)


def _utilities(
    item: ast.QosUtility, node: lg.Join, context: BindContext, functions: Mapping[str, lg.FunctionDecl]
) -> tuple[tuple[str, Expr], ...]:
    """What a row of each input is worth, of those of which it is said; reports what is said of none.

    ``GREATEST(x, y)`` says the one of an input and the other of another one, as a pair is worth the larger of its rows'.
    """
    sides = [_scope(side) for side in node.inputs]
    given: tuple[ast.Expr, ...] = (item.utility,)
    if isinstance(item.utility, ast.Call) and item.utility.name.text.upper() == "GREATEST":
        given = item.utility.args
    of_side = [[part for part in given if _binds(part, scope, context, functions)] for scope in sides]
    if not all(any(part in parts for parts in of_side) for part in given):
        both = Scope(tuple(entry for scope in sides for entry in scope.entries))
        if not is_unknown(ExpressionBinder(both, context, functions).bind(item.utility)):
            context.error(
                "SQ0602", "this UTILITY needs the columns of both rows of a pair at once", item.utility.span,
                help="say what a row of one stream is worth, or GREATEST(of the one, of the other)",
            )
        return ()
    found: list[tuple[str, Expr]] = []
    for name, scope, parts in zip((LEFT, RIGHT), sides, of_side, strict=True):
        if not parts:
            continue
        whole = parts[0]
        if len(parts) > 1:
            assert isinstance(item.utility, ast.Call)
            whole = replace(item.utility, args=tuple(parts))
        bound = ExpressionBinder(scope, context, functions).bind(whole)
        if not is_worth(bound, item, context):
            return ()
        found.append((name, bound))
    return tuple(found)


def _scope(side: lg.Logical) -> Scope:
    """The columns of an input of a join, which are called by the name of their FROM item and their own."""
    entries: dict[str, list[tuple[str, lg.Field]]] = {}
    for field in side.schema:
        alias, dot, column = field.name.partition(".")
        entries.setdefault(alias if dot else "", []).append((column if dot else field.name, field))
    return Scope(tuple(Entry(alias, tuple(columns)) for alias, columns in entries.items()))


def _binds(part: ast.Expr, scope: Scope, context: BindContext, functions: Mapping[str, lg.FunctionDecl]) -> bool:
    """Whether it can be told of the rows of an input; nothing is reported."""
    quiet = BindContext(DiagnosticSink())
    bound = ExpressionBinder(scope, quiet, functions).bind(part)
    context.used |= quiet.used
    return not quiet.errors and not is_unknown(bound)
