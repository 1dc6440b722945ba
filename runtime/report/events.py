"""``streamq run --events PATH``: what happens in a run, as JSON lines for whatever collects logs.

Each line has ``time`` (ISO 8601 in UTC), ``level`` (``info``, ``warning``, ``error``) and ``event``; lines about a query have
its name in ``query``. A line is written at once and by itself, at the end of the file: whoever rotates it may move it away,
and another one is begun. What cannot be written ends no run.
"""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.run import Event, Happened, SilentListener

STANDARD_OUTPUT = "-"
LEAST_S = 1.0
"""A query tells of its micro-batches this often at most; ``total`` counts those in between too."""

_LEVELS = {Event.FAILURE: "warning", Event.QUARANTINE: "warning", Event.GIVEN_UP: "error"}
_SUMS = ("batches", "rows_in", "kept", "shed", "malformed", "dead", "late", "rows_out", "refused")


def _to_standard_error(text: str) -> None:
    sys.stderr.write(text + "\n")


@dataclass(slots=True)
class LineWriter:
    """Appends lines to a file, or to standard output for ``-``. OSError where it cannot be opened.

    ``complain`` hears the first time that a line cannot be written; lines that were lost are counted in ``lost``.
    """

    path: str
    complain: Callable[[str], None] = _to_standard_error
    lost: int = 0
    _told: bool = False
    _descriptor: int = -1

    def __post_init__(self) -> None:
        self._open()

    def write(self, line: str) -> bool:
        """Writes a line, in one call, or not; True where it is there."""
        try:
            self._follow()
            data = (line + "\n").encode("utf-8", "replace")
            # A disk that fills up may take a part; the rest follows or the line is cut off.
            while data:
                data = data[os.write(self._descriptor, data) :]
            return True
        except OSError as error:
            self.lost += 1
            if not self._told:
                self._told = True
                with suppress(OSError):
                    self.complain(f"events cannot be written to {self.path}: {(error.strerror or str(error)).lower()}; the run goes on")
            return False

    def close(self) -> None:
        if self.path != STANDARD_OUTPUT:
            with suppress(OSError):
                os.close(self._descriptor)

    def _open(self) -> None:
        if self.path == STANDARD_OUTPUT:
            self._descriptor = sys.stdout.fileno()
            return
        # The old one is closed when the new one is there: its number would be that of whatever is opened next.
        opened = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        if self._descriptor >= 0:
            self.close()
        self._descriptor = opened

    def _follow(self) -> None:
        """Opens the file anew where it was moved away."""
        if self.path == STANDARD_OUTPUT:
            return
        mine = os.fstat(self._descriptor)
        if not stat.S_ISREG(mine.st_mode):
            return
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (mine.st_dev, mine.st_ino):
            self._open()


@dataclass(slots=True)
class EventLog(SilentListener):
    """Writes the events of a run. ``now``: seconds since the epoch."""

    writer: LineWriter
    now: Callable[[], float] = time.time
    _last: dict[str, float] = field(default_factory=dict)
    _totals: dict[str, QueryTotals] = field(default_factory=dict)

    def preparing(self) -> None:
        self._say("info", "preparing")

    def started(self, queries: tuple[str, ...]) -> None:
        for query in queries:
            self._say("info", "started", query)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self._totals[sample.query] = totals
        now = self.now()
        if now - self._last.get(sample.query, 0.0) < LEAST_S and not sample.dead:
            return
        self._last[sample.query] = now
        numbers = {name: value for name, value in sample.to_dict().items() if name not in ("query", "batch", "ended")}
        self._say("info", "batch", sample.query, batch=sample.batch, **numbers, total=_sums(totals))

    def notice(self, query: str, text: str) -> None:
        self._say("warning", "notice", query, text=text)

    def happened(self, what: Happened) -> None:
        found: dict[str, object] = {"text": what.text}
        if what.batch is not None:
            found["batch"] = what.batch
        if what.wait_s is not None:
            found["wait_s"] = round(what.wait_s, 3)
        if what.folder:
            found["folder"] = what.folder
        if what.diagnostic is not None:
            found |= {"code": what.diagnostic.code, "message": what.diagnostic.message, "notes": list(what.diagnostic.notes)}
        if what.event is Event.STOPPED:
            found["total"] = {query: _sums(totals) for query, totals in self._totals.items()}
        self._say(_LEVELS.get(what.event, "info"), what.event.value, what.query, **found)

    def close(self) -> None:
        self.writer.close()

    def _say(self, level: str, event: str, query: str = "", **more: object) -> None:
        stamp = datetime.fromtimestamp(self.now(), UTC).isoformat(timespec="milliseconds")
        record = {"time": stamp, "level": level, "event": event, **({"query": query} if query else {}), **more}
        if self.writer.lost and event != "lost":
            lost = {"time": stamp, "level": "warning", "event": "lost", "lines": self.writer.lost}
            if not self.writer.write(json.dumps(lost)):
                return
            self.writer.lost = 0
        self.writer.write(json.dumps(record, ensure_ascii=False))


def _sums(totals: QueryTotals) -> dict[str, int]:
    return {name: getattr(totals, name) for name in _SUMS}
