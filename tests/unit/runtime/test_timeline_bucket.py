"""What an operator gives, in pieces that Arrow and Spark can take."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from streamq.dsl.records import dataclass
from streamq.runtime.spark import pieces as limits
from streamq.runtime.spark.timeline_bucket import Bucket
from streamq.stdlib.timelines.table import CHANGE, State, Table


@dataclass(frozen=True, slots=True)
class Gives:
    """An operator that always gives the same changes."""

    changes: Table

    def advance(self, state: State, rows: Table, upto: int) -> tuple[State, Table]:
        del rows, upto
        return state, self.changes


def pieces(texts: list[str | None], *, only: int = 0) -> list[pa.RecordBatch]:
    """Rows with a number and a text, each second of which goes."""
    size = len(texts)
    changes: Table = {name: np.arange(size, dtype=np.int64) for name in CHANGE}
    changes["sign"] = np.where(np.arange(size) % 2 == 0, 1, -1)
    changes["v0"] = np.arange(size, dtype=np.int64)
    changes["v1"] = np.array(texts, dtype=object)
    bucket = Bucket(Gives(changes), (), ("long", "text"), only)
    _, _, batches = bucket.advance(None, iter(()), 0)
    return list(batches)


def values(batch: pa.RecordBatch) -> list[str | None]:
    assert isinstance(batch, pa.RecordBatch)
    found: list[str | None] = batch.column("v1").to_pylist()
    assert batch.column("v1").type == pa.string()
    return found


def test_pieces_of_so_much_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXT_AT_ONCE", 5)
    found = pieces(["abc", None, "de", "f", "seven letters", "", None, "ghijk", "l"])
    assert [values(batch) for batch in found] == [
        ["abc", None, "de"], ["f"], ["seven letters"], ["", None, "ghijk"], ["l"],
    ]
    assert [n for batch in found for n in batch.column("v0").to_pylist()] == list(range(9))


def test_pieces_of_so_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROWS_AT_ONCE", 2)
    assert [values(batch) for batch in pieces(["a", "b", None, "c", "d"])] == [
        ["a", "b"], [None, "c"], ["d"],
    ]
    assert [values(batch) for batch in pieces(["a", "b", "c", "d", "e"], only=1)] == [["a", "c"], ["e"]]


def test_no_changes_are_no_pieces() -> None:
    assert pieces([]) == []
