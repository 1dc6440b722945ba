"""What the columns of a plan's steps are made of, as text over the columns of its sources.

Names inside a plan change with a view, an alias or another query of the program; what they stand for does not. So two
plans are compared by text such as ``sum((`bids.price BIGINT` * 2L))``, whatever stood between. What only policies add,
the weight of a row above all, stands for itself: of how it is worked out no state knows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from streamq.compiler.ir.expr import WEIGHT
from streamq.compiler.ir.goals import control_view
from streamq.compiler.ir.physical import (
    Aggregate,
    AssignWindow,
    DropDuplicates,
    Join,
    Named,
    Observe,
    Parse,
    ScanStream,
    ScanTable,
    Select,
    Stateful,
    Step,
    UnionAll,
    Where,
    WindowJoin,
    WithWatermark,
    walk,
)
from streamq.compiler.lowering.sql import BEFORE_ALL_TIME, quote
from streamq.compiler.lowering.values import OBJECT

Columns = Mapping[str, str]
"""What each column of a step is, in its order."""

POLICY = WEIGHT
"""What stands for all that only a policy knows."""

_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|`((?:[^`]|``)*)`")
_GUARD = "if(unix_micros("
_WHOLE_NAME = re.compile(r"`(?:[^`]|``)*`|[\w.]+")
_SHORT = 400
"""Text longer than this is cut, and ends with a number that tells it from other text."""


class Lineage:
    """The columns of steps, each step looked at once."""

    def __init__(self) -> None:
        self._known: dict[int, Columns] = {}

    def columns(self, step: Step) -> Columns:
        """What the columns of a step are made of."""
        found = self._known.get(id(step))
        if found is None:
            found = self._known[id(step)] = self._columns(step)
        return found

    def resolve(self, sql: str, step: Step) -> str:
        """An expression over a step's columns, as one over the columns of sources."""
        return resolve(sql, self.columns(step))

    def _columns(self, step: Step) -> Columns:
        match step:
            case ScanStream(stream=name) | ScanTable(table=name):
                found = {column: f"`{name}.{column} {kind}`" for column, kind in step.schema}
                corrupt = step.corrupt_column if isinstance(step, ScanStream) else None
                return found if corrupt is None else {**found, corrupt: corrupt}
            case Parse(input=below):
                # Expressions above name a field behind the struct that it is in.
                above = self.columns(below)
                fields = {name: f"`{name} {kind}`" for name, kind in step.fields}
                return {**{name: above[name] for name in step.passed}, **fields, step.into: above[step.column]}
            case Select(input=below, items=items):
                return {name: POLICY if _of_policy(name, sql) else self.resolve(sql, below) for name, sql in items}
            case AssignWindow(input=below):
                made = f"window({self.columns(below)[step.ts]}, {step.range_ms}, {step.slide_ms})"
                return {**self.columns(below), step.column: made}
            case Aggregate():
                return self._aggregate(step)
            case Join(left=left, right=right):
                return {**self.columns(left), **self._right(left, right)}
            case UnionAll(inputs=inputs):
                sides = [tuple(self.columns(i).values()) for i in inputs]
                return {
                    name: " | ".join(dict.fromkeys(side[place] for side in sides))
                    for place, name in enumerate(self.columns(inputs[0]))
                }
            case Stateful() | WindowJoin():
                return {}
            case Where(input=below) | Observe(input=below) | WithWatermark(input=below) | DropDuplicates(input=below):
                return self.columns(below)
            case _:
                raise TypeError(f"not a physical step: {type(step).__name__}")

    def _right(self, left: Step, right: Step) -> Columns:
        """The columns on the right of a join; where both sides read one stream, told from those on the left."""
        columns = self.columns(right)
        if not _streams(left) & _streams(right):
            return columns
        return {name: f"other({text})" for name, text in columns.items()}

    def _aggregate(self, step: Aggregate) -> Columns:
        named: tuple[Named, ...] = (*step.keys, *step.aggregates)
        found = {name: self.resolve(sql, step.input) for name, sql in named}
        if step.session is not None:
            column, ts, gap = step.session
            found[column] = f"session({self.columns(step.input)[ts]}, {gap})"
        return found


def _of_policy(name: str, sql: str) -> bool:
    """True for the weight of a row, and for what is read from a control relation."""
    return name == WEIGHT or f"`{control_view('')}" in sql


def _streams(step: Step) -> frozenset[str]:
    return frozenset(below.stream for below in walk(step) if isinstance(below, ScanStream))


def resolve(sql: str, columns: Columns) -> str:
    """The expression with each column replaced by what it is made of; unknown names stay."""

    def put(found: re.Match[str]) -> str:
        name = found.group(1)
        if name is None:
            return found.group(0)
        text = columns.get(name.replace("``", "`"))
        if text is None:
            return found.group(0)
        return text if _WHOLE_NAME.fullmatch(text) or found.span() == (0, len(sql)) else f"({text})"

    sql = _without_guards(sql).replace(f"{quote(OBJECT)}.", "")
    return _cut(_TOKENS.sub(put, sql))


def _cut(text: str) -> str:
    if len(text) <= _SHORT:
        return text
    return f"{text[:_SHORT]}…{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _without_guards(sql: str) -> str:
    """Without the tests for rows that only move the watermark, which no user wrote."""
    start = sql.find(_GUARD)
    while start >= 0:
        parts, end = _arguments(sql, start + len("if("))
        if len(parts) == 3 and parts[0].endswith(f"= {BEFORE_ALL_TIME}"):
            sql = sql[:start] + parts[2].strip() + sql[end:]
            start = sql.find(_GUARD, start)
        else:
            start = sql.find(_GUARD, start + 1)
    return sql


def _arguments(sql: str, start: int) -> tuple[list[str], int]:
    """The arguments of a call that begin at a place, and where the call ends."""
    depth, begin, place = 1, start, start
    parts: list[str] = []
    while place < len(sql) and depth:
        token = _TOKENS.match(sql, place)
        if token is not None:
            place = token.end()
            continue
        character = sql[place]
        depth += (character in "([") - (character in ")]")
        if depth == 0 or (depth == 1 and character == ","):
            parts.append(sql[begin:place])
            begin = place + 1
        place += 1
    return parts, place
