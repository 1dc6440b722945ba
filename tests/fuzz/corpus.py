"""The programs that mutations start from: tests, examples and pages, each once, the short ones more often."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from tests.docs.pages import read_page
from tests.fuzz.tokens import parts_of
from tests.support.cases import load_mappings
from tests.support.compiling import PRELUDE, USED

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 12_000
"""Characters of a program that is mutated; longer ones are few, and take all the time."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """``weights`` add up over ``programs``; ``parts``: expressions, clauses and statements, by their kind, to recombine."""

    programs: tuple[str, ...]
    weights: tuple[float, ...]
    parts: dict[str, tuple[str, ...]]

    def draw(self, random: Random) -> str:
        return random.choices(self.programs, cum_weights=self.weights)[0]


def _whole(text: str) -> str:
    """The program with the files of the repository that it includes; there are none where it is tried."""

    def included(found: re.Match[str]) -> str:
        paths = [path for place in ("docs/language", "examples/nexmark") for path in [ROOT / place / found[1]] if path.is_file()]
        return paths[0].read_text(encoding="utf-8") if paths else found[0]

    return re.sub(r"INCLUDE '(\w+\.cql)';", included, text)


@cache
def corpus() -> Corpus:
    """All programs of the repository, in an order that is the same everywhere."""
    found: dict[str, None] = {PRELUDE + USED: None}
    for place in ("tests/cases", "examples", "docs"):
        for path in sorted((ROOT / place).rglob("*.cql")):
            found[path.read_text(encoding="utf-8")] = None
    for path in sorted((ROOT / "tests/cases").glob("*/*.yaml")):
        for case in load_mappings(path):
            found[PRELUDE + str(case["program"])] = None
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for block in read_page(path).blocks:
            if block.language == "sql":
                found[block.text] = None
    programs = tuple(dict.fromkeys(_whole(text) for text in found if 0 < len(text) <= LONGEST))
    total, weights = 0.0, []
    for text in programs:
        total += min(1.0, 1500 / len(text))
        weights.append(total)
    return Corpus(programs, tuple(weights), parts_of(programs))
