"""F42: hits of plans, and how far training is from a test; Tables 4.3 and 4.4."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.metrics import deviation_pct, hit_rate, hits
from tests.unit.stdlib.attributes.tables import numeric, table

HITS = {
    "yahoo": (94, 94, 93), "wunderground": (95, 94, 95), "weather.com": (96, 96, 96), "nasdaq": (94, 95, 95),
    "indiamart": (95, 95, 95), "channelnewsasia": (93, 94, 93), "internettrafficreport": (94, 95, 95), "miq": (92, 93, 93),
    "watt": (95, 94, 94),
}


def test_hits_are_of_sets() -> None:
    assert hits([["a", "b"], ["a"], []], [["b", "a"], ["b"], []]) == (True, False, True)
    assert hit_rate([["a", "b"], ["a"], []], [["b", "a"], ["b"], []]) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="at least one"):
        hit_rate([], [])
    with pytest.raises(ValueError, match="shorter"):
        hit_rate([["a"]], [])


def test_table_4_4_plans() -> None:
    """A hundred windows of each set: 94.3 % hits on average."""
    found = [hit_rate([["x"]] * 100, [["x"]] * n + [["y"]] * (100 - n)) for of in HITS.values() for n in of]
    assert len(found) == 27
    assert 100 * np.mean(found) == pytest.approx(94.333, abs=5e-4)


def test_table_4_3_fixed_points() -> None:
    """All deviations within 0.02 of what is printed; their mean, and those of the fixed points without the population."""
    train, test, printed = (numeric("table_4_3", *(f"{what}{i}" for i in (1, 2, 3))) for what in ("train", "test", "dev"))
    found = deviation_pct(train.ravel(), test.ravel()).reshape(train.shape)
    assert np.abs(found - printed).max() <= 0.02
    assert found.mean() == pytest.approx(3.845, abs=5e-4)
    assert printed.mean() == pytest.approx(3.84, abs=5e-3)
    assert np.abs(train - test).mean() == pytest.approx(0.336, abs=1e-3)
    assert table("table_4_3")["source"][-1].startswith("population")
    assert [x[:-1].mean() for x in (train, test)] == pytest.approx([7.69, 7.8], abs=5.1e-3)
    assert [x.mean() for x in (train, test)] == pytest.approx([8.955, 9.058], abs=5.1e-4)


def test_deviation_of_nothing() -> None:
    assert deviation_pct([0, 1, -2], [0, 0, -1]).tolist() == [0, np.inf, 100]
