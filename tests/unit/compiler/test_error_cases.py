"""Programs with errors: each must give the diagnostics that it says, where it says, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import streamq.compiler
import streamq.dsl
import streamq.stdlib
from tests.support.cases import ErrorCase, compare, compile_case, load_error_cases

CASES = load_error_cases()
ELSEWHERE = {
    "SQ0504": "comes from an export, see test_pipelines.py",
    "SQ0108": "needs a text too long to read, see test_bad_input.py",
    "SQ0005": "needs bytes that are no text, see test_bad_input.py",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_errors(case: ErrorCase) -> None:
    wrong = compare(case, compile_case(case.text, case.files))
    assert not wrong, "\n" + "\n".join(wrong)


def test_every_code_has_a_case() -> None:
    """Every code that the parser, the library or the compiler can give, but those of a run."""
    given: set[str] = set()
    for package in (streamq.dsl, streamq.stdlib, streamq.compiler):
        for path in Path(package.__path__[0]).rglob("*.py"):
            if path.name != "codes.py":
                given |= set(re.findall(r'"(SQ\d{4})"', path.read_text(encoding="utf-8")))
    given = {code for code in given if not code.startswith("SQ08")}
    covered = {e.code for case in CASES for e in case.expected}
    assert sorted(given - covered - ELSEWHERE.keys()) == []
    assert sorted(covered & ELSEWHERE.keys()) == []
