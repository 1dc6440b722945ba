"""Every diagnostic code has a page, and the programs on the page do what it says.

A ``fails`` block gives exactly the code of its page, a ``mended`` block compiles without an error and without
that code. On pages about tests, ``refused`` and ``accepted`` say the same of files of tests. Blocks with ``file=`` are written into the program's folder first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.dsl.codes import CODES
from streamq.dsl.diagnostics import Severity
from streamq.runtime.fixtures.runner import Runner
from tests.docs.pages import DOCS, Page, read_page
from tests.docs.programs import codes_of, compile_in, told

ERRORS = DOCS / "errors"

OF_TESTS = [code for code in CODES if code.startswith("SQ10")]

TOLD_IN_WORDS = {
    "SQ0005": "takes binary data or a long text; `test_text_that_is_no_program` makes one",
    "SQ0108": "takes more than a thousand nested nodes; `test_deep_nesting` makes one",
    "SQ0709": "happens when a run begins without its secret",
    "SQ0801": "happens inside Spark while a query runs",
    "SQ0802": "needs a machine without Java",
    "SQ0804": "happens when a run reads the row",
    "SQ0805": "needs two runs with a change between them",
    "SQ0807": "happens when a run begins whose folder or port another one has",
    "SQ0808": "needs a server that is not there",
    "SQ0811": "needs a machine without the library",
    **dict.fromkeys(OF_TESTS, "is about tests; `test_tests_on_the_page` runs some"),
}
"""Codes whose pages describe a situation, with the reason why no program can show it."""


def _page(code: str) -> Page:
    return read_page(ERRORS / f"{code}.md")


def _write_files(page: Page, folder: Path) -> None:
    for block in page.blocks:
        if "file" in block.values:
            target = folder / block.values["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")


def test_codes_and_pages_match_one_to_one() -> None:
    found = {path.stem for path in ERRORS.glob("SQ*.md")}
    assert found == set(CODES)
    assert set(TOLD_IN_WORDS) <= set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_page_begins_with_code_and_title(code: str) -> None:
    assert _page(code).text.startswith(f"# {code}: {CODES[code]}\n\n")


@pytest.mark.parametrize("code", [code for code in CODES if code not in TOLD_IN_WORDS])
def test_failing_program_gives_exactly_this_code(code: str, tmp_path: Path) -> None:
    page = _page(code)
    failing = [block for block in page.blocks if block.has("fails")]
    assert failing
    _write_files(page, tmp_path)
    for block in failing:
        result, found = compile_in(tmp_path, block.text)
        assert codes_of(found) == [code], told(result, found)


@pytest.mark.parametrize("code", CODES)
def test_mended_program_compiles(code: str, tmp_path: Path) -> None:
    page = _page(code)
    mended = [block for block in page.blocks if block.has("mended")]
    assert mended or code in TOLD_IN_WORDS
    _write_files(page, tmp_path)
    for block in mended:
        result, found = compile_in(tmp_path, block.text)
        assert not [d for d in found if d.severity is Severity.ERROR], told(result, found)
        assert code not in codes_of(found), told(result, found)


@pytest.mark.parametrize("code", sorted(TOLD_IN_WORDS))
def test_situation_says_when_and_what_to_do(code: str) -> None:
    page = _page(code)
    assert not [block for block in page.blocks if block.has("fails")]
    assert "## When it happens" in page.text
    assert "## What to do" in page.text


@pytest.mark.parametrize("code", OF_TESTS)
def test_tests_on_the_page(code: str, tmp_path: Path) -> None:
    """``refused`` blocks are files of tests that give exactly the code, those of ``accepted`` ones pass."""
    page = _page(code)
    _write_files(page, tmp_path)
    blocks = [block for block in page.blocks if block.language == "yaml"]
    assert [block.words for block in blocks] == [{"refused"}, {"accepted"}]
    tests = tmp_path / "program.test.yaml"
    for block in blocks:
        tests.write_text(block.text, encoding="utf-8")
        outcome = Runner().run(str(tests))
        assert outcome is not None
        found = [*outcome.diagnostics, *(d for one in outcome.outcomes for d in one.diagnostics)]
        assert codes_of(found) == ([code] if block.has("refused") else []), page.place(block)
        assert outcome.passed == block.has("accepted"), page.place(block)


def test_deep_nesting(tmp_path: Path) -> None:
    stream = "CREATE STREAM t (value BIGINT) WITH (connector = 'rate');"
    deep = "NOT " * 2_000 + "value > 0"
    result, found = compile_in(tmp_path, f"{stream} SELECT value FROM t WHERE {deep};")
    assert codes_of(found) == ["SQ0108"], told(result, found)


def test_text_that_is_no_program(tmp_path: Path) -> None:
    result, found = compile_in(tmp_path, "│ 1000 │ 4711 │\n" * 500)
    assert codes_of(found) == ["SQ0005"], told(result, found)
