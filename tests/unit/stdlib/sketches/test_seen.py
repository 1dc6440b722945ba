"""One bucket of APPROX DISTINCT: what it lets through, whatever the order of a micro-batch, from a state of one size."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.hashing import mix64
from streamq.stdlib.sketches.membership_plan import plan_rotating, plan_stable
from streamq.stdlib.sketches.seen import Seen
from streamq.stdlib.timelines.table import FOREVER, State, Table

SEED = 7
SECOND = 1_000_000
_PLAN = plan_stable(1 << 16, 0.01)
STABLE = Seen(SEED, stable=(_PLAN.cells, _PLAN.hashes, _PLAN.decrements, _PLAN.max_value))
_TURN = plan_rotating(1 << 16, 0.01, 9)
BY_TIME = Seen(SEED, rotating=(_TURN.bits_each, _TURN.generations, _TURN.hashes, _TURN.capacity), pane_us=SECOND)


def rows(keys: list[int], times: list[int]) -> Table:
    """Rows of keys at seconds; ``v0`` is the key."""
    n = np.array(keys, np.int64)
    return {
        "at": np.array(times, np.int64) * SECOND, "row": mix64(n.view(np.uint64)).view(np.int64), "v0": n,
        "end": np.array(times, np.int64) * SECOND + 5, "sign": np.ones(len(n), np.int64),
    }


def keys_of(table: Table) -> list[int]:
    return list(map(int, table["v0"])) if table else []


def test_new_rows_pass_once_in_order_of_time() -> None:
    state, new = STABLE.advance(State(), rows([3, 1, 3, 2], [9, 5, 1, 7]), 0)
    assert keys_of(new) == [3, 1, 2]
    assert list(new["at"]) == [1 * SECOND, 5 * SECOND, 7 * SECOND]
    assert set(new["end"]) == {FOREVER}, "what is new stays, whatever window its row was in"
    _, new = STABLE.advance(state, rows([2, 4, 1], [10, 11, 12]), 0)
    assert keys_of(new) == [4]


def test_rows_that_go_are_not_looked_at() -> None:
    table = rows([1, 2], [1, 2])
    table["sign"] = np.array([1, -1])
    state, new = STABLE.advance(State(), table, 0)
    assert keys_of(new) == [1]
    assert keys_of(STABLE.advance(state, rows([2], [3]), 0)[1]) == [2]


def test_a_batch_without_rows_changes_nothing() -> None:
    state, _ = STABLE.advance(State(), rows([1], [1]), 0)
    again, new = STABLE.advance(state, {}, 0)
    assert again is state
    assert not new


def test_a_micro_batch_in_another_order_gives_the_same() -> None:
    """As when Spark runs it again with its partitions otherwise."""
    random = np.random.default_rng(3)
    keys, times = random.integers(0, 3000, 5000), random.integers(0, 50, 5000)
    before, _ = STABLE.advance(State(), rows(list(range(0, 3000, 2)), [0] * 1500), 0)
    outcomes = []
    for _ in range(2):
        order = random.permutation(5000)
        state, new = STABLE.advance(before, rows(keys[order].tolist(), times[order].tolist()), 0)
        outcomes.append((keys_of(new), state.tables["filter"]["bytes"].tobytes()))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("seen", [STABLE, BY_TIME])
def test_the_state_does_not_grow(seen: Seen) -> None:
    sizes = set()
    state = State()
    for batch in range(4):
        state, _ = seen.advance(state, rows(list(range(batch * 2000, batch * 2000 + 2000)), [batch] * 2000), 0)
        sizes.add(len(state.tables["filter"]["bytes"]))
    assert len(sizes) == 1
    assert sizes.pop() < (1 << 13) + 200, "eight bits of cells to the byte, and a header"


def test_a_state_of_another_plan_is_refused() -> None:
    state, _ = STABLE.advance(State(), rows([1], [1]), 0)
    other = Seen(SEED, stable=(1000, 2, 5, 1))
    with pytest.raises(ValueError, match="other cells"):
        other.advance(state, rows([1], [2]), 0)


def test_panes_of_time_forget() -> None:
    """Eight panes of a second are a window of eight: found at a distance of 8, new again at 9."""
    state, new = BY_TIME.advance(State(), rows([1, 2], [0, 0]), 0)
    assert keys_of(new) == [1, 2]
    state, new = BY_TIME.advance(state, rows([1], [8]), 0)
    assert keys_of(new) == []
    state, new = BY_TIME.advance(state, rows([2, 1], [9, 16]), 0)
    assert keys_of(new) == [2], "2 was away for 9 s; 1 was there at 8"
    # A row of each pane in one micro-batch keeps a key remembered all the way.
    _, new = BY_TIME.advance(state, rows([1, 1, 1, 1], [20, 25, 30, 38]), 0)
    assert keys_of(new) == []


def test_filters_in_turn_without_time_forget_by_count() -> None:
    turn = plan_rotating(4096, 0.01, 2)
    seen = Seen(SEED, rotating=(turn.bits_each, 2, turn.hashes, turn.capacity))
    state, _ = seen.advance(State(), rows(list(range(turn.capacity)), list(range(turn.capacity))), 0)
    _, new = seen.advance(state, rows(list(range(turn.capacity)), list(range(turn.capacity))), 0)
    assert keys_of(new) == [], "as many as a filter holds are remembered for certain"
