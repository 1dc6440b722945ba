"""Why a sink could not take a micro-batch: what may pass by itself, what the rows are at fault for, and what neither helps.

Each is an Abort, so what a run says of it is its diagnostic. Whoever looks after queries tells them apart by their class.
"""

from __future__ import annotations

from streamq.dsl.diagnostics import Abort, Diagnostic


class SinkFailed(Abort):
    """The sink is not set up so that it could take rows: a wrong password, a table that is gone. To repeat it is of no use.

    ``query``: whose rows they are. ``message``: what happened, in a line without secrets. All fields are set once.
    """

    def __init__(self, query: str, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic)
        self._query = query

    @property
    def query(self) -> str:
        return self._query

    @property
    def message(self) -> str:
        return self.diagnostic.message


class SinkUnreachable(SinkFailed):
    """The server does not answer, cannot take rows just now (SQ0808), or its disk is full (SQ0809): the same micro-batch may do later."""


class SinkRefused(SinkFailed):
    """The server refuses the rows of this micro-batch (SQ0806): others may do."""
