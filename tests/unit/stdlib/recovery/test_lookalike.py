"""Streams that look like those of the thesis: the same for ever, and of any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from streamq.stdlib.recovery.lookalike import Lookalike, internet, stock, weather


@pytest.mark.parametrize(
    ("make", "shape", "first", "attributes"),
    [
        (weather, (96, 75), "loc00", 8),
        (stock, (96, 100), "S000", 5),
        (internet, (96, 96), "r00", 6),
    ],
)
def test_shapes(make: Callable[..., Lookalike], shape: tuple[int, int], first: str, attributes: int) -> None:
    look = make()
    assert {values.shape for values in look.columns.values()} == {shape}
    assert (look.keys[0], len(look.keys), len(look.columns)) == (first, shape[1], attributes)
    assert look.codes[: shape[1] + 1].tolist() == [*range(shape[1]), 0]
    again, other = make(), make(seed=1)
    for name, values in look.columns.items():
        assert np.array_equal(values, again.columns[name])
        assert not np.array_equal(values, other.columns[name])
        # Cycle after cycle.
        assert look.column(name).values[: shape[1]].tolist() == values[0].tolist()
        assert np.isfinite(values).all()


def test_other_sizes() -> None:
    small = weather(cycles=2, keys=3)
    assert {values.shape for values in small.columns.values()} == {(2, 3)}
    assert len(small.codes) == 6
