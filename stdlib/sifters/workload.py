"""The hot-spot workloads of the paper's evaluation (section 6.1): where rows and queries lie in the unit square.

Five hot spots are shared by rows and queries. UNIFORM points lie evenly in one of them, SKEWED ones around a mean in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.queries import Queries

Kind = Literal["UNIFORM", "SKEWED"]

HOT_SPOTS = 5


@dataclass(frozen=True, slots=True)
class Settings:
    """Table I. ``global_skew``, ``local_skew``: 1 to 10; ``side``: the sides of queries, least and most."""

    rows: Kind = "SKEWED"
    queries: Kind = "UNIFORM"
    global_skew: float = 4.0
    local_skew: float = 4.0
    count: int = 1000
    side: tuple[float, float] = (0.005, 0.01)
    attributes: int = 2


@dataclass(frozen=True, slots=True)
class Workload:
    """``rows(n)`` draws so many rows, ``[n, attributes]``, each time others."""

    queries: Queries
    rows: Callable[[int], Floats]


def workload(settings: Settings, random: np.random.Generator) -> Workload:
    """Slopes have the mean 1, so that dropping at random loses just what it drops."""
    n = settings.attributes
    side = random.uniform(0.5, 1.0, (HOT_SPOTS, n)) / settings.global_skew
    centre = random.uniform(0.0, 1.0, (HOT_SPOTS, n))
    low, high = centre - side / 2, centre + side / 2
    draw_rows = _points(settings.rows, low, high, settings, random)
    draw_centres = _points(settings.queries, low, high, settings, random)
    centres = draw_centres(settings.count)
    sides = random.uniform(*settings.side, (settings.count, n))
    slope = random.uniform(1.0, 2.0, settings.count)
    queries = Queries(
        np.clip(centres - sides / 2, 0.0, 1.0), np.clip(centres + sides / 2, 0.0, 1.0), np.arange(settings.count),
        np.full(settings.count, 1.0 / settings.count), slope / slope.mean(),
        np.zeros(settings.count),
    )
    return Workload(queries, draw_rows)


def _points(
    kind: Kind, low: Floats, high: Floats, settings: Settings, random: np.random.Generator
) -> Callable[[int], Floats]:
    mean = random.uniform(low, high)
    deviation = random.uniform(0.5, 1.0, low.shape) / (settings.local_skew * settings.global_skew)

    def draw(count: int) -> Floats:
        """What falls out of the domain is drawn again, with its hot spot."""
        found = np.empty((0, low.shape[1]))
        while len(found) < count:
            spot = random.integers(HOT_SPOTS, size=2 * (count - len(found)) + 8)
            some = random.uniform(low[spot], high[spot]) if kind == "UNIFORM" else random.normal(mean[spot], deviation[spot])
            found = np.concatenate([found, some[np.all((some >= 0) & (some < 1), axis=1)]])
        return found[:count]

    return draw
