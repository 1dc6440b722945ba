"""Writes a query's results into a table of PostgreSQL, each micro-batch exactly once (ADR 0019).

The tasks of Spark send their rows by COPY into a staging table of the micro-batch; then, in one transaction, they go from there
into the table and the micro-batch is noted in ``streamq_progress``. A micro-batch that is repeated is found there.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.secrets import reveal
from streamq.runtime.spark.names import quoted as spark_name
from streamq.runtime.spark.writers import postgres_sql as sql
from streamq.runtime.spark.writers.base import (
    Outcome,
    Target,
    Trouble,
    TroubleError,
    is_there,
    only_read,
    patiently,
    send_all,
    told,
)
from streamq.runtime.spark.writers.postgres_client import (
    PACKAGE,
    Address,
    Connection,
    address,
    connected,
)
from streamq.runtime.spark.writers.postgres_client import is_there as has_client
from streamq.runtime.spark.writers.postgres_ready import Place, look, place_of, unique_of
from streamq.runtime.spark.writers.run_id import before, begin_run
from streamq.stdlib.written import JSON_OPTIONS

SERVER = "the PostgreSQL server"


@dataclass(slots=True)
class PostgresWriter:
    """The writer of one query. ``where``: found out once, as secrets are looked up."""

    target: Target
    _where: Address | None = field(default=None, repr=False)
    _table: sql.Table | None = None
    _run: str = ""

    def check(self) -> None:
        """Looks at the server and the table; Abort with SQ0709, SQ0806, SQ0808 or SQ0811."""
        with told(self.target, SERVER), connected(self._address()) as db:
            db.wait_for_locks(self.target.seconds("patience"))
            look(db, self.target)

    def prepare(self, frame: DataFrame) -> None:
        """Makes the table, where it is to be made, and notes that the run has begun; looks again, as it is done after failures too."""
        place, self._run = self._place, begin_run(self.target.directory)
        given = tuple(field.dataType.simpleString() for field in frame.schema.fields)
        table = sql.Table(
            place.schema, place.name, tuple(frame.columns), given, keys=self.target.query.keys if self.target.update else (),
            only_row=self.target.update and not self.target.query.keys,
        )
        with told(self.target, SERVER), connected(self._address()) as db:
            db.wait_for_locks(self.target.seconds("patience"))
            db.rows(sql.ONE_AT_A_TIME)
            look(db, self.target)
            ((version,),) = db.rows(sql.VERSION)
            if self.target.option("create", True):
                db.run(table.make(equal_nulls=version >= 150_000))
            db.run(f"CREATE TABLE IF NOT EXISTS {place.progress} {sql.NOTED}")
            db.change(
                f"INSERT INTO {place.progress} (target, query, run, batch, rows) VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING",
                table.path, self.target.query.name, self._run, before(self.target.directory),
            )
            for (name,) in db.rows(sql.LEFTOVERS, place.staging_schema, self._staging_stem):
                db.run(f"DROP TABLE IF EXISTS {place.staged(name)}")
            db.commit()
            types = {name: kind for name, kind, _ in db.rows(sql.COLUMNS, place.schema, place.name)}
            equal = any(equal_nulls for columns, equal_nulls in unique_of(db, place) if columns == set(table.keys))
        self._table = replace(table, types=tuple(types[column] for column in table.columns), equal_nulls=equal)

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        """One micro-batch, in one transaction."""
        with told(self.target, SERVER), ExitStack() as stack:
            db = patiently(lambda: stack.enter_context(connected(self._address())), self.target.seconds("patience"), stopping)
            if is_there(number, self._noted(db), self.target):
                only_read(batch)
                return
            place, name = self._place, f"{self._staging_stem}{number}"
            db.run(f"DROP TABLE IF EXISTS {place.staged(name)}", self._made.make_staging(place.staged(name)))
            db.commit()
            parts = self._stage(batch, name)
            self._merge(db, name, number, parts)

    # --- a micro-batch ---

    def _stage(self, batch: DataFrame, name: str) -> tuple[Outcome, ...]:
        """Sends the rows into the staging table, from the tasks of Spark."""
        to, schema, ordered = self._address(), self._place.staging_schema, bool(self._made.keys or self._made.only_row)

        def send(part: str, batches: Iterator[pa.RecordBatch]) -> int:
            return _copy(to, schema, name, part, batches, ordered=ordered)

        shown = [
            (F.to_json(column, JSON_OPTIONS) if sql.is_nested(given) else column).alias(f"c{i}")
            for i, (column, given) in enumerate(zip(map(F.col, map(spark_name, batch.columns)), self._made.given, strict=True))
        ]
        return send_all(batch.select(*shown), send)

    def _merge(self, db: Connection, name: str, number: int, parts: tuple[Outcome, ...]) -> None:
        """Brings staged rows into the table and notes the micro-batch, or does nothing where another has done so."""
        place = self._place
        staged, rows = place.staged(name), sum(part.rows for part in parts)
        who = (self._made.path, self.target.query.name, self._run)
        db.wait_for_locks(self.target.seconds("patience"))
        # Whoever else writes for this run waits here until the transaction is over.
        db.change(f"UPDATE {place.progress} SET noted_at = now() WHERE target = $1 AND query = $2 AND run = $3", *who)
        if not is_there(number, self._noted(db), self.target):
            if rows:
                names = [part.part for part in parts]
                ((found,),) = db.rows(f"SELECT count(*) FROM {staged} WHERE part IN ({', '.join(map(sql.literal, names))})")
                if found != rows:
                    raise TroubleError(Trouble("unreachable", f"of {rows} rows that were sent {found} are there: the server was restarted in between"))
                nulls = bool(self._made.keys) and not self._made.equal_nulls and bool(db.rows(self._made.has_nulls(staged, names))[0][0])
                db.run(*self._made.merge(staged, names, nulls=nulls))
            db.change(
                f"UPDATE {place.progress} SET batch = $4, rows = rows + $5 WHERE target = $1 AND query = $2 AND run = $3",
                *who, number, rows,
            )
        db.run(f"DROP TABLE {staged}")
        db.commit()

    def _noted(self, db: Connection) -> int:
        """The last micro-batch that is in the table."""
        place = self._place
        found = db.rows(
            f"SELECT batch FROM {place.progress} WHERE target = $1 AND query = $2 AND run = $3",
            self._made.path, self.target.query.name, self._run,
        )
        if not found:
            raise TroubleError(Trouble("failed", f"{place.progress} does not know of this run any more"))
        return int(found[0][0])

    # --- names and the address ---

    @property
    def _made(self) -> sql.Table:
        if self._table is None:
            raise TroubleError(Trouble("failed", "the table was not looked at before the first micro-batch"))
        return self._table

    @property
    def _place(self) -> Place:
        return place_of(self.target)

    @property
    def _staging_stem(self) -> str:
        place = self._place
        whose = "\0".join((self._run, place.schema, place.name, self.target.query.name))
        return f"streamq_stage_{hashlib.sha256(whose.encode()).hexdigest()[:16]}_"

    def _address(self) -> Address:
        if self._where is None:
            if not has_client():
                raise Abort(Diagnostic(
                    "SQ0811", f"connector `postgres` needs the package {PACKAGE}, which is not installed",
                    self.target.query.sink.origin, help="pip install 'streamq[postgres]'",
                ))
            parts = {key: str(value) for key, value in self.target.query.sink.options}
            for key in ("password", "uri"):
                if key in parts:
                    parts[key] = reveal(parts[key], self.target.base_dir, self.target.query.sink.origin)
            self._where = address(parts, max(2, round(self.target.seconds("connect_timeout"))))
        return self._where


def _copy(to: Address, schema: str, table: str, part: str, batches: Iterator[pa.RecordBatch], *, ordered: bool) -> int:
    """Sends the batches of a partition as they come, by one COPY; returns how many rows there were."""
    first = next((batch for batch in batches if batch.num_rows), None)
    if first is None:
        return 0
    rows, broken = 0, None

    def staged() -> Iterator[pa.RecordBatch]:
        nonlocal rows, broken
        try:
            for batch in chain((first,), batches):
                arrays = [*batch.columns, pa.repeat(part, batch.num_rows)]
                names = [*batch.schema.names, "part"]
                if ordered:
                    arrays.append(pa.array(np.arange(rows, rows + batch.num_rows)))
                    names.append("seq")
                rows += batch.num_rows
                yield pa.RecordBatch.from_arrays(arrays, names)
        except Exception as error:
            broken = error
            raise

    source = staged()
    head = next(source)
    try:
        with connected(to) as db:
            db.load(schema, table, pa.RecordBatchReader.from_batches(head.schema, chain((head,), source)))
            db.commit()
    except TroubleError:
        if broken is not None:
            raise broken from None
        raise
    return rows
