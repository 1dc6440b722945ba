"""What a channel can carry, and what is offered to it, in kbit/s (Ahuja 2006, section 3.1.3, Example 2)."""

from __future__ import annotations

import math


def shannon_kbps(bandwidth_khz: float, snr_db: float) -> float:
    """The capacity of a channel with noise, B log2(1 + S/N). ``snr_db``: signal to noise, in decibel, of any sign.

    ValueError for a bandwidth that is negative or infinite, or no ratio.
    """
    if not 0 <= bandwidth_khz < math.inf or not math.isfinite(snr_db):
        raise ValueError("a channel has a bandwidth and a ratio of signal to noise")
    return bandwidth_khz * math.log2(1 + 10 ** (snr_db / 10))


def offered_kbps(row_bytes: float, rows: int, duration_s: float) -> float:
    """The rate of rows that are so wide, before anything is shed. ValueError where they come in no time."""
    if not (0 <= row_bytes < math.inf and rows >= 0 and 0 < duration_s < math.inf):
        raise ValueError("rows have a width, and take some time to come")
    return row_bytes * rows * 8 / 1000 / duration_s
