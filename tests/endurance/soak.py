"""A program at 1.5 times what it can take, for long: memory, state and the age of results over time.

Two queries with a goal read a stream: windows that Spark aggregates, and counts that move at every instant, by an
operator of StreamQ's own in Python workers. They shed fair, as they share a machine. How many rows are 1.5 times what the
program can take is found first: so many that it keeps two in three of them. Rows that are shed have been read all the same, so
at a higher rate less can be kept, and what is kept then is not what the program can take.

Held against what was promised:

- it was too much all the time: rows were shed in each tenth of it;
- ages: 95 in 100 rows have results within the goal, after the first minute;
- memory of the driver and of Python workers, and what is in use in the JVMs of the driver and of executors: flat within noise, after the
  first fifth of the time, in which the JVM compiles and its heap is touched. More is kept at some times than at others, so
  growth is that at equal load;
- state: never more rows than there are groups in all windows that can be open, counted in the generator's own stream, and no growth
  of them at equal load by more than a tenth;
- the checkpoint: as many files and bytes at the end as after the first fifth;
- arrived = kept + shed + malformed.

Run from the root of the repository::

    python -m tests.endurance.soak [--minutes 40] [--factor 1.5] [--goal 8] [--workers 2] [--picture soak.html]

``--workers``: on a standalone cluster of so many workers, each of one core; in the process of the driver without.

Ends with 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.page import document
from streamq.stdlib.nexmark import BID, GROUP, NexmarkConfig, columns, event_times
from tests.endurance.memory import MIB, Trend, held, live, logged, trend
from tests.support.cluster import Cluster

RANGE_S, SLIDE_S, DELAY_S = 10, 2, 4
GUESS, MORE, NEAR, TURNS = 40_000.0, 2.0, 0.15, 8
"""Bids per second that are offered first; so many times more, or less, until too many and too few are known. How near the
part that is kept has to be, and how many rates are tried at most.
"""
CALIBRATION_S, SETTLED_S = 240.0, 120.0
"""How long the runs take that find out what the program can take, and from when on they count: the JVM compiles before."""
LOOK_S, LIVE_EVERY = 5.0, 18
"""Seconds between two looks; at one of so many it is seen what of the JVMs' memory is in use."""
LOAD_S = 60.0
"""What was kept in so long counts as the load of a moment: memory follows it by that."""
GROWN = 0.1
"""Part by which the rows of state may grow over the time at equal load: how many there are follows what is kept."""
STYLES = ("a", "b", "c", "goal", "d")
"""Of the lines of a picture."""

PROGRAM = """
CREATE STREAM bid (auction BIGINT, price BIGINT, channel STRING, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL {delay} SECONDS) WITH (connector = 'nexmark', table = 'bid', rate = {rate});
CREATE SINK none WITH (connector = 'noop');
CREATE SINK nothing WITH (connector = 'noop');
CREATE QUERY windows INTO none AS
  SELECT auction, COUNT(*) AS bids, MAX(price) AS most, WINDOW_END AS until
  FROM bid [RANGE {range} SECONDS SLIDE {slide} SECONDS] GROUP BY auction
  QOS LATENCY {goal} SECONDS SHED FAIR;
CREATE QUERY moving INTO nothing AS
  SELECT channel, COUNT(*) AS bids FROM bid [RANGE {range} SECONDS]
  WHERE channel IN ('Apple', 'Baidu', 'Facebook', 'Google') GROUP BY channel
  QOS LATENCY {goal} SECONDS SHED FAIR;
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen from outside: seconds since the start, bytes by kind of process, bytes and files of the checkpoint; ``live``:
    bytes that are in use in JVMs, at times.
    """

    seconds: float
    memory: dict[str, int]
    stored: int
    files: int
    live: dict[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The report of a run (``runtime/report/record.py``), and what was seen meanwhile."""

    report: dict[str, Any]
    seen: list[Seen]

    def kept_per_s(self, after_s: float) -> float:
        """Rows kept per second by the query that keeps least, from then on."""
        rates = []
        for query in self.report["queries"]:
            points = [p for p in query["batches"] if p["seconds"] >= after_s]
            if len(points) < 2:
                return 0.0
            taken = sum(p["kept_per_s"] * (p["seconds"] - q["seconds"]) for q, p in pairwise(points))
            rates.append(taken / (points[-1]["seconds"] - points[0]["seconds"]))
        return min(rates)

    def load(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Rows that all queries kept per second, in the ``LOAD_S`` before each of these."""
        found = np.zeros_like(seconds)
        for query in self.report["queries"]:
            at = np.array([0.0, *(p["seconds"] for p in query["batches"])])
            rows = np.cumsum([0.0, *(p["rows_in"] * p["keep"] for p in query["batches"])])
            found += (np.interp(seconds, at, rows) - np.interp(seconds - LOAD_S, at, rows)) / LOAD_S
        return found


def run(folder: Path, bids_per_s: float, seconds: float, goal: float, more: list[str], watched: list[int], collections: Path) -> Outcome:
    """``watched``: processes beside the run whose memory counts, workers of a cluster for instance; ``collections``: where JVMs log them."""
    folder.mkdir()
    rate = round(bids_per_s * GROUP / BID.share)
    text = PROGRAM.format(rate=rate, goal=goal, range=RANGE_S, slide=SLIDE_S, delay=DELAY_S)
    (folder / "soak.cql").write_text(text)
    argv = [
        sys.executable, "-m", "streamq", "run", "soak.cql", "--for", f"{seconds:g}s", "--checkpoint", "state",
        "--report", "report.json", "--quiet", "--log-file", "spark.log", *more,
    ]
    began, seen = time.monotonic(), []
    with (folder / "output.log").open("wb") as log, ExitStack() as stack:
        process = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log)
        stack.callback(process.terminate)
        while True:
            try:
                code = process.wait(LOOK_S)
                break
            except subprocess.TimeoutExpired:
                pass
            sizes = sizes_below(folder / "state")
            roots = [process.pid, *watched]
            reachable = live(roots, collections) if len(seen) % LIVE_EVERY == LIVE_EVERY - 1 else {}
            seen.append(Seen(time.monotonic() - began, held(roots), sum(sizes), len(sizes), reachable))
            if len(seen) % 12 == 0:
                now = ", ".join(f"{name} {size / MIB:.0f} MiB" for name, size in sorted(seen[-1].memory.items()))
                print(f"  {seen[-1].seconds:5.0f} s: {now}; checkpoint {seen[-1].stored / MIB:.1f} MiB in {seen[-1].files} files", flush=True)
    if code:
        raise SystemExit(f"the run ended with {code}:\n{(folder / 'output.log').read_text()[-2000:]}")
    return Outcome(json.loads((folder / "report.json").read_text()), seen)


