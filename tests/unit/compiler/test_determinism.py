"""The same text gives the same plans and messages, whatever Python's hash seed and however often."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from streamq.compiler.driver import compile_program
from streamq.compiler.explain import render
from streamq.compiler.explain.model import FORMATS, STAGES
from tests.support.compiling import compile_text

ROOT = Path(__file__).parents[3]
PRINT_ALL = """
from tests.support.cases import CASES, compile_case, load_error_cases, load_mappings, show
from streamq.compiler.explain import ExplainUnavailable, render
from streamq.compiler.explain.model import FORMATS, STAGES

for path in sorted((CASES / "plans").glob("*.yaml")):
    for case in load_mappings(path):
        result = compile_case(case["program"], case.get("files"))
        for d in result.diagnostics:
            print(show(d, result.sources), d.help, d.notes)
        for stage in STAGES:
            for format in FORMATS if stage == "annotated" else ("text",):
                try:
                    print(render(result, stage, format))
                except ExplainUnavailable:
                    print("unavailable")
        print([(e.name, e.changed) for e in result.trace], result.notices)
for case in load_error_cases():
    result = compile_case(case.text, case.files)
    for d in result.diagnostics:
        print(show(d, result.sources), d.help, d.notes, d.labels)
"""


def printed(seed: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PRINT_ALL], capture_output=True, text=True, cwd=ROOT, check=False,
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_output_does_not_depend_on_the_hash_seed() -> None:
    first, second = printed("1"), printed("4242")
    assert len(first) > 100_000
    assert first == second


def test_nothing_is_carried_over_from_one_compilation_to_the_next() -> None:
    text = "SELECT i, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] GROUP BY i SHED RANDOM BY 5 PERCENT;"
    results = [compile_text(text) for _ in range(2)]
    compile_text("SELECT nothing FROM s;")
    results.append(compile_text(text))
    for stage in STAGES:
        for format in FORMATS if stage != "spark" else ("text",):
            assert len({render(r, stage, format) for r in results}) == 1
    assert len({r.plan for r in results}) == 1


def test_compiling_does_not_change_the_recursion_limit() -> None:
    before = sys.getrecursionlimit()
    compile_program("SELECT")
    compile_text("SELECT i FROM s;")
    assert sys.getrecursionlimit() == before
