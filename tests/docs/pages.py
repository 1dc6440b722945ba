"""Reads documentation pages: fenced blocks with their attributes, and generated sections.

A block opens with its language, then words and ``key=value`` pairs (```` ```sql refused=SQ0601 ````).
A block inside an HTML comment counts too; that is how a page hides what its reader need not see.
A generated section stands between ``<!-- generated: name argument -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCE = re.compile(r"^(`{3,})(.*)$")
_SECTION = re.compile(r"<!-- generated: (?P<name>\S+)(?P<args>[^\n]*?) -->\n(?P<body>.*?)<!-- end -->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block. ``line``: 1-based line of its opening fence; ``last``: of the closing one."""

    language: str
    words: frozenset[str]
    values: dict[str, str]
    text: str
    line: int
    last: int

    def has(self, word: str) -> bool:
        return word in self.words


@dataclass(frozen=True, slots=True)
class Page:
    """A page with its blocks, in order."""

    path: Path
    text: str
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    def place(self, block: Block) -> str:
        return f"{self.name}:{block.line}"


def read_page(path: Path) -> Page:
    """The page; ValueError where a fence is not closed or closes with something behind it."""
    text = path.read_text(encoding="utf-8")
    blocks: list[Block] = []
    opened: tuple[str, str, int] | None = None
    body: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _FENCE.match(line)
        if opened is None and found:
            opened, body = (found[1], found[2].strip(), number), []
        elif opened is not None and line.strip() == opened[0]:
            blocks.append(_block(opened[1], "\n".join([*body, ""]), opened[2], number))
            opened = None
        elif opened is not None:
            body.append(line)
    if opened is not None:
        raise ValueError(f"{path}:{opened[2]}: the block is not closed")
    return Page(path, text, tuple(blocks))


def _block(head: str, text: str, line: int, last: int) -> Block:
    language, *rest = head.split() or [""]
    pairs = dict(item.split("=", 1) for item in rest if "=" in item)
    words = frozenset(item for item in rest if "=" not in item)
    return Block(language, words, pairs, text, line, last)


def named_block(page: Page, name: str) -> Block:
    """The one block of the page with ``name=``; ValueError where there is none, or more than one."""
    found = [block for block in page.blocks if block.values.get("name") == name]
    if len(found) != 1:
        raise ValueError(f"{page.name}: {len(found)} blocks are called `{name}`")
    return found[0]


def pages(folder: Path) -> list[Page]:
    """The pages of a folder and those below it, in name order; finding none is an error."""
    found = [read_page(path) for path in sorted(folder.rglob("*.md"))]
    if not found:
        raise FileNotFoundError(f"no page under {folder}")
    return found


def replace_block(page: Page, block: Block, text: str) -> None:
    """Writes the page with another text in one block."""
    lines = page.path.read_text(encoding="utf-8").splitlines()
    lines[block.line : block.last - 1] = text.rstrip("\n").splitlines()
    page.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def renew_sections(text: str, generate: Callable[[str, list[str]], str]) -> str:
    """The text with the body of each generated section made anew from its name and arguments."""

    def renew(found: re.Match[str]) -> str:
        body = generate(found["name"], found["args"].split()).rstrip("\n")
        head = found[0].partition("\n")[0]
        return f"{head}\n{body}\n<!-- end -->"

    return _SECTION.sub(renew, text)
