"""Where the checkpoint of a query lies, and what is kept beside it of the program that wrote it.

Spark accepts a changed window on old state without a word, so what a checkpoint was written by is kept with it, as
``streamq.json``: the shape of the query (``compiler/evolution``), its text, and the versions of StreamQ and Spark. Secrets are
in none of them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote

from streamq.compiler.evolution import Shape, is_named, shape_from, shape_of
from streamq.compiler.ir.physical import PhysicalQuery
from streamq.runtime.paths import file_name

FILE_NAME = "streamq.json"
VERSION = 2


@dataclass(frozen=True, slots=True)
class Stored:
    """What stands beside a checkpoint. ``started``: when the query began with it, in seconds since the epoch."""

    shape: Shape | None
    started: float
    text: str = ""
    partitions: int = 0
    streamq: str = ""
    spark: str = ""


def folder_of(root: Path, query: str) -> Path:
    """The checkpoint folder of a query, whatever its name holds."""
    return root / file_name(query)


def queries_in(root: Path) -> tuple[str, ...]:
    """The queries that have a checkpoint below a folder; those moved aside have a point in their names."""
    try:
        folders = sorted(p.name for p in root.iterdir() if (p / FILE_NAME).is_file() and "." not in p.name)
    except OSError:
        return ()
    return tuple(map(unquote, folders))


def is_new(directory: Path) -> bool:
    """True where no run has committed anything into the query's checkpoint yet."""
    offsets = directory / "offsets"
    return not (offsets.is_dir() and any(offsets.iterdir()))


def stored(directory: Path) -> Stored | None:
    """What an earlier start wrote; None where there is nothing, or nothing that this version can read."""
    try:
        found = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, Mapping):
        return None
    started = found.get("started")
    current = found.get("version") == VERSION
    partitions = found.get("shuffle_partitions")
    return Stored(
        shape_from(found.get("shape")) if current else None, float(started) if isinstance(started, int | float) else 0.0,
        str(found.get("text", "")), partitions if isinstance(partitions, int) else 0,
        str(found.get("streamq", "")), str(found.get("spark", "")),
    )


def has_names(query: PhysicalQuery, directory: Path) -> bool:
    """True where Spark knows the sources of the query by name: as its checkpoint began, or is about to begin."""
    if is_new(directory):
        return is_named(query)
    known = stored(directory)
    return known is not None and known.shape is not None and known.shape.names


def record(query: PhysicalQuery, directory: Path, text: str = "", partitions: int = 0) -> float:
    """Writes what the query is beside its checkpoint, at once or not at all.

    ``text``: the query as its program has it. ``partitions``: parts that its state is cut into, 0 where that is not known.
    Returns when the query was first started with this checkpoint, in seconds since the epoch.
    """
    directory.mkdir(parents=True, exist_ok=True)
    known = stored(directory)
    started = known.started if known is not None and known.started else time.time()
    if known is not None and known.partitions and not is_new(directory):
        partitions = known.partitions
    shape = replace(shape_of(query), names=has_names(query, directory))
    content = {
        "version": VERSION, "query": query.name, "started": started, "streamq": version("streamq"), "spark": version("pyspark"),
        "shuffle_partitions": partitions, "text": text, "shape": shape.to_dict(),
    }
    draft = directory / f".{FILE_NAME}.{os.getpid()}"
    draft.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(directory / FILE_NAME)
    return started
