"""Writes a query's results into a file of DuckDB, each micro-batch exactly once (ADR 0019).

One process may have such a file open for writing, so the driver writes. Rows do not go through its memory: the tasks of Spark
write a Parquet file each beside the checkpoint, and DuckDB takes them from there, in the transaction that notes the
micro-batch.
"""

from __future__ import annotations

import shutil
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, MapType, StructType

from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean
from streamq.runtime.disk import not_written, reason_in
from streamq.runtime.paths import is_remote, resolve
from streamq.runtime.sink_errors import SinkUnreachable
from streamq.runtime.spark.names import quoted as spark_name
from streamq.runtime.spark.writers import duckdb_sql as sql
from streamq.runtime.spark.writers.base import (
    Target,
    Trouble,
    TroubleError,
    is_there,
    only_read,
    patiently,
    told,
)
from streamq.runtime.spark.writers.progress import compare_progress
from streamq.runtime.spark.writers.run_id import PROGRESS, before, begin_run, run_of

SERVER = "DuckDB"
STAGE = "sink.stage"
"""Folder of a micro-batch on its way, in the query's checkpoint."""

_ONE_BY_ONE: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
"""Queries of a process that write into one file take turns."""

_HELD = ("Could not set lock", "already open", "being used by another process", "Conflicting lock")
_ROWS = ("ConstraintException", "ConversionException", "OutOfRangeException", "DataError", "InvalidInputException")


