"""Rows that an edge takes in a second on one core, with attributes shed and a synopsis kept, or rows sifted, and the memory
that it needs.

Weather that looks like that of the thesis, offered at 2.5 times the capacity: from Arrow batches, which is what windows,
ranking, retention, messages and the store on disk take, and from JSON lines and CSV, which is what an edge takes as a whole.

Run from the root of the repository::

    python -m tests.benchmarks.edge [--rows 1500000] [--keys 75]

Ends with 1 where fewer than 200,000 rows a second go through from Arrow batches, in either way.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from streamq.dsl.records import replace
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.pipeline import Pipeline
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.at_source.source import Files, Position
from streamq.runtime.edge.at_source.store import Store
from streamq.runtime.edge.plan import CycleRule, EdgePlan
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.runtime.edge.transport import Reply
from streamq.stdlib.attributes.lookalike import weather
from streamq.stdlib.sifters.compact import Wish
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare

WANTED = 200_000
AT_ONCE = 32_768
LOAD = 2.5
ROWS = 36_000


class Wire:
    """Takes everything."""

    extra = 0
    seq = 0

    def send(self, message: bytes) -> Reply:
        self.seq += 1
        return Reply(self.seq)


def plan_of(rows: pa.RecordBatch, keys: int, kind: str = "json") -> EdgePlan:
    capacity = WANTED * sum(array.nbytes for array in rows.columns) / rows.num_rows * 8 / 1000 / LOAD
    return EdgePlan(
        stream="weather", columns={f.name: str(f.type) for f in rows.schema}, capacity_kbps=capacity, error_pct=4.81,
        cycle=CycleRule(key=("location",), length=keys), format="csv" if kind == "csv" else "json", unit="BYTES",
        retain_s=3.0,
    )


def sift_rule() -> SiftRule:
    """Of three queries, by a number and a text."""
    ranges = ((30.0, 50.0), (60.0, 80.0), (0.0, 200.0))
    wishes = tuple(
        Wish(Both((Compare(0, ">=", low), Compare(0, "<", high), *((Compare(1, "=", f"loc{place:02d}"),) if place else ()))), place + 1.0)
        for place, (low, high) in enumerate(ranges)
    )
    return SiftRule(attributes=("temperature", "location"), plan=Plan(64), wishes=wishes)


def batches(rows: pa.RecordBatch, total: int) -> Iterator[pa.RecordBatch]:
    """The same days over and over, as many rows at once as a block of lines has."""
    given = 0
    while given < total:
        for start in range(0, rows.num_rows, AT_ONCE):
            yield rows.slice(start, AT_ONCE)
            given += min(AT_ONCE, rows.num_rows - start)
            if given >= total:
                return


def from_arrow(plan: EdgePlan, rows: pa.RecordBatch, total: int, file: Path) -> tuple[float, int, str]:
    done, dropped, now = 0, 0, 0.0
    started, clock = time.process_time(), time.perf_counter()
    with Store(file, plan) as store:
        pipeline = Pipeline(plan, store.origin, Offered(0.0))
        progress = store.progress()
        for batch in batches(rows, total):
            now += batch.num_rows / WANTED
            step = pipeline.after(progress, batch, Position("-", done), now)
            store.commit(step, round((now - plan.retain_s) * 1000), plan.synopsis_bytes)
            store.acknowledged(step.progress.seq)
            progress = step.progress
            done += step.rows
            dropped += step.dropped
        spent, took = time.process_time() - started, time.perf_counter() - clock
        shed = progress.shedding.plan.attrs if progress.shedding else ()
        went = f"{dropped / done:.0%} of rows dropped" if plan.sift else f"{len(shed)} columns shed"
        return done / spent, done, f"{went}, {store.segments.size_bytes >> 10} KiB kept, {done / took:,.0f} rows/s by the clock"


def from_files(rows: pa.RecordBatch, total: int, keys: int, folder: Path, kind: str) -> tuple[float, int, str]:
    plan = plan_of(rows, keys, kind)
    file = folder / f"weather.{kind}"
    table = pa.Table.from_batches(list(batches(rows, total)))
    if kind == "csv":
        pa_csv.write_csv(table, file)
    else:
        names = table.schema.names
        pieces = [c.cast(pa.string()).to_pylist() for c in table.columns]
        with file.open("w") as out:
            for values in zip(*pieces, strict=True):
                cells = (f'"{n}":"{v}"' if n == "location" else f'"{n}":{v}' for n, v in zip(names, values, strict=True))
                out.write("{" + ",".join(cells) + "}\n")
    now = 0.0
    with Store(folder / kind, plan) as store:
        site = Site(plan, Files(file, header=kind == "csv", follow=False), store, Wire(), lambda: now, lambda: now)
        site.start()
        started = time.process_time()
        while not site.done:
            before = site.counts.rows
            site.turn(last=True)
            now += max((site.counts.rows - before) / WANTED, 0.01)
        spent = time.process_time() - started
        state = site.progress.shedding
        shed = state.plan.attrs if state else ()
        return site.counts.rows / spent, site.counts.rows, f"{len(shed)} columns shed"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_500_000)
    parser.add_argument("--keys", type=int, default=75)
    given = parser.parse_args()
    pa.set_cpu_count(1)
    found = weather(max(ROWS // given.keys, 4), given.keys).rows()
    (rows,) = pa.table({name: pa.array(values) for name, values in found.items()}).combine_chunks().to_batches()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        plan = plan_of(rows, given.keys)
        rate, count, said = from_arrow(plan, rows, given.rows, folder / "arrow")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base
        print(f"Arrow batches  {rate:>10,.0f} rows/s  {count:>9,} rows  {said}; memory +{grown >> 10} MiB")
        sifting = replace(plan, cycle=CycleRule(length=given.keys), sift=sift_rule())
        of, count, said = from_arrow(sifting, rows, given.rows, folder / "sifted")
        print(f"Arrow, sifted  {of:>10,.0f} rows/s  {count:>9,} rows  {said}")
        rate = min(rate, of)
        for kind in ("csv", "json"):
            of, count, said = from_files(rows, given.rows // 5, given.keys, folder, kind)
            print(f"{kind.upper():<14} {of:>10,.0f} rows/s  {count:>9,} rows  {said}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB")
    return int(rate < WANTED)


if __name__ == "__main__":
    sys.exit(main())
