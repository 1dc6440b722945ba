"""How wrong results are that lost input, against those of a run that lost none, window by window."""

from __future__ import annotations

from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import Floats, Ints


@dataclass(frozen=True, slots=True)
class RelativeError:
    """``mean``: mean of abs(degraded - perfect) / abs(perfect), NaN where no window counts.

    ``missing``: windows without a degraded value. ``skipped``: those left out for a perfect value of 0.
    """

    mean: float
    missing: int
    skipped: int


def relative_error(
    perfect: Floats, degraded: Floats, missing: Literal["skip", "zero"] = "skip"
) -> RelativeError:
    """The relative error over windows; NaN in ``degraded`` is a window without a value.

    A missing average is left out of the mean; a missing count is 0 (``missing="zero"``).
    """
    absent = np.isnan(degraded)
    values = np.where(absent, 0.0, degraded)
    zero = perfect == 0
    counts = ~zero if missing == "zero" else ~zero & ~absent
    errors = np.abs(values[counts] - perfect[counts]) / np.abs(perfect[counts])
    mean = float(errors.mean()) if errors.size else float("nan")
    return RelativeError(mean, int(absent.sum()), int(zero.sum()))


def ranking_distance(perfect: Ints, degraded: Ints) -> Floats:
    """Kendall's distance of two lists of the first k, per window (row), 0 (alike) to 1 (nothing in common).

    Entries are numbers of 0 or more, the best first, each once; negative ones at the end fill a
    list that is too short. Every pair counts that the two lists order differently, where what is
    in a list comes before what is not; two that are missing from one list are in no order there.
    Places missing from the degraded list count as taken by strangers. Divided by k^2, where k is
    the length of the perfect list.
    """
    if perfect.shape != degraded.shape:
        raise ValueError(
            f"lists of shapes {perfect.shape} and {degraded.shape} are not of the same windows"
        )
    k = perfect.shape[1]
    columns = np.arange(k)
    length = (perfect >= 0).sum(axis=1)
    asked = columns < length[:, None]
    same = (perfect[:, :, None] == degraded[:, None, :]) & asked[:, :, None] & asked[:, None, :]
    shared = same.any(axis=1)
    # All entries, those of the perfect list first; place k is after the end of a list.
    own = np.broadcast_to(columns, perfect.shape)
    outside = np.full(perfect.shape, k)
    in_first = np.concatenate((own, outside), axis=1)
    in_second = np.concatenate((np.where(same.any(axis=2), same.argmax(axis=2), k), own), axis=1)
    counted = np.concatenate((asked, asked & ~shared), axis=1)
    differ = _order(in_first) * _order(in_second) < 0
    pairs = (differ & counted[:, :, None] & counted[:, None, :]).sum(axis=(1, 2)) / 2
    distance: Floats = np.divide(pairs, length**2, out=np.zeros(len(pairs)), where=length > 0)
    return distance


def ranking_correlation(perfect: Ints, degraded: Ints) -> float:
    """Kendall's tau of two orders of the same things: 1 alike, -1 reversed; (1 - tau) / 2 is a distance.

    Raises ValueError where they do not hold the same things, or fewer than two.
    """
    n = len(perfect)
    if n < 2 or not np.array_equal(np.sort(perfect), np.sort(degraded)):
        raise ValueError("two orders of the same things, at least two, have a correlation")
    places = np.argsort(degraded)[np.argsort(np.argsort(perfect))]
    agreement = _order(np.arange(n)) * _order(places)
    return float(agreement.sum() / (n * (n - 1)))


def _order(places: Ints) -> Ints:
    """For each pair which comes first: -1, 0 or 1."""
    signs: Ints = np.sign(places[..., :, None] - places[..., None, :])
    return signs


@dataclass(frozen=True, slots=True)
class CovarianceError:
    """``ratio``: deviation of the degraded covariances / that of the perfect ones.

    ``difference``: mean of abs(degraded - perfect).
    """

    ratio: float
    difference: float


def covariance_error(perfect: Floats, degraded: Floats) -> CovarianceError:
    """The error of covariances over windows that both have a value; NaN is a window without one.

    The ratio is NaN where the perfect values do not vary.
    """
    both = ~np.isnan(perfect) & ~np.isnan(degraded)
    if not both.any():
        return CovarianceError(float("nan"), float("nan"))
    base = float(perfect[both].std())
    ratio = float(degraded[both].std()) / base if base else float("nan")
    return CovarianceError(ratio, float(np.abs(degraded[both] - perfect[both]).mean()))
