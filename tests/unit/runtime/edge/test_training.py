"""What an edge learns from the first rows: lengths of cycles, and errors. Windows without a key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.runtime.edge.at_source.training import is_enough, learned
from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.stdlib.recovery.lookup import Status
from tests.unit.runtime.edge.support import small_plan
from tests.unit.runtime.edge.test_site import NARROW, Harness, line

KEYS_35 = "abcdefghijklmnopqrstuvwxyz123456789"


def keyed(keys: str) -> pa.RecordBatch:
    return pa.record_batch({"k": pa.array(list(keys), pa.string()), "x": np.arange(1.0, len(keys) + 1), "y": np.ones(len(keys))})


def told(rows: int, **changes: Any) -> EdgePlan:
    return small_plan(cycle=CycleRule(key=("k",), training_rows=rows, **changes))


def test_the_length_of_a_cycle_is_how_many_keys_there_are_or_enough_of_them_to_rank() -> None:
    for keys, rows, enough, length in (
        ("abc", 10, False, 30), ("abcab", 10, False, 30), ("abcabc", 10, True, 30), ("abacbc", 10, True, 30),
        ("abcdefghij", 10, True, 30), ("abcdefghi", 10, False, 36), ("abcdefghijkl", 10, True, 30), (KEYS_35, 99, False, 35),
    ):
        assert is_enough(told(rows), keyed(keys)) is enough
        assert learned(told(rows), keyed(keys)).cycle.length == length
    assert not is_enough(told(10, min_cycles=3), keyed("abcabc"))


def test_a_key_is_told_and_its_length_found(tmp_path: Path) -> None:
    blocks = [(1000.0 + i, b"".join(line(k, i * 2.0) for k in "abc"[i % 3 :] + "abc"[: i % 3])) for i in range(20)]
    harness = Harness(tmp_path, told(1000), blocks)
    harness.run(lambda: bool(harness.rows()))
    assert harness.site.progress.cycle.length == 30
    harness.killed()
    assert harness.site.progress.cycle.length == 30
    harness.run()
    assert len(harness.rows()) == 60


def test_training_does_not_wait_for_rows_for_ever(tmp_path: Path) -> None:
    plan = small_plan(cycle=CycleRule(key=("k",), training_rows=1000), linger_s=5.0)
    harness = Harness(tmp_path, plan, [(1000.0, line("a", 1.0) + line("b", 1.0) + line("c", 1.0)), (2000.0, line("a", 2.0))])
    while not harness.rows():
        harness.clock.now += min(harness.site.turn(), 0.25)
    assert 1005.0 <= harness.clock.now < 1006.5
    assert harness.site.progress.cycle.length == 30
    assert [row["k"] for row in harness.rows()] == ["a", "b", "c"]


def test_windows_without_a_key(tmp_path: Path) -> None:
    plan = small_plan(columns={"x": "double", "y": "double"}, cycle=CycleRule(length=5), capacity_kbps=0.3, error_pct=0.0)
    lines = [json.dumps({"x": i // 3 * 1.5, "y": None if i % 4 else i * 1.0}).encode() + b"\n" for i in range(60)]
    harness = Harness(tmp_path, plan, [(1000.0 + i, b"".join(lines[i * 10 : i * 10 + 10])) for i in range(6)])
    harness.run(lambda: harness.site.progress.seq >= 3)
    harness.killed()
    harness.run()
    messages = list(harness.central.desks["weather"].inbox.pending())
    assert np.concatenate([m.cycle_no for m in messages]).tolist() == list(range(1, 61))
    assert {m.key for m in messages} == {()}
    assert sum(m.rows.num_rows for m in messages) == 60
    # All columns are shed of it: there are rows all the same.
    assert {m.plan.attrs for m in messages} == {("x", "y")}
    asking = harness.central.desks["weather"].asking
    asked = np.array([*range(1, 61), 61, 0])
    no_key = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
    id_ = asking.ask(harness.site.store.origin, "x", no_key, asked)
    harness.run(lambda: asking.answer(id_) is not None)
    found = asking.answer(id_)
    assert found.values.to_pylist() == [i // 3 * 1.5 for i in range(60)] + [None, None]
    assert found.stored_in.tolist() == [i // 3 * 3 + 1 for i in range(60)] + [0, 0]
    assert found.status.tolist()[60:] == [Status.NOT_RETAINED] * 2


def test_messages_of_rows_without_columns_are_cut_too(tmp_path: Path) -> None:
    plan = small_plan(
        columns={"x": "double", "y": "double"}, cycle=CycleRule(length=500), capacity_kbps=0.3, bucket_bytes=4096, error_pct=0.0
    )
    lines = b"".join(json.dumps({"x": 1.0, "y": 2.0}).encode() + b"\n" for _ in range(20_000))
    harness = Harness(tmp_path, plan, [(1000.0, lines)])
    harness.run()
    messages = list(harness.central.desks["weather"].inbox.pending())
    assert len(messages) > 4
    assert np.concatenate([m.cycle_no for m in messages]).tolist() == list(range(1, 20_001))


def auto(**changes: Any) -> EdgePlan:
    given = {"cycle": CycleRule(key=("k",), length=2, training_rows=8), "error_auto": True, "error_cap_pct": 50.0}
    columns = {"k": "string", "x": "double", "y": "double", "n": "int64", "t": "string", "b": "bool"}
    return small_plan(**({"columns": columns} | given | changes))


def rows_of(x: list[float | None], y: list[float]) -> pa.RecordBatch:
    n = len(x)
    return pa.record_batch({
        "k": ["a", "b"] * (n // 2), "x": pa.array(x, pa.float64()), "y": pa.array(y, pa.float64()), "n": np.arange(n) // 2 + 4,
        "t": [f"t{i}" for i in range(n)], "b": [i % 3 == 0 for i in range(n)],
    })


X = [10.0, 100.0, 11.0, 104.0, 9.0, 100.0, 10.0, 99.0]
Y = [1.0, 1.0, 5.0, 0.0, 1.0, 1.0, 1.0, 1.0]


def test_errors_are_fixed_points_up_to_a_cap() -> None:
    found = learned(auto(), rows_of(X, Y))
    # 10 of 9 is 11.1 % away, and 4 of 7 is 42.9 %; to zero nothing is near.
    assert found.errors["x"] == pytest.approx(100 / 9)
    assert found.errors["n"] == pytest.approx(300 / 7)
    assert (found.errors["y"], found.errors["t"], found.errors["b"]) == (50.0, 0.0, 0.0)
    assert found.exact == ()
    capped = learned(auto(error_cap_pct=4.81), rows_of(X, Y)).errors
    assert (capped["x"], capped["y"], capped["t"]) == (4.81, 4.81, 0.0)
    open_ = learned(auto(error_cap_pct=None), rows_of(X, Y))
    assert (open_.errors["y"], open_.exact) == (0.0, ("y",))
    assert open_.errors["x"] == found.errors["x"]


def test_errors_are_found_only_where_nobody_says_them() -> None:
    plan = auto(errors={"x": 1.0}, protected=frozenset({"n"}), retained=frozenset({"x", "y", "n"}))
    assert learned(plan, rows_of(X, Y)).errors == {"y": 50.0}
    assert learned(auto(error_auto=False), rows_of(X, Y)).errors == {}
    assert learned(auto(unread=frozenset({"y"})), rows_of(X, Y)).errors.keys() == {"x", "n", "t", "b"}
    # Rows after the training change nothing.
    more = pa.concat_batches([rows_of(X, Y), rows_of([1.0, 1e6], [1.0, 1.0])])
    assert learned(auto(), more).errors == learned(auto(), rows_of(X, Y)).errors


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.1, 100.0), min_size=4, max_size=40))
def test_with_a_fixed_point_one_value_of_each_key_is_stored(values: list[float]) -> None:
    values = values[: len(values) // 2 * 2]
    rule = CycleRule(key=("k",), length=2, training_rows=len(values))
    error = learned(auto(error_cap_pct=100.0, cycle=rule), rows_of(values, values)).errors["x"]
    for key in (0, 1):
        of = values[key::2]
        apart = max(abs(v - of[0]) / v * 100 for v in of)
        assert error >= min(apart, 100.0) * (1 - 1e-9)


def test_errors_that_are_found_last(tmp_path: Path) -> None:
    plan = auto(capacity_kbps=0.01, columns={"k": "string", "x": "double", "y": "double"}, error_cap_pct=None)
    blocks = [(1000.0 + i, line("a", X[i % 4 * 2], Y[i % 4 * 2]) + line("b", X[i % 4 * 2 + 1], Y[i % 4 * 2 + 1])) for i in range(30)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run(lambda: harness.site.progress.cycle is not None)
    # No row is sent before the training is over, and then all are.
    assert harness.site.counts.rows == 8
    found = {"x": pytest.approx(100 / 9), "y": 0.0}
    assert harness.site.plan.errors == found
    assert harness.told == ["values of y are kept exactly: they vary too much to find their error, and there is no cap"]
    harness.killed()
    assert harness.site.plan.errors == found
    assert harness.site.plan.token == "secret-token"
    harness.central.change(auto(
        capacity_kbps=0.02, columns={"k": "string", "x": "double", "y": "double"}, error_cap_pct=None, revision=2, errors={"y": 3.0},
    ))
    harness.run()
    assert harness.site.plan.revision == 2
    assert harness.site.plan.errors == {"x": pytest.approx(100 / 9), "y": 3.0}
    harness.killed()
    assert harness.site.plan.errors == {"x": pytest.approx(100 / 9), "y": 3.0}
    assert harness.site.store.rule("x").max_rel_error_pct == pytest.approx(100 / 9)
    values, status = harness.recovered("x", ["a"] * 4, [1, 2, 3, 4])
    assert values == [10.0] * 4
    assert status == [Status.EXACT] + [Status.APPROXIMATE] * 3


def test_a_later_cap_holds_for_errors_that_were_found() -> None:
    before = auto(errors={"x": 11.0, "y": 2.0})
    assert auto(error_cap_pct=4.81).succeeds(before).errors == {"x": 4.81, "y": 2.0}
    assert auto(error_auto=False, errors={"x": 1.0}).succeeds(before).errors == {"x": 1.0}


def test_training_without_an_error_to_find_is_none(tmp_path: Path) -> None:
    plan = small_plan(cycle=CycleRule(key=("k",), length=2, training_rows=1000), **NARROW)
    harness = Harness(tmp_path, plan, [(1000.0, line("a", 1.0) + line("b", 1.0)), (1900.0, b"")])
    harness.run(lambda: bool(harness.wire.went))
    assert harness.clock.now < 1002


@pytest.mark.parametrize("rule", [{"key": ("k",)}, {}, {"key": ("k",), "length": 3, "training_rows": -1}, {"length": -1}])
def test_cycles_that_cannot_be(rule: dict[str, Any]) -> None:
    with pytest.raises(BadPlan):
        small_plan(cycle=CycleRule(**rule))
