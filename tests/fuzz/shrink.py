"""A failing input made small: pieces are left out as long as the same fault comes."""

from __future__ import annotations

import time
from collections.abc import Callable


def smallest(data: bytes, fails: Callable[[bytes], bool], seconds: float = 20.0) -> bytes:
    """The shortest input found in that time for which ``fails`` is true, as it is of ``data``."""
    until = time.monotonic() + seconds
    size = max(1, len(data) // 2)
    while size and time.monotonic() < until:
        at, shorter = 0, False
        while at < len(data) and time.monotonic() < until:
            without = data[:at] + data[at + size :]
            if fails(without):
                data, shorter = without, True
            else:
                at += size
        if not shorter or size > len(data):
            size //= 2
    return data
