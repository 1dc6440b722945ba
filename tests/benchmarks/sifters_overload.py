"""Twenty queries on one stream that comes at three times what the machine can take: SHED SIFTER for an age of results.

Rows and queries are those of a hot-spot workload (``stdlib/sifters/workload.py``). A file of rows comes each second. Each
query works out a dear score of each row that it is shown before it looks whether it wants it, so that rows cost the same
whichever are kept. What the machine can take is found first, by a run over waiting files in which nothing is shed.

The sifter's run keeps what its goal allows. SHED RANDOM then gets the same load, and keeps the same share of it. The quality
of all answers (V of the paper) is what Spark puts out against what the queries want of the rows that came to them. Both
are also worked out, by the same code on the same rows without Spark.

Run from the root of the repository::

    python -m tests.benchmarks.sifters_overload [--seconds 360] [--goal 30] [--capacity 6000]

Ends with 1 where the gain over RANDOM is below nine tenths of what was worked out, or results are older than the goal.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.record import Recorder, RunRecord
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.workload import Workload, workload
from tests.benchmarks.fair import LOAD, PACE, taken_per_s
from tests.benchmarks.measure import completed
from tests.benchmarks.sifters import (
    QUERIES,
    SETTINGS,
    WANTED,
    counts,
    program,
    quality,
    sifter_for,
    simulated,
    write,
)

REGIONS, PILOT_FILES, PILOT_ROWS = 32, 16, 20_000
WARM_UP_S = 150.0
"""Until the sifter is built of a full sample."""

SPARE_S = 240
"""A run is counted from the end of its first micro-batches, and files come before."""

SCORE = "CONCAT(CAST(n AS STRING), CAST(x AS STRING))"
for _ in range(16):
    SCORE = f"SHA2({SCORE}, 512)"
SCORED = f"ASCII({SCORE}) > 0 AND "


def run(folder: Path, text: str, options: RunOptions) -> tuple[Recorder, RunRecord]:
    recorder = Recorder()
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, options, recorder)
    completed(report)
    return recorder, recorder.record("", report, {})


def capacity(given: Workload) -> float:
    """Rows in a second, of files that wait."""
    with TemporaryDirectory() as scratch:
        write(Path(scratch) / "in", [given.rows(PILOT_ROWS) for _ in range(PILOT_FILES)])
        recorder, _ = run(Path(scratch), program(given, "", 2, SCORED), RunOptions(once=True))
    samples = [s for of in recorder.samples.values() for s in of if s.rows_in]
    return taken_per_s(samples, max(s.ended for s in samples if s.batch == 0)) / QUERIES


class Feed(threading.Thread):
    """Moves one file after the other to where the stream looks for them, one a second."""

    def __init__(self, waiting: Path, place: Path) -> None:
        super().__init__(daemon=True)
        self.waiting, self.place, self.stopping = sorted(waiting.iterdir()), place, threading.Event()
        self.left = len(self.waiting)

    def run(self) -> None:
        began = time.monotonic()
        for number, file in enumerate(self.waiting):
            if self.stopping.wait(max(0.0, began + number - time.monotonic())):
                return
            os.link(file, self.place / file.name)
            self.left -= 1


def loaded(folder: Path, name: str, given: Workload, policy: str, goal_ms: int, seconds: float) -> tuple[Recorder, float]:
    """The run under load, and the largest 95 % age of a query in seconds."""
    place = folder / name / "in"
    place.mkdir(parents=True)
    feed = Feed(folder / "waiting", place)
    feed.start()
    options = RunOptions(duration_s=seconds, checkpoint=folder / name / "checkpoint", trigger_ms=round(PACE * goal_ms))
    try:
        recorder, record = run(place.parent, program(given, policy, None, SCORED), options)
    finally:
        feed.stopping.set()
        feed.join()
    if not feed.left:
        raise SystemExit(f"{name}: files ran out before the end")
    ages = [age for q in record.queries if (age := q.age_ms(0.95, WARM_UP_S)) is not None]
    if len(ages) < QUERIES:
        raise SystemExit(f"{name}: a query had no rows after {WARM_UP_S:g} s; give it more --seconds")
    return recorder, max(ages) / 1000


def achieved(given: Workload, rows: Floats, samples: dict[str, list[QuerySample]]) -> tuple[float, float]:
    """The quality of all answers after the warm-up, and the share of rows that was kept."""
    wants = counts(given, rows) / len(rows)
    out, arrived, kept = (np.zeros(QUERIES) for _ in range(3))
    for name, of in samples.items():
        i = int(name[1:])
        for sample in of:
            if sample.ended > of[0].ended + WARM_UP_S:
                out[i] += sample.rows_out
                arrived[i] += sample.rows_in
                kept[i] += sample.kept
    return quality(given, out, wants * arrived), float((kept / arrived).mean())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=360.0)
    parser.add_argument("--goal", type=float, default=30.0)
    parser.add_argument("--capacity", type=float, help="rows per second; else it is measured")
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args()
    given = workload(SETTINGS, np.random.default_rng(args.seed))
    goal_ms = round(args.goal * 1000)
    takes = args.capacity or capacity(given)
    offered = round(LOAD * takes)
    print(f"capacity {takes:,.0f} rows/s, offered {offered:,}, goal {args.goal:g} s\n", flush=True)
    batches = [given.rows(offered) for _ in range(round(args.seconds) + SPARE_S)]
    rows = np.concatenate(batches)
    with TemporaryDirectory() as scratch:
        write(Path(scratch) / "waiting", batches)
        sifter = f"QOS LATENCY {goal_ms} MILLISECONDS FAIRNESS 0.5 SHED SIFTER ON (x, y) REGIONS {REGIONS} SAMPLE 5 PERCENT"
        recorder, age = loaded(Path(scratch), "sifter", given, sifter, goal_ms, args.seconds)
        v, kept = achieved(given, rows, recorder.samples)
        percent = f"SHED RANDOM BY {100 * (1 - kept)!r} PERCENT"
        recorder, random_age = loaded(Path(scratch), "random", given, percent, goal_ms, args.seconds)
        random_v, random_kept = achieved(given, rows, recorder.samples)
    worked, worked_kept = simulated(given, sifter_for(given, given.rows(10_000), REGIONS), rows, kept)
    print(f"{'':12}{'quality':>9}{'kept':>8}{'gain at equal load':>20}{'age 95 %':>10}")
    print(f"{'RANDOM':12}{random_v:9.3f}{random_kept:8.3f}{100 * (random_v / random_kept - 1):19.1f}%{random_age:9.2f}s")
    print(f"{'SIFTER':12}{v:9.3f}{kept:8.3f}{100 * (v / kept - 1):19.1f}%{age:9.2f}s")
    print(f"{'worked out':12}{worked:9.3f}{worked_kept:8.3f}{100 * (worked / worked_kept - 1):19.1f}%")
    gain = (v / kept) / (random_v / random_kept) - 1
    return 0 if gain >= WANTED * (worked / worked_kept - 1) and age <= args.goal else 1


if __name__ == "__main__":
    sys.exit(main())
