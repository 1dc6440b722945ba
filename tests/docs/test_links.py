"""What the documentation points to is there: links, anchors, paths, make targets, commands and options."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamq.runtime.arguments import build_parser
from streamq.runtime.cli import COMMANDS
from tests.docs.pages import DOCS, ROOT, Page, pages, read_page

ALL = [read_page(ROOT / "README.md"), *pages(DOCS), *pages(ROOT / "examples")]
ROOMS = ("dsl", "stdlib", "compiler", "runtime", "tests", "docs", "examples")

_LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
_MADE = re.compile(r"<!-- generated:.*?<!-- end -->", re.DOTALL)
_FENCED = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def _prose(page: Page) -> str:
    return _FENCED.sub("", page.text)


def _anchors(path: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    text = _FENCED.sub("", path.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head).strip().lower().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Page) -> None:
    for target in _LINK.findall(_prose(page)):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.path.parent / path).resolve() if path else page.path
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in _anchors(file), f"{page.name}: {target}"


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_paths_in_backticks_exist(page: Page) -> None:
    for text in _CODE.findall(_MADE.sub("", _prose(page))):
        if text.split("/")[0] in ROOMS and "/" in text and "…" not in text and " " not in text:
            assert list(ROOT.glob(text.rstrip("/"))), f"{page.name}: {text}"


def _is_call(words: list[str]) -> bool:
    """Whether the command line takes these arguments, or would with a file behind them."""
    parser = build_parser(COMMANDS)
    for arguments in (words, [*words, "program.cql"]):
        with contextlib.suppress(SystemExit):
            parser.parse_args(arguments)
            return True
    return False


def _calls(page: Page) -> Iterator[list[str]]:
    """The words of each call of ``streamq`` in code or in backticks."""
    texts = [*_CODE.findall(_prose(page)), *"\n".join(b.text for b in page.blocks).splitlines()]
    for text in texts:
        words = text.strip().removeprefix("$ ").split()
        if len(words) > 1 and words[0] == "streamq":
            yield words[1:]


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_commands_and_options_exist(page: Page) -> None:
    for words in _calls(page):
        assert _is_call(words), f"{page.name}: streamq {' '.join(words)}"


@pytest.mark.parametrize("page", ALL, ids=lambda page: page.name)
def test_make_targets_exist(page: Page) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][\w-]*):", makefile, re.MULTILINE))
    texts = [*_CODE.findall(_prose(page)), *"\n".join(b.text for b in page.blocks).splitlines()]
    for text in texts:
        words = text.split()
        if len(words) > 1 and words[0] == "make" and "=" not in words[1]:
            assert words[1] in targets, f"{page.name}: {text}"
