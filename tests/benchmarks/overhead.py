"""What the machinery of shedding costs where nothing is shed, against the same query without its clauses.

Both read the same Parquet files of NEXMark bids, a file per micro-batch, with ``streamq run``'s own loop. The query
with a goal keeps all rows (``COMPLETENESS >= 1``); its shedder hashes each row, compares, and counts, and each
micro-batch asks the control relation.

Run from the root of the repository::

    python -m tests.benchmarks.overhead [--rows 3000000] [--files 12] [--repeat 5]

Ends with 1 where the stateful query loses more than 5 % of its throughput, or 50 ms per micro-batch.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.spark.session import create_session
from tests.benchmarks.bids import DDL, write_bids
from tests.benchmarks.measure import Race, Sample, completed, jvm_cpu_seconds, print_races

MOST_MS = 50.0
GOAL = "QOS LATENCY 10 MINUTES COMPLETENESS >= 1"
QUERIES = {
    "stateful, q5": "SELECT auction, COUNT(*) AS n, WINDOW_END AS until FROM bid [RANGE 10 SECONDS SLIDE 2 SECONDS] "
                    "GROUP BY auction",
    "stateless, q1": "SELECT auction, bidder, price * 0.908 AS euro, dateTime FROM bid",
}  # fmt: skip
LADDER = {
    "no clause": "", "fixed share of 0 %": "SHED RANDOM BY 0 PERCENT", "goal": GOAL,
    "goal, estimated": f"{GOAL} RECOVER ESTIMATE",
}


def run(spark: SparkSession, folder: Path, query: str, policy: str) -> Sample:
    """All files once. The wall time is that of the micro-batches, without the start of the query."""
    text = f"""
        CREATE STREAM bid ({DDL}, WATERMARK FOR dateTime AS dateTime - INTERVAL 4 SECONDS)
        WITH (connector = 'file', format = 'parquet', path = 'bids', max_files_per_trigger = 1);
        CREATE SINK nowhere WITH (connector = 'noop');
        CREATE QUERY q INTO nowhere AS {query} {policy};
    """
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    with TemporaryDirectory() as checkpoint:
        cpu = jvm_cpu_seconds(spark)
        report = run_plan(plan, RunOptions(once=True, checkpoint=Path(checkpoint)), session=spark)
        completed(report)
        (totals,) = report.totals
        assert totals.shed == 0
        return Sample(totals.busy_ms / 1000, jvm_cpu_seconds(spark) - cpu)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    spark = create_session({"spark.master": "local[2]"}, app="streamq-benchmark")
    good = True
    with TemporaryDirectory(prefix="streamq-benchmark-") as scratch:
        folder = Path(scratch)
        written = write_bids(folder / "bids", args.rows, args.files)
        for name, query in QUERIES.items():
            samples: dict[str, list[Sample]] = {way: [] for way in LADDER}
            for turn in range(args.repeat + 1):
                ways = list(LADDER) if turn % 2 == 0 else list(reversed(LADDER))
                for way in ways:
                    found = run(spark, folder, query, LADDER[way])
                    if turn:
                        samples[way].append(found)
            plain = tuple(samples["no clause"])
            print(f"\n{name}")
            races = [
                Race(way, written, tuple(found), plain) for way, found in samples.items() if way != "no clause"
            ]
            print_races(races, "no clause", wanted=0.0)
            least = min(s.wall for s in plain)
            for race in races:
                more = (min(s.wall for s in race.ours) - least) * 1000 / args.files
                print(f"{race.name:28}{more:+10.1f} ms per micro-batch")
                if name.startswith("stateful") and race.name == "goal":
                    good = good and race.ratio >= 0.95 and more <= MOST_MS
    spark.stop()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
