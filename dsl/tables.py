"""The parse tables: made by Lark from ``grammar.lark``, kept in ``stored_tables.py``.

Making them takes most of a second, importing them two milliseconds. ``lark_tables`` makes them
and writes the file; a test holds the file against the grammar.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from streamq.dsl.records import dataclass

END = "$END"
ABSENT = -1_000
TOKEN_KINDS = frozenset({"NAME", "NUMBER", "STRING", "DURATION", "UNIT", "RESERVED"})
"""Terminals that stand for many texts; all other ones stand for themselves."""


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

    @property
    def keywords(self) -> frozenset[str]:
        """The terminals that are words."""
        return frozenset(t for t in self.terminals - TOKEN_KINDS if t.isalpha())


@cache
def load_tables() -> ParseTables:
    """The stored tables; where the file is missing they are made anew."""
    try:
        from streamq.dsl.stored_tables import TABLES
    except ModuleNotFoundError:
        # Imported here: a run with stored tables must not pay for Lark.
        from streamq.dsl.lark_tables import make_tables

        return tables_of(make_tables())
    return tables_of(TABLES)


def tables_of(stored: dict[str, Any]) -> ParseTables:
    """The tables from the plain data that ``lark_tables.make_tables`` gives."""
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
