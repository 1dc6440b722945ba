"""Random numbers as a function of (seed, stream, event number), so that any range of events can be made anywhere.

Counter-based: the counter goes through the finaliser of SplitMix64 (Steele, Lea, Flood 2014), which
passes the usual statistical batteries on consecutive counters. No state, no order, whole arrays at once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bits = NDArray[np.uint64]

_MASK = (1 << 64) - 1
_GAMMA = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


def mix(value: int) -> int:
    """SplitMix64's finaliser on one Python integer, modulo 2^64."""
    z = (value + _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return z ^ (z >> 31)


def bits(seed: int, stream: int, counter: Integers) -> Bits:
    """64 random bits for each counter. ``stream`` tells apart the draws of one event."""
    start = np.uint64(mix(mix(seed) ^ stream))
    z = counter.astype(np.uint64)
    z *= np.uint64(_GAMMA)
    z += start
    z ^= z >> np.uint64(30)
    z *= np.uint64(_MIX_1)
    z ^= z >> np.uint64(27)
    z *= np.uint64(_MIX_2)
    z ^= z >> np.uint64(31)
    return z


def below(random: Bits, limit: Integers | int) -> Integers:
    """Uniform integers in [0, limit), limit < 2^31, from the upper half of each word.

    Multiply and shift; no value is likelier than another by more than limit / 2^32.
    """
    upper = (random >> np.uint64(32)).astype(np.int64)
    upper *= limit
    upper >>= 32
    return upper


def unit(random: Bits) -> NDArray[np.float64]:
    """Uniform floats in [0, 1), multiples of 2^-53."""
    floats = (random >> np.uint64(11)).astype(np.float64)
    floats *= 2.0**-53
    return floats


def is_hot(random: Bits, ratio: int) -> NDArray[np.bool_]:
    """True with probability 1 - 1/ratio, from the lower half of each word (``below`` takes the upper)."""
    lower = (random & np.uint64(0xFFFFFFFF)).astype(np.int64)
    lower *= ratio
    result: NDArray[np.bool_] = lower >= (1 << 32)
    return result
