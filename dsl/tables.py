"""The parse tables: made by Lark from ``grammar.lark``, kept in ``tables.json``.

Making them takes most of a second, reading them a few milliseconds. The file carries the hash of
the grammar it was made from; where that does not fit (someone is changing the grammar) the tables
are made anew in memory. ``python -m streamq.dsl.tables`` writes the file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

GRAMMAR = Path(__file__).with_name("grammar.lark")
STORED = Path(__file__).with_name("tables.json")
STARTS = ("statement", "expr", "type")
END = "$END"
ABSENT = -1_000


class Rule(NamedTuple):
    """One production.

    ``action`` is the name of the function that makes its value; empty means that the value is the
    list of the children (a rule that is spliced into others), None that it is its only child.
    ``picks`` says what becomes a child: ``i`` is symbol i, ``~i`` all items of symbol i, ``ABSENT``
    the None of an optional part that is not there. ``is_unit``: it only renames its one symbol;
    ``is_plain``: all its children are symbols.
    """

    origin: str
    size: int
    action: str | None
    picks: tuple[int, ...]
    is_unit: bool
    is_plain: bool


@dataclass(frozen=True, slots=True)
class ParseTables:
    """LALR(1) tables: ``rows[state][symbol]`` is a state to go to, or ``~rule`` to reduce by.

    Terminals are named by what they match: ``SELECT``, ``<=``; NAME, NUMBER and so on by kind.
    """

    rules: tuple[Rule, ...]
    rows: tuple[dict[str, int], ...]
    start_states: dict[str, int]
    end_states: dict[str, int]
    terminals: frozenset[str]


@cache
def load_tables() -> ParseTables:
    """The tables of the grammar next to this file."""
    grammar = GRAMMAR.read_text(encoding="utf-8")
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if stored.get("grammar") != grammar_hash(grammar):
        stored = make_tables(grammar)
    return ParseTables(
        rules=tuple(_rule(*rule) for rule in stored["rules"]),
        rows=tuple(stored["rows"]),
        start_states=stored["start_states"],
        end_states=stored["end_states"],
        terminals=frozenset(stored["terminals"]),
    )


def _rule(origin: str, size: int, action: str | None, picks: list[int]) -> Rule:
    is_unit = action is None and size == 1
    is_plain = all(pick >= 0 for pick in picks)
    return Rule(origin, size, action, tuple(picks), is_unit, is_plain)


def grammar_hash(grammar: str) -> str:
    return sha256(grammar.encode()).hexdigest()


def make_tables(grammar: str) -> dict[str, object]:
    """The tables as plain data, numbered so that equal grammars give equal tables.

    Raises lark's GrammarError where the grammar is not LALR(1).
    """
    # Imported here: a run with stored tables must not pay for Lark.
    from streamq.dsl.lark_tables import lark_tables

    return {"grammar": grammar_hash(grammar), **lark_tables(grammar, STARTS)}


def write_tables() -> None:
    """Makes ``tables.json`` anew; one rule and one state a line, so that changes can be read."""
    tables = make_tables(GRAMMAR.read_text(encoding="utf-8"))
    STORED.write_text(tables_text(tables), encoding="utf-8")


def tables_text(tables: dict[str, object]) -> str:
    parts = []
    for key, value in tables.items():
        compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        if isinstance(value, list) and key in ("rules", "rows"):
            lines = (json.dumps(v, ensure_ascii=False, separators=(",", ":")) for v in value)
            compact = "[\n" + ",\n".join(lines) + "\n]"
        parts.append(f'"{key}": {compact}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    write_tables()
