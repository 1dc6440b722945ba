"""What counters say: frequencies, self-join sizes (F2) and join sizes (Deng 2007, sections 4.1 to 4.6: the thesis).

Counters are ``[..., d, w]`` with any axes before, totals ``[...]`` (N), and ``columns`` ``[..., d]``: what the cells of a key
hold in each row. With one sketch and n keys, columns are ``[n, d]``, counters ``[d, w]`` and the total a number. Results
are ``[...]``, in rows, or rows squared.

Clips hold where nothing was taken back, so that no frequency is negative: ``clip=False`` where something was.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.confidence import How
from streamq.stdlib.sketches.counters import Floats, Numbers


def point_cm(columns: Numbers) -> Floats:
    """A frequency by Count-Min, ``[...]``: never below the truth where nothing was taken back."""
    return np.asarray(columns.min(axis=-1), np.float64)


def point_cmm(
    columns: Numbers,
    counts: Numbers,
    totals: Numbers | float,
    noise: How = "median",
    *,
    unbiased: bool = False,
    clip: bool = True,
) -> Floats:
    """A frequency without the noise of the row, ``[...]``.

    ``noise``: the ``median`` of the row's counters, which heavy keys do not move, or the ``mean`` of the other counters, with
    which a row has no bias and the variance (F2 - f^2)/(w - 1). ``unbiased``: the mean of the rows, by mean noise, without
    clips; else their median. ValueError for a width of 1.
    """
    if unbiased:
        return np.asarray(_mean_residues(columns, counts, totals).mean(axis=-1), np.float64)
    if noise == "mean":
        rows = _mean_residues(columns, counts, totals)
    else:
        rows = np.asarray(columns - np.median(counts, axis=-1), np.float64)
    found = np.median(rows, axis=-1)
    return np.asarray(
        np.minimum(np.maximum(found, 0.0), point_cm(columns)) if clip else found, np.float64
    )


def point_agms(columns: Numbers, signs: Numbers, *, clip: bool = True) -> Floats:
    """A frequency by Fast-AGMS, ``[...]``; ``signs``: those of the key by row, ``[..., d]``. A row's variance: (F2 - f^2)/w."""
    found = np.median(columns * signs, axis=-1)
    return np.asarray(np.maximum(found, 0.0) if clip else found, np.float64)


def f2_cm(counts: Numbers) -> Floats:
    """F2 by Count-Min, ``[...]``: never below the truth where nothing was taken back; too much by (N^2 - F2)/w in a row."""
    return np.asarray(f2_agms_rows(counts).min(axis=-1), np.float64)


def f2_cmm(
    counts: Numbers,
    totals: Numbers | float,
    how: How = "median",
    *,
    clip: bool = True,
    distinct: Numbers | float | None = None,
) -> Floats:
    """F2 without the noise of rows, ``[...]``.

    A row has no bias and the variance 2(F2^2 - F4)/(w - 1): the ``mean`` of rows has none either, the ``median`` keeps to its
    error with the chance that was planned and is too low on skewed keys. Clipped to what F2 is at least: N where counters
    are whole, and N^2 by the number of different keys where ``distinct`` says it, ``[...]``. ValueError for a width of 1.
    """
    rows = f2_cmm_rows(counts, totals)
    found = np.asarray(middle_of(rows, how), np.float64)
    if clip and counts.dtype.kind == "i":
        found = np.maximum(found, totals)
    if clip and distinct is not None:
        found = np.maximum(
            found, np.square(np.asarray(totals, np.float64)) / np.maximum(distinct, 1)
        )
    return found


def f2_cmm_rows(counts: Numbers, totals: Numbers | float) -> Floats:
    """F2 by row, ``[..., d]``: (w * sum of squares - N^2)/(w - 1), as squares around the mean, which keeps the digits."""
    centred = _centred(counts, totals)
    return np.asarray(_factor(counts) * np.square(centred).sum(axis=-1), np.float64)


