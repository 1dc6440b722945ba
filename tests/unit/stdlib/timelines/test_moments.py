"""The ``at_instant`` operator gives rows when the watermark has passed them, once, and in order of time."""

from __future__ import annotations

import numpy as np

from streamq.stdlib.timelines.moments import AtInstant
from streamq.stdlib.timelines.table import State, Table, length
from streamq.stdlib.timelines.timers import next_instant


def table(*instants: int) -> Table:
    return {"at": np.array(instants, dtype=np.int64), "v0": np.array(instants, dtype=np.int64) * 2}


def test_rows_wait_for_their_instant() -> None:
    state, now = AtInstant().advance(State(), table(50, 20, 90, 30), 30)
    assert now["at"].tolist() == [20, 30]
    assert now["v0"].tolist() == [40, 60]
    assert next_instant(state) == 50
    state, now = AtInstant().advance(state, table(40), 60)
    assert now["at"].tolist() == [40, 50]
    state, now = AtInstant().advance(state, {}, 100)
    assert now["at"].tolist() == [90]
    assert next_instant(state) is None


def test_nothing_comes_of_nothing() -> None:
    state, now = AtInstant().advance(State(), {}, 10)
    assert not length(now)
    assert next_instant(state) is None
