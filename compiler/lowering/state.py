"""What lowering carries along: the physical step so far and what is known about its rows."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.lowering.sql import SESSION, WINDOW, interval, quote
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.source import Span


@dataclass(frozen=True, slots=True)
class Stamp:
    """One stream among the rows: its event-time column and how long a row stays (None: forever)."""

    column: str
    range_ms: int | None


@dataclass(frozen=True, slots=True)
class Lowered:
    """A step, its visible columns, whether it has the window column, and its streams' stamps.

    ``session``: the session window that the aggregate above must make, with its event-time column.
    ``times``: the columns that carry Spark's watermark, the window column among them.
    ``closed``: what the rows are, where Spark cannot group them again. ``sessions``: they are results of sessions,
    with Spark's own window in ``SESSION``.
    """

    step: ph.Step
    names: tuple[str, ...]
    window: bool = False
    stamps: tuple[Stamp, ...] = ()
    session: tuple[lg.Session, str] | None = None
    times: frozenset[str] = frozenset()
    closed: str = ""
    sessions: bool = False

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.names)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The columns of the window, which no query sees."""
        window = (WINDOW,) if self.window else ()
        return (*window, SESSION) if self.sessions else window

    def passed(self, names: tuple[str, ...]) -> tuple[ph.Named, ...]:
        """The columns as they are, those of the window included."""
        return tuple((n, quote(n)) for n in (*names, *self.hidden))

    def over(self, step: ph.Step, names: tuple[str, ...] | None = None) -> Lowered:
        """The same facts about a step above."""
        return replace(self, step=step, names=self.names if names is None else names)


@dataclass
class LowerContext:
    """One query's lowering: its name, ids already used, and what it found out on the way.

    ``lone``: the query reads one source, once. ``asks_control``: an expression of it does, for what only the control relation
    can tell.
    """

    query: str
    lone: bool = False
    asks_control: bool = False
    used: dict[str, int] = field(default_factory=dict)
    controls: dict[str, ph.ControlRelation] = field(default_factory=dict)
    warnings: list[Diagnostic] = field(default_factory=list)

    def step_id(self, node: lg.Logical, kind: str) -> str:
        """``owner.kind``, numbered where it stands more than once."""
        base = f"{node.owner or self.query}.{kind}"
        n = self.used[base] = self.used.get(base, 0) + 1
        return base if n == 1 else f"{base}_{n}"


def refuse(
    message: str, span: Span, help: str = "", *, code: str = "SQ0501", notes: tuple[str, ...] = ()
) -> Abort:
    """A construct that has a meaning but no lowering."""
    return Abort(Diagnostic(code=code, message=message, span=span, help=help, notes=notes))


def bare(time: str) -> str:
    """A time without Spark's watermark on it: adding nothing takes it off."""
    return f"{time} + {interval(0)}"


def time_of(plan: lg.Logical, lowered: Lowered) -> str:
    """SQL of an event time of the rows; empty where nothing below waits for a watermark."""
    if not any(isinstance(node, lg.Watermark) for node in walk(plan)):
        return ""
    columns = lowered.columns
    if plan.event_time is not None and plan.event_time in columns:
        return quote(plan.event_time)
    if lowered.window:
        return f"{quote(WINDOW)}.start"
    stamps = (stamp.column for stamp in lowered.stamps)
    known = next((c for c in (*stamps, *sorted(lowered.times)) if c in columns), None)
    return "" if known is None else quote(known)


def one_time(below: Lowered, keep: str | None, node: lg.Logical, context: LowerContext) -> Lowered:
    """The rows with the watermark on one column, ``keep`` if it has one.

    Spark takes no second event time into an operator that keeps state.
    """
    if len(below.times) < 2:
        return below
    kept = keep if keep in below.times else min(below.times)
    items = tuple(
        (n, bare(s) if n in below.times and n != kept else s)
        for n, s in below.passed(below.names)
    )
    step = ph.Select(below.step, items, id=context.step_id(node, "times"), origin=node.origin)
    return replace(below.over(step), times=frozenset({kept}))


def refuse_raw_session(below: Lowered, span: Span) -> None:
    """Refuses the rows of a session window that nothing aggregates."""
    if below.session is not None:
        raise refuse("rows under a session window must be aggregated", span,
                     "add GROUP BY with the columns of PARTITION BY")


def refuse_closed(below: Lowered, what: str, node: lg.Logical) -> None:
    """Refuses what groups, above rows whose window Spark no longer takes for a window."""
    if below.closed:
        raise refuse(
            f"{what} over {below.closed} cannot be run yet", node.origin,
            "make them a stream with a window of its own, RSTREAM(…) [TUMBLE 1 HOUR]" if below.sessions
            else "send them to a sink, and read them as another stream",
        )
