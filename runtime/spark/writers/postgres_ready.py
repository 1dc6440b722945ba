"""Looks at the schemas and tables of a PostgreSQL server: whether the rows of a query can go there, and are of the same run."""

from __future__ import annotations

from dataclasses import dataclass

from streamq.dsl.diagnostics import Abort, Diagnostic, did_you_mean
from streamq.runtime.spark.writers import postgres_sql as sql
from streamq.runtime.spark.writers.base import Target
from streamq.runtime.spark.writers.postgres_client import Connection
from streamq.runtime.spark.writers.progress import compare_progress
from streamq.runtime.spark.writers.run_id import PROGRESS, run_of


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of a query go, and where StreamQ keeps what it needs for it."""

    schema: str
    name: str
    staging_schema: str

    @property
    def path(self) -> str:
        return f"{sql.quoted(self.schema)}.{sql.quoted(self.name)}"

    @property
    def progress(self) -> str:
        return self.staged(PROGRESS)

    def staged(self, name: str) -> str:
        return f"{sql.quoted(self.staging_schema)}.{sql.quoted(name)}"


def place_of(target: Target) -> Place:
    schema = target.text("schema", "public")
    return Place(schema, target.text("table"), target.text("staging_schema", schema))


def look(db: Connection, target: Target) -> None:
    """Abort with SQ0806 where the rows of the query cannot be written, or would be among those of another run."""
    place = place_of(target)
    _check_schemas(db, target, place)
    _check_progress(db, target, place, _check_table(db, target, place))


def unique_of(db: Connection, place: Place) -> list[tuple[set[str], bool]]:
    """The columns of each unique index of the table, and whether two NULLs are equal in it."""
    return [(set(str(found).split("\x01")), bool(equal)) for found, equal in db.rows(sql.UNIQUE, place.schema, place.name)]


def _check_schemas(db: Connection, target: Target, place: Place) -> None:
    for schema in dict.fromkeys((place.schema, place.staging_schema)):
        found = db.rows(sql.SCHEMA_ALLOWS, schema)
        if not found:
            raise _wrong(target, f"there is no schema `{schema}` in the database", "create it, or correct the options of the sink")
        use, make = found[0]
        if not use or (schema == place.staging_schema and not make):
            raise _wrong(
                target,
                f"the user may not create tables in schema `{schema}`",
                f"GRANT USAGE, CREATE ON SCHEMA {sql.quoted(schema)} TO the user, or name another with staging_schema",
            )


def _check_table(db: Connection, target: Target, place: Place) -> bool:
    """True where the table is there, and takes the results."""
    kind = db.rows(sql.KIND_OF_TABLE, place.schema, place.name)
    if not kind:
        if not target.option("create", True):
            raise _wrong(target, f"there is no table `{place.name}` in schema `{place.schema}`", "create it, or set create = true")
        return False
    if kind[0][0] not in ("r", "p"):
        raise _wrong(target, f"`{place.name}` is no table", "name a table")
    known = db.rows(sql.COLUMNS, place.schema, place.name)
    names = [name for name, _, _ in known]
    for column in target.columns:
        if column not in names:
            raise _wrong(
                target, f"table `{place.name}` has no column `{column}`",
                did_you_mean(column, names) or f"add it, or call the column otherwise with AS; the table has: {', '.join(names[:12])}"
            )
    for name, _, needed in known:
        if needed and name not in target.columns:
            raise _wrong(target, f"column `{name}` of table `{place.name}` is NOT NULL, and not in the result", "select it, or give it a DEFAULT")
    _check_privileges(db, target, place)
    keys = target.query.keys if target.update else ()
    if keys and set(keys) not in [columns for columns, _ in unique_of(db, place)]:
        listed = ", ".join(map(sql.quoted, keys))
        raise _wrong(
            target,
            f"table `{place.name}` has no unique index on {', '.join(keys)}, by which rows replace each other",
            f"CREATE UNIQUE INDEX ON {sql.quoted(place.schema)}.{sql.quoted(place.name)} ({listed})",
        )
    return True


def _check_privileges(db: Connection, target: Target, place: Place) -> None:
    allowed = dict(zip(("INSERT", "SELECT", "UPDATE", "DELETE"), db.rows(sql.TABLE_ALLOWS, place.schema, place.name)[0], strict=True))
    wanted: tuple[str, ...] = ("INSERT",)
    if target.update:
        wanted = ("INSERT", "SELECT", "UPDATE") if target.query.keys else ("INSERT", "SELECT", "DELETE")
    missing = [name for name in wanted if not allowed[name]]
    if missing:
        raise _wrong(
            target,
            f"the user may not {' or '.join(missing)} in table `{place.name}`",
            f"GRANT {', '.join(wanted)} ON {sql.quoted(place.schema)}.{sql.quoted(place.name)} TO the user",
        )


def _check_progress(db: Connection, target: Target, place: Place, there: bool) -> None:
    """Whether the table and the checkpoint are of the same run, or the run is a new one and may begin."""
    noted: dict[str, tuple[int, int]] = {}
    known = False
    if db.rows(sql.KIND_OF_TABLE, place.staging_schema, PROGRESS):
        found = db.rows(f"SELECT run, batch, rows FROM {place.progress} WHERE target = $1 AND query = $2", place.path, target.query.name)
        noted = {run: (int(batch), int(rows)) for run, batch, rows in found}
        own = run_of(target.directory) or ""
        known = bool(db.rows(f"SELECT EXISTS (SELECT FROM {place.progress} WHERE run = $1)", own)[0][0])
    compare_progress(target, noted, known, there, lambda: bool(db.rows(f"SELECT EXISTS (SELECT FROM {place.path})")[0][0]))


def _wrong(target: Target, message: str, help: str) -> Abort:
    return Abort(Diagnostic("SQ0806", message, target.query.sink.origin, help=help))
