"""Recovery from the synopsis: goldens, what is not there, streams apart, and what may be forgotten."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from streamq.stdlib.recovery.columns import Column, Ints, column
from streamq.stdlib.recovery.keys import no_keys
from streamq.stdlib.recovery.lookup import NotRetained, Recovered, Status, recover
from streamq.stdlib.recovery.numbering import cycles, sequences
from streamq.stdlib.recovery.retaining import Batch, Entries, Retained, Rule, retain
from streamq.stdlib.recovery.synopsis import MOST_CYCLES, MOST_KEYS, Series, Synopsis
from tests.unit.stdlib.recovery.plain import numbers, same


def retained(values: Column, codes: Sequence[int] | Ints, rule: Rule, at: Ints | None = None, batch: int = 3) -> Synopsis:
    """The synopsis of an attribute ``a`` of a stream ``s``, batch by batch."""
    state, synopsis, codes = Retained(), Synopsis(), np.asarray(codes)
    for start in range(0, len(codes), batch):
        some = slice(start, start + batch)
        rows = Batch(codes[some], {"a": values.take(some)}, at=None if at is None else at[some])
        state, entries = retain(state, rows, {"a": rule})
        synopsis = synopsis.after("s", entries, {"a": rule}, state.cycle_no)
    return synopsis


def asked(synopsis: Synopsis, keys: Sequence[int] | Ints, cycle_no: Sequence[int] | Ints) -> Recovered:
    return recover(synopsis, "s", "a", np.asarray(keys), np.asarray(cycle_no))


def test_g13_lookups() -> None:
    keys, codes = no_keys().grown([["New Delhi", "Ghurian", "New Delhi", "Ghurian"]])
    synopsis = retained(numbers([29.91, 27.96, 30.08, 31.64]), codes, Rule(10))
    got = asked(synopsis, keys.find([["New Delhi", "Ghurian", "Ghurian", "Kabul"]]), [2, 2, 1, 1])
    assert [got.item(i) for i in range(3)] == [29.91, 31.64, 27.96]
    assert got.status.tolist() == [Status.APPROXIMATE, Status.EXACT, Status.EXACT, Status.NOT_RETAINED]
    assert got.max_rel_error_pct[:3].tolist() == [10, 0, 0]
    assert math.isnan(got.max_rel_error_pct[3])
    assert abs(29.91 - 30.08) / 30.08 * 100 == pytest.approx(0.565, abs=5e-4)
    with pytest.raises(NotRetained, match="not in the synopsis"):
        got.item(3)


def test_g13_recovered_sequence() -> None:
    synopsis = retained(numbers([29.91, 30.08, 30.08, 33.0, 0, 0, -1.0, -1.05, -1.2, 1.2]), [0] * 10, Rule(10))
    got = asked(synopsis, [0] * 10, range(1, 11))
    assert [got.item(i) for i in range(10)] == [29.91, 29.91, 29.91, 29.91, 0, 0, -1, -1, -1.2, 1.2]


def test_what_was_never_retained_is_not_recovered() -> None:
    synopsis = retained(numbers([1, 2]), [0, 1], Rule(0))
    # No such key, before the first cycle, and after the last one.
    got = asked(synopsis, [5, -1, 0, 0, 0, 1, 2**40], [1, 1, 0, -3, 2, 2**50, 1])
    assert set(got.status.tolist()) == {Status.NOT_RETAINED}
    assert (got.found.any(), got.cycle_no.tolist(), bool(got.values.null.all())) == (False, [0] * 7, True)
    for stream, attribute in (("s", "b"), ("other", "a")):
        assert not recover(synopsis, stream, attribute, np.array([0]), np.array([1])).found.any()
    assert len(asked(synopsis, [], [])) == 0
    with pytest.raises(ValueError, match="in one cycle"):
        asked(synopsis, [0], [1, 2])


def test_null_and_texts_are_recovered() -> None:
    synopsis = retained(column(["NW", "NW", None, None, "a longer text"]), [0] * 5, Rule(10))
    got = asked(synopsis, [0] * 5, range(1, 6))
    assert [got.item(i) for i in range(5)] == ["NW", "NW", None, None, "a longer text"]
    # Texts and NULL are recovered without error.
    assert got.max_rel_error_pct.tolist() == [0] * 5
    assert got.status.tolist() == [0, 1, 0, 1, 0]


def test_cycles_in_which_an_attribute_was_sent_are_not_recovered() -> None:
    state, synopsis, codes = Retained(), Synopsis(), np.zeros(2, dtype=np.int64)
    for value, rules in ((1.0, {"a": Rule(50)}), (2.0, {}), (3.0, {}), (4.0, {"a": Rule(5)})):
        state, entries = retain(state, Batch(codes, {"a": numbers([value, value])}), rules)
        synopsis = synopsis.after("s", entries, rules, state.cycle_no)
    got = asked(synopsis, [0] * 8, range(1, 9))
    assert got.status.tolist() == [0, 1, 2, 2, 2, 2, 0, 1]
    assert [got.item(i) for i in (0, 1, 6, 7)] == [1, 1, 4, 4]
    assert got.max_rel_error_pct[7] == 50  # of several rules the widest
    with pytest.raises(NotRetained, match="was sent"):
        got.item(2)


def test_an_attribute_that_is_shed_again_at_once_is_recovered() -> None:
    """The note that key 1 is sent from cycle 2 on and its value of cycle 2 have the same address; the newer one counts."""
    state, synopsis = Retained(), Synopsis()
    steps = ((([0, 1], [1, 2]), {"a": Rule(5)}), (([0], [3]), {}), (([0, 1], [4, 5]), {"a": Rule(5)}))
    for (codes, values), rules in steps:
        state, entries = retain(state, Batch(np.array(codes), {"a": numbers(values)}), rules)
        synopsis = synopsis.after("s", entries, rules, state.cycle_no)
    for some in (synopsis, synopsis.since(-1)):
        got = asked(some, [0, 0, 0, 1, 1], [1, 2, 3, 1, 2])
        assert got.status.tolist() == [0, 2, 0, 0, 0]
        assert [got.item(i) for i in (0, 2, 3, 4)] == [1, 4, 2, 5]


def test_f27_interleaved_streams_recover_apart() -> None:
    """A has cycles of 3 rows and B of 2; they come in turns of no pattern, and the receiver numbers them from what comes."""
    random = np.random.default_rng(27)
    lengths, counts, states = {"A": 3, "B": 2}, dict[str, int](), {"A": Retained(), "B": Retained()}
    synopsis, truth = Synopsis(), []
    for _ in range(20):
        streams = random.choice(["A", "B"], 30)
        values = np.round(random.uniform(90, 110, 30), 1)
        seq, counts = sequences(streams, counts)
        for name, length in lengths.items():
            rows = np.flatnonzero(streams == name)
            cycle_no, position = cycles(seq[rows], length)
            batch = Batch(position, {"a": column(values[rows])})
            states[name], entries = retain(states[name], batch, {"a": Rule(5)})
            synopsis = synopsis.after(name, entries, {"a": Rule(5)}, states[name].cycle_no)
            truth += [(name, *row) for row in zip(position, cycle_no, values[rows], strict=True)]
    for name in lengths:
        keys, cycle_no, values = (np.array([t[i] for t in truth if t[0] == name]) for i in (1, 2, 3))
        got = recover(synopsis, name, "a", keys, cycle_no)
        error = np.abs(got.values.values - values) / values * 100
        assert got.found.all()
        # Some are stored, others not; none of the other stream is taken, which would be up to 20 % away.
        assert 0 < (got.status == Status.EXACT).mean() < 1
        assert error.max() <= 5


@pytest.mark.parametrize("batch", [1, 3, 500])
def test_retain_forgets_nothing_that_later_rows_need(batch: int) -> None:
    """Times of a key fall now and then, as rows come late."""
    random = np.random.default_rng(7)
    codes, values = random.integers(0, 6, 400), numbers(random.integers(5, 9, 400).tolist())
    at = np.arange(400) * 10 + random.integers(-40, 40, 400)
    synopsis = retained(values, codes, Rule(15), at, batch)
    cycle_no = np.array([int((codes[:i] == k).sum()) + 1 for i, k in enumerate(codes)])
    before = asked(synopsis, codes, cycle_no)
    assert before.found.all()
    sizes = []
    for horizon in (-100, 500, 2000, 3990, 10**6):
        some = synopsis.since(horizon)
        got, inside = asked(some, codes, cycle_no), at >= horizon
        assert got.found[inside].all()
        for i in np.flatnonzero(got.found):
            assert same(got.item(i), before.item(i))
            assert got.cycle_no[i] == before.cycle_no[i]
        sizes.append(len(some))
        assert some.size_bytes < synopsis.size_bytes or horizon < 0
    assert sizes[0] == len(synopsis)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 6  # the value that still stands for what comes next, for each key


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_row_that_comes_late_does_not_make_others_forgotten(batch: int) -> None:
    """The row of time 300 is recovered from that of 100, although what is stored after it is of time 50."""
    synopsis = retained(numbers([10, 10.5, 20]), [0] * 3, Rule(10), np.array([100, 300, 50]), batch).since(200)
    assert [asked(synopsis, [0, 0], [2, 3]).item(i) for i in (0, 1)] == [10, 20]


def test_forgetting_goes_on_with_later_batches() -> None:
    state, synopsis, rules = Retained(), Synopsis(), {"a": Rule(0)}
    for day in range(100):
        values = numbers([day, 7])
        state, entries = retain(state, Batch(np.array([0, 1]), {"a": values}, at=np.full(2, day)), rules)
        synopsis = synopsis.after("s", entries, rules, state.cycle_no).since(day - 6)
        assert len(synopsis) <= 9
    got = asked(synopsis, [0, 0, 0, 1, 1], [100, 94, 80, 100, 1])
    assert got.status.tolist() == [0, 0, 3, 1, 0]
    assert [got.item(i) for i in (0, 1, 3)] == [99, 93, 7]


def test_many_small_batches_make_few_runs() -> None:
    rows = 600
    synopsis = retained(numbers(list(range(1, rows + 1))), [0] * rows, Rule(0), batch=1)
    series = synopsis.of("s", "a")
    # Each run is more than twice as long as the next one.
    assert (len(series), len(series.runs) <= math.log2(rows) + 1) == (rows, True)
    assert synopsis.size_bytes == rows * (8 + 8 + 8 + 1 + 1) + 8


def test_what_an_address_cannot_tell() -> None:
    for key, cycle in ((MOST_KEYS, 1), (0, MOST_CYCLES)):
        one = np.ones(1, dtype=np.int64)
        with pytest.raises(ValueError, match="at most"):
            Series().after(Entries(one * key, one * cycle, one, numbers([1])), Rule(1))
