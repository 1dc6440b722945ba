"""Windows and streams of CQL as the literature defines them, and averages of parts, in programs."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.reference.answers import Answer
from streamq.runtime.reference.engine import evaluate
from streamq.runtime.reference.values import to_instant

SOURCE = "WATERMARK FOR ts AS ts) WITH (connector = 'memory');"
START = datetime(2024, 1, 1)


def answer(columns: str, query: str, *rows: tuple[object, ...]) -> Answer:
    """Of a query over the stream ``s``, whose rows end with the second of their timestamp."""
    result = compile_program(
        f"CREATE STREAM s ({columns}, ts TIMESTAMP, {SOURCE} CREATE QUERY q AS {query};"
    )
    assert result.logical is not None, result.diagnostics
    stamped = [(*values, START + timedelta(seconds=int(str(at)))) for *values, at in rows]
    return evaluate(result.logical, {"s": [stamped]})["q"]


def elements(found: Answer) -> list[tuple[object, ...]]:
    """The rows of a stream, each with the second of its instant in front, in order."""
    assert found.is_stream
    return sorted(
        ((c.at - to_instant(START)) // 1_000_000, *c.row)
        for c in found.changes
        for _ in range(c.count)
    )


def held(found: Answer, second: int) -> list[object]:
    """The values of a relation of one column at a second."""
    rows = found.at(to_instant(START + timedelta(seconds=second)))
    return sorted((value for (value,) in rows.elements()), key=str)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("ISTREAM", [(0, "a"), (1, "b")]),
        ("DSTREAM", [(2, "a")]),
        ("RSTREAM", [(0, "a"), (1, "a"), (1, "b"), (2, "b")]),
    ],
)
def test_g_17_what_appears_what_leaves_and_all_that_is_there(
    kind: str, expected: list[tuple[int, str]]
) -> None:
    relation = "SELECT k FROM s [ROWS 2] WHERE k <> 'c'"
    rows = [("a", 0), ("b", 1), ("c", 2)]
    states = answer("k STRING", relation, *rows)
    assert [held(states, second) for second in range(3)] == [["a"], ["a", "b"], ["b"]]
    assert elements(answer("k STRING", f"{kind}({relation})", *rows)) == expected


def test_g_17b_the_last_five_rows() -> None:
    rows = [(n, n) for n in range(1, 8)]
    found = answer("n INT", "SELECT n FROM s [ROWS 5 SLIDE 1]", *rows)
    windows = [held(found, second) for second in (5, 6, 7)]
    assert windows == [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [3, 4, 5, 6, 7]]
    for before, after in pairwise(windows):
        assert len(set(before) & set(after)) == 4


def test_g_17c_a_window_keeps_the_last_four_of_its_five_minutes() -> None:
    rows = [(second, second) for second in range(0, 900, 15)]
    windows: dict[object, set[object]] = {}
    for end, n in elements(
        answer("n INT", "SELECT n FROM s [RANGE 5 MINUTES SLIDE 1 MINUTE]", *rows)
    ):
        windows.setdefault(end, set()).add(n)
    assert list(windows) == list(range(60, 1_200, 60))
    for end in range(300, 900, 60):
        assert windows[end] == set(range(end - 300, end, 15))
        assert windows[end] & windows[end + 60] == set(range(end - 240, end, 15))


@pytest.mark.parametrize(("window", "reported"), [("", (60, 400)), ("SLIDE 1 MINUTE", (120, 420))])
def test_g_27_a_hot_room_is_reported_once_when_it_enters_the_window(
    window: str, reported: tuple[int, int]
) -> None:
    query = f"SELECT ISTREAM(RoomId, RoomTmp) FROM s [RANGE 5 MINUTES {window}] WHERE RoomTmp > 30"
    rows = [
        ("r1", 31.5, 60),
        ("r2", 30.0, 70),
        ("r3", 29.0, 80),
        ("r2", 35.0, 400),
        ("r3", 12.0, 900),
    ]
    found = answer("ROOMID STRING, ROOMTMP DOUBLE", query, *rows)
    assert elements(found) == [(reported[0], "r1", 31.5), (reported[1], "r2", 35.0)]


ROUTED = {
    2.5: [("x", 10.0), ("y", 0.0), ("z", 0.0), ("x", 0.0)],
    5.0: [("xyz"[n % 3], float(n)) for n in range(1, 10)],
}
"""Rows that a router gave to three copies of an operator in turn, by the average of all of them."""


@pytest.mark.parametrize(("average", "of_means"), [(2.5, 5 / 3), (5.0, 5.0)])
def test_g_16_a_collector_needs_sums_and_counts(average: float, of_means: float) -> None:
    parts = (
        "RSTREAM(SELECT part, AVG(v) AS mean, SUM(v) AS total, COUNT(v) AS n "
        "FROM s [TUMBLE 10 SECONDS] GROUP BY part)"
    )
    rows = [(part, v, second) for second, (part, v) in enumerate(ROUTED[average])]
    query = f"SELECT SUM(total) / SUM(n) AS a, AVG(mean) AS b FROM {parts} [TUMBLE 10 SECONDS]"
    ((_, *both),) = elements(answer("part STRING, v DOUBLE", query, *rows))
    assert both == pytest.approx([average, of_means])
