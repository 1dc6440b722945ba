"""For tests of queries: a stream whose micro-batches the test writes itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamq.runtime.cells import json_cell
from streamq.runtime.metrics import Cell

_FIRST_STAMP = 1_700_000_000


@dataclass(slots=True)
class StreamScript:
    """The input of a stream with ``connector = 'memory'``.

    ``folder`` is the stream's: ``<memory_dir>/<stream>``, see ``RunOptions.memory_dir``.

    Each ``add`` is one micro-batch, in the order of the calls, in every run: Spark orders files by
    their time of change, so these times are set, not taken from the clock.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     script = StreamScript(Path(folder))
    ...     script.add({"k": 1}, {"k": 2})
    ...     script.add({"k": 3})
    ...     script.batches
    2
    """

    folder: Path

    @property
    def batches(self) -> int:
        """How many micro-batches were written, by this script or an earlier one."""
        return len(list(self.folder.glob("*.json"))) if self.folder.is_dir() else 0

    def add(self, *rows: Mapping[str, Cell]) -> None:
        """Writes one micro-batch; a batch without rows is read as well."""
        self.folder.mkdir(parents=True, exist_ok=True)
        number = self.batches
        draft = self.folder / f".{number:06d}.draft"
        text = "".join(json.dumps(json_cell(row)) + "\n" for row in rows)
        draft.write_text(text, encoding="utf-8")
        os.utime(draft, (_FIRST_STAMP + number, _FIRST_STAMP + number))
        draft.replace(self.folder / f"{number:06d}.json")
