"""How many rows a micro-batch is about to read, from what Spark has written down of it.

Before a micro-batch reads anything, Spark writes for each of its sources how far it will read: a number, an object
with numbers in it, or the number of an entry in a log of files. Two such entries say how far apart they are in the
source's own units: rows of Kafka, events of NEXMark, seconds of ``rate``, bytes of files. How many rows a unit
gives is known from the source's options at first, and then from what has been read.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlparse

_NOT_COUNTED = frozenset({"since"})
"""Numbers in an offset that do not grow with the rows."""


def latest_batch(checkpoint: Path) -> int | None:
    """The micro-batch that was planned last; None before the first."""
    return max(map(int, _numbered(checkpoint / "offsets")), default=None)


def units_of(checkpoint: Path, batch: int) -> tuple[float, ...]:
    """How far each source goes in a micro-batch, in its own units; 0 where that cannot be told."""
    now, before = _entries(checkpoint, batch), _entries(checkpoint, batch - 1)
    return tuple(
        _between(checkpoint, place, before[place] if place < len(before) else None, entry)
        for place, entry in enumerate(now)
    )


def _entries(checkpoint: Path, batch: int) -> list[object]:
    """The offset of each source: after a line with the version, and one about the micro-batch."""
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text("utf-8").splitlines()[2:]
        return [None if line == "-" else json.loads(line) for line in lines]
    except (OSError, ValueError):
        return []


def _between(checkpoint: Path, place: int, before: object, now: object) -> float:
    if isinstance(now, dict) and set(now) == {"logOffset"}:
        first = before["logOffset"] if isinstance(before, dict) else -1
        return _bytes(checkpoint / "sources" / str(place), int(first), int(now["logOffset"]))
    return max(0.0, _total(now) - _total(before))


def _total(offset: object) -> float:
    """The sum of all numbers in an offset."""
    match offset:
        case bool() | None:
            return 0.0
        case int() | float():
            return float(offset)
        case dict():
            return sum(_total(part) for name, part in offset.items() if name not in _NOT_COUNTED)
        case _:
            return 0.0


def _bytes(log: Path, after: int, last: int) -> float:
    """The size of the files that a source's log lists for entries after one up to another."""
    found = 0.0
    for name in _numbered(log):
        if not after < int(name) <= last:
            continue
        try:
            lines = (log / name).read_text("utf-8").splitlines()[1:]
            for line in lines:
                found += Path(unquote(urlparse(json.loads(line)["path"]).path)).stat().st_size
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _numbered(folder: Path) -> list[str]:
    """The names of files that are numbers."""
    try:
        return [path.name for path in folder.iterdir() if path.name.isdecimal()]
    except OSError:
        return []
