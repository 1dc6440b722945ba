"""The steps in which shares of rows are kept: a row stays where its hash, in so many bits, is below the threshold."""
from __future__ import annotations

HASH_BITS = 20
HASH_STEPS = 1 << HASH_BITS
HASH_MASK = HASH_STEPS - 1
