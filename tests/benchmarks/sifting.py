"""What it costs Spark to look up the region of a row and to compare, against the cheapest filter there is.

That one compares the hash of a row with a number. All read the same rows in turn, so many times; the table has the
median over the turns, and the ratio of both within a turn.

Run from the root of the repository::

    python -m tests.benchmarks.sifting [--rows 20000000] [--repeat 15]

Ends with 1 where a sifter costs more than twice as much by the row, reading the rows included, or where 1,000 regions
cost more than 1.15 times what 16 do.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from streamq.compiler.ir.goals import Sift, control_view
from streamq.compiler.ir.physical import ControlRelation
from streamq.compiler.lowering import sifting
from streamq.runtime.control.sifting import axis_numbers, kept_of_cells
from streamq.runtime.spark.control_source import SCHEMA, control_row
from streamq.runtime.spark.session import create_session
from streamq.stdlib.sifters.axes import WordAxis
from streamq.stdlib.sifters.compact import Compact, Wish, built
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare
from streamq.stdlib.sifters.workload import Settings, workload
from tests.benchmarks.hot_spots import wishes

REGIONS = (16, 100, 1000)
SEED, WORDS = 7, 60
MOST_RATIO, FLAT = 2.0, 1.15
LOW = f"(xxhash64(`id`, 42) & {(1 << 20) - 1}L)"


def million(place: float) -> float:
    return float(10 ** (6 * place))


def made(regions: int, curved: bool) -> Compact:
    """A sifter over a hot-spot workload; with ``curved`` axes that are curved."""
    given = workload(Settings(), np.random.default_rng(SEED))
    rows = given.rows(max(1000, round(62.5 * regions)))
    columns = [10 ** (6 * rows[:, d]) if curved else rows[:, d] for d in range(2)]
    return built(Plan(regions=regions, fairness=0.5), columns, wishes(given.queries, 200, million if curved else float), 0)


def of_words() -> Compact:
    """A sifter of 100 regions over a number and a word."""
    random = np.random.default_rng(SEED)
    words = np.array([f"w{n}" for n in range(WORDS)], dtype=object)[random.integers(0, WORDS, 6250)]
    wanted = [Wish(Both((Compare(0, "<", 0.3), Compare(1, "=", f"w{n}")))) for n in range(WORDS // 2)]
    return built(Plan(regions=100, fairness=0.5), [random.random(6250), words], wanted, 0)


def sifted(spark: SparkSession, frame: DataFrame, name: str, sifter: Compact) -> DataFrame:
    """The rows that the sifter keeps, by the test that a plan has; it counts nothing and looks at no rows."""
    sift = Sift("s", ("x", "y"), tuple(isinstance(a, WordAxis) for a in sifter.axes))
    control = ControlRelation(control_view(name), name, ())
    row = control_row(0.5, 0.5) | {
        "axes": [axis_numbers(a) for a in sifter.axes], "cells": kept_of_cells(sifter, 0.5, 0.0)
    }
    spark.createDataFrame([row], SCHEMA).createOrReplaceTempView(control.view)
    read = "`__numbers`"
    numbered = frame.selectExpr("*", f"{sifting.numbers(sift, control)} AS {read}")
    placed = numbered.selectExpr("*", f"{sifting.cell(sift, read)} AS `{sifting.CELL}`")
    return placed.where(sifting.kept(read, LOW)).select("id", "x", "y")


def seconds(frame: DataFrame) -> float:
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=15)
    args = parser.parse_args()
    spark = create_session({})
    place = "pmod(id * {}L, 1048576L) / 1048576D"
    frame = spark.range(0, args.rows, 1, 2).selectExpr(
        "id", f"{place.format(648055)} AS x", f"{place.format(400891)} AS y"
    )
    spark.createDataFrame([control_row(0.5, 0.5)], SCHEMA).createOrReplaceTempView("plain")
    ways: dict[str, DataFrame] = {
        "rows alone": frame, "hash < number": frame.where(f"{LOW} < (SELECT threshold FROM plain)"),
    }
    ways |= {f"{n:,} regions": sifted(spark, frame, f"r{n}", made(n, False)) for n in REGIONS}
    ways["100 regions, curved axes"] = sifted(
        spark, frame.selectExpr("id", "x * 1e6 AS x", "y * 1e6 AS y"), "curved", made(100, True)
    )
    worded = frame.selectExpr("id", "x", f"concat('w', CAST(y * {WORDS} AS INT)) AS y")
    ways |= {
        "words: hash < number": worded.where(f"{LOW} < (SELECT threshold FROM plain) AND y IS NOT NULL"),
        "100 regions, one of words": sifted(spark, worded, "words", of_words()),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-3, args.repeat):
        for name in list(ways)[:: 1 if turn % 2 else -1]:
            took = seconds(ways[name])
            if turn >= 0:
                times[name].append(took)
    print(f"{'':28}{'ns/row':>9}{'ratio':>8}")
    base = {name: "words: hash < number" if "words" in name else "hash < number" for name in ways}
    ratios = {name: _ratio(times[name], times[base[name]]) for name in ways}
    for name, own in times.items():
        print(f"{name:28}{statistics.median(own) / args.rows * 1e9:9.1f}{ratios[name]:8.2f}")
    steep = _ratio(times[f"{REGIONS[-1]:,} regions"], times[f"{REGIONS[0]:,} regions"])
    print(f"\n{REGIONS[-1]:,} regions against {REGIONS[0]}: {steep:.2f}")
    cheap = all(ratio <= MOST_RATIO for name, ratio in ratios.items() if "regions" in name)
    return 0 if cheap and steep <= FLAT else 1


def _ratio(ours: list[float], others: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, others, strict=True))


if __name__ == "__main__":
    sys.exit(main())
