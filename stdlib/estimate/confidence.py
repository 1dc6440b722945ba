"""How wide bounds are."""

from __future__ import annotations


def deviations(confidence: float) -> float:
    """How many standard deviations to both sides a confidence takes, 0.95 for instance 1.96."""
    from statistics import NormalDist  # slow to import, and only for programs with estimates

    return NormalDist().inv_cdf(0.5 + confidence / 2)
