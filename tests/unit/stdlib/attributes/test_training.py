"""F6: a training set with a row that cannot be corrected is discarded, and the next one used."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.attributes.hamming import Hamming
from streamq.stdlib.attributes.training import first_usable, row_bits, rows_of

ROWS = [b"New Delhi,84,29.91", b"Ghurian,55,27.96", b"Abovyan,46,30.09"]


def test_rows_and_bits() -> None:
    found = row_bits(ROWS)
    assert found.shape == (3, 8 * 18)
    assert rows_of(found) == tuple(ROWS)
    for bad in ([], [b""], [b"a\0"]):
        with pytest.raises(ValueError, match="do not end with zero"):
            row_bits(bad)
    with pytest.raises(ValueError, match="by eight"):
        rows_of(np.zeros((1, 7), dtype=np.uint8))


def test_f6_discards_and_retries() -> None:
    code = Hamming()
    good = code.encode(row_bits(ROWS))
    single, double = good.copy(), good.copy()
    single[1, 17] ^= 1
    double[2, [3, 90]] ^= 1
    found = first_usable([double, single, good], code)
    assert found.rows == tuple(ROWS)
    assert (found.corrected, found.discarded) == (1, 1)
    assert first_usable([good, double], code).discarded == 0
    with pytest.raises(ValueError, match="none of 2 sets"):
        first_usable([double, double], code)
    with pytest.raises(ValueError, match="none of 0 sets"):
        first_usable([], code)
