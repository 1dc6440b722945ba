"""RECOVER DROPPED INTO: writes the rows that a query sheds to files, read a second time from their source.

Each micro-batch is read again when it is done, with the numbers by which its rows were kept, and those that were not
are written to a folder of their own, ``clicks/batch-12``. What was written is noted beside the checkpoint (``Note``):
a run that goes on writes what is missing, so each row is there once.
"""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.diagnostics import InternalError
from streamq.runtime.control.decisions import DecisionLog
from streamq.runtime.control.forward import DECISIONS
from streamq.runtime.control.offsets import latest_batch, span_of
from streamq.runtime.control.sifting import stored
from streamq.runtime.dropped import Note, batch_folder, noted
from streamq.runtime.spark.control_source import SCHEMA, Row, control_row, keeps_all, row_of
from streamq.runtime.spark.emit import EmitContext, build_again, scans_of
from streamq.runtime.spark.names import quoted
from streamq.runtime.supervise.letters import put_aside
from streamq.stdlib.connector_specs import SPARK_OPTIONS

FAILURES = (PySparkException, Py4JError, OSError, ValueError, TypeError, LookupError, InternalError)
"""Of one micro-batch; the others are written all the same."""


@dataclass(slots=True)
class Spool:
    """The rows that one query sheds. ``checkpoint``: its folder. ``told``: what its user should know, each once.

    ``prepare`` comes before the query starts. ``done`` is told of each micro-batch; ``close`` waits until all are
    written.
    """

    query: PhysicalQuery
    context: EmitContext
    checkpoint: Path
    told: list[str] = field(default_factory=list)
    _note: Note = field(default_factory=Note)
    _before: float | None = None
    _backlog: int = -1
    _ever: set[str] = field(default_factory=set)
    _todo: queue.SimpleQueue[int | None] = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None

    def prepare(self) -> None:
        """Notes where to begin: with what an earlier run left, or, where that kept no such rows, with what comes.

        OSError where the note cannot be written.
        """
        committed = latest_batch(self.checkpoint, "commits")
        self._backlog = -1 if committed is None else committed
        found = noted(self.checkpoint)
        self._before = self._fixed() if found is None else found.keep
        self._note = replace(found or Note(self._backlog), keep=self._fixed())
        self._note.write(self.checkpoint)

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name=f"dropped rows of {self.query.name}", daemon=True)
        self._thread.start()
        self.done(self._backlog)

    def done(self, batch: int) -> None:
        self._todo.put(batch)

    def close(self) -> None:
        if self._thread is not None:
            committed = latest_batch(self.checkpoint, "commits")
            self.done(-1 if committed is None else committed)
            self._todo.put(None)
            self._thread.join()

    def _work(self) -> None:
        # What could not be written before is tried once more.
        again = tuple(self._note.missing)
        while (last := self._todo.get()) is not None:
            for batch in (*again, *range(self._note.last + 1, last + 1)):
                try:
                    written = self._write(batch)
                except FAILURES as error:
                    self._tell(
                        f"rows that were shed could not be written ({_first_line(error)}): "
                        "a run that goes on from this checkpoint tries again"
                    )
                    written = False
                self._note = self._note.after(batch, written, self._share(batch))
                try:
                    self._note.write(self.checkpoint)
                except OSError as error:
                    self._tell(f"what was written of the rows that were shed cannot be noted ({error.strerror})")
            again = ()

    def _tell(self, text: str) -> None:
        if text not in self._ever:
            self._ever.add(text)
            self.told.append(text)

    def _write(self, batch: int) -> bool:
        """True where all rows of a micro-batch that went are written; raises whatever Spark raises."""
        aside = put_aside(self.checkpoint).get(batch)
        if aside is not None and not aside.refused:
            return True  # none of its rows was shed
        row = self._numbers(batch)
        if row is not None and keeps_all(row):
            return True
        scans = [scan.stream for scan in scans_of(self.query)]
        for dropped in self.query.dropped:
            span = span_of(self.checkpoint, scans.index(dropped.stream), batch)
            if span is not None and not span:
                continue
            if span is None or row is None:
                self._tell("rows that were shed are lost: what their micro-batch read is not written down any more")
                continue
            folder = batch_folder(self.query, dropped.stream, batch, self.context.base_dir)
            if (folder / "_SUCCESS").exists():
                continue
            numbers = self.context.spark.createDataFrame([row], SCHEMA)
            numbers.createOrReplaceTempView(quoted(dropped.control.view))
            self._save(build_again(dropped.root, span, self.context), folder)
        return True

    def _fixed(self) -> float | None:
        """The share that is kept of every micro-batch, where it is not decided anew for each."""
        (control,) = self.query.controls
        return control.knobs[0].initial if control.goal is None else None

    def _share(self, batch: int) -> float | None:
        """The fixed share by which the rows of a micro-batch were kept, in this run or the one that it was of."""
        if batch in self._note.missing:
            return self._note.missing[batch]
        return self._before if batch <= self._backlog else self._fixed()

    def _numbers(self, batch: int) -> Row | None:
        """The numbers by which the rows of a micro-batch were kept; None where they are not written down any more."""
        keep = self._share(batch)
        if keep is not None:
            return control_row(keep, keep)
        decided = DecisionLog(self.checkpoint / DECISIONS).find(batch)
        if decided is None:
            return None
        version = decided.throttle.sifter
        if version is not None and stored(self.checkpoint, version) is None:
            return None
        return row_of(decided, self.checkpoint)

    def _save(self, frame: DataFrame, folder: Path) -> None:
        sink = self.query.dropped_sink
        if sink is None:
            raise InternalError(f"{self.query.name} has no sink for the rows that it sheds")
        options = dict(sink.options)
        writer = frame.write.mode("overwrite").format(str(options["format"]))
        for name, value in options.items():
            if name in SPARK_OPTIONS:
                writer = writer.option(SPARK_OPTIONS[name], value)
        writer.save(str(folder))


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
