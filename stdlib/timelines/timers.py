"""When an operator has something to do although no row arrives."""

from __future__ import annotations

from streamq.stdlib.timelines.table import FOREVER, State

_DUE = (("waiting", "at"), ("facts", "end"), ("held", "expires"))
"""(table, column) of the state in which instants that are known beforehand are found."""


def next_instant(state: State) -> int | None:
    """The first instant after ``state.through`` at which something is known to be due, in microseconds."""
    columns = [state.tables.get(table, {}).get(column) for table, column in _DUE]
    least = min((int(c.min()) for c in columns if c is not None and len(c)), default=FOREVER)
    return least if least < FOREVER else None
