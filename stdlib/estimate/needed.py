"""How much has to be kept for estimates that are right to some percent."""

from __future__ import annotations


def share_for(error: float, found: float, keep: float) -> float:
    """The share of rows that has to be kept for a relative error of estimates, 0 to 1.

    ``found``: the error at the share ``keep``. That of a Horvitz-Thompson estimate grows as the square root of
    ``(1 - p) / p`` (``stdlib/estimate/totals.py``), whatever the rows hold.
    """
    if found <= 0 or not 0 < keep < 1:
        return keep
    return 1 / (1 + (error / found) ** 2 * (1 - keep) / keep)
