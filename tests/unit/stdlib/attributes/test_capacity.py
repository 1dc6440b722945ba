"""G3, F13: what a channel carries, and what is offered."""

from __future__ import annotations

import pytest

from streamq.stdlib.attributes.capacity import offered_kbps, shannon_kbps


def test_g3_capacity() -> None:
    """Example 2: 20 dB, 4 kHz."""
    assert shannon_kbps(4, 20) == pytest.approx(26.6328, abs=5e-5)


def test_bad_channels() -> None:
    assert shannon_kbps(0, 20) == 0
    assert shannon_kbps(4, -10) == pytest.approx(4 * 0.13750352)  # log2(1.1)
    for bandwidth, ratio in ((-1, 20), (float("inf"), 20), (4, float("nan")), (4, float("inf"))):
        with pytest.raises(ValueError, match="bandwidth"):
            shannon_kbps(bandwidth, ratio)


def test_offered_rate() -> None:
    """75 rows of 100 bytes in 5 s: 1,500 bytes a second."""
    assert offered_kbps(100, 75, 5) == 12
    assert offered_kbps(100, 0, 5) == 0
    for bad in ((100, 75, 0), (-1, 75, 5), (100, -1, 5), (float("nan"), 1, 1)):
        with pytest.raises(ValueError, match="take some time"):
            offered_kbps(*bad)
