"""F12, F16 to F18: what the source of a stream sheds, window by window."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from streamq.dsl.records import replace
from streamq.stdlib.attributes.columns import Columns, encoded_bytes
from streamq.stdlib.attributes.cycle import discover
from streamq.stdlib.attributes.intra_stream import Decision, Shedding, State, Window, decided
from streamq.stdlib.attributes.kinds import Unsheddable
from streamq.stdlib.attributes.lookalike import flip, stock, weather
from streamq.stdlib.attributes.ranking import Ranking, ranked
from streamq.stdlib.attributes.reevaluation import Schedule, fixed
from streamq.stdlib.attributes.sizing import n_shed

KEY = frozenset({"location"})
USUAL = Shedding(ranking=Ranking(protect=KEY))
WEATHER = weather()


def window(cycle: int, offered: float = 120) -> Window:
    return Window(WEATHER.rows(cycle - 1, cycle), cycle, offered)


def test_f17_less_capacity_sheds_more_at_once() -> None:
    """Nine attributes at 120 kbit/s, Table 4.6: two for 98, four for 72; in the window in which it changes, and back."""
    plans: list[tuple[str, ...]] = []
    state: State | None = None
    for cycle, capacity in ((1, 98), (2, 98), (3, 98), (4, 72), (5, 98), (6, 132)):
        # Half seconds, so that the third and later windows are not due.
        decision, state = decided(window(cycle), capacity, cycle / 2, state, USUAL)
        plans.append(decision.plan.attrs)
        assert decision.residual <= capacity
        assert decision.row_drop_ratio == 0
    assert [len(p) for p in plans] == [2, 2, 2, 4, 2, 0]
    assert plans[0] == ("barometer", "sun_rise")
    assert set(plans[3]) == {"barometer", "sun_rise", "sun_set", "visibility"}
    assert state is not None
    assert (state.plan.plan_id, state.plan.effective_from_cycle) == (4, 6)


def test_f17_rate_that_grows() -> None:
    first, state = decided(window(1, 90), 98, 0, None, USUAL)
    assert (first.plan.attrs, first.changed, first.plan.plan_id) == ((), False, 0)
    second, _ = decided(window(2, 120), 98, 0.1, state, USUAL)
    assert (len(second.plan.attrs), second.changed) == (2, True)
    assert second.ranked is not None


@pytest.mark.parametrize("unit", ["COUNT", "BYTES"])
def test_fewer_are_shed_again_only_with_capacity_to_spare(unit: str) -> None:
    """Nine attributes at 120 kbit/s: three are shed for 80 up to 93.3, of which 10 are to spare."""
    spare = Shedding(ranking=USUAL.ranking, spare=10, unit=unit, attr_bytes=dict.fromkeys(WEATHER.rows(0, 1), 8))
    counts = []
    state: State | None = None
    for cycle, capacity in enumerate((92, 94, 103, 104, 92, 70, 79, 81, 129, 130, 131, 14, 27), 1):
        decision, state = decided(window(cycle), capacity, cycle / 100, state, spare)
        counts.append(len(decision.plan.attrs))
    assert counts == [3, 3, 3, 2, 3, 4, 4, 4, 1, 0, 0, 8, 8]
    # It is evaluated when due all the same.
    decision, _ = decided(window(14), 27, 99.0, state, spare)
    assert decision.ranked is not None
    assert len(decision.plan.attrs) == 8
    # Without what is to spare there would be too little for what may not be shed: that is no error.
    decision, _ = decided(window(14), 27, 0.2, state, replace(spare, spare=27))
    assert len(decision.plan.attrs) == 8


def test_f16_plan_is_the_first_of_the_order_of_that_window() -> None:
    decision, _ = decided(window(7), 72, 0, None, USUAL)
    assert decision.ranked is not None
    expected = ranked(window(7).columns, USUAL.ranking).order
    assert decision.plan.attrs == decision.ranked.order[:4] == expected[:4]
    assert (decision.plan.effective_from_cycle, decision.plan.plan_id) == (7, 1)
    assert decision.offered == 120
    assert decision.residual == Fraction(120 * 5, 9)
    assert list(decision.plan.kept(window(7).columns)) == [a for a in WEATHER.rows(0, 1) if a not in expected[:4]]


def test_f18_evaluated_when_due() -> None:
    """A plan that stays is evaluated at 1, 3, 7 and so on; a and b change places at 9, seen at 15, and at 18, seen at once."""
    stream = flip(9, cycles=24)
    shedding = Shedding(ranking=Ranking(protect=frozenset({"key"})), schedule=Schedule(max_s=float("inf")))
    state, evaluated, plans = None, [], []
    for cycle in range(24):
        decision, state = decided(Window(stream.rows(cycle, cycle + 1), cycle + 1, 100), 80, cycle, state, shedding)
        if decision.ranked is not None:
            evaluated.append(cycle)
        plans.append("".join(decision.plan.attrs))
    assert evaluated == [0, 1, 3, 7, 15, 16, 18, 19, 21]
    assert plans == ["a"] * 15 + ["b"] * 3 + ["a"] * 6


def test_f12_key_is_never_shed() -> None:
    """For any rate and capacity: it fits, or it is refused, or rows have to be dropped too."""
    random = np.random.default_rng(12)
    tuples = Shedding(ranking=USUAL.ranking, overflow="TUPLES")
    state, refused = None, 0
    for now in range(300):
        rate, capacity = int(random.integers(1, 200)), int(random.integers(0, 150))
        of = window(now % 96 + 1, rate)
        decision, state = decided(of, capacity, now, state, tuples)
        assert "location" not in decision.plan.attrs
        assert decision.residual * (1 - decision.row_drop_ratio) <= capacity
        if decision.row_drop_ratio > 0:
            assert len(decision.plan.attrs) == 8
            refused += 1
            with pytest.raises(Unsheddable):
                decided(of, capacity, now, None, USUAL)
        else:
            assert len(decision.plan.attrs) == n_shed(rate, capacity, 9)
    assert 20 < refused < 150


def test_capacity_below_one_attribute() -> None:
    """A ninth of 90 kbit/s is 10: 9 of it need a tenth of the rows dropped as well, 0 all of them."""
    with pytest.raises(Unsheddable, match="9 attributes would have to be shed, and 8 may be"):
        decided(window(1, 90), 9, 0, None, USUAL)
    tuples = Shedding(ranking=USUAL.ranking, overflow="TUPLES")
    assert [decided(window(1, 90), c, 0, None, tuples)[0].row_drop_ratio for c in (10, 9, 0)] == [0, Fraction(1, 10), 1]


def test_capacity_that_changes_every_second() -> None:
    """Every window is sent at what there is for it, and a plan that stays the same in between is the same plan."""
    state, ids, sizes = None, [], []
    for now in range(60):
        capacity = 60 + 60 * (now % 2)
        decision, state = decided(window(now + 1), capacity, now, state, USUAL)
        assert decision.residual <= capacity
        sizes.append(len(decision.plan.attrs))
        ids.append(decision.plan.plan_id)
    assert sizes == [5, 0] * 30
    assert ids == list(range(1, 61))


def test_is_a_function_of_window_and_state() -> None:
    """Done again, it gives the same; the state before is as it was."""
    _, state = decided(window(1), 98, 0, None, USUAL)
    assert decided(window(2), 72, 1, state, USUAL) == decided(window(2), 72, 1, state, USUAL)
    assert len(state.plan.attrs) == 2


def test_by_bytes() -> None:
    """The least prefix of the order that is wide enough: the wide one first is enough alone."""
    rows = WEATHER.rows(0, 1)
    widths = {name: encoded_bytes(values) for name, values in rows.items()}
    assert widths["location"] == 5
    wide = {**widths, "barometer": 100.0}
    for given, expected in ((widths, 2), (wide, 1)):
        shedding = Shedding(ranking=USUAL.ranking, unit="BYTES", attr_bytes=given)
        decision, state = decided(window(1), 100, 0, None, shedding)
        gone = sum(given[a] for a in decision.plan.attrs)
        assert len(decision.plan.attrs) == expected
        assert gone >= 20 / 120 * sum(given.values()) > gone - given[decision.plan.attrs[-1]]
        assert decision.residual <= 100
        later, _ = decided(window(2), 60, 0.5, state, shedding)
        assert len(later.plan.attrs) > expected or expected == 1
        assert later.residual <= 60
    with pytest.raises(ValueError, match="no width is given of temperature"):
        decided(window(1), 100, 0, None, Shedding(ranking=USUAL.ranking, unit="BYTES", attr_bytes={"location": 5}))


def test_windows_without_rows_tell_nothing() -> None:
    _, state = decided(window(1), 98, 0, None, USUAL)
    empty = Window({n: x[:0] for n, x in WEATHER.rows(0, 1).items()}, 2, 0)
    decision, after = decided(empty, 98, 50, state, USUAL)
    assert after is state
    assert (decision.plan, decision.ranked, decision.residual) == (state.plan, None, 0)
    first, _ = decided(empty, 98, 0, None, USUAL)
    assert first.plan.attrs == ()


def test_attributes_that_come_and_go() -> None:
    """Another set of attributes is another stream: the plan is made anew, of what there is."""
    _, state = decided(window(1), 98, 0, None, USUAL)
    assert state.plan.attrs == ("barometer", "sun_rise")
    fewer: Columns = {n: x for n, x in window(2).columns.items() if n != "barometer"}
    decision, state = decided(Window(fewer, 2, 120), 98, 0.1, state, USUAL)
    assert decision.plan.attrs == ("sun_rise", "sun_set")
    more = {**window(3).columns, "flag": np.ones(75)}
    decision, _ = decided(Window(more, 3, 120), 98, 0.2, state, USUAL)
    assert decision.plan.attrs == ("flag", "barometer")
    with pytest.raises(ValueError, match="no attribute is called location"):
        decided(Window({"temperature": [1.0]}, 4, 120), 98, 0.3, None, USUAL)


def test_missing_rows_repeated_keys_and_nulls() -> None:
    """A window is ranked by the rows that came: a tenth are lost, some come twice, and a tenth of the values are NULL."""
    random = np.random.default_rng(13)
    state: State | None = None
    for cycle in range(1, 30):
        keep = np.sort(random.choice(75, 70))
        rows = {n: x[keep].astype(object) for n, x in WEATHER.rows(cycle - 1, cycle).items()}
        for name in rows:
            rows[name][random.random(70) < 0.1] = None
        decision, state = decided(Window(rows, cycle, 120), 98, cycle, state, USUAL)
        assert len(decision.plan.attrs) == 2
        assert "location" not in decision.plan.attrs
        assert "barometer" in decision.plan.attrs  # seven times less than the next but two


def test_texts_and_negative_values() -> None:
    """Changes of stocks are of any sign; the name is text, and is not the key here, but protected all the same."""
    rows = stock().rows(0, 1)
    every = fixed(1)
    decision, _ = decided(Window(rows, 1, 120), 70, 0, None, Shedding(ranking=Ranking(), schedule=every))
    assert decision.plan.attrs == ("nasdaq_100_index", "net_change", "percent_change")
    with pytest.raises(Unsheddable, match="6 attributes would have to be shed, and 5 may be"):
        decided(Window(rows, 1, 120), 1, 0, None, Shedding(ranking=Ranking()))
    ranked_too = Shedding(ranking=Ranking(text="ENTROPY"))
    assert len(decided(Window(rows, 1, 120), 0, 0, None, ranked_too)[0].plan.attrs) == 6


def test_determined_attributes_go_first() -> None:
    """A code of the place, which tells nothing that its name does not; it varies more than all else."""
    rows = {**WEATHER.rows(0, 4), "code": np.tile(np.arange(75) * 1000, 4)}
    cycle = discover(rows, {**dict.fromkeys(rows, 8), "location": 4})
    assert cycle.determined == {"code": "location"}
    shedding = Shedding(ranking=Ranking(protect=frozenset(cycle.key)), determined=frozenset(cycle.determined))
    decision, _ = decided(Window({n: x[:75] for n, x in rows.items()}, 1, 120), 100, 0, None, shedding)
    assert decision.plan.attrs == ("code", "barometer")


def test_scope_per_key_looks_at_the_last_cycles() -> None:
    """Over time the sun changes once a day, by two hundredths; the barometer changes all the time."""
    cycle = discover(WEATHER.rows(0, 12))
    last = WEATHER.rows(0, 12)
    of = Window(WEATHER.rows(11, 12), 12, 120, last, cycle.key_codes(last))
    per_key = Shedding(ranking=Ranking(protect=KEY, scope="PER_KEY"))

    def attrs(decision: tuple[Decision, State]) -> tuple[str, ...]:
        return decision[0].plan.attrs

    assert attrs(decided(of, 98, 0, None, per_key)) == ("sun_rise", "sun_set")
    assert attrs(decided(of, 98, 0, None, USUAL)) != ("sun_rise", "sun_set")
    with pytest.raises(ValueError, match="needs the keys"):
        decided(window(12), 98, 0, None, per_key)
