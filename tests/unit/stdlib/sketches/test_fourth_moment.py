"""The fourth moment of F2 by counters: what it is where all keys are as heavy, and a bound where they are not."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.counter_sketch import empty_count_min
from streamq.stdlib.sketches.estimators import f2_cmm_rows
from streamq.stdlib.sketches.fourth_moment import f2_fourth_moment, f2_off
from streamq.stdlib.sketches.lookalike import zipf_counts
from tests.unit.stdlib.sketches.plain_counts import self_join

DRAWS = 20_000
KEYS = np.arange(2_000, dtype=np.uint64)


@pytest.mark.parametrize("width", [8, 64])
@pytest.mark.parametrize("z", [0.0, 0.5, 1.0, 2.0])
def test_as_derived(z: float, width: int) -> None:
    f = zipf_counts(20_000, 2_000, z, 3)
    truth = self_join(f)
    rows = f2_cmm_rows(empty_count_min(width, DRAWS, 1).added(KEYS, f).counts, 20_000)
    for depth in (1, 5):
        off = (rows.reshape(-1, depth).mean(axis=1) - truth) ** 4
        bound = float(f2_fourth_moment(np.array(f.max() ** 2 / truth), width, depth)) * truth**4
        error = off.std() / np.sqrt(len(off))
        assert off.mean() < bound + 4 * error
        if z == 0:
            # All keys have 10 rows, but for chance: it is no bound, it is the moment.
            assert abs(off.mean() - bound) < 4 * error


def test_never_further_off_than_by_the_variance() -> None:
    heaviest = np.linspace(0, 1, 11)
    off = f2_off(heaviest, 256, 5, 0.05)
    assert (np.diff(off) >= 0).all()
    assert off[-1] == pytest.approx(np.sqrt(2 / (255 * 5 * 0.05)))
    assert off[0] < 0.7 * off[-1]
