"""Rows and answers share a wire: what answers take is not there for rows, and rows do not fall behind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_source.offered import SPAN_S, Offered
from streamq.runtime.edge.at_source.pipeline import Pipeline
from streamq.runtime.edge.at_source.progress import Progress
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.at_source.source import Position
from streamq.runtime.edge.at_source.taken import MESSAGES
from streamq.runtime.edge.plan import CycleRule, EdgePlan
from tests.unit.runtime.edge.support import Clock, Fed, Wire, most_above, site_of, small_plan

KBPS, KEYS = 48.0, 16
COLUMNS = {"k": "string", "x": "double"} | {f"y{i}": "double" for i in range(9)}
START, FROM, TO, END = 1000.0, 1030.0, 1080.0, 1120.0


def plan_of(**changes: object) -> EdgePlan:
    given = {"columns": COLUMNS, "cycle": CycleRule(key=("k",), length=KEYS), "capacity_kbps": KBPS, "error_pct": 0.0}
    return small_plan(**(given | changes))


def blocks() -> list[tuple[float, bytes]]:
    """A cycle each quarter of a second, of which x is ranked first to be shed, and changes all the time."""
    random = np.random.RandomState(5)
    found = []
    for i in range(int((END - START) * 4)):
        values = random.random_sample((KEYS, len(COLUMNS) - 1)) * ([1e-3] + [100.0] * (len(COLUMNS) - 2))
        rows = [dict(zip(COLUMNS, [f"k{k}", *map(float, of)], strict=True)) for k, of in enumerate(values)]
        found.append((START + (i + 1) / 4, b"".join(json.dumps(row).encode() + b"\n" for row in rows)))
    return found


def ask(central: Central, site: Site) -> None:
    """Another request where none is open: for x of all keys in some of the last cycles."""
    asking = central.desks["weather"].asking
    until = int(site.progress.retained.cycle_no.max(initial=0))
    if not asking.open(site.store.origin):
        cycles = np.repeat(np.arange(until - 7, until + 1), KEYS)
        asking.ask(site.store.origin, "x", pa.record_batch({"k": [f"k{k}" for k in range(KEYS)] * 8}), cycles)


def test_rows_do_not_fall_behind_while_values_are_recovered(tmp_path: Path) -> None:
    clock, plan = Clock(START), plan_of()
    central = Central.of(tmp_path / "central", {"weather": plan})
    wire = Wire(central, clock)
    site = site_of(plan, Fed(clock, blocks()), tmp_path / "store", wire, clock)
    waiting, shed, asked_s = [], [], FROM
    while clock.now < END:
        if asked_s <= clock.now < TO:
            ask(central, site)
            asked_s += 0.5
        clock.now += min(site.turn(), 0.05)
        waiting.append((clock.now, site.store.waiting_bytes()))
        if site.progress.shedding is not None:
            shed.append((clock.now, len(site.progress.shedding.plan.attrs)))
    assert site.counts.answers > 90
    # Rows never wait for more than a second of the wire, and what is shed gives answers their place.
    assert max(size for _, size in waiting) < KBPS * 125
    before = {count for now, count in shed if FROM - 10 < now < FROM}
    during = {count for now, count in shed if FROM + SPAN_S < now < TO}
    assert max(before) < min(during)
    # Soon after the last answer all of it is for rows again.
    assert {count for now, count in shed if now > TO + 2 * SPAN_S} == before
    assert most_above(wire.went, KBPS) <= plan.bucket


@pytest.mark.parametrize(("answers", "utilisation", "left"), [(0.0, 1.0, 48.0), (18.0, 0.75, 18.0), (40.0, 1.0, 8.0), (1e6, 1.0, 4.8), (1e6, 0.05, 2.4)])
def test_what_answers_take_is_not_for_rows(answers: float, utilisation: float, left: float) -> None:
    rows = pa.record_batch({"k": ["a", "b"] * 50} | {name: np.arange(100.0) for name in list(COLUMNS)[1:]})

    def decided(plan: EdgePlan, answers_kbps: float) -> int:
        pipeline = Pipeline(plan, b"12345678", Offered(0.0), 0, {MESSAGES: answers_kbps})
        decision = pipeline.after(Progress(), rows, Position("f", 1), 1.5).decision
        assert decision is not None
        return len(decision.plan.attrs)

    plan = plan_of(unit="BYTES", utilisation=utilisation)
    assert decided(plan, answers) == decided(plan_of(unit="BYTES", capacity_kbps=left), 0.0)


def test_what_is_shed_pays_for_its_own_answers() -> None:
    rows = pa.record_batch({"k": ["a", "b"] * 50} | {name: np.arange(100.0) for name in list(COLUMNS)[1:]})
    pipeline = Pipeline(plan_of(unit="BYTES", capacity_kbps=40.0), b"12345678", Offered(0.0))
    progress, at = Progress(), 1.5

    def shed(answers: dict[str, float]) -> tuple[str, ...]:
        """After some seconds in which answers took so much."""
        nonlocal progress, at
        pipeline.answers_kbps = answers
        for _ in range(10):
            at += 1.0
            step = pipeline.after(progress, rows, Position("f", 1), at)
            progress = step.progress
        assert step.decision is not None
        return step.decision.plan.attrs

    first = shed({})
    assert 2 <= len(first) < 8
    # Answers about what is sent are the last ones, and there will be no more of them.
    assert shed(dict.fromkeys(set(COLUMNS) - set(first), 9.0)) == first
    more = shed(dict.fromkeys(first, 3.0))
    assert more[: len(first)] == first
    assert len(more) > len(first)
    # It stays while they differ a little, and is back when they take nothing.
    assert shed(dict.fromkeys(first, 2.8)) == more
    assert shed({}) == first
    # One that has more answers than it is wide is not shed for ever.
    costly = dict.fromkeys(first, 0.1) | {more[-1]: 30.0}
    assert shed(dict.fromkeys(first, 3.0)) == more
    assert shed(costly) == first