def too_many(kept_of: Callable[[float], float], factor: float) -> float:
    """Rows per second of which one in ``factor`` is kept, or as near to that as was found. ``kept_of``: of a rate, by trying."""
    few, many, offer = 0.0, math.inf, GUESS
    for _ in range(TURNS):
        times = factor * kept_of(offer) / offer
        if abs(times - 1) <= NEAR:
            break
        few, many = (offer, many) if times > 1 else (few, offer)
        offer = offer * MORE if many == math.inf else offer / MORE if few == 0 else math.sqrt(few * many)
    return offer


def sizes_below(folder: Path) -> list[int]:
    found = []
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                found.append(path.stat().st_size)
        except OSError:
            continue
    return found


def most_groups(bids_per_s: float, goal: float) -> int:
    """Groups of all windows that can be open at once: those of the stream's own last seconds, at the rate that is offered.

    A window is open from its first row until the watermark passes its end; a micro-batch that takes as long as the goal
    comes before that.
    """
    rate = bids_per_s * GROUP / BID.share
    config = NexmarkConfig(rate=round(rate))
    span = RANGE_S + SLIDE_S + DELAY_S + 2 * goal
    stop = round(rate * 600)
    numbers = BID.numbers(stop - round(rate * span), stop)
    auction = np.asarray(columns(config, BID, numbers, ["auction"])["auction"])
    slide = event_times(config, numbers) // (SLIDE_S * 1_000_000)
    # A row of slide k is in the windows that begin at k, k - 1, …; a window has its groups from all of its slides.
    pairs = np.concatenate([np.stack([slide - back, auction]) for back in range(RANGE_S // SLIDE_S)], axis=1)
    return int(np.unique(pairs, axis=1).shape[1])


def judged(outcome: Outcome, bids_per_s: float, goal: float) -> bool:
    """Prints what came of it; True where all of it holds."""
    good = True

    def say(holds: bool, text: str) -> None:
        nonlocal good
        good = good and holds
        print(f"{'yes' if holds else 'NO ':3}  {text}")

    shed: list[list[bool]] = []
    for query in outcome.report["queries"]:
        name, totals = query["name"], query["totals"]
        points = [p for p in query["batches"] if p["seconds"] >= 60]
        order = sorted((p["age_ms"], p["rows_in"]) for p in points)
        whole = sum(rows for _, rows in order)
        def age(share: float, order: list[tuple[int, int]] = order, whole: int = whole) -> float:
            found = 0
            for ms, rows in order:
                found += rows
                if found >= share * whole:
                    return ms / 1000
            return float("nan")

        say(age(0.95) <= goal, f"{name}: results of half the rows within {age(0.5):.2f} s, of 95 % {age(0.95):.2f} s, of all {age(1.0):.2f} s; goal {goal:g} s")
        share = totals["kept"] / max(1, totals["kept"] + totals["shed"])
        say(totals["rows_in"] == totals["kept"] + totals["shed"] + totals["malformed"],
            f"{name}: arrived {totals['rows_in']:,} = kept {totals['kept']:,} ({share:.1%}) + shed {totals['shed']:,} + malformed {totals['malformed']:,}")
        tenths = np.array_split(np.array([p["keep"] for p in points]), 10)
        shed.append([bool(part.size) and part.min() < 1 for part in tenths])
        print(f"     {name}: kept shares of ten parts of the time, {', '.join(f'{part.mean():.2f}' for part in tenths if part.size)}")
        states = np.array([p["state_rows"] for p in points])
        if name == "windows":
            bound = most_groups(bids_per_s, goal)
            say(bool(states.max() <= bound), f"{name}: at most {states.max():,} rows of state, bound {bound:,}")
        held_at = np.array([p["seconds"] for p in points])
        grown = trend(held_at, states.astype(float), outcome.load(held_at))
        say(grown.growth <= GROWN * grown.size + 8,
            f"{name}: {grown.size:,.0f} rows of state, {grown.growth:+,.0f} over the time at equal load ({grown.low:+,.0f} to {grown.high:+,.0f})")
        half = len(states) // 2
        print(f"     {name}: medians of the first and the second half, {np.median(states[:half]):,.0f} and {np.median(states[half:]):,.0f} rows of state")
    say(all(map(any, zip(*shed, strict=True))), "rows were shed in each tenth of the time: it was too much all along")
    end = outcome.seen[-1].seconds
    later = [s for s in outcome.seen if s.seconds >= end / 5]
    seconds = np.array([s.seconds for s in later])
    load = outcome.load(seconds)
    print(f"     rows kept per second, from {load.min():,.0f} to {load.max():,.0f}: trends are at equal load")
    for name in sorted({k for s in later for k in s.memory}):
        found: Trend = trend(seconds, np.array([float(s.memory.get(name, 0)) for s in later]), load)
        asked = [s for s in later if name in s.live]
        if asked:
            then = np.array([s.seconds for s in asked])
            inside = trend(then, np.array([float(s.live[name]) for s in asked]), outcome.load(then))
            say(inside.flat, f"in use in {name:9}  {inside}")
            print(f"     memory of {name:9} {found}")
        else:
            say(found.flat, f"memory of {name:9} {found}")
    stored = trend(seconds, np.array([float(s.stored) for s in later]), load)
    files = np.array([s.files for s in later])
    say(stored.flat, f"checkpoint          {stored}")
    half = len(files) // 2
    say(bool(np.median(files[half:]) <= 1.1 * np.median(files[:half])), f"files of the checkpoint: {np.median(files[:half]):.0f}, then {np.median(files[half:]):.0f}")
    return good


def draw(outcome: Outcome, path: Path) -> None:
    lines = [
        Line(name, style, tuple((s.seconds / 60, s.memory.get(name, 0) / MIB) for s in outcome.seen))
        for name, style in zip(sorted({k for s in outcome.seen for k in s.memory}), STYLES, strict=False)
    ]
    ages = [Line(q["name"], style, tuple((p["seconds"] / 60, p["age_ms"] / 1000) for p in q["batches"]))
            for q, style in zip(outcome.report["queries"], STYLES, strict=False)]
    path.write_text(document("A long run", chart("Memory over minutes", "MiB", lines) + chart("Age of results over minutes", "s", ages)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=40.0)
    parser.add_argument("--factor", type=float, default=1.5)
    parser.add_argument("--goal", type=float, default=8.0)
    parser.add_argument("--offer", type=float, help="bids per second, in place of what is found out")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))  # Leaves its servers through the stack.
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="streamq-soak-", ignore_cleanup_errors=True)))
        more: list[str] = []
        watched: list[int] = []
        collections = folder / "collections"
        os.environ.update(logged(collections))  # All that is started from here on.
        if args.workers:
            cluster = stack.enter_context(Cluster(folder / "cluster", args.workers))
            more = ["--master", cluster.master, "--set", "spark.executor.memory=700m"]
            watched = [worker.pid for worker in cluster.running]
        turn = count()

        def kept_of(offer: float) -> float:
            kept = run(folder / f"able-{next(turn)}", offer, CALIBRATION_S, args.goal, more, watched, collections).kept_per_s(SETTLED_S)
            print(f"of {offer:,.0f} bids/s the program keeps {kept:,.0f}", flush=True)
            return kept

        offered = too_many(kept_of, args.factor) if args.offer is None else args.offer
        print(f"{offered:,.0f} are offered for {args.minutes:g} minutes", flush=True)
        outcome = run(folder / "long", offered, 60 * args.minutes, args.goal, more, watched, collections)
        if args.picture is not None:
            draw(outcome, args.picture)
        return 0 if judged(outcome, offered, args.goal) else 1


if __name__ == "__main__":
    sys.exit(main())
