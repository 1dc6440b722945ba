"""A function of one's own, which the page on programs shows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def to_euro(amount: pa.Array, currency: pa.Array) -> pa.Array:
    rate = pc.if_else(pc.equal(currency, "NOK"), 0.085, 1.0)
    return pc.multiply(amount, rate)
