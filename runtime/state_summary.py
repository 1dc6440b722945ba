"""What a checkpoint holds, read from its files without Spark: positions, watermark, and state by operators of the program.

Spark numbers the operators with state of a query from its output on, left before right, which is their order in the shape that
is kept beside the checkpoint (``tests/spark/test_state.py`` holds that against what Spark says).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from streamq.compiler.evolution import Shape, source_name
from streamq.runtime.checkpoint import folder_of, queries_in, stored

_OFFSETS_WITH_NAMES = "v2"
_NOT_YET = "not read yet"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a stream was read, as Spark has written it down."""

    stream: str
    connector: str
    offset: str


@dataclass(frozen=True, slots=True)
class OperatorState:
    """An operator with state. ``number``: Spark's; ``version``: of its last micro-batch; ``files``, ``size``: on disk, in bytes;
    ``aggregates``: what it counts and adds up.

    How many rows there are stands in no file that can be read without Spark; ``--rows`` shows them.
    """

    operator: str
    kind: str
    number: int
    spark: str
    stores: tuple[str, ...]
    partitions: int
    version: int | None
    files: int
    size: int
    aggregates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryState:
    """A query of the checkpoint. ``planned`` and ``done``: the last micro-batches, None before the first."""

    query: str
    planned: int | None
    done: int | None
    watermark: str | None
    positions: tuple[Position, ...]
    operators: tuple[OperatorState, ...]
    streamq: str = ""
    spark: str = ""
    text: str = ""

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


def summary(root: Path) -> tuple[QueryState, ...]:
    """All queries that have a checkpoint below a folder, by name."""
    return tuple(_query(name, folder_of(root, name)) for name in queries_in(root))


def _query(name: str, directory: Path) -> QueryState:
    known = stored(directory)
    shape = known.shape if known is not None else None
    planned, done = (_last(directory / log) for log in ("offsets", "commits"))
    kind, about, offsets = _offsets(directory / "offsets", planned)
    return QueryState(
        name, planned, done, _watermark(about, _commit(directory / "commits", done)), _positions(shape, kind, offsets),
        tuple(_operators(shape, directory / "state")),
        "" if known is None else known.streamq, "" if known is None else known.spark, "" if known is None else known.text,
    )


def _last(log: Path) -> int | None:
    try:
        return max((int(p.name) for p in log.iterdir() if p.name.isdecimal()), default=None)
    except OSError:
        return None


def _offsets(log: Path, batch: int | None) -> tuple[str, Mapping[str, object], list[str]]:
    """The version of an entry, what it says of the micro-batch, and an offset a line."""
    try:
        kind, about, *offsets = (log / str(batch)).read_text("utf-8").splitlines()
        found = json.loads(about)
    except (OSError, ValueError):
        return "", {}, []
    return kind, found if isinstance(found, dict) else {}, offsets


def _commit(log: Path, batch: int | None) -> Mapping[str, object]:
    try:
        found = json.loads((log / str(batch)).read_text("utf-8").splitlines()[1])
    except (OSError, ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) else {}


def _watermark(about: Mapping[str, object], commit: Mapping[str, object]) -> str | None:
    """The later of the watermark of the last micro-batch and of the one that would be next."""
    millis = [v for v in (about.get("batchWatermarkMs"), commit.get("nextBatchWatermarkMs")) if isinstance(v, int)]
    latest = max(millis, default=0)
    return datetime.fromtimestamp(latest / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] if latest > 0 else None


def _positions(shape: Shape | None, kind: str, offsets: list[str]) -> tuple[Position, ...]:
    if shape is None:
        return ()
    if kind == _OFFSETS_WITH_NAMES:
        named = dict(line.split(":", 1) for line in offsets if ":" in line)
        return tuple(Position(s.id, s.kind, named.get(source_name(s.id), _NOT_YET)) for s in shape.sources)
    texts = [_NOT_YET if line == "-" else line for line in offsets]
    texts += [_NOT_YET] * (len(shape.sources) - len(texts))
    return tuple(Position(s.id, s.kind, text) for s, text in zip(shape.sources, texts, strict=False))


def _operators(shape: Shape | None, folder: Path) -> Iterator[OperatorState]:
    for number, part in enumerate(shape.states if shape is not None else ()):
        place = folder / str(number)
        spark, stores, partitions = _metadata(place / "_metadata")
        files = [p for p in place.rglob("*") if p.is_file() and not p.name.startswith(".")] if place.is_dir() else []
        yield OperatorState(
            part.id, part.kind, number, spark, stores, partitions, _version(files), len(files), sum(p.stat().st_size for p in files),
            tuple(part.fact("aggregates") or ()),  # type: ignore[arg-type]
        )


def _metadata(folder: Path) -> tuple[str, tuple[str, ...], int]:
    """Spark's name of an operator, those of its stores, and into how many parts each is cut."""
    newest: tuple[str, tuple[str, ...], int] = ("", (), 0)
    try:
        files = sorted((p for p in folder.rglob("*") if p.is_file() and not p.name.startswith(".")), key=lambda p: p.stat().st_mtime)
        for file in files:
            data = json.loads(file.read_text("utf-8").partition("\n")[2])
            stores = data["stateStoreInfo"]
            newest = (
                str(data["operatorInfo"]["operatorName"]), tuple(str(s["storeName"]) for s in stores),
                max((int(s["numPartitions"]) for s in stores), default=0),
            )
    except (OSError, ValueError, KeyError, TypeError):
        return newest
    return newest


def _version(files: list[Path]) -> int | None:
    """The last version of a state: of ``3.delta``, ``3.changelog`` or ``3.zip``."""
    numbers = (p.name.partition(".")[0].partition("_")[0] for p in files if p.suffix in (".delta", ".snapshot", ".changelog", ".zip"))
    return max((int(n) for n in numbers if n.isdecimal()), default=None)
