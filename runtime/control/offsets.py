"""How many rows a micro-batch is about to read, from what Spark has written down of it.

Before a micro-batch reads anything, Spark writes for each of its sources how far it will read: a number, an object
with numbers in it, or the number of an entry in a log of files. Two such entries say how far apart they are in the
source's own units: rows of Kafka, events of NEXMark, seconds of ``rate``, bytes of files. How many rows a unit
gives is known from the source's options at first, and then from what has been read.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamq.runtime.paths import from_log

COMPACT = ".compact"
NAMED = "v2"
"""The version of Spark's log in which sources have names."""

FIRST_RECORD = -2
"""The place of the first record that a partition has, to Kafka's connector."""

_NOT_COUNTED = frozenset({"since"})
"""Numbers in an offset that do not grow with the rows."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a source of numbered rows gave: from the row ``start`` up to, and without, ``stop``."""

    start: int
    stop: int

    def __bool__(self) -> bool:
        return self.start < self.stop


@dataclass(frozen=True, slots=True)
class Files:
    """What a source of files gave: their places, as Spark wrote them down."""

    places: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.places)


@dataclass(frozen=True, slots=True)
class Records:
    """What Kafka gave: the place in each partition from which on, and that up to which, as JSON that Spark reads and writes."""

    start: str
    stop: str

    def __bool__(self) -> bool:
        return self.start != self.stop


Span = Numbers | Files | Records


def span_of(checkpoint: Path, place: int, batch: int) -> Span | None:
    """What a source gave to a micro-batch, so that it can be read again; None where that is not written down any more."""
    now, before = _entries(checkpoint, batch), _entries(checkpoint, batch - 1)
    if place >= len(now) or (batch > 0 and place >= len(before)):
        return None
    first = before[place] if batch > 0 else None
    match now[place]:
        case None:
            return Files(())
        case {"logOffset": last}:
            after = first["logOffset"] if isinstance(first, dict) else -1
            files, whole = _files(_log_of(checkpoint, place), int(after), int(last))
            return Files(files) if whole else None
        case {"n": stop}:
            return Numbers(int(first["n"]) if isinstance(first, dict) else 0, int(stop))
        case dict() as stops if _by_partition(stops):
            began = first if isinstance(first, dict) else _began(checkpoint, place)
            return None if began is None else Records(json.dumps(_complete(began, stops)), json.dumps(stops))
        case _:
            return None


def latest_batch(checkpoint: Path, log: str = "offsets") -> int | None:
    """The micro-batch that was planned last, or done last where ``log`` is ``commits``; None before the first."""
    return max(map(int, _numbered(checkpoint / log)), default=None)


def units_of(checkpoint: Path, batch: int) -> tuple[float, ...]:
    """How far each source goes in a micro-batch, in its own units; 0 where that cannot be told."""
    now, before = _entries(checkpoint, batch), _entries(checkpoint, batch - 1)
    return tuple(
        _between(checkpoint, place, before[place] if place < len(before) else None, entry)
        for place, entry in enumerate(now)
    )


def _entries(checkpoint: Path, batch: int) -> list[object]:
    """The offset of each source: after a line with the version, and one about the micro-batch.

    In the second version of this log each has the name of its source before it, and a source that is new has none.
    """
    try:
        kind, _, *lines = (checkpoint / "offsets" / str(batch)).read_text("utf-8").splitlines()
        if kind != NAMED:
            return [None if line == "-" else json.loads(line) for line in lines]
        offsets = dict(line.split(":", 1) for line in lines)
        return [json.loads(offsets[name]) if name in offsets else None for name in _names(checkpoint)]
    except (OSError, ValueError):
        return []


def _names(checkpoint: Path) -> tuple[str, ...]:
    """The names that Spark has for the sources, in the order of the plan."""
    # Only queries with named sources need the compiler for this.
    from streamq.compiler.evolution import source_name
    from streamq.runtime.checkpoint import stored

    known = stored(checkpoint)
    return () if known is None or known.shape is None else tuple(source_name(s.id) for s in known.shape.sources)


def _log_of(checkpoint: Path, place: int) -> Path:
    """Where a source of files writes down what it took: by its place, or by its name."""
    numbered = checkpoint / "sources" / str(place)
    if numbered.exists() or not (names := _names(checkpoint)):
        return numbered
    return checkpoint / "sources" / names[place]


def _between(checkpoint: Path, place: int, before: object, now: object) -> float:
    if isinstance(now, dict) and set(now) == {"logOffset"}:
        first = before["logOffset"] if isinstance(before, dict) else -1
        return _bytes(_log_of(checkpoint, place), int(first), int(now["logOffset"]))
    if before is None and isinstance(now, dict) and _by_partition(now):
        before = _began(checkpoint, place)
    return max(0.0, _total(now) - _total(before))


def _by_partition(offset: dict[str, Any]) -> bool:
    """True for what Kafka's connector writes: of each topic the place in each partition."""
    return bool(offset) and all(isinstance(places, dict) for places in offset.values())


def _began(checkpoint: Path, place: int) -> dict[str, Any] | None:
    """Where a source of Kafka began, which its connector writes down before the first micro-batch."""
    try:
        text = (_log_of(checkpoint, place) / "0").read_text("utf-8")
        found = json.loads(text[text.index("{") :])
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _complete(began: dict[str, Any], stops: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Places to begin at for all partitions that there were at last; one that was new began at its first record."""
    return {
        topic: {part: began.get(topic, {}).get(part, FIRST_RECORD) for part in places}
        for topic, places in stops.items()
    }


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
    for place in _files(log, after, last)[0]:
        try:
            found += Path(from_log(place)).stat().st_size
        except OSError:
            continue
    return found


def _files(log: Path, after: int, last: int) -> tuple[tuple[str, ...], bool]:
    """The files that a source's log lists for entries after one up to another, and whether that is all of them.

    Every tenth entry is compact: it holds all before it, which go some time later.
    """
    entries = _log_entries(log)
    wanted = set(range(after + 1, last + 1))
    chosen = sorted(wanted & entries.keys())
    if wanted - entries.keys():
        chosen += [n for n in sorted(entries) if n > last and entries[n].suffix == COMPACT][:1]
    found: dict[str, int] = {}
    for number in chosen:
        try:
            lines = entries[number].read_text("utf-8").splitlines()[1:]
            files = [json.loads(line) for line in lines]
            found |= {f["path"]: entry for f in files if (entry := f.get("batchId", number)) in wanted}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
    return tuple(found), wanted <= set(found.values())


def _log_entries(log: Path) -> dict[int, Path]:
    try:
        paths = [p for p in log.iterdir() if p.name.removesuffix(COMPACT).isdecimal()]
    except OSError:
        return {}
    return {int(p.name.removesuffix(COMPACT)): p for p in paths}


def _numbered(folder: Path) -> list[str]:
    """The names of files that are numbers."""
    try:
        return [path.name for path in folder.iterdir() if path.name.isdecimal()]
    except OSError:
        return []
