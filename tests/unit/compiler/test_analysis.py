"""What the analyses find out: how relations change, what operators keep and until when."""

from __future__ import annotations

import pytest

from streamq.compiler.analysis.granularity import Granularity, granularity
from streamq.compiler.analysis.state_bound import state_bound
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from tests.support.compiling import compile_text, logical_query

CHANGES = {
    "SELECT i FROM s": lg.Change.APPEND,
    "SELECT i FROM s [UNBOUNDED]": lg.Change.APPEND,
    "SELECT i FROM s [RANGE 1 MINUTE]": lg.Change.MOVING,
    "SELECT i FROM s [NOW]": lg.Change.MOVING,
    "SELECT i FROM s [ROWS 5]": lg.Change.MOVING,
    "SELECT i FROM s [PARTITION BY i ROWS 1]": lg.Change.UPDATE,
    "SELECT i FROM s [TUMBLE 1 MINUTE]": lg.Change.FINAL,
    "SELECT i FROM s [SESSION 1 MINUTE]": lg.Change.FINAL,
    "SELECT COUNT(*) AS c FROM s": lg.Change.UPDATE,
    "SELECT COUNT(*) AS c FROM s [TUMBLE 1 MINUTE]": lg.Change.FINAL,
    "SELECT DISTINCT i FROM s": lg.Change.APPEND,
    "SELECT s.i FROM s JOIN item ON l = id": lg.Change.APPEND,
    "SELECT s.i FROM s JOIN r ON s.i = r.i": lg.Change.APPEND,
    "SELECT s.i FROM s [RANGE 1 DAY] JOIN r [RANGE 1 DAY] ON s.i = r.i": lg.Change.MOVING,
    "SELECT s.i FROM s [TUMBLE 1 DAY] JOIN r [TUMBLE 1 DAY] ON s.i = r.i": lg.Change.FINAL,
    "SELECT i FROM s UNION ALL SELECT i FROM r": lg.Change.APPEND,
    "SELECT i FROM s UNION ALL SELECT i FROM r [TUMBLE 1 DAY]": lg.Change.MOVING,
    "SELECT name FROM item": lg.Change.STATIC,
    "SELECT COUNT(*) AS c FROM item": lg.Change.STATIC,
}


@pytest.mark.parametrize(("query", "change"), CHANGES.items(), ids=CHANGES)
def test_change(query: str, change: lg.Change) -> None:
    found = logical_query(f"CREATE VIEW v AS {query}; SELECT DSTREAM(*) FROM v, s [RANGE 1 DAY] other;")
    *_, top = (n for n in walk(found.root) if n.owner == "v")
    assert top.change is change


STATES = {
    "SELECT i FROM s": [],
    "SELECT i FROM s JOIN item ON l = id": [],
    "SELECT COUNT(*) AS c FROM s": ["one row forever"],
    "SELECT i, COUNT(*) AS c FROM s GROUP BY i": ["one row per group forever"],
    "SELECT i, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] GROUP BY i": [
        "one row per group and window until the watermark passes the window's end"
    ],
    "SELECT i, COUNT(*) AS c FROM s [SESSION 90 SECONDS PARTITION BY i] GROUP BY i": [
        "one row per group and session until the watermark is 90 seconds past its last row"
    ],
    "SELECT DISTINCT i, ts FROM s": ["every different row until the watermark passes it"],
    "SELECT DISTINCT i FROM s": ["every different row forever"],
    "SELECT i FROM s [TUMBLE 1 MINUTE] ORDER BY i LIMIT 3": [
        "3 rows and window until the watermark passes the window's end"
    ],
    "SELECT ISTREAM(s.i) FROM s [RANGE 1 DAY] JOIN r [RANGE 2 HOURS] ON s.i = r.i": [
        "rows of both sides until the watermark is 1 day past them"
    ],
    "SELECT s.i FROM s JOIN r ON s.i = r.i": ["rows of both sides forever"],
    "SELECT i FROM s [PARTITION BY i ROWS 1]": ["1 row per key forever"],
}


@pytest.mark.parametrize(("query", "states"), STATES.items(), ids=STATES)
def test_state(query: str, states: list[str]) -> None:
    optimized = compile_text(f"{query};").optimized
    assert optimized is not None
    found = [state_bound(n) for n in walk(optimized.queries[-1].root)]
    assert [str(s) for s in found if s is not None] == [f"keeps {s}" for s in states]


def test_what_grows_forever_is_warned_of() -> None:
    """The state bound that explain shows and the warning come to the same conclusion."""
    for query in STATES:
        result = compile_text(f"{query};")
        assert result.optimized is not None
        bounds = [state_bound(n) for n in walk(result.optimized.queries[-1].root)]
        grows = any(b is not None and not b.bounded for b in bounds)
        warned = any(d.code == "SQ0901" for d in result.diagnostics)
        if "ROWS 1" not in query:
            assert grows == warned, query


def test_granularity() -> None:
    assert granularity(logical_query("SELECT COUNT(*) AS c FROM s;").root) is Granularity.PER_BATCH
    assert granularity(logical_query("SELECT COUNT(*) AS c FROM s [TUMBLE 1 DAY];").root) is Granularity.EXACT
