"""How good plans and what was learned in training were (Ahuja 2006, chapter 4; Tables 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from streamq.stdlib.attributes.columns import Floats


def hits(active: Sequence[Iterable[str]], recomputed: Sequence[Iterable[str]]) -> tuple[bool, ...]:
    """For each sampled window, whether the plan in force sheds what a plan made of that window would. Order tells nothing.

    ValueError where there is not one of each.
    """
    return tuple(set(a) == set(r) for a, r in zip(active, recomputed, strict=True))


def hit_rate(active: Sequence[Iterable[str]], recomputed: Sequence[Iterable[str]]) -> float:
    """The share of windows that are hits, 0 to 1. ValueError without windows."""
    found = hits(active, recomputed)
    if not found:
        raise ValueError("a rate is of at least one window")
    return sum(found) / len(found)


def deviation_pct(trained: Sequence[float] | Floats, tested: Sequence[float] | Floats) -> Floats:
    """How far what was learned in training is from what is found in a test, in percent of the latter.

    Where both are 0 that is 0, where only the test is, infinite.
    """
    train, test = np.asarray(trained, dtype=np.float64), np.asarray(tested, dtype=np.float64)
    apart = np.abs(test - train)
    found: Floats = np.divide(100 * apart, np.abs(test), out=np.where(apart > 0, np.inf, 0.0), where=test != 0)
    return found
