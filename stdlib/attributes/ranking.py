"""Which attributes are shed first: the order by dispersion of the smoothed window, ascending (Ahuja 2006, section 3.1.2).

The thesis calls the first of it the highest ranked. It looks at the data alone, never at queries; what may not be shed is
said by the user, and by the compiler of what queries need.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import numpy as np

from streamq.dsl.records import dataclass, field
from streamq.stdlib.attributes.clock_values import clock_minutes
from streamq.stdlib.attributes.columns import (
    Columns,
    Floats,
    Ints,
    array_of,
    codes,
    is_numeric,
    numbers,
    row_count,
)
from streamq.stdlib.attributes.dispersion import dispersion, dispersion_per_key, entropy
from streamq.stdlib.attributes.kinds import ALPHA, Dispersion, Scope, Seed, TextRanking
from streamq.stdlib.attributes.smoothing import ema


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """How attributes are ranked.

    ``protect``: never shed, whatever the load; the cycle key is to be among them. ``alpha``: of the average, 1 for none.
    ``clock``: attributes written H.MM, which become minutes; what is no time counts as NULL. ``scale``: by what values of
    an attribute are multiplied before they are compared with others, 1 where nothing is given.
    """

    protect: frozenset[str] = frozenset()
    dispersion: Dispersion = "STDDEV"
    scope: Scope = "WINDOW"
    text: TextRanking = "PROTECT"
    alpha: float = ALPHA
    seed: Seed | float = "FIRST"
    seed_rows: int | None = None
    clock: frozenset[str] = frozenset()
    scale: Mapping[str, float] = field(default_factory=dict)

    @property
    def smooth(self) -> Callable[[Floats], Floats]:
        """The average of ``[rows, series]``."""
        return lambda values: ema(values, self.alpha, self.seed, self.seed_rows)

    def check(self, attributes: Collection[str]) -> None:
        """Raises ``ValueError`` where attributes are named that are not there, or all are protected."""
        unknown = sorted((self.protect | self.clock | set(self.scale)) - set(attributes))
        if unknown:
            raise ValueError(f"no attribute is called {', '.join(unknown)}")
        if self.protect >= set(attributes):
            raise ValueError("at least one attribute is not protected")


@dataclass(frozen=True, slots=True)
class Ranked:
    """``order``: attributes that may be shed, the first first. ``dispersion``: of each of them."""

    order: tuple[str, ...]
    dispersion: Mapping[str, float]


def ranked(columns: Columns, ranking: Ranking, keys: Ints | None = None, determined: Collection[str] = ()) -> Ranked:
    """The order of a window, ties as declared. O(rows · attributes).

    ``keys``: of each row, from 0, for the scope PER_KEY, where ``columns`` are the last cycles (``Cycle.key_codes``).
    ``determined``: attributes that the key determines, which come before all others. ValueError without keys where they are
    needed, or for columns that differ in length.
    """
    rows = row_count(columns)
    if ranking.scope == "PER_KEY" and (keys is None or len(keys) != rows):
        raise ValueError("dispersion of each key needs the keys of all rows")
    found: dict[str, float] = {}
    offered = [name for name in columns if name not in ranking.protect]
    numeric = [name for name in offered if is_numeric(array_of(columns[name]))]
    if numeric:
        values = np.stack([_values(name, columns, ranking) for name in numeric], axis=1)
        if ranking.scope == "WINDOW" or keys is None:
            spread = dispersion(ranking.smooth(values), ranking.dispersion)
        else:
            spread = dispersion_per_key(values, keys, ranking.dispersion, ranking.smooth)
        found.update(zip(numeric, spread.tolist(), strict=True))
    if ranking.text == "ENTROPY":
        found.update((name, _entropy(columns[name], ranking.scope, keys)) for name in offered if name not in found)
    order = sorted((name for name in offered if name in found), key=lambda name: (name not in determined, found[name]))
    return Ranked(tuple(order), {name: found[name] for name in order})


def _values(name: str, columns: Columns, ranking: Ranking) -> Floats:
    found = clock_minutes(columns[name], strict=False) if name in ranking.clock else numbers(columns[name])
    return found * ranking.scale.get(name, 1.0)


def _entropy(values: object, scope: Scope, keys: Ints | None) -> float:
    of = codes(values)
    if scope == "WINDOW" or keys is None:
        return entropy(of)
    order = np.argsort(keys, kind="stable")
    parts = np.split(of[order], np.flatnonzero(np.diff(keys[order])) + 1)
    return float(np.mean([entropy(part) for part in parts])) if len(of) else 0.0
