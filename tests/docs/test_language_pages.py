"""Every program in ``docs/language`` and on running compiles, or is refused with the code that its block states.

```` ```sql ```` blocks give no diagnostic at all; ``warns=CODE`` and ``refused=CODE`` name exactly what
they give. A ``prelude`` block belongs to every block after it; ``alone`` leaves it out.
"""

from __future__ import annotations

import pytest

from streamq.dsl.diagnostics import Severity
from tests.docs.pages import DOCS, Block, Page, pages, read_page
from tests.docs.programs import codes_of, compile_in, program_of, told

LANGUAGE = DOCS / "language"
KNOWN_WORDS = {"prelude", "alone", "output", "ordered"}
KNOWN_VALUES = {"refused", "warns", "file"}
EXAMPLES = [
    (page, block) for page in (*pages(LANGUAGE), read_page(DOCS / "operations.md"))
    for block in page.blocks if block.language == "sql"
]


def _ids(case: tuple[Page, Block]) -> str:
    return case[0].place(case[1])


@pytest.mark.parametrize("case", EXAMPLES, ids=_ids)
def test_program_compiles_as_the_page_says(case: tuple[Page, Block]) -> None:
    page, block = case
    if block.has("prelude"):
        return
    result, found = compile_in(LANGUAGE, program_of(page, block))
    expected = [c for key in ("refused", "warns") for c in block.values.get(key, "").split(",") if c]
    assert codes_of(found) == sorted(expected), told(result, found)
    errors = [d for d in found if d.severity is Severity.ERROR]
    assert bool(errors) == ("refused" in block.values), told(result, found)


@pytest.mark.parametrize("page", pages(LANGUAGE), ids=lambda page: page.name)
def test_attributes_of_blocks_are_known(page: Page) -> None:
    for block in page.blocks:
        assert block.language in ("sql", "text", "sh", "python", "json"), page.place(block)
        assert block.words <= KNOWN_WORDS, page.place(block)
        assert set(block.values) <= KNOWN_VALUES, page.place(block)


def test_the_first_line_says_which_cql_it_is() -> None:
    first = (LANGUAGE / "README.md").read_text(encoding="utf-8").splitlines()[0]
    for word in ("*Continuous* Query Language", "STREAM", "Cassandra", "Clinical Quality Language"):
        assert word in first
