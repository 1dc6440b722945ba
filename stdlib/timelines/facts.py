"""From changes to facts: which row comes when, and when it goes (ADR 0008)."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.table import FOREVER, Index, Table, concat, firsts, length, take


def due(waiting: Table, rows: Table, upto: int) -> tuple[Table, Table]:
    """The changes up to an instant, and those that wait for a later one."""
    table = concat((waiting, rows))
    if not length(table):
        return table, table
    now = table["at"] <= upto
    return take(table, now), take(table, ~now)


def advance_facts(held: Table, changes: Table, upto: int) -> tuple[Table, Table]:
    """The facts of a stretch of time that ends at ``upto``, and those of them that still hold then.

    ``held``: facts from before; ``changes``: those of the stretch. A fact is a change of sign 1 whose ``end`` is
    the instant at which it goes; an end after ``upto`` may be not known yet (``FOREVER``). Rows of sign -1
    end the oldest open fact of an equal row on the same side.
    """
    if length(changes):
        facts = concat((held, take(changes, changes["sign"] > 0)))
        gone = take(changes, changes["sign"] < 0)
        if length(facts) and length(gone):
            facts = {**facts, "end": _ends(facts, gone)}
    else:
        facts = held
    if not length(facts):
        return facts, facts
    facts = take(facts, facts["end"] > facts["at"])
    return facts, take(facts, facts["end"] > upto)


def _ends(facts: Table, gone: Table) -> Index:
    """The ends of the facts, with the k-th open fact of a row ended by the k-th change that takes it away."""
    ends = facts["end"].copy()
    open_at = np.flatnonzero(ends == FOREVER)
    comes = _ranked(take(facts, open_at))
    goes = _ranked(gone)
    order = np.lexsort((comes[2], comes[1], comes[0]))
    place = {"row": comes[0][order], "side": comes[1][order], "rank": comes[2][order]}
    found = _find(place, goes)
    hit = found >= 0
    ends[open_at[order[found[hit]]]] = gone["at"][hit]
    return ends


def _ranked(table: Table) -> tuple[Index, Index, Index]:
    """(row, side, how many equal rows of the side come before it in time)."""
    order = np.lexsort((table["at"], table["side"], table["row"]))
    new = firsts(table["row"][order], table["side"][order])
    starts = np.flatnonzero(new)
    within = np.arange(len(order)) - starts[np.cumsum(new) - 1] if len(order) else order
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = within
    return table["row"], table["side"], rank


def _find(place: Table, goes: tuple[Index, Index, Index]) -> Index:
    """The position of each wanted (row, side, rank) in a sorted table of them, or -1."""
    size = len(place["row"])
    both = [np.concatenate((place[n], g)) for n, g in zip(("row", "side", "rank"), goes, strict=True)]
    order = np.lexsort((both[2], both[1], both[0]))
    code = np.empty(len(order), dtype=np.int64)
    code[order] = np.cumsum(firsts(*(b[order] for b in both)))
    known, wanted = code[:size], code[size:]
    at = np.searchsorted(known, wanted)
    at[at == size] = 0
    if not size:
        return np.full(len(wanted), -1, dtype=np.int64)
    return np.where(known[at] == wanted, at, -1)
