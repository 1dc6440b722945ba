"""G1, F1 to F4: by what rows are told apart that come again and again."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.columns import Array
from streamq.stdlib.attributes.cycle import NoCycle, declared, discover
from streamq.stdlib.attributes.kinds import CycleMode
from streamq.stdlib.attributes.lookalike import flip, internet, stock, weather
from tests.unit.stdlib.attributes.tables import table

WIDTHS = {"A1": 4, "A2": 8, "A3": 2, "A4": 8}


def g1() -> dict[str, Array]:
    rows = table("g1_training")
    rows.pop("row")
    return rows


@pytest.mark.parametrize("mode", ["RESOLVED", "FAITHFUL"])
def test_g1_cycle_discovery(mode: CycleMode) -> None:
    """Table 3.1: of the pair A1, A2 the narrower one; three by four rows."""
    cycle = discover(g1(), WIDTHS, mode=mode)
    assert cycle.periods == {"A1": 3, "A2": 3, "A3": 4, "A4": None}
    assert set(cycle.groups) == {("A1", "A2"), ("A3",)}
    assert set(cycle.key) == {"A1", "A3"}
    assert cycle.length == 12
    assert cycle.checked
    assert not cycle.ordinal


def test_f2_narrowest_of_a_group() -> None:
    assert "A2" in discover(g1(), {**WIDTHS, "A1": 9}).key
    assert "A1" in discover(g1(), {**WIDTHS, "A2": 4}).key  # a tie goes to the first
    assert "A1" in discover(g1()).key  # measured: two letters against four
    assert discover(g1(), WIDTHS).determined == {"A2": "A1"}


def test_e12_symbol_of_a_stock_is_narrower_than_its_name() -> None:
    """Table 4.2 reports the name; by the algorithm, and by measured widths, it is the symbol."""
    rows = {name: np.tile(values, 3) for name, values in table("g8_stock").items() if name in ("company", "symbol", "last_sale")}
    for mode in ("RESOLVED", "FAITHFUL"):
        cycle = discover(rows, mode=mode)
        assert (cycle.key, cycle.length) == (("symbol",), 18)


def cycled(*texts: str, rows: int) -> dict[str, list[str]]:
    return {f"a{i}": list((text * rows)[:rows]) for i, text in enumerate(texts)}


def test_f3_least_common_multiple_and_product() -> None:
    """Periods 4 and 6: 12 pairs come, of the 24 that there could be."""
    rows = cycled("abcd", "uvwxyz", rows=48)
    assert discover(rows).length == 12
    assert discover(rows).key == ("a1", "a0")
    faithful = discover(rows, mode="FAITHFUL")
    assert faithful.length == 24
    assert not faithful.checked  # the pairs of 24 rows are not all different


def test_attributes_that_add_nothing_stay_out_of_the_key() -> None:
    """A period that divides that of the key; and equal periods that are no pairs: aab does not determine abc."""
    assert discover(cycled("ab", "abcd", rows=12)).key == ("a1",)
    found = discover(cycled("aab", "abc", rows=12))
    assert found.key == ("a1",)
    assert set(found.groups) == {("a0",), ("a1",)}
    assert discover(cycled("aab", "abc", rows=12), mode="FAITHFUL").groups == (("a1",),)
    assert discover(cycled("abb", "abc", rows=12), {"a0": 1, "a1": 2}, mode="FAITHFUL").key == ("a0",)  # and is no key
    assert discover(cycled("abb", "abc", rows=12), {"a0": 1, "a1": 2}).key == ("a1",)


def test_keys_that_repeat_in_a_cycle_get_the_position() -> None:
    rows = cycled("aab", rows=9)
    cycle = discover(rows)
    assert cycle.ordinal
    assert cycle.length == 3
    assert len(set(cycle.key_codes(rows).tolist())) == 3
    assert cycle.repeats(rows) == 1


def test_a_cycle_longer_than_training_is_checked_with_the_first_one_that_comes() -> None:
    rows = cycled("abcd", "uvwxyzs", rows=20)
    cycle = discover(rows)
    assert (cycle.length, cycle.checked) == (28, False)
    assert cycle.checked_with(cycled("abcd", "uvwxyzs", rows=27)) == cycle
    assert cycle.checked_with(cycled("abcd", "uvwxyzs", rows=28)).checked
    assert not cycle.checked_with(cycled("abcd", "uvwxyzs", rows=28)).ordinal
    assert cycle.checked_with(cycled("abcd", "uvwxyyy", rows=28)).ordinal


def test_a_live_check_bears_a_missing_and_a_repeated_row() -> None:
    cycle = declared(["a0"], 4)
    assert not cycle.checked
    assert not cycle.checked_with({"a0": list("abdabcdabcd")}).ordinal
    assert not cycle.checked_with({"a0": list("abbcdabcd")}).ordinal
    assert cycle.checked_with({"a0": list("aabbaabbaabb")}).ordinal


@pytest.mark.parametrize("cycles", [10, 96])
def test_f1_cycle_key_of_weather(cycles: int) -> None:
    """From ten cycles, sun_rise and sun_set repeat too; they do not tell all places apart, or are no narrower."""
    stream = weather()
    cycle = discover(stream.rows(0, cycles))
    assert cycle.key == ("location",)
    assert cycle.length == 75
    assert (cycle.periods["sun_rise"] == 75) is (cycles == 10)
    assert cycle.periods["temperature"] is None
    assert cycle.repeats(stream.rows(10)) == 1


def test_cycle_keys_of_the_other_streams_repeat_in_all_later_windows() -> None:
    """Section 4.2: learned from the first rows, right in 100 % of the later ones."""
    for stream, length in ((stock(), 100), (internet(), 96), (flip(8), 75)):
        cycle = discover(stream.rows(0, 12))
        assert cycle.key == (stream.key,)
        assert cycle.length == length
        assert cycle.repeats(stream.rows(12)) == 1
    other = stock().rows(0, 12)
    other["company"][5] = "S006"
    assert discover(stock().rows(0, 12)).repeats(other) == 0  # the first differs from all others
    other = stock().rows(0, 12)
    other["company"][705] = "S006"
    assert discover(stock().rows(0, 12)).repeats(other) == pytest.approx(10 / 11)


def test_f4_no_cycle_asks_for_one() -> None:
    for rows in ({"a": [1, 2, 3, 5, 8], "b": [7, 7, 7, 7, 7]}, {"a": [], "b": []}):
        with pytest.raises(NoCycle, match="CYCLE BY"):
            discover(rows)
    with pytest.raises(NoCycle):
        discover({"a": [1, 2, 3]}, mode="FAITHFUL")


def test_f4_declared_cycle() -> None:
    cycle = declared(["location"], 75)
    rows = weather(2).rows()
    assert cycle.checked_with(rows).checked
    assert len(np.unique(cycle.key_codes(rows))) == 75
    with pytest.raises(ValueError, match="not among the attributes"):
        declared(["city"], 75).key_codes(rows)
    for key, length in (([], 3), (["a", "a"], 3), (["a"], 0)):
        with pytest.raises(ValueError, match="a cycle has a key"):
            declared(key, length)


def test_missing_and_repeated_rows_in_training() -> None:
    """Four of 96 · 75 rows: each is seen by the 75 after it, which are 4 % together."""
    rows = weather().rows()
    keep = np.delete(np.arange(96 * 75), [10, 3000])
    keep = np.insert(keep, [500, 6000], keep[[500, 6000]])
    damaged = {name: values[keep] for name, values in rows.items()}
    with pytest.raises(NoCycle):
        discover(damaged)
    cycle = discover(damaged, tolerance=0.05, max_period=500)
    assert (cycle.key, cycle.length, cycle.ordinal, cycle.checked) == (("location",), 75, False, True)


def test_nulls_and_constants_in_training() -> None:
    """NULL is a value like another for a period; what never changes, or has no values, is never a key."""
    rows = {"key": ["a", None, "c"] * 4, "constant": ["x"] * 12, "none": [None] * 12, "number": [1.0, np.nan, 3.0] * 4}
    cycle = discover(rows)
    assert cycle.periods == {"key": 3, "constant": None, "none": None, "number": 3}
    assert cycle.key == ("key",)
    assert cycle.groups == (("key", "number"),)
    with pytest.raises(ValueError, match="equally long"):
        discover({"a": [1, 2], "b": [1]})


def test_constants_have_a_period_by_the_letter() -> None:
    assert discover({"a": list("abab"), "b": list("xxxx")}, mode="FAITHFUL").key == ("b", "a")
