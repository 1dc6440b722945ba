"""Stops queries: after the micro-batch that runs, where there is time, else at once.

Spark cannot be told to take no further micro-batch: ``stop`` breaks off the one that runs. So it is waited for the report
of that one, and then stopped; what of the next has begun by then is done anew by the next run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from streamq.runtime.control.offsets import latest_batch
from streamq.runtime.spark.supervisor import Running
from streamq.runtime.supervise.letters import unfinished

PAUSE_S = 0.02
REPORT_S = 1.0
"""A micro-batch is reported a moment after it is done; it is not waited for longer."""

STOP_S = 10.0
"""How long a query that is stopped may take to end."""


def wait_for_batches(
    queries: Sequence[tuple[Running, StreamingQuery]], folder: Callable[[Running], Path], take: Callable[[], None],
    within_s: float,
) -> None:
    """Stops each query when the micro-batch that it runs is done and reported, or the time is up.

    ``take`` takes in reports. A signal that comes meanwhile ends the waiting.
    """
    until = time.monotonic() + within_s
    batches = {one.plan.name: unfinished(folder(one)) for one, _ in queries}
    left, done_at = list(queries), dict[str, float]()
    with suppress(KeyboardInterrupt):
        while left and (now := time.monotonic()) < until:
            ended = [
                (one, handle) for one, handle in left
                if not handle.isActive or _is_done(one, batches[one.plan.name], folder(one), done_at, now)
            ]
            stop_all([handle for _, handle in ended])
            left = [pair for pair in left if pair not in ended]
            take()
            time.sleep(PAUSE_S)


def _is_done(one: Running, batch: int | None, folder: Path, done_at: dict[str, float], now: float) -> bool:
    """True where the micro-batch is done and its report was read, or is not coming."""
    if batch is None:
        return True
    committed = latest_batch(folder, "commits")
    if committed is None or committed < batch:
        return False
    reported = one.reader is not None and one.reader.latest >= batch
    return reported or now - done_at.setdefault(one.plan.name, now) > REPORT_S


def stop_all(handles: Sequence[StreamingQuery]) -> None:
    """Stops queries at the same time. One that does not end in time ends with Spark."""
    threads = [threading.Thread(target=_stop, args=(handle,), daemon=True) for handle in handles]
    for thread in threads:
        thread.start()
    until = time.monotonic() + STOP_S
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))


def _stop(handle: StreamingQuery) -> None:
    # Where Spark is gone whoever watches the run sees it.
    with suppress(PySparkException, Py4JError, OSError):
        handle.stop()
