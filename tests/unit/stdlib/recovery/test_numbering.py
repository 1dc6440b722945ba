"""Numbers of cycles: of the receiver by stream, of the source by key."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.recovery.columns import Ints
from streamq.stdlib.recovery.grouping import grouped
from streamq.stdlib.recovery.numbering import checked, counted, cycles, sequences


def test_the_cycle_and_the_position_of_a_row() -> None:
    cycle, position = cycles(np.array([0, 74, 75, 76, 150]), 75)
    assert (cycle.tolist(), position.tolist()) == ([1, 1, 2, 2, 3], [0, 74, 0, 1, 0])
    for seq, length in ((np.array([-1]), 75), (np.array([0]), 0)):
        with pytest.raises(ValueError, match="numbered from 0"):
            cycles(seq, length)


def test_rows_of_interleaved_streams_are_numbered_apart() -> None:
    seq, counts = sequences(np.array(list("ABAAB")), {"B": 10, "C": 3})
    assert (seq.tolist(), counts) == ([0, 10, 1, 2, 11], {"A": 3, "B": 12, "C": 3})
    assert sequences(np.array(["C", "A"]), counts)[0].tolist() == [3, 3]


def in_rows(codes: Ints, last: Ints) -> list[int]:
    """Numbers in the order of the rows."""
    groups = grouped(codes)
    found = np.empty(len(codes), dtype=np.int64)
    found[groups.order] = counted(groups, last)
    return found.tolist()


def test_rows_of_a_key_are_counted_from_1() -> None:
    assert in_rows(np.array([0, 1, 0, 3, 0]), np.array([0, 4, 0, 0])) == [1, 5, 2, 1, 3]
    assert in_rows(np.array([70_000, 1, 70_000]), np.zeros(70_001, dtype=np.int64)) == [1, 1, 2]
    assert in_rows(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)) == []


def test_where_no_row_is_lost_source_and_receiver_count_alike() -> None:
    keys, length = np.tile(np.arange(75), 4), 75
    assert in_rows(keys, np.zeros(75, dtype=np.int64)) == cycles(np.arange(300), length)[0].tolist()


def test_numbers_that_come_with_rows_rise_for_each_key() -> None:
    codes, numbers = np.array([1, 0, 1, 0]), np.array([9, 4, 7, 5])
    groups = grouped(codes, numbers)
    assert checked(groups, numbers[groups.order], np.array([3, 6])).tolist() == [4, 5, 7, 9]
    with pytest.raises(ValueError, match="key 1 comes with cycle 7 after cycle 7"):
        checked(groups, numbers[groups.order], np.array([3, 7]))
    twice = np.array([9, 4, 9, 5])
    groups = grouped(codes, twice)
    with pytest.raises(ValueError, match="key 1 is twice in cycle 9"):
        checked(groups, twice[groups.order], np.array([0, 0]))
