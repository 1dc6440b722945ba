"""Where the rows lie that queries shed and kept, and what is noted of them beside the checkpoint. No Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from streamq.compiler.ir.physical import PhysicalQuery
from streamq.runtime.control.knobs import replace_file
from streamq.runtime.paths import file_name, resolve

NOTE = "dropped.json"
BATCH = "batch-"


@dataclass(frozen=True, slots=True)
class Note:
    """``last``: the last micro-batch that was seen to; ``missing``: those before it whose rows are not written.

    ``keep``: the share that is kept of every micro-batch, where it is fixed; of one that is missing, that of its run.
    """

    last: int = -1
    missing: Mapping[int, float | None] = field(default_factory=dict)
    keep: float | None = None

    def after(self, batch: int, written: bool, keep: float | None) -> Note:
        """The note with one micro-batch more, of which the share ``keep`` was kept."""
        others = {number: share for number, share in self.missing.items() if number != batch}
        return Note(max(self.last, batch), others if written else others | {batch: keep}, self.keep)

    def write(self, checkpoint: Path) -> None:
        replace_file(checkpoint / NOTE, json.dumps(asdict(self)))


def noted(checkpoint: Path) -> Note | None:
    """What an earlier run noted; None where none did, or it cannot be read."""
    try:
        found = json.loads((checkpoint / NOTE).read_text("utf-8"))
        return Note(int(found["last"]), {int(n): keep for n, keep in found["missing"].items()}, found["keep"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def stream_folder(query: PhysicalQuery, stream: str, base_dir: str) -> Path:
    """Where the rows of a stream go that a query sheds; whatever the stream's name holds, and never hidden."""
    assert query.dropped_sink is not None
    root = resolve(base_dir, str(dict(query.dropped_sink.options)["path"]))
    name = file_name(stream)
    return Path(root) / (f"%5F{name[1:]}" if name.startswith("_") else name)


def batch_folder(query: PhysicalQuery, stream: str, batch: int, base_dir: str) -> Path:
    return stream_folder(query, stream, base_dir) / f"{BATCH}{batch}"


def complete_batches(folder: Path) -> tuple[Path, ...]:
    """The folders of micro-batches whose rows are all there."""
    return tuple(sorted(done.parent for done in folder.glob(f"{BATCH}*/_SUCCESS")))


def holds_dropped(query: PhysicalQuery, base_dir: str) -> bool:
    """True where some run has written rows there that such a query shed."""
    folders = (stream_folder(query, d.stream, base_dir) for d in query.dropped)
    return any(folder.is_dir() and any(folder.glob(f"{BATCH}*")) for folder in folders)
