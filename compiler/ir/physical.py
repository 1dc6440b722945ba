"""What Spark will be asked to do: a tree of small steps per query, with SQL text for expressions.

Each step is one DataFrame call, so that ``runtime/spark/emit.py`` and ``explain/pyspark_source.py`` are
straight walks without decisions. Column names are flat and unique within a step; expressions are
Spark SQL text in which every name and string is already quoted.
"""

from __future__ import annotations

from streamq.compiler.ir.edges import EdgeStream
from streamq.compiler.ir.goals import Goal, Sift
from streamq.dsl.records import dataclass, field, replace
from streamq.dsl.source import NO_SPAN, Span

OptionValue = str | int | float | bool
Named = tuple[str, str]
"""(column name, SQL text)."""


BUCKETS = 8
"""Parts into which a keyed operator's state is cut; each is read and written as a whole. A checkpoint has so many for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Base of the steps. ``id`` is the operator of the program it serves (``hot_items.aggregate``)."""

    id: str
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ScanStream(Step):
    """An unbounded source. ``schema``: all physical columns to ask the source for, (name, Spark type).

    ``options`` are validated and complete (defaults filled in), secrets included; ``path`` options are as the
    user wrote them, at ``path``. ``corrupt_column``: the name of the column that receives malformed rows' text, or None.
    """

    stream: str
    connector: str
    schema: tuple[Named, ...]
    options: tuple[tuple[str, OptionValue], ...]
    corrupt_column: str | None = None
    path: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ScanTable(Step):
    """A relation that does not change during a run. ``path``: where the program says which files it has."""

    table: str
    connector: str
    schema: tuple[Named, ...]
    options: tuple[tuple[str, OptionValue], ...]
    path: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Parse(Step):
    """The columns ``passed``, and ``into``: a struct that the bytes of ``column`` are read as.

    ``fields``: (name, Spark type), in order. ``options``: of the format, ``schema`` of Avro among them, or ``schema_file``.
    A value that cannot be read is NULL, or has its text in the field ``corrupt``; with Avro the field is NULL then, and 1 else.
    ``fails``: it ends the query.
    """

    input: Step
    column: str
    format: str
    fields: tuple[Named, ...]
    options: tuple[tuple[str, OptionValue], ...]
    into: str
    passed: tuple[str, ...]
    corrupt: str
    fails: bool = False


@dataclass(frozen=True, slots=True)
class Select(Step):
    """``df.select`` of the items, in order."""

    input: Step
    items: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class Where(Step):
    input: Step
    condition: str


@dataclass(frozen=True, slots=True)
class Observe(Step):
    """Counts that travel with the query's progress: ``df.observe(name, …)``."""

    input: Step
    name: str
    metrics: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class WithWatermark(Step):
    """``df.withWatermark(column, "<delay_ms> milliseconds")``."""

    input: Step
    column: str
    delay_ms: int


@dataclass(frozen=True, slots=True)
class AssignWindow(Step):
    """Adds ``column`` = ``window(ts, range, slide)``; a sliding window multiplies the rows."""

    input: Step
    column: str
    ts: str
    range_ms: int
    slide_ms: int


@dataclass(frozen=True, slots=True)
class Aggregate(Step):
    """``df.groupBy(keys).agg(aggregates)``; without aggregates the distinct keys.

    ``session``: (column, event-time column, gap in µs) of a session window among the keys, or None.
    Spark joins sessions that touch, so rows exactly that far apart are in one session.
    """

    input: Step
    keys: tuple[Named, ...]
    aggregates: tuple[Named, ...]
    session: tuple[str, str, int] | None = None


@dataclass(frozen=True, slots=True)
class DropDuplicates(Step):
    """Keeps the first row of each value of ``columns``."""

    input: Step
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Join(Step):
    """``kind`` is Spark's: ``inner``, ``left_outer``, ``right_outer``, ``full_outer``, ``cross``.

    The column names of both sides are disjoint. ``broadcast_right``: the right side is a small table.
    """

    left: Step
    right: Step
    kind: str
    condition: str
    broadcast_right: bool = False


@dataclass(frozen=True, slots=True)
class Stateful(Step):
    """An operator over changes, run with Python in buckets of its key (ADR 0008).

    ``operator``: its name in ``runtime/spark/stateful.py``; ``params``: what it is made with. ``kinds``: of its
    values v0, v1, … (``long``, ``double``, ``text``); ``results``: of the values that it gives.
    """

    input: Step
    operator: str
    params: tuple[tuple[str, object], ...]
    kinds: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WindowJoin(Step):
    """Pairs of rows of two windows of time, with Python in buckets (``runtime/spark/window_join.py``, ADR 0015).

    ``condition``: ``("sets", kind, least)``, or ``("values", comparisons, keyed)``, each with operator, whether it is exact, width, slack
    and what it wraps at (``analysis/window_joins.py``). ``grids``: of
    the left and the right window the age at which a row is still in it, and the length of a basic window, in microseconds.
    ``kinds``: of the values v0, v1, …, of which the first ``left`` are those of the left row. ``sampled``: the base share of
    rows that are compared with all where others are not; None: all are. ``worths``: rows have a worth.
    """

    input: Step
    condition: tuple[object, ...]
    grids: tuple[tuple[int, int], tuple[int, int]]
    kinds: tuple[str, ...]
    left: int
    sampled: float | None = None
    worths: bool = False


