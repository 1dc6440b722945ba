"""Steps of physical plans are rebuilt over other inputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamq.compiler.ir import physical as ph

SCAN = ph.ScanStream(stream="s", connector="file", schema=(("k", "INT"),), options=(), id="s")
TABLE = ph.ScanTable(table="t", connector="file", schema=(("k", "INT"),), options=(), id="t")
STEPS = (
    SCAN,
    TABLE,
    ph.Parse(SCAN, "__value", "json", (("k", "INT"),), (), "__read", (), "__corrupt", id="s"),
    ph.Select(SCAN, (("k", "`k`"),), id="q"),
    ph.Where(SCAN, "`k` > 1", id="q"),
    ph.Observe(SCAN, "rows", (("rows", "count(1)"),), id="q"),
    ph.WithWatermark(SCAN, "ts", 1000, id="q"),
    ph.AssignWindow(SCAN, "window", "ts", 1000, 500, id="q"),
    ph.Aggregate(SCAN, (("k", "`k`"),), (), id="q"),
    ph.DropDuplicates(SCAN, ("k",), id="q"),
    ph.Join(SCAN, TABLE, "inner", "true", id="q"),
    ph.Stateful(SCAN, "rows", (), ("long",), ("long",), id="q"),
    ph.WindowJoin(SCAN, ("values", (), (), (), False), ((9, 5), (9, 5)), ("long",), 1, id="q"),
    ph.UnionAll((SCAN, SCAN), id="q"),
)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_step_over_other_inputs(step: ph.Step) -> None:
    others = tuple(replace(below, id=str(n)) for n, below in enumerate(ph.inputs_of(step)))
    made = ph.with_inputs(step, others)
    assert ph.inputs_of(made) == others
    assert ph.with_inputs(made, ph.inputs_of(step)) == step


def test_there_is_an_example_of_every_step() -> None:
    assert {type(step) for step in STEPS} == set(ph.Step.__subclasses__())


def test_what_is_no_step_is_refused() -> None:
    with pytest.raises(TypeError, match="not a physical step"):
        ph.with_inputs(ph.Step(id="q"), ())
