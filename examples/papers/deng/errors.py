"""What estimates from counters are off by (Deng 2007, chapter 4: the thesis), on rows whose keys follow Zipf's law, and tables of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from examples.papers.figures import draw
from examples.papers.parts import Options, counted, row
from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.choose import f2_chosen, points_chosen
from streamq.stdlib.sketches.conservative import MinimalIncrease
from streamq.stdlib.sketches.counter_sketch import empty_count_min, empty_fast_agms
from streamq.stdlib.sketches.counters import Floats
from streamq.stdlib.sketches.estimators import (
    f2_agms,
    f2_cm,
    f2_cmm,
    point_agms,
    point_cm,
    point_cmm,
)
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import zipf_counts

TOP = 100

POINTS = ("CM", "CMM, mean", "CMM, median", "CMM by choice", "Fast-AGMS", "MI")
SELF_JOINS = ("CM", "CMM", "CMM by choice", "Fast-AGMS", "MI")

SKETCHES = 50
"""Of other hashes, whose F2 errors are averaged; of minimal increase, which goes row by row, as many as there are seeds."""


@dataclass(frozen=True, slots=True)
class Rows:
    """``keys`` that there are and their frequencies, ``[distinct]``; ``order``: the rows as they come, ``[n]``."""

    keys: Keys
    counts: NDArray[np.int64]
    order: Keys

    @property
    def total(self) -> int:
        return len(self.order)

    @property
    def f2(self) -> float:
        return float(np.square(self.counts.astype(np.float64)).sum())

    def top(self) -> tuple[Keys, NDArray[np.int64]]:
        """The most frequent keys and their frequencies, ``[TOP]``."""
        most = np.argsort(-self.counts, kind="stable")[:TOP]
        return self.keys[most], self.counts[most]


@lru_cache(maxsize=2)
def rows(z: float, n: int) -> Rows:
    """``n`` of the keys 0 .. n - 1."""
    counts = zipf_counts(n, n, z, round(100 * z))
    present = np.flatnonzero(counts)
    keys = present.astype(np.uint64)
    return Rows(
        keys,
        counts[present],
        np.random.default_rng(1).permutation(np.repeat(keys, counts[present])),
    )


def point_errors(
    of: Rows, query: Keys, truth: NDArray[np.int64], width: int, depth: int, seeds: int
) -> Floats:
    """``[POINTS]``: mean absolute errors of frequencies, ``[n]``."""
    found = []
    for seed in range(seeds):
        plain = empty_count_min(width, depth, seed).added(of.keys, of.counts)
        signed = empty_fast_agms(width, depth, seed).added(of.keys, of.counts)
        columns, total = plain.columns(query), of.total
        estimates = (
            point_cm(columns),
            point_cmm(columns, plain.counts, total, "mean"),
            point_cmm(columns, plain.counts, total),
            points_chosen(columns, plain.counts, total),
            point_agms(signed.columns(query), signed.signs(query)),
            MinimalIncrease.empty(width, depth, seed).added(of.order).points(query),
        )
        found.append([np.abs(estimate - truth).mean() for estimate in estimates])
    return np.asarray(np.mean(found, axis=0), np.float64)


def f2_errors(of: Rows, width: int, depth: int, seeds: int) -> Floats:
    """``[SELF_JOINS]``: mean errors of F2, by F2."""
    shape = (SKETCHES, depth, width)
    plain, signed = (
        made(width, SKETCHES * depth, 1).added(of.keys, of.counts).counts.reshape(shape)
        for made in (empty_count_min, empty_fast_agms)
    )
    least = np.stack(
        [MinimalIncrease.empty(width, depth, seed).added(of.order).counts for seed in range(seeds)]
    )
    estimates = (
        f2_cm(plain),
        f2_cmm(plain, of.total),
        f2_chosen(plain, of.total),
        f2_agms(signed),
        f2_cm(least),
    )
    return np.array([np.abs(estimate / of.f2 - 1).mean() for estimate in estimates])


def told(
    options: Options,
    name: str,
    title: str,
    axis: str,
    at: Sequence[float],
    names: Sequence[str],
    errors: Callable[[float], Floats],
    form: str,
) -> dict[str, Floats]:
    """A table of errors over ``at``, and a picture of their logarithms: by name those of each estimate, ``[at]``."""
    found = dict(zip(names, np.array([errors(of) for of in counted(name, at)]).T, strict=True))
    print(f"\n{title}\n" + row(axis, at, "10g"))
    for label, values in found.items():
        print(row(label, values, form))
    # Minimal increase has no error at all on few keys.
    wide = max(at) > 16
    draw(
        options.figures,
        name,
        title,
        np.log2(at).tolist() if wide else at,
        {label: np.log10(np.maximum(of, 1e-3)).tolist() for label, of in found.items()},
        xlabel=f"log2 of the {axis}" if wide else axis,
        ylabel="log10 of the mean error",
    )
    return found


def near(found: dict[str, Floats], others: Sequence[str]) -> float:
    """What is chosen is off by, in parts of what the better one is, at its worst."""
    return float(
        (found["CMM by choice"] / np.min([found[other] for other in others], axis=0)).max()
    )
