"""Generated sections of the documentation are what their generators give; ``--accept`` renews them."""

from __future__ import annotations

import re

import pytest

from tests.docs.generated import generate
from tests.docs.pages import DOCS, ROOT, Page, pages, read_page, renew_sections

ALL = [read_page(ROOT / "README.md"), *pages(DOCS)]
MARKED = [page for page in ALL if "\n<!-- generated:" in page.text]


@pytest.mark.parametrize("page", MARKED, ids=lambda page: page.name)
def test_generated_sections_are_in_step(page: Page, request: pytest.FixtureRequest) -> None:
    renewed = renew_sections(page.text, lambda name, args: generate(page, name, args))
    if request.config.getoption("accept", default=False):
        page.path.write_text(renewed, encoding="utf-8")
        return
    assert page.text == renewed, "run `pytest tests/docs --accept` and look at the difference"


def test_every_marker_is_well_formed() -> None:
    for page in MARKED:
        emptied = renew_sections(page.text, lambda name, args: "")
        sections = emptied.count("-->\n\n<!-- end -->")
        opened = len(re.findall(r"^<!-- generated:", page.text, re.MULTILINE))
        closed = len(re.findall(r"^<!-- end -->$", page.text, re.MULTILINE))
        assert opened == sections == closed, page.name
    assert len(MARKED) >= 5