@dataclass(slots=True)
class DuckDBWriter:
    """The writer of one query."""

    target: Target
    _table: sql.Table | None = None
    _run: str = ""

    def check(self) -> None:
        """Looks at the file and the table; Abort with SQ0806, SQ0808 or SQ0811."""
        self._check_place()
        self._check_file()
        if self._path.exists():
            with told(self.target, SERVER), self._opened() as db:
                self._check_progress(db, self._check_table(db))

    def prepare(self, frame: DataFrame) -> None:
        """Makes the table, where it is to be made, and notes that the run has begun; looks again, as it is done after failures too."""
        self._check_file()
        self._run = begin_run(self.target.directory)
        self._table = table = sql.Table(
            self.target.text("schema", "main"), self.target.text("table"), tuple(frame.columns),
            tuple(column_type(field.dataType) for field in frame.schema.fields),
            self.target.query.keys if self.target.update else (), self.target.update and not self.target.query.keys,
        )
        with told(self.target, SERVER), self._opened() as db:
            db.execute("BEGIN")
            self._check_progress(db, self._check_table(db))
            if self.target.option("create", True):
                db.execute(f"CREATE SCHEMA IF NOT EXISTS {sql.quoted(table.schema)}")
                db.execute(table.make())
            db.execute(sql.MAKE_PROGRESS)
            db.execute(
                f"INSERT INTO {PROGRESS} (target, query, run, batch, rows) VALUES (?, ?, ?, ?, 0) ON CONFLICT DO NOTHING",
                [table.path, self.target.query.name, self._run, before(self.target.directory)],
            )
            db.execute("COMMIT")

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        """One micro-batch, in one transaction."""
        table, seconds = self._made, self.target.seconds("patience")
        with told(self.target, SERVER):
            last = patiently(self._noted, seconds, stopping)
            if is_there(number, last, self.target):
                only_read(batch)
                return
            stage = self.target.directory / STAGE
            shutil.rmtree(stage, ignore_errors=True)
            numbered = zip(map(F.col, map(spark_name, batch.columns)), range(len(batch.columns)), strict=True)
            shown = batch.select(*[column.alias(f"c{i}") for column, i in numbered])
            if table.keys or table.only_row:
                shown = shown.withColumn("seq", F.monotonically_increasing_id())
            shown.write.option("compression", "none").mode("overwrite").parquet(str(stage))
            patiently(lambda: self._merge(stage, number), seconds, stopping)
            shutil.rmtree(stage, ignore_errors=True)

    def _merge(self, stage: Path, number: int) -> None:
        table = self._made
        files = sorted(str(file) for file in stage.glob("part-*.parquet"))
        with self._opened() as db:
            db.execute("BEGIN")
            rows = 0
            if files:
                db.execute(table.staged(files))
                ((rows,),) = db.execute("SELECT count(*) FROM staged").fetchall()
                for statement in table.merge() if rows else ():
                    db.execute(statement)
            db.execute(
                f"UPDATE {PROGRESS} SET batch = ?, rows = rows + ?, noted_at = now() WHERE target = ? AND query = ? AND run = ?",
                [number, rows, table.path, self.target.query.name, self._run],
            )
            db.execute("COMMIT")

    def _noted(self) -> int:
        """The last micro-batch that is in the table."""
        with self._opened() as db:
            found = db.execute(
                f"SELECT batch FROM {PROGRESS} WHERE target = ? AND query = ? AND run = ?",
                [self._made.path, self.target.query.name, self._run],
            ).fetchall()
        if not found:
            raise TroubleError(Trouble("failed", f"{PROGRESS} does not know of this run any more"))
        return int(found[0][0])

    # --- before the start ---

    def _check_place(self) -> None:
        from importlib.util import find_spec

        if find_spec("duckdb") is None:
            raise Abort(Diagnostic(
                "SQ0811", "connector `duckdb` needs the package duckdb, which is not installed",
                self.target.query.sink.origin, help="pip install 'streamq[duckdb]'",
            ))
        if is_remote(self.target.text("path")):
            raise self._wrong("the file of a duckdb sink is on the machine of the run", "name a file without a scheme")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise self._wrong(f"the folder `{self._path.parent}` of DuckDB's file cannot be made: {reason}", "correct `path`") from error

    def _check_file(self) -> None:
        """Where the file is not there it must be one that was never there."""
        if self._path.exists():
            return
        if run_of(self.target.directory) is not None and before(self.target.directory) >= 0:
            raise self._wrong(
                f"the file `{self.target.text('path')}` is gone, which this run has written",
                "put it back, or begin anew with another `--checkpoint`",
            )
        if not self.target.option("create", True):
            raise self._wrong(f"there is no file `{self.target.text('path')}`", "create it, or set create = true")

    def _check_table(self, db: Any) -> bool:
        """True where the table is there, and takes the results."""
        schema, name = self.target.text("schema", "main"), self.target.text("table")
        known = db.execute(sql.COLUMNS, [schema, name]).fetchall()
        if not known:
            if not self.target.option("create", True):
                raise self._wrong(f"there is no table `{name}` in schema `{schema}`", "create it, or set create = true")
            return False
        names = [column for column, _ in known]
        folded = {column.casefold() for column in names}
        for column in self.target.columns:
            if column.casefold() not in folded:
                raise self._wrong(
                    f"table `{name}` has no column `{column}`",
                    did_you_mean(column, names) or f"add it, or call the column otherwise with AS; the table has: {', '.join(names[:12])}",
                )
        wanted = {column.casefold() for column in self.target.columns}
        for column, needed in known:
            if needed and column.casefold() not in wanted:
                raise self._wrong(f"column `{column}` of table `{name}` is NOT NULL, and not in the result", "select it, or give it a DEFAULT")
        return True

    def _check_progress(self, db: Any, there: bool) -> None:
        """Whether the table and the checkpoint are of the same run, or the run is a new one and may begin."""
        path = sql.path_of(self.target.text("schema", "main"), self.target.text("table"))
        noted: dict[str, tuple[int, int]] = {}
        known = False
        if db.execute(sql.COLUMNS, ["main", PROGRESS]).fetchall():
            found = db.execute(f"SELECT target, query, run, batch, rows FROM {PROGRESS}").fetchall()
            noted = {run: (batch, rows) for target, query, run, batch, rows in found if (target, query) == (path, self.target.query.name)}
            known = run_of(self.target.directory) in {run for _, _, run, _, _ in found}
        compare_progress(
            self.target, noted, known, there, lambda: bool(db.execute(f"SELECT EXISTS (SELECT 1 FROM {path})").fetchall()[0][0])
        )

    # --- the file ---

    @property
    def _path(self) -> Path:
        return Path(resolve(self.target.base_dir, self.target.text("path")))

    @property
    def _made(self) -> sql.Table:
        if self._table is None:
            raise TroubleError(Trouble("failed", "the table was not looked at before the first micro-batch"))
        return self._table

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """The file, open for one transaction, so that others may look into it between micro-batches."""
        import duckdb

        with _ONE_BY_ONE[str(self._path)]:
            db = None
            try:
                db = duckdb.connect(str(self._path))
                yield db
            except duckdb.Error as error:
                query, folder = self.target.query, str(self._path.parent)
                if reason := reason_in(str(error), (folder,)):
                    raise SinkUnreachable(query.name, not_written(f"query `{query.name}`", reason, folder, query.sink.origin)) from None
                raise TroubleError(_trouble_of(error)) from None
            finally:
                if db is not None:
                    with suppress(duckdb.Error):
                        db.close()

    def _wrong(self, message: str, help: str) -> Abort:
        return Abort(Diagnostic("SQ0806", message, self.target.query.sink.origin, help=help))


def column_type(given: DataType) -> str:
    """DuckDB's type for values of one of Spark's types."""
    match given:
        case ArrayType():
            return f"{column_type(given.elementType)}[]"
        case MapType():
            return f"MAP({column_type(given.keyType)}, {column_type(given.valueType)})"
        case StructType():
            return f"STRUCT({', '.join(f'{sql.quoted(f.name)} {column_type(f.dataType)}' for f in given.fields)})"
        case DecimalType():
            return f"DECIMAL({given.precision},{given.scale})"
        case _:
            return sql.TYPES[given.simpleString()]


def _trouble_of(error: Exception) -> Trouble:
    """What an error of DuckDB means: the first line that it says, without the rest of a row."""
    text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    text = text.split(": ", 1)[-1] if text.split(": ", 1)[0].endswith("Error") else text
    if any(words in str(error) for words in _HELD):
        return Trouble("unreachable", "another process has the file open")
    return Trouble("refused" if type(error).__name__ in _ROWS else "failed", text[:300])
