"""G5, F11: how much attributes vary."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.columns import codes
from streamq.stdlib.attributes.dispersion import dispersion, dispersion_per_key, entropy
from streamq.stdlib.attributes.smoothing import ema


def of(*columns: list[float]) -> list[float]:
    found: list[float] = dispersion(np.array(columns).T).tolist()
    return found


def test_g5_population_sd() -> None:
    """That of the sample would be 8.083, 5.774, 1.155."""
    assert of([0, 0, 14, 14], [0, 6, 8, 14], [6, 6, 8, 8]) == [7, 5, 1]


def test_constants_vary_not_at_all() -> None:
    """Exactly, also where the mean cannot be told in binary; what has no value does not either."""
    none = float("nan")
    assert of([0.1] * 7, [1e15 + 0.3] * 7, [none] * 7, [none, 5.1, none, 5.1, none, 5.1, 5.1]) == [0] * 4
    for kind in ("STDDEV", "CV", "MINMAX_STDDEV"):
        assert dispersion(np.full((7, 1), -0.1), kind).tolist() == [0]  # type: ignore[arg-type]
    assert dispersion(np.empty((0, 2))).tolist() == [0, 0]
    assert dispersion(np.array([[3.0, 4.0]])).tolist() == [0, 0]


def test_small_changes_of_large_values_are_seen() -> None:
    assert of([1.7e9, 1.7e9 + 0.002, 1.7e9, 1.7e9 + 0.002])[0] == pytest.approx(0.001, rel=1e-3)


def test_nulls_do_not_count() -> None:
    none = float("nan")
    assert of([none, 0, 0, none, 14, 14]) == [7]


def test_without_unit() -> None:
    """By the mean, by the range: the same whatever the unit; of the range also whatever the origin."""
    x = np.array([[3.0], [5.0], [10.0]])
    sd = float(dispersion(x)[0])
    assert dispersion(x, "CV").tolist() == [sd / 6]
    assert dispersion(x, "MINMAX_STDDEV").tolist() == [sd / 7]
    for kind in ("CV", "MINMAX_STDDEV"):
        assert dispersion(-1000 * x, kind) == pytest.approx(dispersion(x, kind))  # type: ignore[arg-type]
    assert dispersion(x + 100, "MINMAX_STDDEV") == pytest.approx(dispersion(x, "MINMAX_STDDEV"))
    assert dispersion(np.array([[-1.0], [1.0]]), "CV").tolist() == [np.inf]
    assert dispersion(np.array([[-1.0], [1.0]]), "MINMAX_STDDEV").tolist() == [0.5]


def test_per_key_is_over_time() -> None:
    """Two keys far apart, of which one swings by 1 and the other by 3: the mean is 2, over the window it is 50."""
    keys = np.array([0, 1] * 4)
    x = np.array([9.0, 107, 11, 113, 9, 107, 11, 113])[:, None]
    assert dispersion_per_key(x, keys).tolist() == [2]
    assert dispersion(x)[0] > 50


def test_per_key_with_rows_that_are_missing_late_and_repeated() -> None:
    """Against the keys one by one, with rows in any order, NULLs, and a key that comes once."""
    random = np.random.default_rng(16)
    keys = np.concatenate([random.integers(0, 9, 200), [9]])
    x = random.normal(size=(201, 3))
    x[random.random(x.shape) < 0.2] = np.nan
    expected = np.mean([dispersion(x[keys == k]) for k in range(10)], axis=0)
    np.testing.assert_allclose(dispersion_per_key(x, keys), expected)
    smoothed = np.mean([dispersion(ema(x[keys == k])) for k in range(10)], axis=0)
    np.testing.assert_allclose(dispersion_per_key(x, keys, smooth=ema), smoothed)
    np.testing.assert_allclose(dispersion_per_key(x, keys + 5), expected)  # numbers of keys that do not come
    assert dispersion_per_key(np.empty((0, 2)), np.empty(0, dtype=np.int64)).tolist() == [0, 0]


def test_entropy_of_texts() -> None:
    assert entropy(codes(["a"] * 5)) == 0
    assert entropy(codes(list("abcd"))) == 1
    assert entropy(codes(list("aabb"))) == pytest.approx(0.5)  # ln 2 / ln 4
    assert entropy(codes(["a", None, "a", None])) == pytest.approx(0.5)
    assert entropy(codes(["a"])) == entropy(codes([])) == 0
