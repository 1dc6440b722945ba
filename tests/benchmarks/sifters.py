"""Twenty queries on one stream, of which a third fits: SHED SIFTER against SHED RANDOM, as many rows kept.

Rows and queries are those of a hot-spot workload (``stdlib/sifters/workload.py``); a third of the rows is kept, as a load of
three times the capacity would have it, whatever this machine can do. The quality
of a query is what it loses, by its weight, with the share of its rows that it does not get (V of the paper). That is
counted in what Spark puts out, against all rows of the files; and it is worked out in advance, by the same code on the
same rows without Spark. Judged are the micro-batches after the first ten.

With ``--moving`` the hot spots of rows move in the middle of the run, and the picture shows the quality over time.

Run from the root of the repository::

    python -m tests.benchmarks.sifters [--files 70] [--rows 25000] [--moving] [--picture sifters.html]

Ends with 1 where the gain over RANDOM is below nine tenths of what was worked out, or where the quality after a move is
not within 5 % of a new sifter's after three adaptation periods. Such a period is as many micro-batches as a sample takes.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.dsl.records import replace
from streamq.runtime.metrics import QuerySample
from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.page import document
from streamq.runtime.report.record import Recorder
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.stdlib.overload.ranks import SAMPLE_ROWS
from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.compact import Compact, built
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.workload import Settings, Workload, workload
from tests.benchmarks.hot_spots import wishes
from tests.benchmarks.measure import completed

QUERIES, REGIONS, KEEP = 20, 64, 1 / 3
SETTINGS = Settings(count=QUERIES, side=(0.05, 0.1))
WARM_UP = 10
OPTIONS = f"REGIONS {REGIONS} SAMPLE 5 PERCENT"
START = 1_704_067_200_000_000
WANTED = 0.9
PERIODS = 3
PERIOD = math.ceil(62.5 * REGIONS / SAMPLE_ROWS)
"""Micro-batches of an adaptation period."""


def write(folder: Path, batches: list[Floats]) -> None:
    folder.mkdir()
    first = 0
    for number, rows in enumerate(batches):
        n = np.arange(first, first + len(rows))
        first += len(rows)
        table = pa.table({
            "n": n, "x": rows[:, 0], "y": rows[:, 1], "ts": pa.array(START + n * 1000, pa.timestamp("us", tz="UTC")),
        })
        pq.write_table(table, folder / f"{number:04}.parquet")


def program(given: Workload, policy: str, at_once: int | None = 1, before: str = "") -> str:
    """All queries with the clauses of ``policy``.

    ``at_once``: files of a micro-batch, None for all; ``before``: a condition that each row is put to first, with its AND.
    """
    tuned = "" if at_once is None else f", max_files_per_trigger = {at_once}"
    text = f"""
        CREATE STREAM s (n BIGINT, x DOUBLE, y DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts)
        WITH (connector = 'file', format = 'parquet', path = 'in'{tuned});
        CREATE SINK nowhere WITH (connector = 'noop');
    """
    q = given.queries
    for i in range(QUERIES):
        (x0, y0), (x1, y1) = q.lo[i].tolist(), q.hi[i].tolist()
        box = f"x >= {x0!r} AND x < {x1!r} AND y >= {y0!r} AND y < {y1!r}"
        text += f"CREATE QUERY q{i} INTO nowhere AS SELECT n FROM s WHERE {before}{box} {policy};\n"
    return text


def fixed(method: str) -> str:
    """The clauses of a fixed share."""
    qos = "QOS WEIGHT 1 FAIRNESS 0.5 " if method.startswith("SIFTER") else ""
    return f"{qos}SHED {method} BY {100 * (1 - KEEP)!r} PERCENT"


def counts(given: Workload, rows: Floats) -> Floats:
    """How many of the rows each query wants."""
    q = given.queries
    return np.array([np.all((rows >= q.lo[i]) & (rows < q.hi[i]), axis=1).sum() for i in range(QUERIES)], dtype=np.float64)


def quality(given: Workload, got: Floats, wanted: Floats) -> float:
    """V of all queries together; slopes of the workload stand for their weights."""
    share = np.divide(got, wanted, out=np.ones(QUERIES), where=wanted > 0)
    value = given.queries.slope / given.queries.slope.sum()
    return float(value @ share)


def measured(folder: Path, given: Workload, method: str) -> dict[str, list[QuerySample]]:
    recorder = Recorder()
    plan = compile_program(program(given, fixed(method)), CompileOptions(base_dir=str(folder))).require()
    with TemporaryDirectory() as checkpoint:
        report = run_plan(plan, RunOptions(once=True, checkpoint=Path(checkpoint)), recorder)
    completed(report)
    return recorder.samples


def by_batch(samples: dict[str, list[QuerySample]], batches: int) -> tuple[Floats, Floats]:
    """Rows put out by micro-batch and query, and the share of the source's rows that was kept by micro-batch."""
    out, kept = np.zeros((batches, QUERIES)), defaultdict(list)
    for name, of in samples.items():
        for sample in of:
            if sample.rows_in:
                out[sample.batch, int(name[1:])] += sample.rows_out
                kept[sample.batch].append(sample.kept / sample.rows_in)
    return out, np.array([np.mean(kept[batch]) for batch in range(batches)])


