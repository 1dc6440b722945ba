"""Logical operators: what a query means, before anything is said about how it runs.

A relation's window is an attribute of the relation: ``Window`` sets it, the operators above carry it, and
``ToStream`` ends it. Field names are flat and unique in a schema; below a join they are ``alias.column``.
"""

from __future__ import annotations

from enum import Enum
from functools import cached_property

from streamq.compiler.ir.edges import Channel
from streamq.compiler.ir.expr import AggCall, Column, Expr
from streamq.compiler.ir.goals import Goal, Rank, Selects, Sift
from streamq.compiler.ir.sketches import Remembers
from streamq.dsl.ast import R2S, JoinKind, Policy
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import NO_SPAN, Span
from streamq.dsl.types import BIGINT, DOUBLE, Type

OptionValue = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a schema."""

    name: str
    type: Type
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """Base of the windows."""


@dataclass(frozen=True, slots=True)
class Unbounded(WindowSpec):
    """All rows so far."""


@dataclass(frozen=True, slots=True)
class Now(WindowSpec):
    """Rows stamped t."""


@dataclass(frozen=True, slots=True)
class TimeRange(WindowSpec):
    """Rows stamped in (t - range, t]."""

    range_ms: int


@dataclass(frozen=True, slots=True)
class Sliding(WindowSpec):
    """At multiples t of the slide: rows stamped in [t - range, t). Tumbling where both are equal."""

    range_ms: int
    slide_ms: int


@dataclass(frozen=True, slots=True)
class Session(WindowSpec):
    """Rows of one run of gaps shorter than ``gap_ms``, per value of the partition columns."""

    gap_ms: int
    partition: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LastRows(WindowSpec):
    """The last ``rows`` rows (of each group), perhaps no older than ``range_ms``."""

    rows: int
    slide: int | None
    partition: tuple[str, ...]
    range_ms: int | None


class Change(Enum):
    """How a relation changes with time, which decides what an output of it can be."""

    STATIC = "does not change during the run"
    APPEND = "only ever gains rows"
    FINAL = "one final result per window"
    MOVING = "gains and loses rows at any instant"
    UPDATE = "rows of a key replace each other"


@dataclass(frozen=True, kw_only=True)
class SourceDecl:
    """A stream or table as the program declares it. ``fields`` are its physical columns.

    ``unlisted``: those that nobody declared, and ``*`` leaves out: what an edge says of the rows that it sends.
    ``stamped_by``: those that the event time is made of. ``path``: where the program says which files they are.
    """

    name: str
    is_table: bool
    fields: tuple[Field, ...]
    connector: str
    options: tuple[tuple[str, OptionValue], ...]
    event_time: str | None = None
    watermark_ms: int | None = None
    primary_key: tuple[str, ...] = ()
    policies: tuple[Policy, ...] = ()
    unlisted: tuple[str, ...] = ()
    stamped_by: tuple[str, ...] = ()
    channel: Channel | None = None
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)
    path: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Logical:
    """Base of the operators. ``owner`` is the query or view it was written in."""

    owner: str = field(default="", compare=False, repr=False)
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        """The visible columns, in order."""
        raise NotImplementedError

    @cached_property
    def window(self) -> WindowSpec | None:
        """The window the rows are under; None for tables and plain streams."""
        raise NotImplementedError

    @cached_property
    def change(self) -> Change:
        """How the relation changes with time."""
        raise NotImplementedError

    @cached_property
    def event_time(self) -> str | None:
        """The column that stamps the rows, if it is still there."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Logical, ...]:
        """The operators it reads from, left to right."""
        raise NotImplementedError

    def field(self, name: str) -> Field | None:
        return next((f for f in self.schema if f.name == name), None)


SIDE, LATER_SIDE = "__side", "__side_MAX"
"""Of rows that are compared: which side they are of, 0 or 1, and the last that has them."""

ROW = "__row"
"""The column with a number by which a row is told from all others of its source, whatever is in it."""


@dataclass(frozen=True)
class Scan(Logical):
    """At time t: all rows of a table, or all rows of a stream stamped up to t.

    ``rows``: they have the column ROW, for the shedder above, which only its lowering asks for.
    """

    source: SourceDecl
    rows: bool = False

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return (*self.source.fields, Field(ROW, BIGINT, False)) if self.rows else self.source.fields

    @cached_property
    def window(self) -> WindowSpec | None:
        return None

    @cached_property
    def change(self) -> Change:
        return Change.STATIC if self.source.is_table else Change.APPEND

    @cached_property
    def event_time(self) -> str | None:
        time = self.source.event_time
        return time if any(f.name == time for f in self.source.fields) else None

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return ()


