"""Plans as recorded texts: ``tests/cases/plans`` for stages, ``tests/cases/passes`` for single passes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from streamq.compiler.driver import CompileResult
from streamq.compiler.explain import render
from streamq.compiler.explain.model import STAGES
from streamq.compiler.ir.logical import LogicalPlan
from streamq.compiler.passes.pipeline import PIPELINE
from tests.support.cases import CaseError, YamlCase, compile_yaml, load_yaml, record, show

PLANS = load_yaml(
    "plans",
    {
        "name": str, "note": str, "program": str, "files": dict, "stages": list, "fails": bool,
        "outputs": dict,
    },
    ("name", "program", "stages"),
)
PASSES = load_yaml(
    "passes",
    {
        "name": str, "note": str, "program": str, "fails": bool, "unchanged": bool, "before": str,
        "after": str, "notices": list,
    },
    ("name", "program"),
)


@pytest.mark.parametrize("case", PLANS, ids=lambda case: case.id)
def test_plan(case: YamlCase, request: pytest.FixtureRequest) -> None:
    stages = case.values["stages"]
    unknown = [s for s in stages if s not in STAGES]
    if unknown or not stages:
        raise CaseError(f"{case.id}: asks for the stages {stages}, known are {', '.join(STAGES)}")
    result = compile_yaml(case)
    outputs = {stage: render(result, stage) for stage in stages}
    if result.diagnostics:
        outputs["diagnostics"] = "".join(
            f"{show(d, result.sources)}\n" for d in result.diagnostics
        )
    if request.config.getoption("--accept"):
        if outputs != case.values.get("outputs"):
            record(case, {"outputs": outputs})
        return
    recorded = case.values.get("outputs", {})
    assert sorted(outputs) == sorted(recorded), "other outputs are recorded: run pytest --accept"
    for stage, text in outputs.items():
        assert text == recorded[stage], stage


@pytest.mark.parametrize("case", PASSES, ids=lambda case: case.id)
def test_pass(case: YamlCase, request: pytest.FixtureRequest) -> None:
    name = case.path.stem
    result = compile_yaml(case)
    entry = next(e for e in result.trace if e.name == name)
    if entry.changed == case.values.get("unchanged", False):
        raise CaseError(f"{case.id}: the plan is {'changed' if entry.changed else 'the same'}")
    outputs: dict[str, object] = {"before": _text(result, entry.before)}
    if entry.changed:
        outputs["after"] = _text(result, entry.plan)
    if name == "place_shedders":
        outputs["notices"] = [f"{n.kind}: {n.message}" for n in result.notices]
    if request.config.getoption("--accept"):
        if any(case.values.get(key) != value for key, value in outputs.items()):
            record(case, outputs)
        return
    for key, value in outputs.items():
        assert value == case.values.get(key), key


def _text(result: CompileResult, plan: LogicalPlan) -> str:
    return render(replace(result, logical=plan), "logical")


def test_every_pass_has_cases() -> None:
    names = [step.name for step in PIPELINE]
    assert len(set(names)) == len(names)
    assert sorted({case.path.stem for case in PASSES}) == sorted(names)
    for step in PIPELINE:
        changing = [
            c for c in PASSES if c.path.stem == step.name and not c.values.get("unchanged")
        ]
        assert changing, f"no case shows what {step.name} does"
        assert step.why
        module = f"streamq.compiler.passes.{step.name}"
        assert step.run.__module__ == module, "file, pass and case file have one name"
