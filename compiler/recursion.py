"""Room for recursion over plans and expressions as deep as the parser and the binder allow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT = 20_000
"""Enough for expressions as deep as the parser allows; Python frames here cost no C stack."""


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Raises Python's recursion limit for a while."""
    old = sys.getrecursionlimit()
    sys.setrecursionlimit(max(old, LIMIT))
    try:
        yield
    finally:
        sys.setrecursionlimit(old)
