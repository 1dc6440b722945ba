"""Programs that change while their state lives on: the verdict that is given, and what a restart really does.

Each case runs its old program over the first rows, then its new one on the same checkpoint over the rest, without the refusal
of ``streamq run``. ``seam`` says what is right then: the reference evaluator answers it over all rows. It is the new program,
where that is not told; a filter that changes is in it the old one before the restart and the new one after it.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streamq.compiler.driver import compile_program
from streamq.compiler.evolution import Verdict
from streamq.compiler.evolution.verdict import COMPATIBLE, NEW
from streamq.compiler.ir.physical import PhysicalPlan
from streamq.compiler.options import CompileOptions
from streamq.runtime.checkpoint import folder_of, has_names, record
from streamq.runtime.evolution import verdicts
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from streamq.runtime.spark.emit import EmitContext, build_frame, source_names, state_store
from tests.support.streams import TIMEOUT_S, at, seconds, write_batches

GOES_ON, FAILS, WRONG = "goes on", "fails", "silently wrong"
SEAM = "TIMESTAMP '2024-01-01 00:00:15'"
"""The event time at which programs are changed: the first rows are before it, the rest after it."""

Row = tuple[int, int, int]
FIRST: dict[str, list[Row]] = {
    "s": [(1, 1, 1), (1, 2, 3), (2, 3, 4), (1, 5, 11), (2, 1, 12), (1, 3, 14)], "r": [(1, 10, 2), (2, 20, 12)],
}
REST: dict[str, list[Row]] = {
    "s": [(1, 2, 16), (2, 4, 17), (1, 1, 22), (2, 2, 25), (3, 7, 26)], "r": [(1, 30, 16), (2, 40, 18), (1, 50, 24)],
}
CLOSING: dict[str, list[Row]] = {"s": [(9, 9, 1000)], "r": [(9, 90, 1000)]}
VALUES = {"s": "x", "r": "y"}

PRELUDE = """\
CREATE STREAM s (k INT, x INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'file', path = 's', format = 'json');
CREATE STREAM r (k INT, y INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'file', path = 'r', format = 'json');
CREATE TABLE t (k INT, name STRING) WITH (connector = 'file', path = 't', format = 'json');
"""
AS_SPARK = EvaluateOptions(watermark=True, closed=False, behind=1)


@dataclass(frozen=True)
class Case:
    """A change of a program. ``old`` and ``new`` are queries, or whole programs where they declare something.

    ``columns``: as many columns of the result are compared, where it has further ones before or after the change.
    """

    change: str
    old: str
    new: str
    seam: str = ""
    given: str = COMPATIBLE
    columns: int | None = None

    @property
    def key(self) -> str:
        return f"{abs(hash(self.old)):x}"


@dataclass(frozen=True)
class Outcome:
    """The verdict on a case and what a restart did."""

    case: Case
    verdict: Verdict
    found: str
    detail: str = ""

    @property
    def agrees(self) -> bool:
        return self.verdict.kind == self.case.given and (self.found == GOES_ON) == (self.case.given in (COMPATIBLE, NEW))


def program(text: str) -> str:
    """A whole program: with the usual sources, unless it declares its own."""
    return text if "CREATE STREAM" in text else PRELUDE + (text if text.startswith("CREATE") else f"CREATE QUERY q AS {text};")


def compiled(text: str, base: Path) -> PhysicalPlan:
    return compile_program(program(text), CompileOptions(base_dir=str(base), verify=True)).require()


def run_cases(spark: SparkSession, cases: Sequence[Case], base: Path) -> list[Outcome]:
    """All cases, a few at a time; programs with the same beginning share it."""
    write_input(base, (FIRST,))
    olds = {case.key: case for case in cases}
    began = {key: Restart(spark, case.old, base, base / "old" / key) for key, case in olds.items()}
    before = run_restarts(began)
    write_input(base, (FIRST, REST, CLOSING))
    restarts: dict[str, Restart] = {}
    given: dict[str, Verdict] = {}
    for place, case in enumerate(cases):
        root = base / "new" / str(place)
        shutil.copytree(base / "old" / case.key, root)
        _with_own_ids(root)
        plan = compiled(case.new, base)
        partitions = int(dict(plan.settings).get("shuffle_partitions", 0))
        (given[case.change],) = verdicts(plan.queries, root, partitions=partitions)
        restarts[case.change] = Restart(spark, case.new, base, root)
    after = run_restarts(restarts)
    return [
        Outcome(case, given[case.change], *_judged(case, before[case.key], after[case.change], base)) for case in cases
    ]


def _with_own_ids(root: Path) -> None:
    """Spark stops a query that runs where another of its id starts, and copies would have one id."""
    for metadata in root.glob("*/metadata"):
        metadata.write_text(json.dumps({"id": str(uuid4())}) + "\n")
        metadata.with_name(f".{metadata.name}.crc").unlink(missing_ok=True)


def write_input(base: Path, parts: Sequence[dict[str, list[Row]]]) -> None:
    """A file for each part, and all once more in a folder that a stream may be moved to."""
    for name in ("s", "r"):
        batches = [[{"k": k, VALUES[name]: v, "ts": at(ts)} for k, v, ts in part[name]] for part in parts]
        for folder in (name, f"{name}_moved"):
            write_batches(base / folder, batches)
    for folder, word in (("t", "old"), ("t2", "new")):
        (base / folder).mkdir(exist_ok=True)
        (base / folder / "0.json").write_text("".join(f'{{"k": {k}, "name": "{word}{k}"}}\n' for k in (1, 2, 3)))


def table(outcomes: list[Outcome]) -> str:
    """The outcomes as a table of a page."""
    lines = ["| change | verdict | found by restarting |", "|---|---|---|"]
    lines += [f"| {o.case.change} | {o.verdict.kind} | {o.found} |" for o in outcomes]
    return "\n".join(lines)


class Restart:
    """A program over the files that are there, on a checkpoint."""

    def __init__(self, spark: SparkSession, text: str, base: Path, root: Path) -> None:
        self.spark, self.base, self.root = spark, base, root
        self.plan = compiled(text, base)
        self.rows: Counter[tuple[Any, ...]] = Counter()
        self.error = ""
        self.handle: StreamingQuery | None = None

    def start(self) -> None:
        (query,) = self.plan.queries
        directory = folder_of(self.root, query.name)
        partitions = int(dict(self.plan.settings).get("shuffle_partitions", 1))
        named = has_names(query, directory)
        record(query, directory, partitions=partitions)
        before = self.spark.conf.get("spark.sql.shuffle.partitions")
        self.spark.conf.set("spark.sql.shuffle.partitions", partitions)
        try:
            with source_names(self.spark, named), state_store(query, self.spark):
                frame = build_frame(query, EmitContext(self.spark, str(self.base), control_dir=directory, named=named))
                writer = frame.writeStream.outputMode(query.mode).foreachBatch(self._take).trigger(availableNow=True)
                self.handle = writer.option("checkpointLocation", str(directory)).start()
        except PySparkException as error:
            self.error = str(error)
        finally:
            self.spark.conf.set("spark.sql.shuffle.partitions", before)

    def finish(self) -> None:
        if self.handle is None:
            return
        try:
            assert self.handle.awaitTermination(TIMEOUT_S), "the query did not end"
        except PySparkException as error:
            self.error = str(error)

    def _take(self, batch: DataFrame, number: int) -> None:
        self.rows.update(tuple(seconds(v) for v in row) for row in batch.collect())


def run_restarts(restarts: dict[str, Restart], at_once: int = 3) -> dict[str, Restart]:
    waiting: list[Restart] = []
    for one in restarts.values():
        one.start()
        waiting.append(one)
        if len(waiting) == at_once:
            waiting.pop(0).finish()
    for one in waiting:
        one.finish()
    return restarts


def _judged(case: Case, before: Restart, after: Restart, base: Path) -> tuple[str, str]:
    assert not before.error, f"{case.change}: the old program fails: {before.error}"
    if after.error:
        return FAILS, after.error
    wanted = _cut(_answer(case.seam or case.new, base), case.columns)
    wide = max((len(row) for row in wanted), default=0)
    found = Counter({(*row, *(None,) * (wide - len(row))): n for row, n in _cut(before.rows, case.columns).items()})
    found += _cut(after.rows, case.columns)
    if found == wanted:
        return GOES_ON, ""
    return WRONG, f"{_shown(found - wanted)} where it should be {_shown(wanted - found)}"


def _cut(rows: Counter[tuple[Any, ...]], columns: int | None) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for row, times in rows.items():
        found[row[:columns]] += times
    return found


def _shown(rows: Counter[tuple[Any, ...]]) -> str:
    return str(sorted(rows.elements(), key=repr)[:4])


def _answer(text: str, base: Path) -> Counter[tuple[Any, ...]]:
    """What the reference evaluator says over all rows, in the batches of the run."""
    result = compile_program(program(text), CompileOptions(base_dir=str(base)))
    assert result.meant is not None, result.diagnostics
    inputs: dict[str, Any] = {
        name: [_with_times(part[name]) for part in (FIRST, REST, CLOSING)] for name in ("s", "r")
    }
    inputs["t"] = [[(k, f"old{k}") for k in (1, 2, 3)]]
    answers = evaluate(result.meant, inputs, AS_SPARK)
    (answer,) = answers.values()
    found: Counter[tuple[Any, ...]] = Counter()
    for change in answer.changes:
        row = tuple(seconds(v) for v in change.row)
        if answer.is_stream:
            found[row] += change.count
        else:
            moment = seconds(datetime(1970, 1, 1) + timedelta(microseconds=change.at))
            if moment <= CLOSING["s"][0][-1]:
                found[(*row, "+" if change.count > 0 else "-", moment)] += abs(change.count)
    return +found


def _with_times(rows: Iterable[Row]) -> list[tuple[Any, ...]]:
    return [(k, v, datetime(2024, 1, 1) + timedelta(seconds=ts)) for k, v, ts in rows]
