"""Twelve queries under three times the load that their machine can take: SHED FAIR against SHED RANDOM.

What it can take is found first, by a run in which nothing is shed: the rows of all queries in a second in which any of
them has a micro-batch. All code is compiled after it.

The coverage (SCR) of a query in a source time window of thirty seconds is the share of the rows of its source in that
time that was kept. Printed are the means over the windows after the first 120 seconds: of the mean over the queries,
of Jain's index, and of the spread (standard deviation over the queries). Two mean coverages are equal where they differ
by less than two standard errors, from how windows differ.

Queries that share a machine and know nothing of each other, as those of RANDOM, are late, and who is late keeps more rows:
each of its micro-batches has more of them, and costs the same in all that does not depend on them. So the first run of
RANDOM only finds out how late it is. It then has a goal that is shorter by as much, to be compared at equal ages.

A micro-batch of each query takes a fixed time, whatever it keeps, and twelve of them share the machine: the goal is
long, so that most of the time goes into rows. A row costs about as much in each query. Where it does not, one and the
same coverage for all costs more than as much as each can get, and FAIR has the lower mean.

Run from the root of the repository::

    python -m tests.benchmarks.fair [--seconds 300] [--goal 30] [--capacity 12000]

Ends with 1 where FAIR has a lower mean coverage than RANDOM, a Jain's index below 0.97, or more than half of its spread;
and where either keeps less than a tenth or more than nine tenths, which would show nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from streamq.compiler.driver import compile_program
from streamq.runtime.metrics import QuerySample, RunReport
from streamq.runtime.report.record import Recorder
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.stdlib.fairness.measures import Spread, spread
from tests.benchmarks.loads import steady
from tests.benchmarks.measure import completed

WINDOW_S, WARM_UP_S = 30.0, 120.0
PILOT, PILOT_S, JUDGED_S = 10_000, 160.0, 60.0
"""Bids in a second of the run that finds the capacity, its length, and the time at its end that tells."""

LOAD = 3.0
"""Times the capacity."""

PACE = 0.4
"""The time between micro-batches of a query, as a part of its goal: a cheap one that began another at once would take
from the others what each of its micro-batches costs, whatever it keeps.
"""

LEAST_WINDOWS = 4
TELLING = (0.1, 0.9)
"""Of a mean coverage beyond these nothing can be said."""

STREAM = """
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS) WITH (connector = 'nexmark', table = 'bid', {load});
CREATE VIEW scored AS SELECT auction % 100 AS section, price, ASCII({score}) AS score, ts FROM bid;
CREATE SINK none WITH (connector = 'noop');
"""
SCORE = "CONCAT(url, CAST(price AS STRING))"
for _ in range(16):
    SCORE = f"SHA2({SCORE}, 512)"
KINDS = {
    "average": "SELECT AVG(score) AS m, WINDOW_END AS until FROM scored [TUMBLE {} SECONDS]",
    "count": "SELECT COUNT(*) AS n, WINDOW_END AS until FROM scored [TUMBLE {} SECONDS] WHERE score > 60",
    "top_5": "SELECT section, SUM(score) AS n, WINDOW_END AS until FROM scored [TUMBLE {} SECONDS] "
             "GROUP BY section ORDER BY n DESC LIMIT 5",
    "covariance": "SELECT COVAR_SAMP(price, score) AS c, WINDOW_END AS until FROM scored [TUMBLE {} SECONDS]",
}
QUERIES = {f"{name}_{seconds}": text.format(seconds) for name, text in KINDS.items() for seconds in (2, 4, 8)}
"""The mix of the thesis (AVG, COUNT, TOP-5, COV), each over three windows, of a score that is worked out for each row."""


def program(policy: str, bids_per_s: float) -> str:
    """All queries with the clauses of ``policy``."""
    queries = [f"CREATE QUERY {name} INTO none AS {text} {policy};" for name, text in QUERIES.items()]
    return STREAM.format(load=steady(bids_per_s), score=SCORE) + "\n".join(queries)


def recorded(text: str, seconds: float, trigger_ms: int | None) -> tuple[Recorder, RunReport]:
    """A run of a program of so many seconds."""
    recorder = Recorder()
    with TemporaryDirectory() as folder:
        options = RunOptions(duration_s=seconds, checkpoint=Path(folder), trigger_ms=trigger_ms)
        report = run_plan(compile_program(text).require(), options, recorder)
    completed(report)
    return recorder, report


def capacity(text: str, queries: int, goal_ms: int) -> float:
    """Bids in a second that all queries can take together, in the time in which any of them has a micro-batch.

    ``text``: so many queries that shed nothing, with ``PILOT`` bids in a second.
    """
    recorder, _ = recorded(text, PILOT_S, round(PACE * goal_ms))
    samples = [s for of in recorder.samples.values() for s in of]
    return taken_per_s(samples, max(s.ended for s in samples) - JUDGED_S) / queries


def taken_per_s(samples: list[QuerySample], since: float) -> float:
    """Rows of all queries in a second in which any of them had a micro-batch; of those that began ``since`` then."""
    judged = sorted((s for s in samples if _began(s) > since), key=_began)
    busy, until = 0.0, 0.0
    for sample in judged:
        busy += max(0.0, sample.ended - max(until, _began(sample)))
        until = max(until, sample.ended)
    return sum(s.rows_in for s in judged) / busy


def _began(sample: QuerySample) -> float:
    return sample.ended - sample.batch_ms / 1000


def coverages(samples: dict[str, list[QuerySample]]) -> np.ndarray:
    """By window and query; windows in which some query had no micro-batch are left out."""
    began = min(of[0].ended for of in samples.values())
    rows: dict[int, dict[str, tuple[int, int]]] = defaultdict(dict)
    for name, of in samples.items():
        for sample in of:
            window = int((sample.ended - began - WARM_UP_S) // WINDOW_S)
            if window >= 0:
                arrived, kept = rows[window].get(name, (0, 0))
                rows[window][name] = (arrived + sample.rows_in, kept + sample.kept)
    whole = [of for _, of in sorted(rows.items()) if len(of) == len(QUERIES)][:-1]
    return np.array([[kept / arrived for arrived, kept in (of[name] for name in QUERIES)] for of in whole])


def measured(method: str, bids_per_s: float, goal_ms: int, seconds: float) -> tuple[list[Spread], np.ndarray, float]:
    """The spread of each window, the coverage of each query over all of them, and the worst 95 % age in seconds."""
    text = program(f"QOS LATENCY {goal_ms} MILLISECONDS SHED {method}", bids_per_s)
    recorder, report = recorded(text, seconds, round(PACE * goal_ms))
    found = coverages(recorder.samples)
    if len(found) < LEAST_WINDOWS:
        raise SystemExit(f"{method}: only {len(found)} windows in which each query had a micro-batch; give it more --seconds")
    ages = [q.age_ms(0.95, WARM_UP_S) or 0.0 for q in recorder.record("", report, {}).queries]
    return [spread(row) for row in found], found.mean(axis=0), max(ages) / 1000


def mean_of(spreads: list[Spread]) -> Spread:
    """The means over windows."""
    fields = ("mean", "deviation", "middle_half", "middle_90", "variation", "jain", "least", "range")
    return Spread(**{name: float(np.mean([getattr(s, name) for s in spreads])) for name in fields})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--goal", type=float, default=30.0)
    parser.add_argument("--capacity", type=float, help="bids per second; else it is measured")
    args = parser.parse_args()
    goal_ms = round(args.goal * 1000)
    found = args.capacity or capacity(program("", PILOT), len(QUERIES), goal_ms)
    print(f"capacity {found:,.0f} bids/s, load {LOAD * found:,.0f}\n", flush=True)
    spreads: dict[str, list[Spread]] = defaultdict(list)
    shares: dict[str, list[np.ndarray]] = defaultdict(list)
    print(f"{'':8}{'goal':>7}{'windows':>8}{'mean SCR':>10}{'Jain':>8}{'std':>8}{'IQR':>8}{'least':>8}{'age 95 %':>10}")
    goals = {"RANDOM": goal_ms, "FAIR": goal_ms}
    for number, method in enumerate(("RANDOM", "FAIR", "RANDOM", "FAIR", "RANDOM")):
        windows, share, age = measured(method, LOAD * found, goals[method], args.seconds)
        one = mean_of(windows)
        print(
            f"{method:8}{goals[method] / 1000:6.1f}s{len(windows):8}{one.mean:10.3f}{one.jain:8.3f}{one.deviation:8.3f}"
            f"{one.middle_half:8.3f}{one.least:8.3f}{age:9.2f}s{'' if number else '  not compared'}", flush=True,
        )
        if number == 0:
            goals["RANDOM"] = round(goal_ms * min(1.0, goal_ms / 1000 / age))
            continue
        spreads[method] += windows
        shares[method].append(share)
    means = {method: np.mean(of, axis=0) for method, of in shares.items()}
    print("\n" + f"{'':14}" + "".join(f"{m:>8}" for m in means))
    for place, name in enumerate(QUERIES):
        print(f"{name:14}" + "".join(f"{means[m][place]:8.3f}" for m in means))
    fair, random = mean_of(spreads["FAIR"]), mean_of(spreads["RANDOM"])
    error = float(np.sqrt(sum(np.var([s.mean for s in of], ddof=1) / len(of) for of in spreads.values())))
    print(f"\nmean SCR of FAIR less that of RANDOM: {fair.mean - random.mean:+.3f}, standard error {error:.3f}")
    least, most = TELLING
    good = least <= min(fair.mean, random.mean) and max(fair.mean, random.mean) <= most
    good = good and fair.mean >= random.mean - 2 * error and fair.jain >= 0.97 and fair.deviation <= random.deviation / 2
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
