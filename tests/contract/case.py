"""How a case is written down: a query, and the answer that someone worked out on paper.

Instants are seconds after the first instant of 2024. A case that one engine refuses today carries a word that
says so; when the engine has learnt it, that word is deleted and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.contract.cases import R, S, T

Row = tuple[Any, ...]
Batches = Sequence[Sequence[Row]]

REFUSED = "refused"
"""The compiler knows what the query means, and cannot run it on Spark: the reference alone answers it."""

UNBOUND = "unbound"
"""The compiler takes the query for valid, but does not know it yet: nobody answers it."""

DIFFERS = "differs"
"""Spark runs it and gives another answer: a fault that is known, and that its test waits for to go."""

CLOSED = 95
"""The watermark after the last batch of every input: later instants are not looked at."""


@dataclass(frozen=True)
class Input:
    """Batches of ``s`` (key, v, x, second) and of ``r`` (key, w, second), and the rows of ``t``."""

    s: Batches
    r: Batches
    t: Sequence[Row]


MAIN = Input(S, R, [(row["k"], row["name"]) for row in T[0]])


@dataclass(frozen=True)
class Case:
    """A query and its answer: (instant, *row) of a stream, (instant, "+" or "-", *row) of a relation."""

    query: str
    rows: tuple[Row, ...]
    is_stream: bool
    waits: str = ""
    input: Input = MAIN
    late: int = 0


def stream(
    query: str, rows: Sequence[Row], waits: str = "", *, input: Input = MAIN, late: int = 0
) -> Case:
    """A query that gives a stream: each element after its instant."""
    return Case(query, tuple(rows), True, waits, input, late)


def relation(
    query: str, rows: Sequence[Row], waits: str = "", *, input: Input = MAIN, late: int = 0
) -> Case:
    """A query that gives a relation: its changes, each after its instant and its sign."""
    return Case(query, tuple(rows), False, waits, input, late)


def of_window(
    name: str, select: str, changes: Sequence[Row], held: Mapping[float, Sequence[Row]], waits: str = ""
) -> dict[str, Case]:
    """What all operators say of one window: ``select`` is a query with ``{}`` around its select list.

    ``changes``: how the relation changes. ``held``: what RSTREAM gives, by instant. ``waits``: the operators
    that Spark does not run under this window, as words; ``relation`` stands for the query without operator.
    """
    plain = select.format("k, v")
    comes = [(at, *row) for at, sign, *row in changes if sign == "+"]
    goes = [(at, *row) for at, sign, *row in changes if sign == "-"]
    all_there = [(at, *row) for at, rows in held.items() for row in rows]
    waiting = waits.split()

    def word(operator: str) -> str:
        return REFUSED if operator in waiting else ""

    return {
        f"{name}, relation": relation(plain, changes, word("relation")),
        f"{name}, ISTREAM": stream(select.format("ISTREAM(k, v)"), comes, word("ISTREAM")),
        f"{name}, DSTREAM": stream(f"DSTREAM({plain})", goes, word("DSTREAM")),
        f"{name}, RSTREAM": stream(f"RSTREAM({plain})", all_there, word("RSTREAM")),
    }


def of_final_window(
    name: str, select: str, changes: Sequence[Row], held: Mapping[float, Sequence[Row]], waits: str = ""
) -> dict[str, Case]:
    """The same for windows that have final results, which a query without operator gives as RSTREAM does."""
    cases = of_window(name, select, changes, held, waits)
    given = cases[f"{name}, RSTREAM"]
    word = REFUSED if "relation" in waits.split() else ""
    cases[f"{name}, relation"] = stream(select.format("k, v"), given.rows, word)
    return cases
