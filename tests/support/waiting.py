"""Waits on the progress of a running query, with a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

DEADLINE_SECONDS = 120.0
_POLL_SECONDS = 0.05


def wait_for_progress(
    query: StreamingQuery, wanted: Callable[[dict[str, Any]], bool]
) -> dict[str, Any]:
    """The first recent progress for which ``wanted`` holds.

    Fails when the query ends in an error, or at the deadline with the last progress seen.
    """
    pause = threading.Event()
    deadline = time.monotonic() + DEADLINE_SECONDS
    last: dict[str, Any] = {}
    while time.monotonic() < deadline:
        for progress in query.recentProgress:
            last = dict(progress)
            if wanted(last):
                return last
        error = query.exception()
        assert error is None, str(error)
        pause.wait(_POLL_SECONDS)
    raise AssertionError(f"no such progress in {DEADLINE_SECONDS} s; the last was {last}")