@dataclass(frozen=True)
class _OneInput(Logical):
    """An operator over one relation that changes as that one does."""

    input: Logical

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.input.schema

    @cached_property
    def window(self) -> WindowSpec | None:
        return self.input.window

    @cached_property
    def change(self) -> Change:
        return self.input.change

    @cached_property
    def event_time(self) -> str | None:
        return self.input.event_time

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Watermark(_OneInput):
    """Rows stamped more than ``delay_ms`` before the latest row seen are late."""

    column: str
    delay_ms: int

    @cached_property
    def event_time(self) -> str | None:
        return self.column


@dataclass(frozen=True)
class Filter(_OneInput):
    """The rows for which the predicate is true."""

    predicate: Expr


@dataclass(frozen=True)
class Project(_OneInput):
    """One row per input row, with computed columns."""

    items: tuple[tuple[str, Expr], ...]

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return tuple(Field(name, e.type, e.nullable) for name, e in self.items)

    @cached_property
    def event_time(self) -> str | None:
        time = self.input.event_time
        named = (n for n, e in self.items if isinstance(e, Column) and e.name == time)
        return None if time is None else next(named, None)


@dataclass(frozen=True)
class Shed(_OneInput):
    """Some of the rows, as the policy of the query allows. ``keys``: the columns whose hash decides; none where it is
    that of the place of a row in its source, or where whole windows stay or go.

    ``whole_keys``: they are those of BY KEY, so that rows of different streams stay or go together. ``weight``: a
    column that says for how many rows each stands, if there is one. ``rank``: what goes first, where not all rows are
    alike; the hash decides among those. ``sift``: by regions of its attributes. ``window_ms``: the rows of a window of that length stay or go together.
    ``time``: the column with the event time, where it decides. ``whole``: the same rows with all their columns, where
    those that go are written down. ``spared``: no row goes, as those of another stream of the query do; they are counted.
    ``unread``: it stands over records as they come, before anybody looks into their values.
    """

    query: str
    keys: tuple[str, ...]
    goal: Goal
    whole_keys: bool = False
    weight: str = ""
    rank: Rank | None = None
    sift: Sift | None = None
    window_ms: int | None = None
    time: str = ""
    whole: Logical | None = field(default=None, compare=False, repr=False)
    spared: bool = False
    unread: bool = False

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        weight = (Field(self.weight, DOUBLE, False),) if self.weight else ()
        return (*self.input.schema, *weight)


@dataclass(frozen=True)
class Window(_OneInput):
    """The rows of a stream that the window holds at time t."""

    spec: WindowSpec

    @cached_property
    def window(self) -> WindowSpec | None:
        return self.spec

    @cached_property
    def change(self) -> Change:
        match self.spec:
            case Unbounded():
                return Change.APPEND
            case Sliding() | Session():
                return Change.FINAL
            case LastRows(rows=1, slide=None, range_ms=None):
                return Change.UPDATE
            case _:
                return Change.MOVING


@dataclass(frozen=True)
class Aggregate(_OneInput):
    """One row per group (and window); without keys one row per window, or one in all.

    ``spare``: aggregates that are kept whether they are read or not, so that policies may change while the state lives on.
    """

    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[tuple[str, AggCall], ...]
    spare: tuple[str, ...] = ()

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        named: tuple[tuple[str, Expr], ...] = (*self.keys, *self.aggregates)
        return tuple(Field(name, e.type, e.nullable) for name, e in named)

    @cached_property
    def change(self) -> Change:
        change = self.input.change
        return Change.UPDATE if change is Change.APPEND else change

    @cached_property
    def event_time(self) -> str | None:
        return None


@dataclass(frozen=True)
class Distinct(_OneInput):
    """Every row once (per window). ``approx``: as far as a filter remembers; the rows then come as a stream."""

    approx: Remembers | None = None

    @cached_property
    def window(self) -> WindowSpec | None:
        return self.input.window if self.approx is None else None

    @cached_property
    def change(self) -> Change:
        return self.input.change if self.approx is None else Change.APPEND

    @cached_property
    def event_time(self) -> str | None:
        return self.input.event_time if self.approx is None else None


@dataclass(frozen=True)
class SortItem:
    expr: Expr
    descending: bool
    nulls_first: bool


@dataclass(frozen=True)
class Sort(_OneInput):
    """The rows of each window in order, at most ``limit`` of them (None: all)."""

    order: tuple[SortItem, ...]
    limit: int | None


