"""Rows that were put aside with their micro-batch: where they lie, and the list beside the checkpoint. No Spark.

``DEAD_LETTERS/QUERY/batch-12/`` holds ``note.json`` and a folder for each stream, with the files that it gave to the
micro-batch, or ``refused``, with rows that the sink would not take. It is made under another name and then renamed, and
listed last: whoever is killed in between does it again, and finds it there.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.control.knobs import replace_file
from streamq.runtime.control.offsets import latest_batch

LIST = "quarantine.json"
NOTE = "note.json"
REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Aside:
    """A micro-batch that was put aside. ``letters``: its folder; where ``refused``, what it was to write is put aside and not
    what it read, into a folder below ``letters`` with that ``note``.
    """

    letters: str
    refused: bool = False
    note: Mapping[str, object] = field(default_factory=dict)


def put_aside(checkpoint: Path) -> dict[int, Aside]:
    """The micro-batches of a query that were put aside; those of a list that cannot be read fail once more."""
    try:
        return _listed(checkpoint)
    except (OSError, ValueError):
        return {}


def _listed(checkpoint: Path) -> dict[int, Aside]:
    """ValueError where the list is broken."""
    try:
        found = json.loads((checkpoint / LIST).read_text("utf-8"))
        return {int(n): Aside(str(a["letters"]), bool(a["refused"]), dict(a["note"])) for n, a in found["batches"].items()}
    except FileNotFoundError:
        return {}
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def list_aside(checkpoint: Path, batch: int, aside: Aside) -> None:
    """Adds a micro-batch to the list; OSError where it cannot be read or written. A broken one is kept beside it."""
    try:
        known = _listed(checkpoint)
    except ValueError:
        (checkpoint / LIST).replace(checkpoint / f"{LIST}.broken")
        known = {}
    batches = known | {batch: aside}
    listed = {str(n): {"letters": a.letters, "refused": a.refused, "note": dict(a.note)} for n, a in sorted(batches.items())}
    replace_file(checkpoint / LIST, json.dumps({"batches": listed}, indent=1) + "\n")


def unfinished(checkpoint: Path) -> int | None:
    """The micro-batch that was planned and is not done, which the next start begins with."""
    planned = latest_batch(checkpoint)
    return None if planned is None or planned == latest_batch(checkpoint, "commits") else planned


def to_come(checkpoint: Path) -> bool:
    """True where a micro-batch whose input was put aside is yet to run, without rows."""
    batch = unfinished(checkpoint)
    aside = None if batch is None else put_aside(checkpoint).get(batch)
    return aside is not None and not aside.refused


def note_of(query: str, batch: int, error: Diagnostic, since: float, aside: str, now: float) -> dict[str, object]:
    """``since``: of the checkpoint, which tells its micro-batches from those of others. ``aside``: ``input`` or ``output``."""
    return {
        "query": query, "batch": batch, "rows": aside, "code": error.code, "error": error.message,
        "notes": list(error.notes), "time": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "checkpoint": since,
    }


def write_letters(
    root: Path, note: Mapping[str, object], fill: Callable[[Path], None]
) -> Path:
    """The folder of a micro-batch's letters, filled by ``fill`` where it is not there yet; raises what that does, OSError."""
    folder = root / folder_name(str(note["query"]))
    place = _place(folder, int(str(note["batch"])), note["checkpoint"])
    if place.is_dir():
        return place
    draft = folder / f".{place.name}"
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    fill(draft)
    (draft / NOTE).write_text(json.dumps(note, ensure_ascii=False, indent=1) + "\n", "utf-8")
    draft.rename(place)
    return place


def folder_name(name: str) -> str:
    """The name of a query or stream as one of a folder: whatever it holds, and never hidden."""
    made = quote(name, safe="").replace(".", "%2E")
    return f"%5F{made[1:]}" if made.startswith("_") else made


def _place(folder: Path, batch: int, since: object) -> Path:
    """A folder of this checkpoint's own: micro-batches of another run have the same numbers."""
    place, copy = folder / f"batch-{batch}", 1
    while place.is_dir() and _since(place) != since:
        copy += 1
        place = folder / f"batch-{batch}.{copy}"
    return place


def _since(place: Path) -> object:
    try:
        return json.loads((place / NOTE).read_text("utf-8"))["checkpoint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
