"""The harness of the cases: odd files are errors, errors are never recorded, comments survive."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import cases
from tests.support.cases import (
    CaseError,
    compare,
    compile_case,
    compile_yaml,
    load_error_cases,
    load_yaml,
    record,
)

ALLOWED = {"name": str, "program": str, "stages": list, "fails": bool, "outputs": dict}
REQUIRED = ("name", "program", "stages")
STREAM = "CREATE STREAM s (a INT) WITH (connector = 'memory');"
GOOD = f"- name: one\n  program: |\n    {STREAM}\n    SELECT a FROM s;\n  stages: [logical]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cases, "CASES", tmp_path)
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    (tmp_path / "plans").mkdir()
    (tmp_path / "errors").mkdir()
    return tmp_path


def load(folder: Path, text: str) -> list[cases.YamlCase]:
    (folder / "plans" / "x.yaml").write_text(text, encoding="utf-8")
    return load_yaml("plans", ALLOWED, REQUIRED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a list"),
        ("[]", "not a list"),
        ("name: one", "not a list"),
        ("- one", "not a mapping"),
        (GOOD + "  stage: [logical]\n", "unknown key `stage`"),
        (GOOD.replace("[logical]", "logical"), "`stages` is no list"),
        ("- name: one\n  program: SELECT 1\n", "`stages` is missing"),
        (GOOD + GOOD, "two cases have one name"),
    ],
)
def test_odd_files_are_errors(folder: Path, text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        load(folder, text)


def test_no_cases_are_an_error(folder: Path) -> None:
    with pytest.raises(CaseError, match="no cases"):
        load_yaml("plans", ALLOWED, REQUIRED)
    with pytest.raises(CaseError, match="no programs"):
        load_error_cases()


def test_a_case_with_errors_must_say_so(folder: Path) -> None:
    (case,) = load(folder, GOOD.replace("SELECT a", "SELECT b"))
    with pytest.raises(CaseError, match="SQ0202"):
        compile_yaml(case)
    (case,) = load(folder, GOOD + "  fails: true\n")
    with pytest.raises(CaseError, match="says `fails`, and compiles"):
        compile_yaml(case)


def test_recording_keeps_the_comment_and_the_other_cases(folder: Path) -> None:
    head = "# A comment.\n# Another.\n\n"
    first, second = load(folder, head + GOOD + GOOD.replace("one", "two"))
    record(second, {"outputs": {"logical": "line\n  indented: 'x'\n"}})
    text = (folder / "plans" / "x.yaml").read_text(encoding="utf-8")
    assert text.startswith(head + "- name: one\n")
    assert text.endswith("    logical: |\n      line\n        indented: 'x'\n")
    again = load_yaml("plans", ALLOWED, REQUIRED)
    assert again[0].values == first.values
    assert again[1].values["outputs"] == {"logical": "line\n  indented: 'x'\n"}
    with pytest.raises(CaseError, match="spaces at the end"):
        record(second, {"outputs": {"logical": "line \nline\n"}})


def error_case(folder: Path, text: str) -> cases.ErrorCase:
    (folder / "errors" / "x.cql").write_text(text, encoding="utf-8")
    return load_error_cases()[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT 1;\n", "expects nothing"),
        ("-- error: here [SQ0408] \"reads\"\nSELECT 1;\n", "is no expectation"),
        ("-- error: 1 [SQ408] \"reads\"\nSELECT 1;\n", "is no expectation"),
        ("--error: 1 [SQ0408]\nSELECT 1;\n", "is no expectation"),
        ("SELECT 1;\n-- error: 1 [SQ0408] \"reads\"\n", "stands above no line"),
        ("-- error: 1 [SQ0408] \"reads\"\nSELECT 1;\n-- file: a\n-- file: a\n", "two files are called a"),
    ],
)  # fmt: skip
def test_odd_expectations_are_errors(folder: Path, text: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        error_case(folder, text)


def wrong(folder: Path, text: str) -> list[str]:
    case = error_case(folder, text)
    return [line.partition(":")[0] for line in compare(case, compile_case(case.text, case.files))]


def test_what_is_expected_must_be_found_and_the_reverse(folder: Path) -> None:
    assert wrong(folder, '-- error: 1 [SQ0408] "reads no stream"\nSELECT 1;\n') == []
    assert wrong(folder, '-- error: 2:1 [SQ0408] "reads no stream"\nSELECT 1;\n') == []
    both = ["not expected", "not found"]
    assert wrong(folder, '-- error: 2 [SQ0408] "reads no stream"\nSELECT 1;\n') == both
    assert wrong(folder, '-- error: 1 [SQ0409] "reads no stream"\nSELECT 1;\n') == both
    assert wrong(folder, '-- error: 1 [SQ0408] "something else"\nSELECT 1;\n') == both
    assert wrong(folder, '-- warning: 1 [SQ0408] "reads no stream"\nSELECT 1;\n') == both
    assert wrong(folder, '\n-- error: 1 [SQ0408] "reads"\nSELECT 1;\nSELECT 2;\n') == ["not expected"]
    twice = '-- error: 1 [SQ0408] "reads"\n-- error: 1 [SQ0408] "reads"\nSELECT 1;\n'
    assert wrong(folder, twice) == ["not found"]
