"""Weather that looks like that of the thesis, a plan for it, and an edge whose time is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.answers import (
    Answer,
    decoded_part,
    encoded_answers,
    encoded_part,
    parts_of,
)
from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.at_source.source import Block, Position
from streamq.runtime.edge.at_source.store import Store
from streamq.runtime.edge.frames import Frame, Kind, framed
from streamq.runtime.edge.messages import Request, Rows
from streamq.runtime.edge.plan import CycleRule, EdgePlan
from streamq.runtime.edge.transport import Reply, Unreachable
from streamq.stdlib.attributes.lookalike import weather

COLUMNS = ("location", "temperature", "dew_point", "barometer", "wind_speed", "humidity", "sun_rise", "visibility", "sun_set")
KEYS = 75


def plan_of(**changes: Any) -> EdgePlan:
    given: dict[str, Any] = {
        "stream": "weather", "columns": {n: "string" if n == "location" else "double" for n in COLUMNS},
        "cycle": CycleRule(key=("location",), length=KEYS), "capacity_kbps": 60.0, "error_pct": 4.81, "token": "secret-token",
    }
    return EdgePlan(**(given | changes))


def small_plan(**changes: Any) -> EdgePlan:
    """A stream of a key and two numbers, whose cycle has two rows."""
    given = {"columns": {"k": "string", "x": "double", "y": "double"}, "cycle": CycleRule(key=("k",), length=2)}
    return plan_of(**(given | changes))


def weather_rows(cycles: int) -> pa.RecordBatch:
    found = weather(cycles, KEYS).rows()
    return pa.record_batch({name: pa.array(found[name]) for name in COLUMNS})


def lines_of(rows: pa.RecordBatch) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows.to_pylist()]


@dataclass(slots=True)
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Fed:
    """A source of which each block comes at a time of its own; its position is how many came."""

    clock: Clock
    blocks: list[tuple[float, bytes]]
    at: int = 0

    def read(self) -> Block:
        if self.at < len(self.blocks) and self.blocks[self.at][0] <= self.clock():
            self.at += 1
            return Block(self.blocks[self.at - 1][1], Position("fed", self.at), ended=self.at == len(self.blocks))
        return Block(b"", Position("fed", self.at), ended=self.at == len(self.blocks))

    def seek(self, position: Position) -> None:
        self.at = position.offset


@dataclass(slots=True)
class Wire:
    """Straight to the central side, noting when how many bytes went. ``down``: whether it is broken, before or after."""

    central: Central
    clock: Clock
    went: list[tuple[float, int]] = field(default_factory=list)
    kinds: list[Kind] = field(default_factory=list)
    down: Callable[[], str] = lambda: ""
    extra: int = 0

    def send(self, message: bytes) -> Reply:
        self.went.append((self.clock(), len(message) + self.extra))
        self.kinds.append(framed(message).kind)
        broken = self.down()
        if broken == "before":
            raise Unreachable("the wire is broken")
        reply = self.central.handle(message)
        if broken == "after":
            raise Unreachable("the wire is broken")
        return reply


def site_of(plan: EdgePlan, source: Any, path: Path, wire: Any, clock: Clock, told: Callable[[str], None] = lambda _: None) -> Site:
    site = Site(plan, source, Store(path, plan), wire, clock, clock, told, chance=lambda: 0.5)
    site.start()
    return site


def run(site: Site, clock: Clock, until: Callable[[], bool], most: int = 20_000, step: float = 0.25) -> None:
    for _ in range(most):
        if until():
            return
        clock.now += min(site.turn(last=True), step)
    raise AssertionError("it goes on and on")


def received(central: Central, stream: str = "weather") -> list[Rows]:
    return list(central.desks[stream].inbox.pending())


def most_above(went: list[tuple[float, int]], kbps: float) -> Fraction:
    """By how many bytes what went in any stretch of time was above capacity · t, without rounding."""
    sent, least, most = Fraction(0), Fraction(0), Fraction(0)
    for at, size in went:
        allowed = Fraction(at) * Fraction(kbps) * 125
        least = min(least, sent - allowed) if most else sent - allowed
        sent += size
        most = max(most, sent - allowed - least)
    return most


def encoded_answer(answer: Answer, asked: Request, revision: int) -> bytes:
    """A message of one answer."""
    return encoded_answers(answer.stream, [encoded_part(answer, asked)], revision)


def decoded_answer(frame: Frame, asked: Request, type_: pa.DataType) -> Answer:
    """The answer of a message that has no other."""
    (part,) = parts_of(frame)
    return decoded_part(part, asked, type_)
