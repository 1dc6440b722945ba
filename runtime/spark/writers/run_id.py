"""What tells a run from others, in the sinks that note how far it came: an id beside the query's checkpoint.

Micro-batches are counted from 0 with each new checkpoint, so their numbers alone say nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from uuid import uuid4

from streamq.runtime.control.offsets import latest_batch

FILE_NAME = "sink.id"

PROGRESS = "streamq_progress"
"""The table in which sinks note how far a run came."""


def run_of(directory: Path) -> str | None:
    """The id of the run that this checkpoint is of; None where it has none yet."""
    try:
        return (directory / FILE_NAME).read_text("ascii").strip() or None
    except FileNotFoundError:
        return None


def begin_run(directory: Path) -> str:
    """The id of the run, made at once or not at all; OSError where it cannot be written."""
    if (known := run_of(directory)) is not None:
        return known
    directory.mkdir(parents=True, exist_ok=True)
    made = uuid4().hex
    draft = directory / f".{FILE_NAME}.{os.getpid()}"
    draft.write_text(made + "\n", "ascii")
    draft.replace(directory / FILE_NAME)
    return made


def before(directory: Path) -> int:
    """The last micro-batch that Spark has done with this checkpoint; -1: none."""
    committed = latest_batch(directory, "commits")
    return -1 if committed is None else committed


def begun(directory: Path) -> int:
    """The last micro-batch that Spark has begun with this checkpoint; -1: none."""
    offered = latest_batch(directory, "offsets")
    return -1 if offered is None else offered
