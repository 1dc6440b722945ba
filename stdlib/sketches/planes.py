"""Small numbers as bytes, at as many bits each as they need: all lowest bits, then all next ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[np.uint8], bits: int) -> bytes:
    """``values``, ``[m]``, of ``0 .. 2^bits - 1``."""
    return b"".join(
        np.packbits((values >> plane) & 1, bitorder="little").tobytes() for plane in range(bits)
    )


def unpack(stored: bytes, n: int, bits: int) -> NDArray[np.uint8]:
    """The ``n`` values that ``pack`` got. ValueError where there are not as many bytes."""
    length = -(-n // 8)
    if len(stored) != length * bits:
        raise ValueError(
            f"{n} values of {bits} bits are {length * bits} bytes, and there are {len(stored)}"
        )
    values = np.zeros(n, np.uint8)
    for plane in range(bits):
        part = np.frombuffer(stored, np.uint8, length, plane * length)
        values |= np.unpackbits(part, count=n, bitorder="little") << np.uint8(plane)
    return values
