"""The log that Spark keeps in the output folder of a file sink: which files count.

A run that is killed may leave files of a batch that never finished. Readers that know the log pass
over them; others would see their rows twice, once the batch has been repeated. So a run that goes on
from a checkpoint removes them first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

LOG_FOLDER = "_spark_metadata"

_PART = re.compile(r"part-\d{5,}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-c\d{3,}(\.\w+)+")
"""The name that Spark gives to a file of a streaming output: task, unique id, counter, endings."""


def has_log(folder: Path) -> bool:
    """True where a streaming query has begun to write into the folder."""
    return (folder / LOG_FOLDER).is_dir()


def has_batches(folder: Path) -> bool:
    """True where a micro-batch was written into the folder; a query that was killed as it started leaves an empty log."""
    return has_log(folder) and any(_entries(folder))


def files_that_count(folder: Path) -> frozenset[str]:
    """The names (without folders) of all files in the log; each name holds a unique id."""
    return frozenset(name for entry in _entries(folder) for name in _names(entry))


def remove_unfinished(folder: Path, since: float) -> int:
    """Removes files of batches that did not finish; returns how many.

    Only files that Spark named, that are not in the log and that were written after ``since``
    (seconds since the epoch: the first start of this query) are touched.
    """
    if not has_log(folder):
        return 0
    try:
        counted = files_that_count(folder)
    except (OSError, ValueError, KeyError, TypeError):
        # A log that cannot be read does not say that a file does not count.
        return 0
    removed = 0
    for file in folder.rglob("part-*"):
        if file.name in counted or not _PART.fullmatch(file.name):
            continue
        if LOG_FOLDER in file.parts or file.stat().st_mtime < since:
            continue
        file.unlink(missing_ok=True)
        (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
        removed += 1
    return removed


def _entries(folder: Path) -> Iterator[Path]:
    """The log's files: one per batch, or a compact one with all batches up to its number."""
    for entry in (folder / LOG_FOLDER).iterdir():
        if entry.name.removesuffix(".compact").isdigit():
            yield entry


def _names(entry: Path) -> Iterator[str]:
    for line in entry.read_text("utf-8").splitlines()[1:]:
        if line.strip():
            yield unquote(json.loads(line)["path"]).rpartition("/")[2]
