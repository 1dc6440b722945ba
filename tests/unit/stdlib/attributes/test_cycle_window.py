"""F7, F8, G15: windows of whole cycles."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.cycle_window import (
    CountWindow,
    defects,
    window_count,
    window_duration_s,
    window_rows,
)

TABLE_4_1 = [
    ("weather.yahoo.com", 28036790, 75, 373823), ("wunderground.com", 37063068, 500, 74126), ("weather.com", 32819280, 250, 131277),
    ("quotes.nasdaq.com", 52516326, 100, 525163), ("finance.indiamart.com", 64860370, 488, 132910),
    ("channelnewsasia.com", 33288126, 1235, 26953), ("internettrafficreport.com", 16332958, 96, 170134),
    ("average.miq.net", 11689810, 50, 233796), ("watt.nlanr.net", 10866072, 86, 126349),
]


@pytest.mark.parametrize(("source", "tuples", "length", "windows"), TABLE_4_1)
def test_g15_windows_do_not_overlap(source: str, tuples: int, length: int, windows: int) -> None:
    assert window_count(tuples, length) == windows, source


def test_f7_seven_windows_and_ten_rows_are_carried() -> None:
    rows = np.arange(7 * 75 + 10)
    windows, rest = CountWindow(75).after({"a": rows, "b": -rows})
    assert [len(w["a"]) for w in windows] == [75] * 7
    assert np.concatenate([w["b"] for w in windows]).tolist() == (-rows[:525]).tolist()
    assert rest.carried is not None
    assert rest.carried["a"].tolist() == list(range(525, 535))
    windows, rest = rest.after({"a": np.arange(535, 600), "b": np.arange(65)})
    assert [w["a"].tolist() for w in windows] == [list(range(525, 600))]
    assert rest.carried is not None
    assert len(rest.carried["a"]) == 0


def test_rows_come_through_whatever_the_batches() -> None:
    """As often cut as there are rows: the windows are those of one batch."""
    random = np.random.default_rng(15)
    rows, state, found = np.arange(1000), CountWindow(33), []
    cuts = np.sort(random.integers(0, 1001, 200))
    for part in np.split(rows, cuts):
        windows, state = state.after({"a": part})
        found += [w["a"].tolist() for w in windows]
    assert found == rows[:990].reshape(30, 33).tolist()


def test_carried_rows_keep_their_kind() -> None:
    _, state = CountWindow(3).after({"a": [1, 2], "b": ["x", None]})
    (window,), state = state.after({"a": [None], "b": ["long text"]})
    assert window["a"].tolist() == [1, 2, None]
    assert window["b"].tolist() == ["x", None, "long text"]
    _, state = CountWindow(3).after({"a": np.array([1, 2])})
    (window,), _ = state.after({"a": np.array([0.5])})
    assert window["a"].tolist() == [1, 2, 0.5]
    _, state = CountWindow(3).after({"a": []})
    (window,), _ = state.after({"a": ["x", "y", "z"]})
    assert window["a"].tolist() == ["x", "y", "z"]


def test_other_attributes_are_refused() -> None:
    _, state = CountWindow(3).after({"a": [1]})
    with pytest.raises(ValueError, match="the attributes are a"):
        state.after({"b": [1]})
    with pytest.raises(ValueError, match="equally long"):
        CountWindow(3).after({"a": [1], "b": []})
    with pytest.raises(ValueError, match="at least one row"):
        window_count(5, 0)


def test_f8_time_and_count() -> None:
    assert window_duration_s(75, 15) == 5
    assert window_duration_s(75, 7.5) == 10
    assert window_rows(5, 15) == 75
    assert window_rows(10, 7.5) == 75
    assert window_rows(1, 2.5) == 3
    assert window_rows(0, 10) == 0
    for length, rate in ((96, 7.3), (1235, 0.01), (1, 1e6)):
        assert window_rows(window_duration_s(length, rate), rate) == length
    with pytest.raises(ValueError, match="has rows"):
        window_duration_s(75, 0)
    with pytest.raises(ValueError, match="not negative"):
        window_rows(-1, 15)


def test_defects_of_a_window() -> None:
    keys = ["a", "b", "c", "d"]
    assert not defects(keys, keys)
    assert not defects(["d", "c", "b", "a"], keys)
    found = defects(["a", "b", "b", "x", "b"], keys)
    assert found
    assert (found.missing, found.repeated, found.unknown) == (("c", "d"), ("b",), ("x",))
