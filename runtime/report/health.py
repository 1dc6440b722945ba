"""Whether a run is well, as an orchestrator asks: ``/health`` and ``/ready`` beside ``/metrics``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.run import Event, Happened, SilentListener

WELL = ("running", "done")
"""States of a query that nobody has to look at."""


@dataclass(slots=True)
class QueryHealth:
    """``since``: when it came into its state; ``last``: when it last finished a micro-batch, or began. Seconds of a clock."""

    state: str
    since: float
    last: float
    reason: str = ""
    failures: int = 0
    batches: int = 0


@dataclass(slots=True)
class Health(SilentListener):
    """The state of each query: ``running``, ``done``, ``restarting`` or ``given_up``. ``now``: seconds of any clock.

    A query that is started again is ``restarting`` until it has done a micro-batch. ``begun``: Spark is up, and the queries
    are known.
    """

    now: Callable[[], float] = time.monotonic
    queries: dict[str, QueryHealth] = field(default_factory=dict)
    ready: bool = False
    stopping: bool = False
    begun: bool = False

    def started(self, queries: tuple[str, ...]) -> None:
        now = self.now()
        self.begun = True
        self.queries = {name: QueryHealth("running", now, now) for name in queries}

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        one = self.queries[sample.query]
        one.batches, one.last = one.batches + 1, self.now()
        if one.state == "restarting":
            self._turn(one, "running")

    def happened(self, what: Happened) -> None:
        if what.event is Event.READY:
            self.ready = True
        if what.event in (Event.STOPPING, Event.STOPPED):
            self.stopping = True
        one = self.queries.get(what.query)
        if one is None:
            return
        match what.event:
            case Event.FAILURE:
                one.failures += 1
                self._turn(one, "restarting", what.diagnostic.message if what.diagnostic is not None else what.text)
            case Event.GIVEN_UP:
                self._turn(one, "given_up", what.diagnostic.message if what.diagnostic is not None else what.text)
            case Event.DONE:
                self._turn(one, "done")
            case _:
                pass

    def health(self) -> tuple[bool, str]:
        """Whether every query runs or is done, and what is known of each as JSON.

        While Spark starts nothing is wrong, but nothing runs either: ``starting``.
        """
        well = all(one.state in WELL for one in tuple(self.queries.values()))
        return well, self._told("failing" if not well else "well" if self.begun else "starting")

    def readiness(self) -> tuple[bool, str]:
        """Whether every query has begun and the run is not stopping, and the same JSON."""
        ready = self.ready and not self.stopping
        return ready, self._told("ready" if ready else "stopping" if self.stopping else "starting")

    def _turn(self, one: QueryHealth, state: str, reason: str = "") -> None:
        if one.state != state:
            one.since = self.now()
        one.state, one.reason = state, reason

    def _told(self, status: str) -> str:
        now = self.now()
        queries = {
            name: {
                "state": one.state, "for_s": round(now - one.since, 1), "no_batch_for_s": round(now - one.last, 1),
                "batches": one.batches, "failures": one.failures, **({"reason": one.reason} if one.reason else {}),
            }
            for name, one in tuple(self.queries.items())
        }
        return json.dumps({"status": status, "queries": queries}, ensure_ascii=False, indent=1) + "\n"
