"""What is said to PostgreSQL, as text: tables, staging, merging. Every name is quoted by its rules.

Rows of a micro-batch come into a staging table by number of their column (``c0``, ``c1``), with the name of the try of
the task that sent them (``part``) and their place in it (``seq``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

NOTED = "(target text NOT NULL, query text NOT NULL, run text NOT NULL, batch bigint NOT NULL, rows bigint NOT NULL, noted_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (target, query, run))"

_TYPES = {
    "boolean": "boolean",
    "tinyint": "smallint",
    "smallint": "smallint",
    "int": "integer",
    "bigint": "bigint",
    "float": "real",
    "double": "double precision",
    "string": "text",
    "binary": "bytea",
    "date": "date",
    "timestamp": "timestamp with time zone",
    "interval day to second": "interval",
}

_TEXTS = ("text", "character", "character varying", "name", "\"char\"")


def quoted(name: str) -> str:
    """A name as PostgreSQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def is_nested(spark_type: str) -> bool:
    """True for types that PostgreSQL has as JSON: arrays, maps and structs, by Spark's name for them."""
    return spark_type.startswith(("array<", "map<", "struct<"))


def column_type(spark_type: str) -> str | None:
    """The type of a column for values of one of Spark's types, by its ``simpleString``; None where there is none."""
    if is_nested(spark_type):
        return "jsonb"
    if spark_type.startswith("decimal("):
        return "numeric" + spark_type.removeprefix("decimal")
    return _TYPES.get(spark_type)


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the columns that are written, by their very names. ``keys``: of a relation; ``only_row``: it has none.

    ``types``: of its columns as the database has them; ``given``: as the result has them, by Spark's names.
    ``equal_nulls``: two NULLs of a key are one in its index.
    """

    schema: str
    name: str
    columns: tuple[str, ...]
    given: tuple[str, ...]
    types: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    only_row: bool = False
    equal_nulls: bool = False

    @property
    def path(self) -> str:
        return f"{quoted(self.schema)}.{quoted(self.name)}"

    def make(self, *, equal_nulls: bool) -> str:
        """``equal_nulls``: whether the server can hold two NULLs of a key for the same (from version 15 on)."""
        made = [f"{quoted(name)} {column_type(given)}" for name, given in zip(self.columns, self.given, strict=True)]
        if self.keys:
            kind = "UNIQUE NULLS NOT DISTINCT" if equal_nulls else "PRIMARY KEY"
            made.append(f"{kind} ({_listed(self.keys)})")
        return f"CREATE TABLE IF NOT EXISTS {self.path} ({', '.join(made)})"

    def make_staging(self, staging: str) -> str:
        """Rows in it need to outlive no crash of the server: the micro-batch is then sent anew."""
        made = [f"c{i} {staged_type(given)}" for i, given in enumerate(self.given)]
        return f"CREATE UNLOGGED TABLE {staging} ({', '.join([*made, 'part text', 'seq bigint'])})"

    def merge(self, staging: str, parts: Sequence[str], *, nulls: bool = False) -> tuple[str, ...]:
        """Statements that bring the rows of these parts into the table: all of them, or the last of each key.

        ``nulls``: keys may be NULL in these rows, and two NULLs are not equal in the index of the table.
        """
        values = ", ".join(self._value(i) for i in range(len(self.columns)))
        rows = self._rows(staging, parts)
        insert = f"INSERT INTO {self.path} ({_listed(self.columns)}) SELECT {values} FROM "
        if self.only_row:
            return (f"DELETE FROM {self.path}", f"{insert}{rows} ORDER BY part DESC, seq DESC LIMIT 1")
        if not self.keys:
            return (insert + rows,)
        places = {self.columns.index(key): quoted(key) for key in self.keys}
        keys = ", ".join(f"c{i}" for i in places)
        newest = f"(SELECT DISTINCT ON ({keys}) * FROM {rows} ORDER BY {keys}, part DESC, seq DESC) AS newest"
        others = [(i, quoted(c)) for i, c in enumerate(self.columns) if c not in self.keys]
        then = f"DO UPDATE SET {', '.join(f'{c} = EXCLUDED.{c}' for _, c in others)}" if others else "DO NOTHING"
        conflict = f" ON CONFLICT ({_listed(self.keys)}) {then}"
        if not nulls:
            return (f"{insert}{newest}{conflict}",)
        same = " AND ".join(f"old.{name} IS NOT DISTINCT FROM {self._converted(i)}" for i, name in places.items())
        sets = ", ".join(f"{name} = {self._converted(i)}" for i, name in others)
        update = (f"UPDATE {self.path} AS old SET {sets} FROM {newest} WHERE {self._no_key} AND {same}",) if others else ()
        there = f"EXISTS (SELECT FROM {self.path} AS old WHERE {same})"
        return (*update, f"{insert}{newest} WHERE NOT ({self._no_key} AND {there}){conflict}")

    def has_nulls(self, staging: str, parts: Sequence[str]) -> str:
        """Whether a key is NULL in the rows of these parts."""
        return f"SELECT EXISTS (SELECT FROM {self._rows(f'{staging} AS newest', parts)} AND {self._no_key})"

    @property
    def _no_key(self) -> str:
        return f"({' OR '.join(f'newest.c{self.columns.index(key)} IS NULL' for key in self.keys)})"

    def _converted(self, i: int) -> str:
        """A staged value beside those of the table, which may have columns of the same names."""
        return f"CAST(newest.c{i} AS {self.types[i] if self.types else column_type(self.given[i])})"

    def _rows(self, staging: str, parts: Sequence[str]) -> str:
        return f"{staging} WHERE part IN ({', '.join(map(literal, parts))})"

    def _value(self, i: int) -> str:
        """A staged value as the column takes it: texts are not turned into anything else unless it is said."""
        kind = self.types[i] if self.types else column_type(self.given[i]) or ""
        is_text = kind.split("(")[0].strip() in _TEXTS
        return f"c{i}" if staged_type(self.given[i]) != "text" or is_text else f"CAST(c{i} AS {kind})"


def staged_type(spark_type: str) -> str:
    """The type in which values travel: nested ones as the text of their JSON."""
    return "text" if is_nested(spark_type) else column_type(spark_type) or "text"


def literal(text: str) -> str:
    """A text as a value. With a backslash in it, it is one for old settings of a server too."""
    doubled = text.replace("'", "''")
    return f"E'{doubled.replace(chr(92), chr(92) * 2)}'" if "\\" in text else f"'{doubled}'"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


# --- what is there -------------------------------------------------------------------------------

VERSION = "SELECT current_setting('server_version_num')::int"

KIND_OF_TABLE = (
    "SELECT c.relkind::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = $2"
)

COLUMNS = (
    "SELECT a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), "
    "a.attnotnull AND NOT a.atthasdef AND a.attidentity = '' FROM pg_catalog.pg_attribute a "
    "JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = $2 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
)
"""Name, type, and whether every row must give it."""

UNIQUE = (
    "SELECT string_agg(a.attname::text, chr(1) ORDER BY a.attname::text), "
    "coalesce(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct', '') = 'true' FROM pg_catalog.pg_index i "
    "JOIN pg_catalog.pg_class c ON c.oid = i.indrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY(i.indkey[0:i.indnkeyatts - 1]) "
    "WHERE n.nspname = $1 AND c.relname = $2 AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indpred IS NULL AND i.indexprs IS NULL "
    "GROUP BY i.indexrelid, i.*"
)
"""The columns of each unique index that decides at once, and whether two NULLs are equal in it: no server before version 15 knows of that."""

SCHEMA_ALLOWS = (
    "SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE'), pg_catalog.has_schema_privilege(n.oid, 'CREATE') "
    "FROM pg_catalog.pg_namespace n WHERE n.nspname = $1"
)

TABLE_ALLOWS = (
    "SELECT pg_catalog.has_table_privilege(c.oid, 'INSERT'), pg_catalog.has_table_privilege(c.oid, 'SELECT'), "
    "pg_catalog.has_table_privilege(c.oid, 'UPDATE'), pg_catalog.has_table_privilege(c.oid, 'DELETE') "
    "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND c.relname = $2"
)

LEFTOVERS = (
    "SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
    "WHERE n.nspname = $1 AND starts_with(c.relname::text, $2)"
)

ONE_AT_A_TIME = "SELECT pg_catalog.pg_advisory_xact_lock(8317, 1)::text"
"""Held while tables are made: two that make the same one at once would be in each other's way."""