def sifter_for(given: Workload, rows: Floats, regions: int = REGIONS) -> Compact:
    """What is built from a sample of these rows."""
    sample = rows[: round(62.5 * regions)]
    return built(Plan(regions=regions, fairness=0.5), [sample[:, 0], sample[:, 1]], wishes(given.queries), 0)


def simulated(given: Workload, made: Compact, rows: Floats, keep: float = KEEP) -> tuple[float, float]:
    """The quality by a sifter, and the share of rows that it keeps."""
    drop = made.drop(keep)[made.find([rows[:, 0], rows[:, 1]])]
    q = given.queries
    got = np.array([(1 - drop[np.all((rows >= q.lo[i]) & (rows < q.hi[i]), axis=1)]).sum() for i in range(QUERIES)])
    return quality(given, got, counts(given, rows)), float(1 - drop.mean())


def compared(args: argparse.Namespace) -> bool:
    """The gain on Spark against what was worked out."""
    given = workload(SETTINGS, np.random.default_rng(args.seed))
    batches = [given.rows(args.rows) for _ in range(args.files)]
    judged = np.concatenate(batches[WARM_UP:])
    found: dict[str, tuple[float, float]] = {}
    with TemporaryDirectory() as scratch:
        write(Path(scratch) / "in", batches)
        for method in ("RANDOM", f"SIFTER ON (x, y) {OPTIONS}"):
            out, kept = by_batch(measured(Path(scratch), given, method), args.files)
            v = quality(given, out[WARM_UP:].sum(axis=0), counts(given, judged))
            found[method[:6]] = (v, float(kept[WARM_UP:].mean()))
    worked, keeps = simulated(given, sifter_for(given, given.rows(10_000)), judged)
    print(f"{'':22}{'quality':>9}{'kept':>8}{'gain at equal load':>20}")
    gains = {}
    for name, (v, kept) in (*found.items(), ("worked out", (worked, keeps))):
        gains[name] = v / kept - 1  # as many rows dropped at random would leave just the share that is kept
        print(f"{name:22}{v:9.3f}{kept:8.3f}{100 * gains[name]:19.1f}%")
    return gains["SIFTER"] >= WANTED * gains["worked out"]


def moved(args: argparse.Namespace) -> bool:
    """Rows of another workload from the middle on, for the same queries."""
    given, other = (workload(replace(SETTINGS), np.random.default_rng(args.seed + i)) for i in range(2))
    half = args.files // 2
    batches = [given.rows(args.rows) for _ in range(half)] + [other.rows(args.rows) for _ in range(args.files - half)]
    with TemporaryDirectory() as scratch:
        write(Path(scratch) / "in", batches)
        out, kept = by_batch(measured(Path(scratch), given, f"SIFTER ON (x, y) {OPTIONS}"), args.files)
    v = np.array([quality(given, out[b], counts(given, rows)) for b, rows in enumerate(batches)])
    best = [simulated(given, sifter_for(given, rows), rows, kept[b])[0] for b, rows in enumerate(batches)]
    old = sifter_for(given, np.concatenate(batches[half - 2 : half]))
    stale = [simulated(given, old, rows, kept[b])[0] for b, rows in enumerate(batches)]
    print(f"{'micro-batch':>12}{'quality':>9}{'new sifter':>12}{'old sifter':>12}{'kept':>8}")
    for b in range(half - 3, args.files):
        print(f"{b:12}{v[b]:9.3f}{best[b]:12.3f}{stale[b]:12.3f}{kept[b]:8.3f}")
    since = half + PERIODS * PERIOD
    holds = bool(np.mean(v[since:]) >= 0.95 * np.mean(best[since:])) and since < args.files
    if args.picture is not None:
        lines = [
            Line(name, style, tuple((float(b), float(y)) for b, y in enumerate(of)))
            for name, style, of in (("quality", "a", v), ("of a new sifter", "b", best), ("of the old one", "c", stale))
        ]
        charts = chart("Quality by micro-batch; the hot spots move in the middle", "", lines)
        args.picture.write_text(document("Sifters", f'<div class="charts">{charts}</div>'), encoding="utf-8")
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=70)
    parser.add_argument("--rows", type=int, default=25_000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--moving", action="store_true")
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    return 0 if (moved if args.moving else compared)(args) else 1


if __name__ == "__main__":
    sys.exit(main())
