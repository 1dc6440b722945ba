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

from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean
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
    refuse_rows_of_others,
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
from streamq.runtime.spark.writers.run_id import before, begin_run, run_of
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
            self._check_schemas(db)
            there = self._check_table(db)
            self._check_progress(db, there)

    def prepare(self, frame: DataFrame) -> None:
        """Makes the table, where it is to be made, and notes that the run has begun."""
        self._run = begin_run(self.target.directory)
        given = tuple(field.dataType.simpleString() for field in frame.schema.fields)
        table = sql.Table(
            self._schema, self._name, tuple(frame.columns), given, keys=self.target.query.keys if self.target.update else (),
            only_row=self.target.update and not self.target.query.keys,
        )
        with told(self.target, SERVER), connected(self._address()) as db:
            db.rows(sql.ONE_AT_A_TIME)
            ((version,),) = db.rows(sql.VERSION)
            if self.target.option("create", True):
                db.run(table.make(equal_nulls=version >= 150_000))
            db.run(f"CREATE TABLE IF NOT EXISTS {self._progress} {sql.NOTED}")
            db.change(
                f"INSERT INTO {self._progress} (target, query, run, batch, rows) VALUES ($1, $2, $3, $4, 0) ON CONFLICT DO NOTHING",
                table.path, self.target.query.name, self._run, before(self.target.directory),
            )
            for (name,) in db.rows(sql.LEFTOVERS, self._staging_schema, self._staging_stem):
                db.run(f"DROP TABLE IF EXISTS {self._staged(name)}")
            db.commit()
            types = {name: kind for name, kind, _ in db.rows(sql.COLUMNS, self._schema, self._name)}
        self._table = replace(table, types=tuple(types[column] for column in table.columns))

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        """One micro-batch, in one transaction."""
        with told(self.target, SERVER), ExitStack() as stack:
            db = patiently(lambda: stack.enter_context(connected(self._address())), self.target.seconds("patience"), stopping)
            if is_there(number, self._noted(db), self.target):
                only_read(batch)
                return
            name = f"{self._staging_stem}{number}"
            db.run(f"DROP TABLE IF EXISTS {self._staged(name)}", self._made.make_staging(self._staged(name)))
            db.commit()
            parts = self._stage(batch, name)
            self._merge(db, name, number, parts)

    # --- a micro-batch ---

    def _stage(self, batch: DataFrame, name: str) -> tuple[Outcome, ...]:
        """Sends the rows into the staging table, from the tasks of Spark."""
        to, schema, ordered = self._address(), self._staging_schema, bool(self._made.keys or self._made.only_row)

        def send(part: str, batches: Iterator[pa.RecordBatch]) -> int:
            return _copy(to, schema, name, part, batches, ordered=ordered)

        shown = [
            (F.to_json(column, JSON_OPTIONS) if sql.is_nested(given) else column).alias(f"c{i}")
            for i, (column, given) in enumerate(zip(map(F.col, map(spark_name, batch.columns)), self._made.given, strict=True))
        ]
        return send_all(batch.select(*shown), send)

    def _merge(self, db: Connection, name: str, number: int, parts: tuple[Outcome, ...]) -> None:
        """Brings staged rows into the table and notes the micro-batch, or does nothing where another has done so."""
        staged, rows = self._staged(name), sum(part.rows for part in parts)
        who = (self._made.path, self.target.query.name, self._run)
        # Whoever else writes for this run waits here until the transaction is over.
        db.change(f"UPDATE {self._progress} SET noted_at = now() WHERE target = $1 AND query = $2 AND run = $3", *who)
        if not is_there(number, self._noted(db), self.target):
            if rows:
                names = [part.part for part in parts]
                ((found,),) = db.rows(f"SELECT count(*) FROM {staged} WHERE part IN ({', '.join(map(sql.literal, names))})")
                if found != rows:
                    raise TroubleError(Trouble("unreachable", f"of {rows} rows that were sent {found} are there: the server was restarted in between"))
                db.run(*self._made.merge(staged, names))
            db.change(
                f"UPDATE {self._progress} SET batch = $4, rows = rows + $5 WHERE target = $1 AND query = $2 AND run = $3",
                *who, number, rows,
            )
        db.run(f"DROP TABLE {staged}")
        db.commit()

    def _noted(self, db: Connection) -> int:
        """The last micro-batch that is in the table."""
        found = db.rows(
            f"SELECT batch FROM {self._progress} WHERE target = $1 AND query = $2 AND run = $3",
            self._made.path, self.target.query.name, self._run,
        )
        if not found:
            raise TroubleError(Trouble("failed", f"{self._progress} does not know of this run any more"))
        return int(found[0][0])

    # --- before the start ---

    def _check_schemas(self, db: Connection) -> None:
        for schema in dict.fromkeys((self._schema, self._staging_schema)):
            found = db.rows(sql.SCHEMA_ALLOWS, schema)
            if not found:
                raise self._wrong(f"there is no schema `{schema}` in the database", "create it, or correct the options of the sink")
            use, make = found[0]
            if not use or (schema == self._staging_schema and not make):
                raise self._wrong(
                    f"the user may not create tables in schema `{schema}`",
                    f"GRANT USAGE, CREATE ON SCHEMA {sql.quoted(schema)} TO the user, or name another with staging_schema",
                )

    def _check_table(self, db: Connection) -> bool:
        """True where the table is there, and takes the results."""
        kind = db.rows(sql.KIND_OF_TABLE, self._schema, self._name)
        if not kind:
            if not self.target.option("create", True):
                raise self._wrong(f"there is no table `{self._name}` in schema `{self._schema}`", "create it, or set create = true")
            return False
        if kind[0][0] not in ("r", "p"):
            raise self._wrong(f"`{self._name}` is no table", "name a table")
        known = db.rows(sql.COLUMNS, self._schema, self._name)
        names = [name for name, _, _ in known]
        for column in self.target.columns:
            if column not in names:
                raise self._wrong(
                    f"table `{self._name}` has no column `{column}`", did_you_mean(column, names) or f"add it, or call the column otherwise with AS; the table has: {', '.join(names[:12])}"
                )
        for name, _, needed in known:
            if needed and name not in self.target.columns:
                raise self._wrong(f"column `{name}` of table `{self._name}` is NOT NULL, and not in the result", "select it, or give it a DEFAULT")
        self._check_privileges(db)
        keys = self.target.query.keys if self.target.update else ()
        unique = [set(str(found).split("\x01")) for (found,) in db.rows(sql.UNIQUE, self._schema, self._name)]
        if keys and set(keys) not in unique:
            listed = ", ".join(map(sql.quoted, keys))
            raise self._wrong(
                f"table `{self._name}` has no unique index on {', '.join(keys)}, by which rows replace each other",
                f"CREATE UNIQUE INDEX ON {sql.quoted(self._schema)}.{sql.quoted(self._name)} ({listed})",
            )
        return True

    def _check_privileges(self, db: Connection) -> None:
        allowed = dict(zip(("INSERT", "SELECT", "UPDATE", "DELETE"), db.rows(sql.TABLE_ALLOWS, self._schema, self._name)[0], strict=True))
        wanted: tuple[str, ...] = ("INSERT",)
        if self.target.update:
            wanted = ("INSERT", "SELECT", "UPDATE") if self.target.query.keys else ("INSERT", "SELECT", "DELETE")
        missing = [name for name in wanted if not allowed[name]]
        if missing:
            raise self._wrong(
                f"the user may not {' or '.join(missing)} in table `{self._name}`",
                f"GRANT {', '.join(wanted)} ON {sql.quoted(self._schema)}.{sql.quoted(self._name)} TO the user",
            )

    def _check_progress(self, db: Connection, there: bool) -> None:
        """Whether the table and the checkpoint are of the same run, or the run is a new one and may begin."""
        run, name = run_of(self.target.directory), self.target.query.name
        path = f"{sql.quoted(self._schema)}.{sql.quoted(self._name)}"
        noted: dict[str, int] = {}
        if db.rows(sql.KIND_OF_TABLE, self._staging_schema, sql.PROGRESS):
            noted = {r: int(b) for r, b in db.rows(f"SELECT run, batch FROM {self._progress} WHERE target = $1 AND query = $2", path, name)}
        if run in noted:
            is_there(before(self.target.directory) + 1, noted[run], self.target)
        elif there:
            refuse_rows_of_others(self.target, noted.values(), lambda: bool(db.rows(f"SELECT EXISTS (SELECT FROM {path})")[0][0]))

    # --- names and errors ---

    @property
    def _made(self) -> sql.Table:
        if self._table is None:
            raise TroubleError(Trouble("failed", "the table was not looked at before the first micro-batch"))
        return self._table

    @property
    def _name(self) -> str:
        return self.target.text("table")

    @property
    def _schema(self) -> str:
        return self.target.text("schema", "public")

    @property
    def _staging_schema(self) -> str:
        return self.target.text("staging_schema", self._schema)

    @property
    def _progress(self) -> str:
        return self._staged(sql.PROGRESS)

    @property
    def _staging_stem(self) -> str:
        whose = "\0".join((self._run, self._schema, self._name, self.target.query.name))
        return f"streamq_stage_{hashlib.sha256(whose.encode()).hexdigest()[:16]}_"

    def _staged(self, name: str) -> str:
        return f"{sql.quoted(self._staging_schema)}.{sql.quoted(name)}"

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

    def _wrong(self, message: str, help: str) -> Abort:
        return Abort(Diagnostic("SQ0806", message, self.target.query.sink.origin, help=help))


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
