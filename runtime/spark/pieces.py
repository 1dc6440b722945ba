"""How many rows of a result go to Spark at once: Arrow takes 2 GiB of texts in one column, and memory is not endless."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from streamq.stdlib.timelines.table import Index

ROWS_AT_ONCE = 64 * 1024
"""Rows that go to Spark in one piece."""

TEXT_AT_ONCE = 16 * 1024 * 1024
"""Characters of the texts that go to Spark in one piece."""


def pieces(lengths: Index) -> Iterator[tuple[int, int]]:
    """Rows from ``start`` up to but without ``stop``, so many as may go in one piece, and at least one.

    ``lengths``: characters of the texts of each row, ``[rows]``.
    """
    size, through = len(lengths), np.cumsum(lengths)
    start, sent = 0, 0
    while start < size:
        fits = int(np.searchsorted(through, sent + TEXT_AT_ONCE, "right"))
        stop = max(start + 1, min(fits, start + ROWS_AT_ONCE, size))
        yield start, stop
        start, sent = stop, int(through[stop - 1])
