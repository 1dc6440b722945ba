"""Where to cut a region, and what that is worth, by three measures (section 4.3 of the paper).

Of a part of the sample ``values`` are its coordinates ``[attributes, rows]``, each attribute in rising order of
its own, and ``hits`` how many queries the rows of that order matter to, ``[attributes, rows]``.
"""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.boxes import Floats


@dataclass(frozen=True, slots=True)
class Split:
    """``worth``: what is gained, to compare regions; rows below ``cut`` in ``attribute`` go one way."""

    worth: float
    attribute: int
    cut: float


def even_split(lo: Floats, hi: Floats) -> Split | None:
    """The longest edge in two; the largest region is worth most."""
    edges = hi - lo
    attribute = int(np.argmax(edges))
    cut = float((lo[attribute] + hi[attribute]) / 2)
    if not lo[attribute] < cut < hi[attribute]:
        return None
    return Split(float(np.prod(edges)), attribute, cut)


def data_split(values: Floats) -> Split | None:
    """Half of the rows to each side, in the attribute in which they vary most; the region with most rows is worth most.

    None where all rows are alike.
    """
    count = values.shape[1]
    if count < 2:
        return None
    for attribute in np.argsort(-values.var(axis=1), kind="stable"):
        row = values[attribute]
        gaps = np.flatnonzero(row[1:] > row[:-1]) + 1  # rows below the cut
        if len(gaps):
            below = int(gaps[np.argmin(np.abs(gaps - count // 2))])
            return Split(float(count), int(attribute), between(row[below - 1], row[below]))
    return None


def diverse_split(values: Floats, hits: Floats) -> Split | None:
    """QDPart: the cut after which hits and positions vary least within both sides (section 4.3.3, diversity H).

    None where nothing is gained, as all rows matter to as many queries.
    """
    count = values.shape[1]
    if count < 2:
        return None
    # Centred, or the difference of the sums of squares would be lost in rounding.
    both = np.concatenate([hits - hits.mean(axis=1, keepdims=True), values - values.mean(axis=1, keepdims=True)])
    sums, squares = np.cumsum(both, axis=1), np.cumsum(both * both, axis=1)
    whole = squares[:, -1]
    first = np.arange(1, count)
    below = squares[:, :-1] - sums[:, :-1] ** 2 / first
    above = whole[:, None] - squares[:, :-1] - (sums[:, -1:] - sums[:, :-1]) ** 2 / (count - first)
    np.maximum(below, 0.0, out=below)
    np.maximum(above, 0.0, out=above)
    n = len(values)
    gain = (whole[:n] * whole[n:])[:, None] - below[:n] * below[n:] - above[:n] * above[n:]
    gain[values[:, 1:] == values[:, :-1]] = -np.inf  # rows alike cannot be told apart
    best = int(np.argmax(gain))
    attribute, place = divmod(best, count - 1)
    worth = float(gain[attribute, place])
    if worth <= NOTHING * float(whole[attribute] * whole[n + attribute]) or not worth > 0:
        return None
    return Split(worth, attribute, between(values[attribute, place], values[attribute, place + 1]))


NOTHING = 1e-12
"""A gain of so small a part of what there is comes of rounding."""


def between(below: float, above: float) -> float:
    """The middle; it is above ``below`` where no number lies between."""
    middle = float(below + (above - below) / 2)
    return middle if middle > below else float(above)
