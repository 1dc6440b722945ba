"""Columns that nobody reads are never sent, and those that nobody recovers are not kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.pipeline import Pipeline
from streamq.runtime.edge.at_source.progress import Progress
from streamq.runtime.edge.at_source.source import Position
from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.recovery.lookup import Status
from tests.unit.runtime.edge.support import small_plan
from tests.unit.runtime.edge.test_site import Harness

COLUMNS = {"k": "string", "x": "double", "y": "double", "z": "double", "note": "string"}


def plan_of(**changes: Any) -> EdgePlan:
    return small_plan(**({"columns": COLUMNS, "unread": frozenset({"z", "note"}), "error_pct": 0.0} | changes))


def blocks(rows: int = 20) -> list[tuple[float, bytes]]:
    given = [{"k": "ab"[i % 2], "x": i * 1.0, "y": i * 2.0, "z": i * 3.0, "note": "n" * i * 40} for i in range(rows)]
    return [(1000.0 + i, b"".join(json.dumps(row).encode() + b"\n" for row in given[i : i + 2])) for i in range(0, rows, 2)]


def test_what_nobody_reads_is_never_sent(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(capacity_kbps=1e5), blocks())
    harness.run()
    # However wide it is, it is no reason not to take a row.
    assert harness.site.counts.malformed == 0
    assert [row["shed"] for row in harness.rows()] == [("z", "note")] * 20
    assert [row["x"] for row in harness.rows()] == [float(i) for i in range(20)]
    assert harness.site.store.segments.size_bytes == 0
    assert set(harness.recovered("z", ["a"] * 5, [*range(1, 6)])[1]) == {Status.NOT_RETAINED}


def test_it_is_shed_besides_what_does_not_fit(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(capacity_kbps=0.01), blocks())
    harness.run()
    assert {row["shed"] for row in harness.rows()} == {("x", "y", "z", "note")}
    assert harness.recovered("x", ["a", "b"], [3, 3]) == ([4.0, 5.0], [Status.EXACT] * 2)
    assert set(harness.recovered("z", ["a"], [1])[1]) == {Status.NOT_RETAINED}


@pytest.mark.parametrize("capacity", [0.01, 1e5])
def test_what_is_retained_is_told(tmp_path: Path, capacity: float) -> None:
    harness = Harness(tmp_path, plan_of(retained=frozenset({"y", "z"}), capacity_kbps=capacity), blocks())
    harness.run()
    narrow = capacity < 1
    for name, kept in (("x", False), ("y", narrow), ("z", True), ("note", False)):
        status = harness.recovered(name, ["a", "b"], [4, 4])[1]
        assert status == [Status.EXACT if kept else Status.NOT_RETAINED] * 2
    assert harness.recovered("z", ["a", "b"], [4, 4])[0] == [18.0, 21.0]


def test_it_is_no_part_of_what_is_offered_or_sized() -> None:
    values = np.arange(100.0)
    rows = pa.record_batch({"k": ["a", "b"] * 50, "x": values, "y": values, "z": values, "note": ["long" * 50] * 100})
    both = []
    for columns, unread in ((COLUMNS, frozenset({"z", "note"})), (dict(list(COLUMNS.items())[:3]), frozenset())):
        plan = small_plan(columns=columns, unread=unread, capacity_kbps=160.0, unit="BYTES")
        pipeline = Pipeline(plan, b"12345678", Offered(0.0))
        step = pipeline.after(Progress(), rows.select(list(columns)), Position("f", 1), 1.0)
        assert step.decision is not None
        both.append((step.decision.plan.attrs, step.decision.offered, step.decision.residual))
    assert both[0] == both[1]
    assert len(both[0][0]) == 1


def test_all_that_is_read_may_be_protected(tmp_path: Path) -> None:
    plan = plan_of(protected=frozenset({"x", "y"}), capacity_kbps=1.0, ranking=Ranking(scale={"z": 2.0}))
    harness = Harness(tmp_path, plan, blocks())
    harness.run()
    assert {row["shed"] for row in harness.rows()} == {("z", "note")}
    harness.killed()
    assert len(harness.rows()) == 20


def test_a_key_is_found_among_what_is_read(tmp_path: Path) -> None:
    plan = small_plan(
        columns={"other": "int32", "k": "string", "x": "double"}, unread=frozenset({"other"}),
        cycle=CycleRule(training_rows=20),
    )
    lines = b"".join(json.dumps({"other": i % 4, "k": "abcd"[i % 4], "x": i * 0.7}).encode() + b"\n" for i in range(40))
    harness = Harness(tmp_path, plan, [(1000.0, lines)])
    harness.run()
    assert harness.site.progress.cycle.key == ("k",)


@pytest.mark.parametrize("change", [
    {"protected": frozenset({"z"})}, {"cycle": CycleRule(key=("k", "z"), length=2)}, {"ranking": Ranking(protect=frozenset({"z"}))},
])
def test_what_nobody_reads_is_in_no_key_and_not_protected(change: dict[str, Any]) -> None:
    with pytest.raises(BadPlan, match="z cannot be unread"):
        plan_of(**change)


def test_a_later_plan_may_read_more(tmp_path: Path) -> None:
    harness = Harness(tmp_path, plan_of(capacity_kbps=1e5), blocks(40))
    harness.run(lambda: len(harness.wire.went) >= 5)
    harness.central.change(plan_of(capacity_kbps=1e5, revision=2, unread=frozenset({"note"})))
    harness.run()
    assert harness.rows()[0]["shed"] == ("z", "note")
    assert harness.rows()[-1]["shed"] == ("note",)
    assert harness.rows()[-1]["z"] == 117.0
    assert harness.told == []
