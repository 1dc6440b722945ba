"""A join on sets that takes three times what the machine has: SHED JOIN against SHED RANDOM, for the same age of results.

Rows are those of the paper's workload (``tags.py``): sets of about five of a hundred tags, of which a pair has four in
common, in windows of twenty seconds, one stream lagging behind the other. A file of each stream comes every second. How many
rows take three times as long as they have is found first, by runs over waiting files in which nothing is shed.

Counted are the pairs that come out after the first minute, in which windows fill and it is learned where pairs are found.

Run from the root of the repository::

    python -m tests.benchmarks.joins_overload [--seconds 150] [--goal 6] [--rate 6000]

Ends with 1 where SHED JOIN gives less than 1.5 times the pairs of SHED RANDOM, or has results older than the goal.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.record import Recorder
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from tests.benchmarks.ages import ages
from tests.benchmarks.measure import completed
from tests.benchmarks.tags import WINDOW_S, streams, write

OVERLOAD, WANTED = 3.0, 1.5
WARM_UP_S = 60.0
SPARE_S = 60
"""A run is counted from the end of its first micro-batches, and files come before."""

PILOT_FILE_S, PILOT_S = 2, 2 * WINDOW_S
PILOT_RATE = 2000.0

QUERY = """CREATE QUERY q INTO none AS
SELECT ISTREAM(a.n, b.n AS m, a.ts AS first, b.ts AS second)
FROM   a [RANGE {window} SECONDS] JOIN b [RANGE {window} SECONDS] ON OVERLAP(a.kw, b.kw) >= 4 {policy};
"""


def run(folder: Path, policy: str, files_at_once: int | None, options: RunOptions) -> Recorder:
    recorder = Recorder()
    text = streams(files_at_once) + QUERY.format(window=WINDOW_S, policy=policy)
    completed(run_plan(compile_program(text, CompileOptions(base_dir=str(folder))).require(), options, recorder))
    return recorder


def load(rate: float) -> float:
    """Seconds that a second of rows takes once the windows are full, in micro-batches of some seconds."""
    with TemporaryDirectory() as scratch:
        write(Path(scratch), rate, PILOT_S, PILOT_FILE_S)
        samples = [s for s in run(Path(scratch), "", 1, RunOptions(once=True)).samples["q"] if s.rows_in]
    full = samples[WINDOW_S // PILOT_FILE_S + 1:]
    return sum(s.batch_ms for s in full) / 1000 / (len(full) * PILOT_FILE_S)


def overloading() -> float:
    """The rate at which a second of rows takes ``OVERLOAD`` seconds."""
    rate, taken = PILOT_RATE, load(PILOT_RATE)
    print(f"  {rate:9,.0f} rows/s of each stream take {taken:.2f} times as long as they have", flush=True)
    while True:
        before, taken_before = rate, taken
        rate = min(2.0, max(1.1, (OVERLOAD / taken) ** 0.6)) * rate
        taken = load(rate)
        print(f"  {rate:9,.0f} rows/s of each stream take {taken:.2f} times as long as they have", flush=True)
        if taken >= OVERLOAD:
            return before + (rate - before) * (OVERLOAD - taken_before) / (taken - taken_before)


class Feed(threading.Thread):
    """Moves one file after the other of each stream to where it is looked for, one a second."""

    def __init__(self, waiting: Path, place: Path) -> None:
        super().__init__(daemon=True)
        self.waiting, self.place, self.stopping = waiting, place, threading.Event()
        self.left = len(list((waiting / "a").iterdir()))

    def run(self) -> None:
        began = time.monotonic()
        for number, file in enumerate(sorted((self.waiting / "a").iterdir())):
            if self.stopping.wait(max(0.0, began + number - time.monotonic())):
                return
            for name in "ab":
                os.link(self.waiting / name / file.name, self.place / name / file.name)
            self.left -= 1


def loaded(folder: Path, name: str, policy: str, seconds: float) -> list[QuerySample]:
    """The micro-batches after the warm-up of a run under load."""
    place = folder / name
    for stream in "ab":
        (place / stream).mkdir(parents=True)
    feed = Feed(folder / "waiting", place)
    feed.start()
    try:
        recorder = run(place, policy, None, RunOptions(duration_s=seconds, checkpoint=place / "checkpoint"))
    finally:
        feed.stopping.set()
        feed.join()
    if not feed.left:
        raise SystemExit(f"{name}: files ran out before the end")
    samples = recorder.samples["q"]
    return [s for s in samples if s.rows_in and s.ended > samples[0].ended + WARM_UP_S]


def pairs_per_s(samples: list[QuerySample]) -> float:
    """From the end of the first micro-batch to that of the last."""
    return sum(s.rows_out for s in samples[1:]) / (samples[-1].ended - samples[0].ended)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--goal", type=float, default=6.0)
    parser.add_argument("--rate", type=float, help="rows per second of each stream; else it is found")
    args = parser.parse_args()
    rate = args.rate or overloading()
    print(f"offered {rate:,.0f} rows/s of each stream, goal {args.goal:g} s\n", flush=True)
    print(f"{'':12}{'pairs/s':>12}{'age 95 %':>10}{'rows/s kept':>14}", flush=True)
    found: dict[str, tuple[float, float]] = {}
    with TemporaryDirectory() as scratch:
        write(Path(scratch) / "waiting", rate, round(args.seconds) + SPARE_S, 1)
        for method in ("JOIN", "RANDOM"):
            policy = f"QOS LATENCY {round(1000 * args.goal)} MILLISECONDS SHED {method}"
            samples = loaded(Path(scratch), method.lower(), policy, args.seconds)
            found[method] = pairs_per_s(samples), ages(samples, samples[-1].ended, 2 * rate).percentile(0.95)
            kept = sum(s.kept for s in samples[1:]) / (samples[-1].ended - samples[0].ended)
            print(f"{method:12}{found[method][0]:12,.0f}{found[method][1]:9.2f}s{kept:14,.0f}", flush=True)
    gain = found["JOIN"][0] / found["RANDOM"][0]
    print(f"\nSHED JOIN gives {gain:.2f} times the pairs of SHED RANDOM")
    return 0 if gain >= WANTED and found["JOIN"][1] <= args.goal else 1


if __name__ == "__main__":
    sys.exit(main())
