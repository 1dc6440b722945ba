"""What each batch of a source weighs: every source of a query counts the same in every window.

The weight of a tuple is 1 / (tuples its source sent in the window x sources of the query). Tuples
are counted as they arrive, before any of them is shed, so what is missing later was lost.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats, Ints, summed

Idle = Literal["loss", "exclude"]


def stamp_exact(source: Ints, n: Ints, n_sources: int, idle: Idle = "loss") -> Floats:
    """The weight of each batch of one whole window (or pane): entry i has ``n[i]`` tuples of ``source[i]``.

    Sources are numbered from 0. The batches of one source sum to 1 / ``n_sources``. A source that
    sent nothing is a loss of its share, or with ``exclude`` does not count among the sources.
    Raises ValueError where there are more sources than said.
    """
    counts = summed(source, n, n_sources)
    if counts.size > n_sources:
        raise ValueError(f"{counts.size} sources sent something, {n_sources} are known")
    sources = n_sources if idle == "loss" else np.count_nonzero(counts)
    whole: Floats = counts[source] * sources
    totals: Floats = np.divide(n, whole, out=np.zeros(len(n)), where=whole > 0)
    return totals


@dataclass(frozen=True, slots=True)
class History:
    """What one source sent of late. ``at`` and ``n``: time and tuples of each batch, oldest first.

    ``start``: when the source began, in the unit of ``at``.
    """

    at: Floats
    n: Ints
    start: float

    @staticmethod
    def begin(start: float) -> History:
        """Nothing was sent yet."""
        return History(np.zeros(0), np.zeros(0, dtype=np.int64), start)


def stamp_online(
    history: History, now: float, n: int, n_sources: int, window: float
) -> tuple[History, float]:
    """The weight of a batch of ``n`` tuples that came just now, and the history with it.

    How much the source sends in a window is estimated from the last one, or from the time since
    its start. After a change of its rate the weights of a window sum to more or less than 1, and
    are right again two windows later; ``stamp_exact`` has no such error.
    Raises ValueError where no time passed since the start.
    """
    elapsed = min(window, now - history.start)
    if elapsed <= 0:
        raise ValueError(f"no time passed between the start at {history.start} and {now}")
    recent = history.at > now - window
    later = History(
        np.append(history.at[recent], now), np.append(history.n[recent], n), history.start
    )
    expected = float(later.n.sum()) * window / elapsed
    return later, n / (expected * n_sources) if n else 0.0
