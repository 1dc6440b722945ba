"""A stateful NEXMark query under a load, in a process of its own: a run that fails spoils no other."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from streamq.compiler.driver import compile_program
from streamq.runtime.control.decisions import DecisionLog
from streamq.runtime.control.forward import DECISIONS
from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.report.record import Recorder
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.stdlib.nexmark import BID, GROUP

MEMORY = "8g"
"""Plain Spark at a multiple of its capacity holds ever more state."""

PROGRAM = """
SET spark.driver.memory = '{memory}';
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS) WITH (connector = 'nexmark', table = 'bid', {load});
CREATE SINK none WITH (connector = 'noop');
CREATE QUERY q INTO none AS
  SELECT auction, channel, COUNT(*) AS bids, AVG(price) AS mean, MAX(price) AS most, WINDOW_END AS until
  FROM   bid [RANGE 10 SECONDS SLIDE 1 SECOND] GROUP BY auction, channel {policy};
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """``ended``: when the run was broken off, seconds since 1970. ``failure``: why it ended before; else empty.

    ``throttle``: the throttle fraction of each micro-batch that had one, by its number.
    """

    samples: list[QuerySample]
    ended: float
    failure: str = ""
    throttle: dict[int, float] = field(default_factory=dict)


def steady(bids_per_s: float) -> str:
    """The options of a source of so many bids per second."""
    return f"rate = {_events(bids_per_s)}"


def square(low_per_s: float, high_per_s: float, period_s: float) -> str:
    """The options of a source of ``low_per_s`` bids for half a period, then ``high_per_s`` for the other half."""
    return (
        f"rate = {_events(low_per_s)}, peak_rate = {_events(high_per_s)}, shape = 'square', "
        f"period = '{round(period_s)} seconds'"
    )


def _events(bids_per_s: float) -> int:
    return round(bids_per_s * GROUP / BID.share)


def run(load: str, policy: str, seconds: float) -> Outcome:
    """The micro-batches of a run of so many seconds from the end of its first one."""
    spawn = multiprocessing.get_context("spawn")
    began = time.time()
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        try:
            return pool.submit(_run, load, policy, seconds).result()
        except BrokenProcessPool:
            return Outcome([], began, "the process broke down")


@dataclass(slots=True)
class _Watch(Recorder):
    """Keeps the samples and what was decided for them, and when the run was seen last."""

    log: DecisionLog = field(kw_only=True)
    latest: float = field(default_factory=time.time)
    throttle: dict[int, float] = field(default_factory=dict)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        Recorder.sample(self, sample, totals)
        decided = self.log.find(sample.batch)
        if decided is not None:
            self.throttle[sample.batch] = decided.decision.usual

    def tick(self, seconds: float) -> None:
        self.latest = time.time()


def _run(load: str, policy: str, seconds: float) -> Outcome:
    plan = compile_program(PROGRAM.format(memory=MEMORY, load=load, policy=policy)).require()
    with TemporaryDirectory(prefix="streamq-benchmark-", ignore_cleanup_errors=True) as folder:
        watch = _Watch(log=DecisionLog(Path(folder) / "q" / DECISIONS))
        report = run_plan(plan, RunOptions(duration_s=seconds, checkpoint=Path(folder)), watch)
    failure = "; ".join(d.message for d in report.diagnostics) if report.failed else ""
    return Outcome(watch.samples.get("q", []), watch.latest, failure, watch.throttle)
