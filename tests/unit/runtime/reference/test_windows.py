"""Each window against the instants at which the language's definition puts each row into it."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.runtime.reference.facts import FOREVER, Fact, Facts, Frame
from streamq.runtime.reference.windows import apply_window, ends_at, is_complete

SECOND = 1_000_000


def stream(*rows: tuple[str, int]) -> Facts:
    """Rows (key, second), stamped with their second."""
    return [Fact((key, second), second * SECOND, FOREVER) for key, second in rows]


def lives(spec: lg.WindowSpec, *rows: tuple[str, int]) -> list[tuple[str, int, float, float]]:
    """Key, second, and the seconds from which and until which the row is in the window."""
    found = apply_window(spec, stream(*rows), ("k", "s"))
    return sorted(
        (str(f.row[0]), int(str(f.row[1])), f.start / SECOND, f.end / SECOND) for f in found
    )


def test_unbounded_keeps_all() -> None:
    assert lives(lg.Unbounded(), ("a", 3)) == [("a", 3, 3, FOREVER / SECOND)]


def test_now_is_one_instant() -> None:
    assert lives(lg.Now(), ("a", 3)) == [("a", 3, 3, 3 + 1e-6)]


def test_range_is_open_at_its_start() -> None:
    # In (t - 10, t] for t from 3 up to but without 13.
    assert lives(lg.TimeRange(10_000), ("a", 3)) == [("a", 3, 3, 13)]


def test_sliding_holds_rows_before_its_end() -> None:
    # [t - 10, t) at t = 5, 10: a row at 3 is in both; a row at 5 is not in the one that ends there.
    spec = lg.Sliding(10_000, 5_000)
    assert lives(spec, ("a", 3)) == [("a", 3, 5, 10), ("a", 3, 10, 15)]
    assert lives(spec, ("a", 5)) == [("a", 5, 10, 15), ("a", 5, 15, 20)]


def test_sliding_with_gaps_leaves_rows_out() -> None:
    # [RANGE 2 SLIDE 5]: the windows [3, 5), [8, 10), …
    spec = lg.Sliding(2_000, 5_000)
    assert lives(spec, ("a", 1), ("b", 3), ("c", 5)) == [("b", 3, 5, 10)]


def test_sliding_before_1970() -> None:
    assert lives(lg.Sliding(10_000, 10_000), ("a", -3)) == [("a", -3, 0, 10)]


def test_sessions_close_after_a_gap_that_is_not_shorter() -> None:
    facts = apply_window(
        lg.Session(5_000, ("k",)), stream(("a", 1), ("a", 5), ("a", 10), ("b", 2)), ("k", "s")
    )
    frames = {(f.row, f.frame) for f in facts}
    first, second = Frame(1 * SECOND, 10 * SECOND), Frame(10 * SECOND, 15 * SECOND)
    assert frames == {
        (("a", 1), first), (("a", 5), first), (("a", 10), second),
        (("b", 2), Frame(2 * SECOND, 7 * SECOND)),
    }


def test_rows_are_pushed_out_by_later_rows() -> None:
    spec = lg.LastRows(2, None, (), None)
    assert lives(spec, ("a", 1), ("b", 4), ("c", 6)) == [
        ("a", 1, 1, 6), ("b", 4, 4, FOREVER / SECOND), ("c", 6, 6, FOREVER / SECOND),
    ]


def test_rows_of_one_instant_never_hold_where_they_are_pushed_out_at_once() -> None:
    spec = lg.LastRows(1, None, (), None)
    # Ties go by the values: b comes after a.
    assert lives(spec, ("b", 1), ("a", 1)) == [("b", 1, 1, FOREVER / SECOND)]


def test_rows_with_a_slide_come_and_go_in_steps() -> None:
    # [ROWS 3 SLIDE 2]: after 2 rows {1, 2}, after 4 rows {2, 3, 4}; the fifth waits for a sixth.
    spec = lg.LastRows(3, 2, (), None)
    rows = [(key, second) for second, key in enumerate("pqrst", 1)]
    assert lives(spec, *rows) == [
        ("p", 1, 2, 4), ("q", 2, 2, FOREVER / SECOND), ("r", 3, 4, FOREVER / SECOND),
        ("s", 4, 4, FOREVER / SECOND),
    ]


def test_rows_by_key_and_no_older_than_a_range() -> None:
    spec = lg.LastRows(1, None, ("k",), 10_000)
    assert lives(spec, ("a", 1), ("b", 2), ("a", 4)) == [
        ("a", 1, 1, 4), ("a", 4, 4, 14), ("b", 2, 2, 12),
    ]


def test_what_the_watermark_lets_in() -> None:
    fact = Fact(("a",), 3 * SECOND, FOREVER)
    assert ends_at(lg.Sliding(10_000, 5_000), fact) == 10 * SECOND
    assert ends_at(lg.Session(5_000, ()), fact) == 8 * SECOND
    assert ends_at(lg.TimeRange(5_000), fact) == 3 * SECOND
    closed = fact._replace(frame=Frame(0, 10))
    assert is_complete(closed, 10)
    assert not is_complete(closed, 9)
    assert is_complete(fact, 0)
