"""Lists as texts: an aggregate that has many values gives them as one JSON array, made for all lists at once."""

from __future__ import annotations

import json

import numpy as np

from streamq.stdlib.timelines.table import Column, Index, firsts

BETWEEN = "\ud800"
"""Half of a character, which no text that was ever UTF-8 has in it."""


def as_json(values: Column, null: Column) -> Column:
    """Each value as JSON: a number, NaN and Infinity among them, a text, or null."""
    if not len(values):
        return np.empty(0, dtype=object)
    # -0.0 is given as 0.0.
    found = (values + 0.0 if values.dtype == np.float64 else values).astype(object)
    found[null] = None
    whole = json.dumps(found.tolist(), separators=(BETWEEN, ":"))
    return _objects(whole[1:-1].split(BETWEEN))


def counted(pieces: Column, count: Index) -> Column:
    """JSON objects of a piece of JSON as ``item`` and a whole number as ``count``."""
    if not len(pieces):
        return pieces
    found: Column = '{"item":' + pieces + ',"count":' + count.astype(str).astype(object) + "}"
    return found


def arrays(pieces: Column, owner: Index, size: int) -> Column:
    """JSON arrays of pieces of JSON; ``owner``: the array of each, in ascending order; there are ``size`` arrays."""
    found = texts(pieces, owner, size, separator=",", opening="[", closing="]")
    found[_without(owner, size)] = "[]"
    return found


def texts(
    pieces: Column, owner: Index, size: int, *, separator: str, opening: str = "", closing: str = ""
) -> Column:
    """The pieces of each owner one after another as one text, None where there are none."""
    found = np.full(size, None, dtype=object)
    if not len(pieces):
        return found
    new = firsts(owner)
    mixed = np.full(2 * len(pieces), separator, dtype=object)
    mixed[0::2][new] = f"{closing}{BETWEEN}{opening}"
    mixed[1::2] = pieces
    whole = "".join(mixed.tolist()) + closing
    found[owner[new]] = _objects(whole.split(BETWEEN)[1:])
    return found


def _without(owner: Index, size: int) -> Column:
    """Which of the owners have nothing."""
    without = np.ones(size, dtype=bool)
    without[owner] = False
    return without


def _objects(values: list[str]) -> Column:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
