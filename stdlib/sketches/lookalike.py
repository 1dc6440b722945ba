"""Streams that look like those of Deng 2007, sections 3.5 and 4.5 (the thesis): its crawl of URLs cannot be had."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.sketches.hashing import Keys, mix64

SPREAD = 0.8
"""Of a crawl's reuse distances: with it, buffers and filters miss what the thesis prints."""

_OTHERS = np.uint64(1 << 31)
"""Keys from here on come once; those below are the frequent ones."""


def crawl(n: int, new: float, a: float = SPREAD, seed: int = 0) -> Keys:
    """Fingerprints of URLs, ``[n]``: each is new with probability ``new``, or that of the element g = t^(U^a) before.

    ``new``: .7566 is that of the first 100,000 of the thesis, .4851 of its first ten million. ``a``: the larger, the
    newer is what comes again. U: even from 0 to 1.
    """
    _check(n)
    if not 0 <= new <= 1:
        raise ValueError(f"a share is from 0 to 1: {new}")
    drawn = np.random.default_rng(seed)
    at = np.arange(n, dtype=np.int64)
    back = np.power(at.astype(np.float64), drawn.random(n) ** a).astype(np.int64)
    copied = drawn.random(n) >= new
    source = np.where(copied, at - np.minimum(np.maximum(back, 1), at), at)
    while not np.array_equal(further := source[source], source):
        source = further
    return mix64(source.view(np.uint64) + (np.uint64(seed) << np.uint64(32)))


def poisson_stream(n: int, rate: float, mean: float, seed: int = 0) -> Keys:
    """Keys of 32 bits, ``[n]``: between elements that come once, Poisson(``rate``) many frequent ones.

    So rate / (1 + rate) of all are frequent: a number drawn from an exponential distribution of ``mean``.
    """
    _check(n)
    if not (0 < rate < math.inf and mean > 0):
        raise ValueError(f"a rate and a mean are more than 0: {rate}, {mean}")
    drawn = np.random.default_rng(seed)
    frequent = np.ones(n, np.bool_)
    # The i-th element that comes once is after i of its kind and the frequent ones until then.
    once = np.cumsum(drawn.poisson(rate, n)) + np.arange(n)
    frequent[once[once < n]] = False
    return _filled(frequent, mean, drawn)


def burst_stream(n: int, b: float, levels: int, volume: float, mean: float, seed: int = 0) -> Keys:
    """As ``poisson_stream``, with ``volume`` of the elements frequent, in bursts of the b-model.

    Of each interval, and then of its halves, ``levels`` times, one half has a share ``b`` of the frequent elements.
    ValueError where the fullest part would have more frequent elements than elements.
    """
    _check(n)
    most = most_levels(volume, b)
    if most is not None and not 0 <= levels <= most:
        raise ValueError(
            f"a volume of {volume:g} at b = {b:g} can be split in halves {most} times: {levels}"
        )
    drawn = np.random.default_rng(seed)
    shares = np.ones(1)
    for _ in range(levels):
        left = np.where(drawn.random(len(shares)) < 0.5, b, 1 - b)
        shares = np.stack([shares * left, shares * (1 - left)], axis=1).ravel()
    bounds = np.round(np.linspace(0, n, len(shares) + 1)).astype(np.int64)
    counts = np.diff(np.round(np.append(0.0, np.cumsum(shares)) * volume * n).astype(np.int64))
    frequent = np.zeros(n, np.bool_)
    for first, end, count in zip(
        bounds[:-1].tolist(), bounds[1:].tolist(), counts.tolist(), strict=True
    ):
        frequent[first + drawn.permutation(end - first)[:count]] = True
    return _filled(frequent, mean, drawn)


def most_levels(volume: float, b: float) -> int | None:
    """How often intervals can be halved before the fullest is all of frequent elements; None: without end, at b = 1/2."""
    if not (0 < volume <= 1 and 0.5 <= b < 1):
        raise ValueError(f"a volume is above 0 and up to 1, and b from 0.5 up to 1: {volume}, {b}")
    return None if b == 0.5 else math.floor(math.log(volume) / -math.log(2 * b))


def zipf_shares(domain: int, z: float) -> NDArray[np.float64]:
    """The probability of each of 1 .. ``domain``, ``[domain]``: that of i goes with i^-z."""
    if domain < 1 or not z >= 0:
        raise ValueError(f"a domain has a number, and z is 0 or more: {domain}, {z}")
    weights: NDArray[np.float64] = np.power(np.arange(1, domain + 1, dtype=np.float64), -z)
    return weights / float(weights.sum())


def zipf_counts(n: int, domain: int, z: float, seed: int = 0) -> NDArray[np.int64]:
    """How often each of 1 .. ``domain`` is among ``n`` elements, ``[domain]``."""
    _check(n)
    return np.random.default_rng(seed).multinomial(n, zipf_shares(domain, z))


def zipf(n: int, domain: int, z: float, seed: int = 0) -> Keys:
    """Elements of 1 .. ``domain``, ``[n]``, independent of each other."""
    _check(n)
    return drawn_zipf(n, domain, z, np.random.default_rng(seed)) + np.uint64(1)


def drawn_zipf(n: int, domain: int, z: float, drawn: np.random.Generator) -> Keys:
    """Elements of 0 .. ``domain - 1``, ``[n]``, the most frequent of which is 0."""
    until = np.cumsum(zipf_shares(domain, z))
    found = np.searchsorted(until, drawn.random(n), side="right")
    return np.minimum(found, domain - 1).astype(np.uint64)


def _filled(frequent: NDArray[np.bool_], mean: float, drawn: np.random.Generator) -> Keys:
    keys = np.arange(len(frequent), dtype=np.uint64) + _OTHERS
    numbers = drawn.exponential(mean, int(np.count_nonzero(frequent)))
    keys[frequent] = np.minimum(numbers, float(_OTHERS - np.uint64(1))).astype(np.uint64)
    return keys


def _check(n: int) -> None:
    if n < 0:
        raise ValueError(f"a stream has 0 elements or more: {n}")
