"""Titles of papers as records of min-hashes: a look-alike of the computer science titles in Deng 2007, chapter 5 (the thesis).

Words are drawn independently, by a Zipf law, and an attribute is the least hash of the words of a title. Numbers of similar
pairs are of the published order, and vary threefold with the seed.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sketches.adapters import min_hashes
from streamq.stdlib.sketches.hashing import row_seed
from streamq.stdlib.sketches.lookalike import drawn_zipf
from streamq.stdlib.sketches.super_values import Records


def titles(
    n: int,
    n_words: int = 20_000,
    zipf: float = 0.8,
    length: float = 6.0,
    n_attrs: int = 6,
    seed: int = 0,
) -> Records:
    """``n`` titles of ``n_attrs`` min-hashes. ``length``: words on average, of a Poisson law, 1 at least."""
    random = np.random.default_rng(seed)
    lengths = np.maximum(1, random.poisson(length, n))
    words = drawn_zipf(int(lengths.sum()), n_words, zipf, random)
    return min_hashes(np.append(0, np.cumsum(lengths)), words, n_attrs, int(row_seed(seed, 0)))
