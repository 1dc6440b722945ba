"""The shape of a query: what its checkpoint will hold, and what stands around that."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamq.compiler.evolution.lineage import Lineage
from streamq.compiler.evolution.shape import Fact, Part, Shape
from streamq.compiler.ir.physical import (
    BUCKETS,
    Aggregate,
    ControlRelation,
    DropDuplicates,
    Join,
    OptionValue,
    PhysicalQuery,
    ScanStream,
    ScanTable,
    Select,
    Stateful,
    Step,
    Where,
    WindowJoin,
    WithWatermark,
    inputs_of,
    walk,
)
from streamq.dsl.source import Span
from streamq.stdlib.connectors import find_connector

TUNING = frozenset({"max_files_per_trigger", "max_bytes_per_trigger", "max_events_per_trigger"})
"""Options of sources that say how fast they are read, and nothing else."""

IDENTITY = {
    "file": ("path",), "memory": (), "rate": (), "nexmark": ("seed",), "edge": ("path",),
    "kafka": ("topic", "topic_pattern"),
}
"""The options that say which rows a source has; of connectors that are not here all do."""

NAMED = frozenset({"file", "kafka", "memory", "rate", "nexmark"})
"""Connectors that give Spark names for their sources."""

_POLICIES = re.compile(r"\.(shed|layout|well_formed|error)(_\d+)?$")
"""Steps that are there for a policy, or for rows that could not be read."""

_WINDOW = re.compile(r"window\(.*, (\d+), (\d+)\)")


def shape_of(query: PhysicalQuery) -> Shape:
    """What of the query matters to its checkpoint."""
    return _Describing(query).shape()


def is_named(query: PhysicalQuery) -> bool:
    """True where Spark can know each source of the query by the name of its stream.

    Then sources come and go, in any order. Operators with state take part in no such change, so only queries without any have
    named sources; a stream that is read twice would have one name twice.
    """
    scans = [step for step in walk(query.root) if isinstance(step, ScanStream)]
    once = len({scan.stream for scan in scans}) == len(scans)
    return once and not states_of(query) and all(scan.connector in NAMED for scan in scans)


def source_name(stream: str) -> str:
    """The name that Spark has for a stream, in the characters that it takes; never a mere number, as places are."""
    name = re.sub(r"[^A-Za-z0-9]", lambda found: f"_{ord(found[0]):x}_", stream)
    return f"_{name}" if name.isdecimal() else name


def states_of(query: PhysicalQuery) -> tuple[Step, ...]:
    """The steps that keep state, in the order in which Spark numbers them: from the output on, left before right."""
    lineage = Lineage()

    def down(step: Step) -> Iterator[Step]:
        if _keeps_state(step) and not _is_told_apart(step, lineage):
            yield step
        for below in inputs_of(step):
            yield from down(below)

    return tuple(down(query.root))


def _keeps_state(step: Step) -> bool:
    """True for a step of which Spark keeps state between micro-batches."""
    match step:
        case Stateful() | WindowJoin():
            return True
        case Aggregate() | DropDuplicates():
            return _streams(step)
        case Join():
            return _streams(step.left) and _streams(step.right)
        case _:
            return False


def _is_told_apart(step: Step, lineage: Lineage) -> bool:
    """True for DISTINCT of the results of groups with all their keys: no two are alike, and Spark leaves it out."""
    if not isinstance(step, Aggregate) or step.aggregates or step.session is not None:
        return False
    below = step.input
    while isinstance(below, Select | Where):
        below = below.input
    if not isinstance(below, Aggregate) or below.session is not None:
        return False
    made, kept = lineage.columns(below), lineage.columns(step)
    return {made[name] for name, _ in below.keys} <= {kept[name] for name, _ in step.keys}


def _streams(step: Step) -> bool:
    return any(isinstance(below, ScanStream) for below in walk(step))


class _Describing:
    """The work of describing one query."""

    def __init__(self, query: PhysicalQuery) -> None:
        self.query = query
        self.lineage = Lineage()
        self.states = states_of(query)

    def shape(self) -> Shape:
        query = self.query
        # A stream that is read twice is two sources for Spark.
        scans = [step for step in walk(query.root) if isinstance(step, ScanStream)]
        columns = tuple(f"{name} = {text}" for name, text in self.lineage.columns(query.root).items())
        more: tuple[tuple[str, Fact], ...] = (("columns", columns), ("sheds", tuple(map(_shed_words, query.controls))))
        result = self._between("result", query.root, query.origin, more)
        return Shape(
            query.name, tuple(map(_source, scans)), tuple(map(self._state, self.states)),
            (*(self._between(f"before {step.id}", step, step.origin) for step in self.states), result),
            _output(query), is_named(query),
        )

    def _is_state(self, step: Step) -> bool:
        return any(step is state for state in self.states)

    def _state(self, step: Step) -> Part:
        match step:
            case Aggregate():
                kind, facts = self._aggregate(step)
            case DropDuplicates():
                columns = self.lineage.columns(step.input)
                kind, facts = "duplicates", (("keys", tuple(columns.get(c, c) for c in step.columns)),)
            case Join():
                sides = [tuple(self.lineage.columns(side).values()) for side in (step.left, step.right)]
                kind = "join"
                facts = (
                    ("kind", step.kind), ("condition", self.lineage.resolve(step.condition, step)),
                    ("left", sides[0]), ("right", sides[1]),
                )
            case Stateful():
                kind, facts = step.operator, (*self._buckets(step), ("params", repr(step.params)))
            case WindowJoin():
                kind = "window join"
                facts = (
                    *self._buckets(step), ("condition", repr(step.condition)), ("grids", repr(step.grids)),
                    ("shed", repr((step.sampled is not None, step.worths))),
                )
            case _:
                raise TypeError(f"keeps no state: {type(step).__name__}")
        return Part(step.id, kind, facts, step.origin)

    def _aggregate(self, step: Aggregate) -> tuple[str, tuple[tuple[str, Fact], ...]]:
        made = self.lineage.columns(step)
        keys = [made[name] for name, _ in step.keys]
        window = next((k for k in keys if _WINDOW.fullmatch(k)), "" if step.session is None else made[step.session[0]])
        # Spark keeps equal aggregates once, where they are written alike.
        parts = tuple(made[name] for name in {sql: name for name, sql in reversed(step.aggregates)}.values())[::-1]
        kind = "session" if step.session is not None else "aggregate" if step.aggregates else "distinct"
        return kind, (
            ("keys", tuple(k for k in keys if k != window)), ("window", window), ("aggregates", parts),
        )

    def _buckets(self, step: Stateful | WindowJoin) -> tuple[tuple[str, Fact], ...]:
        """What goes into an operator of ours, which keeps the values of its rows."""
        values = tuple(f"{name} = {text}" for name, text in self.lineage.columns(step.input).items())
        return (("buckets", BUCKETS), ("values", values), ("kinds", step.kinds))

    def _between(
        self, part: str, top: Step, origin: Span, more: tuple[tuple[str, Fact], ...] = ()
    ) -> Part:
        """What stands below a step, down to the next operators with state."""
        filters: list[str] = []
        watermarks: list[str] = []
        tables: list[str] = []
        joins: list[str] = []
        pending = list(inputs_of(top)) if part != "result" else [top]
        while pending:
            step = pending.pop(0)
            match step:
                case Where() if not _POLICIES.search(step.id):
                    filters.append(self.lineage.resolve(step.condition, step.input))
                case WithWatermark():
                    watermarks.append(f"{self.lineage.columns(step.input)[step.column]}, {step.delay_ms} ms")
                case ScanTable():
                    tables.append(f"{step.table}: {step.connector}{_shown(step.options)}")
                case Join() if not self._is_state(step):
                    joins.append(f"{step.kind}: {self.lineage.resolve(step.condition, step)}")
            if not self._is_state(step):
                pending += inputs_of(step)
        return Part(part, "between", (
            ("filters", tuple(sorted(filters))), ("watermarks", tuple(sorted(set(watermarks)))),
            ("tables", tuple(sorted(set(tables)))), ("joins", tuple(sorted(joins))), *more,
        ), origin)


def _shed_words(control: ControlRelation) -> str:
    """Which rows a query sheds, and by what."""
    if control.goal is None:
        return ", ".join(f"{100 * (1 - knob.initial):g} % of the rows" for knob in control.knobs)
    by = ", by a sifter" if control.sift is not None else ", by what is in them" if control.goal.ranked else ""
    return control.goal.words + by


def _source(scan: ScanStream) -> Part:
    named = IDENTITY.get(scan.connector)
    shown = {k: v for k, v in scan.options if k not in TUNING and not _is_secret(scan.connector, k)}
    identity = {k: v for k, v in shown.items() if named is None or k in named}
    return Part(scan.stream, scan.connector, (
        ("identity", _shown(tuple(identity.items()))),
        ("columns", tuple(f"{name} {kind}" for name, kind in scan.schema)),
        ("options", _shown(tuple((k, v) for k, v in shown.items() if k not in identity))),
    ), scan.origin)


def _output(query: PhysicalQuery) -> Part:
    sink = query.sink
    options = tuple((k, v) for k, v in sink.options if not _is_secret(sink.connector, k, "sink"))
    identity = tuple((k, v) for k, v in options if k in ("path", "table", "topic", "url"))
    return Part(sink.name or "console", sink.connector, (
        ("mode", query.mode), ("keys", query.keys), ("identity", _shown(identity)),
        ("options", _shown(tuple(o for o in options if o not in identity))),
        ("columns", tuple(f"{name} {kind}" for name, kind in query.columns)),
    ), sink.origin)


def _is_secret(connector: str, option: str, role: str = "stream") -> bool:
    spec = find_connector(connector, role)
    return spec is not None and any(o.name == option and o.secret for o in spec.options)


def _shown(options: tuple[tuple[str, OptionValue], ...]) -> tuple[str, ...]:
    return tuple(f"{name} = {value}" for name, value in sorted(options))