def f2_cm_minus(counts: Numbers) -> Floats:
    """F2 by the differences of neighbouring cells, ``[...]``: signs of one bit on half the width. ValueError for an odd width."""
    if counts.shape[-1] % 2:
        raise ValueError(f"cells go in pairs: a width of {counts.shape[-1]} is odd")
    different = np.asarray(counts[..., 0::2] - counts[..., 1::2], np.float64)
    return np.asarray(np.median(np.square(different).sum(axis=-1), axis=-1), np.float64)


def f2_agms(counts: Numbers, how: How = "median") -> Floats:
    """F2 by Fast-AGMS, ``[...]``. A row's variance: 2(F2^2 - F4)/w."""
    return np.asarray(middle_of(f2_agms_rows(counts), how), np.float64)


def f2_agms_rows(counts: Numbers) -> Floats:
    """The squares of cells, summed by row, ``[..., d]``."""
    # Counters of 2^32 have squares that do not go into 64 bits.
    return np.asarray(np.square(counts, dtype=np.float64).sum(axis=-1), np.float64)


def join_cm(a: Numbers, b: Numbers) -> Floats:
    """The join size of two inputs by Count-Min, ``[...]``: never below the truth where nothing was taken back."""
    return np.asarray(join_agms_rows(a, b).min(axis=-1), np.float64)


def join_cmm(
    a: Numbers,
    b: Numbers,
    totals_a: Numbers | float,
    totals_b: Numbers | float,
    how: How = "median",
) -> Floats:
    """The join size of two inputs without noise, ``[...]``; their counters ``[..., d, w]`` are of one seed.

    A row has no bias and a variance of (F2 of A by F2 of B + J^2 - 2 sum f^2 g^2)/(w - 1). ValueError for a width of 1.
    """
    return np.asarray(middle_of(join_cmm_rows(a, b, totals_a, totals_b), how), np.float64)


def join_cmm_rows(
    a: Numbers, b: Numbers, totals_a: Numbers | float, totals_b: Numbers | float
) -> Floats:
    """The join size by row, ``[..., d]``."""
    both = _centred(a, totals_a) * _centred(b, totals_b)
    return np.asarray(_factor(a) * both.sum(axis=-1), np.float64)


def join_agms(a: Numbers, b: Numbers, how: How = "median") -> Floats:
    """The join size of two inputs by Fast-AGMS of one seed, ``[...]``. A row's variance: as in ``join_cmm``, by w."""
    return np.asarray(middle_of(join_agms_rows(a, b), how), np.float64)


def join_agms_rows(a: Numbers, b: Numbers) -> Floats:
    """The products of cells, summed by row, ``[..., d]``."""
    return np.asarray((np.asarray(a, np.float64) * b).sum(axis=-1), np.float64)


def _mean_residues(columns: Numbers, counts: Numbers, totals: Numbers | float) -> Floats:
    # By the width, large counters do not go into 64 bits.
    found = np.asarray(columns, np.float64)
    others = np.asarray(totals, np.float64)[..., None] - found
    return np.asarray(found - others / (_wide(counts) - 1), np.float64)


def _centred(counts: Numbers, totals: Numbers | float) -> Floats:
    return np.asarray(
        counts - np.asarray(totals, np.float64)[..., None, None] / _wide(counts), np.float64
    )


def _factor(counts: Numbers) -> float:
    width = _wide(counts)
    return width / (width - 1)


def _wide(counts: Numbers) -> int:
    width = int(counts.shape[-1])
    if width < 2:
        raise ValueError("noise is told by other cells: a sketch has 2 columns at least")
    return width


def middle_of(rows: Floats, how: How) -> Floats:
    """The median of rows or their mean, ``[...]``, of ``[..., d]``."""
    found = np.median(rows, axis=-1) if how == "median" else rows.mean(axis=-1)
    return np.asarray(found, np.float64)