@dataclass(frozen=True, slots=True)
class UnionAll(Step):
    """Same columns in the same order on every input."""

    inputs: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Knob:
    """One number of a query's control relation, which may change while it runs."""

    name: str
    initial: float
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class ControlRelation:
    """A relation of one row that the steps' SQL reads as ``(SELECT <knob> FROM <view>)``.

    ``goal``: what the share of rows follows from, where it is decided for every micro-batch; None: it is fixed.
    ``may_be_empty``: where all rows are kept it has no row, which costs Spark no job; read by its threshold alone.
    ``sift``: the sifter that says which rows go. ``spared``: the streams of the query that keep all rows.
    """

    view: str
    query: str
    knobs: tuple[Knob, ...]
    goal: Goal | None = None
    may_be_empty: bool = False
    sift: Sift | None = None
    spared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Where a query's rows go. ``name`` is None for the console of a bare query."""

    name: str | None
    connector: str
    options: tuple[tuple[str, OptionValue], ...] = ()
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A Python function that ``CREATE FUNCTION`` names: called over Arrow arrays."""

    name: str
    target: str
    parameter_types: tuple[str, ...]
    return_type: str
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Dropped:
    """The rows of a stream that a query sheds: ``root`` gives them where ``control`` says what held for a micro-batch."""

    stream: str
    root: Step
    control: ControlRelation


@dataclass(frozen=True, slots=True)
class PhysicalQuery:
    """One running query. ``mode`` is ``append`` or ``update``; ``keys``: columns that identify a row of an
    update. ``columns``: (name, CQL type) of the result, hidden ones excluded. ``stateful``: the plan keeps state.
    ``time_column``: the result column that holds a bound of the window, by which people want rows in order.
    ``dropped``: the rows that it sheds, by stream, which go to ``dropped_sink``. ``readers``: StreamQ's own functions that
    read sketches for it.
    """

    name: str
    root: Step
    mode: str
    sink: SinkSpec
    columns: tuple[Named, ...]
    keys: tuple[str, ...] = ()
    stateful: bool = False
    controls: tuple[ControlRelation, ...] = ()
    time_column: str | None = None
    dropped: tuple[Dropped, ...] = ()
    dropped_sink: SinkSpec | None = None
    readers: tuple[FunctionSource, ...] = ()
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PhysicalPlan:
    """All queries of a program. ``base_dir``: the folder that relative paths start from (never printed).

    ``edges``: the streams whose rows come from a process at their source.
    """

    queries: tuple[PhysicalQuery, ...]
    functions: tuple[FunctionSource, ...] = ()
    settings: tuple[tuple[str, OptionValue], ...] = ()
    base_dir: str = field(default="", compare=False, repr=False)
    edges: tuple[EdgeStream, ...] = ()


def inputs_of(step: Step) -> tuple[Step, ...]:
    """The steps a step reads from, left to right."""
    match step:
        case Join():
            return (step.left, step.right)
        case UnionAll():
            return step.inputs
        case ScanStream() | ScanTable():
            return ()
        case (
            Parse() | Select() | Where() | Observe() | WithWatermark() | AssignWindow() | Aggregate()
            | DropDuplicates() | Stateful() | WindowJoin()
        ):
            return (step.input,)
        case _:
            raise TypeError(f"not a physical step: {type(step).__name__}")


def with_inputs(step: Step, inputs: tuple[Step, ...]) -> Step:
    """The same step over other inputs, as many as ``inputs_of`` gives."""
    match step:
        case Join():
            return replace(step, left=inputs[0], right=inputs[1])
        case UnionAll():
            return replace(step, inputs=inputs)
        case ScanStream() | ScanTable():
            return step
        case (
            Parse() | Select() | Where() | Observe() | WithWatermark() | AssignWindow() | Aggregate()
            | DropDuplicates() | Stateful() | WindowJoin()
        ):
            return replace(step, input=inputs[0])
        case _:
            raise TypeError(f"not a physical step: {type(step).__name__}")


def walk(step: Step) -> list[Step]:
    """The step and everything below it, inputs first."""
    return [below for child in inputs_of(step) for below in walk(child)] + [step]
