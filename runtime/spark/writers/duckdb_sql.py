"""What is said to DuckDB, as text. Every name is quoted by its rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamq.runtime.spark.writers.run_id import PROGRESS

MAKE_PROGRESS = (
    f"CREATE TABLE IF NOT EXISTS {PROGRESS} (target VARCHAR, query VARCHAR, run VARCHAR, batch BIGINT, rows BIGINT, "
    "noted_at TIMESTAMPTZ DEFAULT now(), PRIMARY KEY (target, query, run))"
)

COLUMNS = (
    "SELECT column_name, is_nullable = 'NO' AND column_default IS NULL FROM information_schema.columns "
    "WHERE table_catalog = current_database() AND table_schema = ? AND table_name = ? ORDER BY ordinal_position"
)
"""Name, and whether every row must give it."""

TYPES = {
    "boolean": "BOOLEAN",
    "tinyint": "TINYINT",
    "smallint": "SMALLINT",
    "int": "INTEGER",
    "bigint": "BIGINT",
    "float": "FLOAT",
    "double": "DOUBLE",
    "string": "VARCHAR",
    "binary": "BLOB",
    "date": "DATE",
    "timestamp": "TIMESTAMPTZ",
    "interval day to second": "INTERVAL",
}
"""Types of columns for values of Spark's types, by their ``simpleString``; nested ones are made of these."""


def quoted(name: str) -> str:
    """A name as DuckDB takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as a value."""
    return "'" + text.replace("'", "''") + "'"


def path_of(schema: str, table: str) -> str:
    return f"{quoted(schema)}.{quoted(table)}"


@dataclass(frozen=True, slots=True)
class Table:
    """A table and the columns that are written. ``keys``: of a relation; ``only_row``: it has none.

    ``types``: of its columns, as the result has them.
    """

    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    keys: tuple[str, ...] = ()
    only_row: bool = False

    @property
    def path(self) -> str:
        return path_of(self.schema, self.name)

    def make(self) -> str:
        made = [f"{quoted(name)} {kind}" for name, kind in zip(self.columns, self.types, strict=True)]
        return f"CREATE TABLE IF NOT EXISTS {self.path} ({', '.join(made)})"

    def staged(self, files: Sequence[str]) -> str:
        """A view of the rows of a micro-batch, in Parquet files by number of their column."""
        values = [
            f"{f'to_microseconds(c{i})' if kind == 'INTERVAL' else f'c{i}'} AS {quoted(name)}"
            for i, (name, kind) in enumerate(zip(self.columns, self.types, strict=True))
        ]
        rows = f"read_parquet([{', '.join(map(literal, files))}])"
        chosen = f"SELECT {', '.join(values)} FROM {rows}"
        if self.only_row:
            chosen += " ORDER BY seq DESC LIMIT 1"
        elif self.keys:
            keys = ", ".join(f"c{self.columns.index(key)}" for key in self.keys)
            chosen += f" QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY seq DESC) = 1"
        return f"CREATE OR REPLACE TEMP VIEW staged AS {chosen}"

    def merge(self) -> tuple[str, ...]:
        """Statements that bring the staged rows into the table."""
        names = ", ".join(map(quoted, self.columns))
        if not self.keys:
            emptied = (f"DELETE FROM {self.path}",) if self.only_row else ()
            return (*emptied, f"INSERT INTO {self.path} ({names}) SELECT {names} FROM staged")
        same = " AND ".join(f"old.{quoted(key)} IS NOT DISTINCT FROM staged.{quoted(key)}" for key in self.keys)
        sets = [f"{quoted(c)} = staged.{quoted(c)}" for c in self.columns if c not in self.keys]
        matched = f"WHEN MATCHED THEN UPDATE SET {', '.join(sets)} " if sets else ""
        values = ", ".join(f"staged.{quoted(c)}" for c in self.columns)
        return (
            f"MERGE INTO {self.path} AS old USING staged ON ({same}) {matched}WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})",
        )
