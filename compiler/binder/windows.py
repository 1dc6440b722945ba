"""Windows of FROM items: what they may stand on, and their parameters."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext, is_unknown
from streamq.compiler.binder.scope import Entry, Scope
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.types import TIMESTAMP

MAX_MS = 1000 * 365 * 24 * 3600 * 1000
"""A thousand years: beyond that Spark's timestamps overflow."""


def bind_window(
    plan: lg.Logical, window: ast.Window, name: str, context: BindContext, owner: str
) -> lg.Logical:
    """The stream under its window; raises ``Abort`` where a window has no meaning."""
    _check_input(plan, window, name)
    spec = window_spec(plan, window, name, context)
    return lg.Window(plan, spec, owner=owner, origin=window.span)


def _check_input(plan: lg.Logical, window: ast.Window, name: str) -> None:
    if plan.change is lg.Change.STATIC:
        raise _abort(
            "SQ0401", f"`{name}` is a table, a window has no meaning on it", window,
            "remove the window: a table is a relation already",
        )
    if plan.change is not lg.Change.APPEND or isinstance(plan.window, lg.Unbounded):
        raise _abort(
            "SQ0401", f"`{name}` is a relation, a window needs a stream", window,
            f"make it a stream where `{name}` is defined: RSTREAM(…) for one result per window, "
            "ISTREAM(…) for the rows that appear",
        )
    unbounded = isinstance(window, ast.RangeWindow) and window.range is None
    if plan.event_time is None and not unbounded and not _is_result(plan):
        time = next((f.name for f in plan.schema if f.type == TIMESTAMP), "ts")
        raise _abort(
            "SQ0402", f"`{name}` has no event time, so the window never closes", window,
            f"declare it on the stream: WATERMARK FOR {time} AS {time} - INTERVAL 5 SECONDS, and select "
            "that column in every view between",
        )


def _is_result(plan: lg.Logical) -> bool:
    """True for the rows of ISTREAM, DSTREAM or RSTREAM, which are stamped with their instant."""
    while isinstance(plan, lg.Project | lg.Filter):
        plan = plan.input
    return isinstance(plan, lg.ToStream)


def window_spec(
    plan: lg.Logical, window: ast.Window, name: str, context: BindContext
) -> lg.WindowSpec:
    """The window as the plan knows it; bad sizes are reported."""
    match window:
        case ast.NowWindow():
            return lg.Now()
        case ast.RangeWindow(range=None, slide=None):
            return lg.Unbounded()
        case ast.RangeWindow(range=None):
            raise _abort("SQ0405", "an unbounded window cannot slide", window, "remove SLIDE")
        case ast.RangeWindow(range=ast.Duration() as length, slide=None):
            return lg.TimeRange(_positive(length, "the length of a window"))
        case ast.RangeWindow(range=ast.Duration() as length, slide=ast.Duration() as step):
            return _sliding(length, step)
        case ast.SessionWindow():
            gap = _positive(window.gap, "the gap of a session")
            return lg.Session(gap, _partition(plan, window.partition, name, context))
        case ast.RowsWindow():
            if window.rows < 1 or (window.slide is not None and window.slide < 1):
                raise _abort("SQ0405", "ROWS needs at least one row", window,
                             "write it like [ROWS 10]")
            length_ms = None
            if window.range is not None:
                length_ms = _positive(window.range, "the length of a window")
            by = _partition(plan, window.partition, name, context)
            return lg.LastRows(window.rows, window.slide, by, length_ms)
        case _:
            raise TypeError(f"not a window: {type(window).__name__}")


def _sliding(length: ast.Duration, step: ast.Duration) -> lg.Sliding:
    range_ms = _positive(length, "the length of a window")
    slide_ms = _positive(step, "the slide of a window")
    if slide_ms > range_ms:
        raise _abort(
            "SQ0405", "SLIDE is longer than RANGE, so rows between the windows would be lost", step,
            "make RANGE at least as long as SLIDE",
        )
    if range_ms // slide_ms > 10_000:
        raise _abort(
            "SQ0405", f"every row would be in {range_ms // slide_ms:,} windows", step,
            "choose a longer SLIDE",
        )
    return lg.Sliding(range_ms, slide_ms)


def _positive(length: ast.Duration, what: str) -> int:
    if not 0 < length.ms <= MAX_MS:
        raise _abort("SQ0405", f"{what} must be more than nothing and at most 1,000 years",
                     length, "write it like 10 SECONDS or 1 HOUR")
    return length.ms


def _partition(
    plan: lg.Logical, names: tuple[ast.Name, ...], alias: str, context: BindContext
) -> tuple[str, ...]:
    scope = Scope((Entry(alias, tuple((f.name, f) for f in plan.schema)),))
    bound = [scope.resolve(n, context) for n in names]
    columns: list[str] = []
    for node, expr in zip(names, bound, strict=True):
        if is_unknown(expr):
            continue
        if not isinstance(expr, Column):
            raise _abort("SQ0405", "PARTITION BY takes columns of the stream", node,
                         "compute the column in a view first")
        columns.append(expr.name)
    return tuple(columns)


def _abort(code: str, message: str, node: ast.Node, help_: str) -> Abort:
    return Abort(Diagnostic(code=code, message=message, span=node.span, help=help_))
