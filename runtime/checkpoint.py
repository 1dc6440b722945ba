"""Whether a checkpoint belongs to a query: a fingerprint of the plan is kept beside it.

Spark accepts a changed window on old state without a word, so the comparison is ours. What may
change between two runs is left out: the numbers that steer shedders (shares, rates, latency and error
goals) and the options that only tune how fast a source is read. The length of OLDER THAN and a confidence
are in the plan itself, and changing them makes it another one.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from urllib.parse import quote

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery, ScanStream, Step, walk
from streamq.dsl.diagnostics import Diagnostic
from streamq.stdlib.kafka_options import may_change

FILE_NAME = "streamq.json"
VERSION = 1
_TUNING = frozenset({"max_files_per_trigger", "max_bytes_per_trigger", "max_events_per_trigger"})


def fingerprint(query: PhysicalQuery) -> dict[str, str]:
    """A hash for each operator of the query, and for its output, in plan order."""
    parts: dict[str, list[str]] = {}
    for step in walk(query.root):
        parts.setdefault(step.id, []).append(_text_of(step))
    parts[f"{query.name} (output)"] = [
        repr((query.mode, query.keys, query.columns, query.sink.connector, _lasting(query.sink.connector, query.sink.options)))
    ]
    return {key: _hash("\n".join(texts)) for key, texts in parts.items()}


def folder_of(root: Path, query: str) -> Path:
    """The checkpoint folder of a query, whatever its name holds."""
    return root / quote(query, safe="").replace(".", "%2E")


def is_new(directory: Path) -> bool:
    """True where no run has committed anything into the query's checkpoint yet."""
    offsets = directory / "offsets"
    return not (offsets.is_dir() and any(offsets.iterdir()))


def check(query: PhysicalQuery, directory: Path) -> Diagnostic | None:
    """SQ0805 where the checkpoint was written by another plan, else None."""
    if is_new(directory):
        return None
    known = _read(directory).get("operators")
    if not isinstance(known, Mapping):
        return _mismatch(query, directory, ("it was not written by this version of StreamQ",))
    current = fingerprint(query)
    changed = [key for key in current if current[key] != known.get(key)]
    gone = [key for key in known if key not in current]
    if not changed and not gone:
        return None
    return _mismatch(
        query,
        directory,
        tuple(
            f"{what}: {', '.join(keys)}"
            for what, keys in (("changed or new", changed), ("no longer there", gone))
            if keys
        ),
    )


def record(query: PhysicalQuery, directory: Path) -> float:
    """Writes the fingerprint beside the checkpoint, at once or not at all.

    Returns when the query was first started with this checkpoint, in seconds since the epoch.
    """
    directory.mkdir(parents=True, exist_ok=True)
    known = _read(directory)
    first = known.get("started")
    started = float(first) if isinstance(first, int | float) else time.time()
    content = {
        "version": VERSION, "query": query.name, "started": started,
        "operators": fingerprint(query),
    }
    draft = directory / f".{FILE_NAME}.{os.getpid()}"
    draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    draft.replace(directory / FILE_NAME)
    return started


def _read(directory: Path) -> Mapping[str, object]:
    """What an earlier start wrote; empty where there is nothing that this version can read."""
    try:
        found = json.loads((directory / FILE_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("version") == VERSION else {}


def _mismatch(query: PhysicalQuery, directory: Path, notes: tuple[str, ...]) -> Diagnostic:
    return Diagnostic(
        "SQ0805",
        f"checkpoint `{directory}` does not belong to query `{query.name}` as it is now",
        query.origin,
        help="take the change back, or start with another `--checkpoint` folder",
        notes=notes,
    )


def _text_of(step: Step) -> str:
    """A step without its inputs and without what may change between runs."""
    shown = [
        (f.name, _comparable(step, f.name))
        for f in fields(step)
        if f.compare and not _holds_steps(getattr(step, f.name))
    ]
    return f"{type(step).__name__}{shown!r}"


def _comparable(step: Step, name: str) -> object:
    value = getattr(step, name)
    if isinstance(step, ScanStream) and name == "options":
        return tuple(option for option in _lasting(step.connector, step.options) if option[0] not in _TUNING)
    return value


def _lasting(connector: str, options: tuple[tuple[str, OptionValue], ...]) -> tuple[tuple[str, OptionValue], ...]:
    """The options that a checkpoint rests on: not how the brokers of Kafka are reached."""
    return tuple(o for o in options if not may_change(o[0])) if connector == "kafka" else options


def _holds_steps(value: object) -> bool:
    return isinstance(value, Step) or (
        isinstance(value, tuple) and any(isinstance(item, Step) for item in value)
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
