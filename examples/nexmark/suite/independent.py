"""The answers without StreamQ: each question asked in SQL of tables that hold all events."""

from __future__ import annotations

from pathlib import Path

import duckdb

from examples.nexmark.suite.bags import Bag, bag_of
from examples.nexmark.suite.events import Events
from examples.nexmark.suite.programs import PROGRAMS
from streamq.stdlib.nexmark import TABLES

ANSWERS = Path(__file__).parent / "answers"


def independent_answer(query: str, events: Events) -> Bag:
    """What DuckDB says to ``answers/<query>.sql``.

    ``closed`` has one row: windows that end later are still open when the events end.
    """
    connection = duckdb.connect()
    for name in TABLES:
        connection.register(name, events.table(name))
    connection.execute("CREATE TABLE closed AS SELECT ?::TIMESTAMP AS at", [events.closed])
    side_input = str(PROGRAMS / "side_input.csv").replace("'", "''")
    connection.execute(f"CREATE VIEW side_input AS FROM read_csv('{side_input}')")
    sql = (ANSWERS / f"{query}.sql").read_text("utf-8")
    return bag_of(connection.execute(sql).fetchall())