@dataclass(frozen=True)
class Join(Logical):
    """Pairs of rows, both in their windows at time t, that satisfy the condition.

    ``anti``: of an outer join only the rows without a counterpart are looked at, at every instant. ``selects``: each row is
    compared with a part of the other window only.
    """

    left: Logical
    right: Logical
    kind: JoinKind
    condition: Expr | None
    anti: bool = False
    selects: Selects | None = None

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        left_null = self.kind in (JoinKind.RIGHT, JoinKind.FULL)
        right_null = self.kind in (JoinKind.LEFT, JoinKind.FULL)
        left = (Field(f.name, f.type, f.nullable or left_null) for f in self.left.schema)
        right = (Field(f.name, f.type, f.nullable or right_null) for f in self.right.schema)
        return (*left, *right)

    @cached_property
    def window(self) -> WindowSpec | None:
        left, right = self.left.window, self.right.window
        framed = isinstance(left, Sliding | Session) or isinstance(right, Sliding | Session)
        static = Change.STATIC in (self.left.change, self.right.change)
        return None if framed and left != right and not static else left or right

    @cached_property
    def change(self) -> Change:
        left, right = self.left.change, self.right.change
        if left is Change.STATIC:
            return right
        if right is Change.STATIC:
            return left
        if left is right and left is Change.APPEND:
            inner = self.kind in (JoinKind.INNER, JoinKind.CROSS)
            return Change.APPEND if inner else Change.MOVING
        if left is right and left is Change.FINAL and self.left.window == self.right.window:
            return left
        return Change.UPDATE if Change.UPDATE in (left, right) else Change.MOVING

    @cached_property
    def event_time(self) -> str | None:
        if self.right.change is Change.STATIC and self.kind is not JoinKind.RIGHT:
            return self.left.event_time
        if self.left.change is Change.STATIC and self.kind is not JoinKind.LEFT:
            return self.right.event_time
        return None

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Union(Logical):
    """The rows of all inputs, duplicates kept."""

    branches: tuple[Logical, ...]

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        columns = zip(*(b.schema for b in self.branches), strict=True)
        return tuple(Field(c[0].name, c[0].type, any(f.nullable for f in c)) for c in columns)

    @cached_property
    def window(self) -> WindowSpec | None:
        first = self.branches[0].window
        return first if all(b.window == first for b in self.branches) else None

    @cached_property
    def change(self) -> Change:
        changes = {b.change for b in self.branches} - {Change.STATIC}
        if not changes:
            return Change.STATIC
        return changes.pop() if len(changes) == 1 else Change.MOVING

    @cached_property
    def event_time(self) -> str | None:
        times = {b.event_time for b in self.branches}
        return times.pop() if len(times) == 1 else None

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return self.branches


@dataclass(frozen=True)
class Compare(Logical):
    """EXCEPT or INTERSECT of relations that move: rows by how often both sides have them."""

    left: Logical
    right: Logical
    op: str
    all: bool

    @cached_property
    def schema(self) -> tuple[Field, ...]:
        return self.left.schema

    @cached_property
    def window(self) -> WindowSpec | None:
        return None

    @cached_property
    def change(self) -> Change:
        return Change.MOVING

    @cached_property
    def event_time(self) -> str | None:
        return None

    @property
    def inputs(self) -> tuple[Logical, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class ToStream(_OneInput):
    """ISTREAM: rows that appear; DSTREAM: rows that leave; RSTREAM: all rows, at each instant."""

    op: R2S

    @cached_property
    def window(self) -> WindowSpec | None:
        return None

    @cached_property
    def change(self) -> Change:
        return Change.APPEND

    @cached_property
    def event_time(self) -> str | None:
        """None where the rows are stamped with another instant than they had below."""
        below = self.input
        slides = isinstance(below.window, LastRows) and below.window.slide is not None
        moved = self.op is R2S.DSTREAM or below.change is Change.FINAL or slides
        return None if moved else below.event_time


@dataclass(frozen=True, kw_only=True)
class LogicalQuery:
    """A query of the program: its plan, where its rows go, and what was said about their worth.

    ``utilities``: what QOS UTILITY says of a row, by the name of the stream that it is of, or of a row of an input of its join. ``estimates``: the columns of
    the result that are estimates, each with its bounds beside it.
    """

    name: str
    root: Logical
    sink: str | None
    policies: tuple[Policy, ...]
    utilities: tuple[tuple[str, Expr], ...] = ()
    estimates: tuple[str, ...] = ()
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class SinkDecl:
    """A sink as the program declares it."""

    name: str
    connector: str
    options: tuple[tuple[str, OptionValue], ...]
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class FunctionDecl:
    """A Python function as the program declares it."""

    name: str
    parameters: tuple[tuple[str, Type], ...]
    returns: Type
    target: str
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class LogicalPlan:
    """All queries of a program, in its order, with the declarations they use."""

    queries: tuple[LogicalQuery, ...]
    sinks: tuple[SinkDecl, ...] = ()
    functions: tuple[FunctionDecl, ...] = ()
    settings: tuple[tuple[str, OptionValue], ...] = ()
