"""Which estimate to take, Count-Min's or the one without noise: read off the counters (Deng 2007, section 4.8: the thesis).

Where keys are even CMM is better by orders of magnitude; where a few keys have most rows CM is, as in its least row a key
meets none of these. Both come from the same counters, so that either can be had at any time.

Shapes: as in ``estimators``. All of it where nothing was taken back; else CM is not to be had.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.confidence import How
from streamq.stdlib.sketches.counters import Floats, Numbers
from streamq.stdlib.sketches.estimators import f2_cm, f2_cmm, point_cm, point_cmm
from streamq.stdlib.sketches.std_errors import f2_std_err

Choices = NDArray[np.bool_]


def f2_takes_cm(counts: Numbers, totals: Numbers | float) -> Choices:
    """Whether CM serves F2, ``[...]``: where what it is too high by, (N^2 - F2)/w, is less than CMM's standard error."""
    depth, width = counts.shape[-2:]
    f2 = np.minimum(f2_cmm(counts, totals), f2_cm(counts))
    excess = (np.square(np.asarray(totals, np.float64)) - f2) / width
    return np.asarray(excess < f2_std_err(f2, totals, width - 1, depth), np.bool_)


def f2_chosen(counts: Numbers, totals: Numbers | float) -> Floats:
    """F2 by whichever serves, ``[...]``."""
    return np.where(f2_takes_cm(counts, totals), f2_cm(counts), f2_cmm(counts, totals))


def points_take_cm(counts: Numbers) -> Choices:
    """Whether CM serves the frequencies of keys that are there, ``[...]``: where ``cm_error`` is not above ``cmm_error``."""
    return np.asarray(cm_error(counts) <= cmm_error(counts), np.bool_)


def points_chosen(
    columns: Numbers, counts: Numbers, totals: Numbers | float, noise: How = "median"
) -> Floats:
    """Frequencies by whichever serves, ``[...]``."""
    return np.where(
        points_take_cm(counts), point_cm(columns), point_cmm(columns, counts, totals, noise)
    )


def cm_error(counts: Numbers) -> Floats:
    """What CM is off by on average, ``[...]``.

    What a key meets in a row is like what any cell of the row holds. So the j-th cells of all rows are like the noise of one
    key, and there are ``w`` such keys in the counters.
    """
    return np.asarray(_noises(counts).min(axis=-1).mean(axis=-1), np.float64)


def cmm_error(counts: Numbers) -> Floats:
    """What CMM by median noise is off by on average, clipped by CM, for keys that are there, ``[...]``."""
    noises = _noises(counts)
    found = np.median(noises - np.median(counts, axis=-1)[..., None, :], axis=-1)
    return np.asarray(np.abs(np.minimum(found, noises.min(axis=-1))).mean(axis=-1), np.float64)


def _noises(counts: Numbers) -> Numbers:
    """``[..., w, d]``."""
    return np.swapaxes(counts, -1, -2)
