"""Runs of whole plans: what ends them, what they report, what they refuse."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import (
    Aggregate,
    DropDuplicates,
    PhysicalPlan,
    PhysicalQuery,
    ScanStream,
    Select,
    SinkSpec,
    Step,
    Where,
)
from streamq.dsl.source import Span
from streamq.runtime.metrics import QuerySample, QueryTotals, ResultRows, RunReport
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.testing import StreamScript

SCAN_SPAN = Span("p.cql", 10, 20)
QUERY_SPAN = Span("p.cql", 30, 40)
ENOUGH_S = 60.0
"""Runs that wait for rows or a signal end by then, so that a fault does not hang the tests."""


@dataclass
class Recorder(SilentListener):
    """Remembers what it hears; ``on_sample`` may act on it."""

    names: tuple[str, ...] = ()
    samples: list[QuerySample] = field(default_factory=list)
    batches: list[ResultRows] = field(default_factory=list)

    def started(self, queries: tuple[str, ...]) -> None:
        self.names = queries

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.samples.append(sample)

    def rows(self, rows: ResultRows) -> None:
        self.batches.append(rows)


@pytest.fixture
def numbers(tmp_path: Path) -> StreamScript:
    """Two batches of 30 rows, ``n`` from 0 to 59."""
    script = StreamScript(tmp_path / "numbers")
    for start in (0, 30):
        script.add(*({"n": n} for n in range(start, start + 30)))
    return script


def memory() -> ScanStream:
    return ScanStream(
        id="numbers", stream="numbers", connector="memory", schema=(("n", "BIGINT"),), options=(),
        origin=SCAN_SPAN,
    )


def rate(rows_per_second: int = 1_000) -> ScanStream:
    return ScanStream(
        id="ticks", stream="ticks", connector="rate", schema=(("value", "BIGINT"),),
        options=(("rows_per_second", rows_per_second),), origin=SCAN_SPAN,
    )


def files(**options: Any) -> ScanStream:
    return ScanStream(
        id="lines", stream="lines", connector="file", schema=(("n", "BIGINT"),),
        options=tuple({"path": "lines", "format": "json", **options}.items()), origin=SCAN_SPAN,
    )


def query(name: str, root: Step, sink: SinkSpec | str = "memory", mode: str = "append") -> PhysicalQuery:
    spec = SinkSpec(name, sink) if isinstance(sink, str) else sink
    return PhysicalQuery(name, root, mode, spec, (("n", "BIGINT"),), origin=QUERY_SPAN)


def to_files(path: str) -> SinkSpec:
    return SinkSpec("out", "file", (("path", path), ("format", "json")), origin=Span("p.cql", 1, 5))


def execute(
    spark: SparkSession, folder: Path, planned: list[PhysicalQuery],
    listener: Recorder | None = None, **options: Any,
) -> RunReport:
    plan = PhysicalPlan(tuple(planned), base_dir=str(folder))
    return run_plan(plan, RunOptions(**options), listener, session=spark)


def written(folder: Path) -> list[int]:
    lines = [line for file in folder.rglob("*.json") for line in file.read_text().splitlines()]
    return sorted(json.loads(line)["n"] for line in lines)


def test_several_queries_at_once(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    listener = Recorder()
    total = Aggregate(memory(), (), (("n", "sum(`n`)"),), id="t")
    queries = [
        query("all", memory(), to_files("out")),
        query("even", Where(memory(), "`n` % 2 = 0", id="e")),
        query("total", total, mode="update"),
        query("nothing", memory(), "noop"),
    ]
    report = execute(spark, tmp_path, queries, listener, once=True)
    assert (report.ended_by, report.diagnostics) == ("finished", ())
    assert listener.names == ("all", "even", "total", "nothing")
    assert written(tmp_path / "out") == list(range(60))
    assert [row["n"] for row in report.rows("even")] == list(range(0, 60, 2))
    assert [row["n"] for row in report.rows("total")][:2] == [435, 1770]
    outputs = {t.query: (t.rows_in, t.rows_out) for t in report.totals}
    assert outputs["all"] == outputs["nothing"] == (60, 60)
    assert outputs["even"] == (60, 30)


def test_only_the_named_queries_run(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    queries = [query("a", memory()), query("b", memory())]
    report = execute(spark, tmp_path, queries, once=True, queries=("b",))
    assert [t.query for t in report.totals] == ["b"]


def test_console_gets_few_rows_of_a_batch_and_the_true_number(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    listener = Recorder()
    console = query("q", memory(), SinkSpec(None, "console"))
    report = execute(spark, tmp_path, [console], listener, once=True, rows_per_batch=5)
    assert [(len(b.rows), b.total, b.columns) for b in listener.batches] == [(5, 30, ("n",))] * 2
    assert report.totals[0].rows_out == 60


def test_console_does_not_lose_state_of_rows_that_are_not_shown(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    grouped = Aggregate(memory(), (("k", "`n` % 20"),), (("n", "count(1)"),), id="a")
    listener = Recorder()
    console = query("q", grouped, SinkSpec(None, "console"), mode="update")
    report = execute(spark, tmp_path, [console], listener, once=True, rows_per_batch=1)
    assert report.diagnostics == ()
    assert [b.total for b in listener.batches] == [20, 20]
    assert report.totals[0].state_rows == 20


def test_ends_when_time_is_up(spark: SparkSession, tmp_path: Path) -> None:
    listener = Recorder()
    report = execute(spark, tmp_path, [query("q", rate(), "noop")], listener, duration_s=3)
    assert report.ended_by == "duration"
    assert 3 <= report.seconds < 20
    assert report.totals[0].rows_in > 0
    ages = [s.result_age_ms for s in listener.samples]
    assert all(s.result_age_ms >= s.batch_ms for s in listener.samples), ages


def test_ends_at_the_limit_of_rows(spark: SparkSession, tmp_path: Path) -> None:
    listener = Recorder()
    console = query("q", rate(), SinkSpec(None, "console"))
    report = execute(spark, tmp_path, [console], listener, limit=50, duration_s=ENOUGH_S)
    assert report.ended_by == "limit"
    assert sum(len(b.rows) for b in listener.batches) == 50


def test_a_failing_query_stops_no_other_and_names_the_place(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.json").write_text('{"n": 1}\n{oops\n')
    queries = [query("bad", files(on_error="fail"), "noop"), query("good", rate(), "noop")]
    plan = PhysicalPlan(tuple(queries), settings=(("tries", 1),), base_dir=str(tmp_path))
    report = run_plan(plan, RunOptions(duration_s=3), session=spark)
    assert (report.ended_by, report.given_up, report.failed) == ("duration", ("bad",), True)
    assert next(t.rows_in for t in report.totals if t.query == "good") > 0
    (found,) = report.diagnostics
    assert (found.code, found.span) == ("SQ0804", SCAN_SPAN)
    assert "Traceback" not in str(found)
    assert spark.streams.active == []


def test_an_error_inside_a_console_batch_keeps_its_cause(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "a.json").write_text("{oops\n")
    console = query("q", files(on_error="fail"), SinkSpec(None, "console"))
    (found,) = execute(spark, tmp_path, [console], once=True).diagnostics
    assert found.code == "SQ0804"


def test_an_error_of_an_expression_names_its_step(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    span = Span("p.cql", 70, 80)
    step = Select(memory(), (("n", "raise_error('too much')"),), id="q", origin=span)
    (found,) = execute(spark, tmp_path, [query("q", step, "noop")], once=True).diagnostics
    assert found.code == "SQ0801"
    assert "too much" in found.message
    assert "\n" not in found.message


def test_what_spark_refuses_is_a_diagnostic(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    step = Where(memory(), "`missing` > 1", id="q")
    report = execute(spark, tmp_path, [query("q", step)], once=True)
    (found,) = report.diagnostics
    assert (report.ended_by, found.code, found.span) == ("failed", "SQ0801", QUERY_SPAN)
    assert "`missing`" in found.message


def test_restart_goes_on_from_the_checkpoint(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    queries = [query("q", memory(), to_files("out")), query("m", memory())]
    options = {"once": True, "checkpoint": tmp_path / "state"}
    execute(spark, tmp_path, queries, **options)
    numbers.add({"n": 60})
    report = execute(spark, tmp_path, queries, **options)
    assert report.rows("m") == [{"n": 60}]
    assert written(tmp_path / "out") == list(range(61))


def test_a_changed_query_goes_on_only_where_its_checkpoint_still_fits(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    options = {"once": True, "checkpoint": tmp_path / "state"}
    execute(spark, tmp_path, [query("q", Where(memory(), "`n` > 1", id="few"))], **options)
    numbers.add({"n": 2}, {"n": 3})
    changed = query("q", Where(memory(), "`n` > 2", id="few"))
    report = execute(spark, tmp_path, [changed], **options)
    assert (report.diagnostics, report.rows("q")) == ((), [{"n": 3}])

    once = query("q", DropDuplicates(memory(), ("n",), id="once"))
    (found,) = execute(spark, tmp_path, [once], **options).diagnostics
    assert (found.code, found.notes) == (
        "SQ0805", ("once: the removal of duplicates is new, and knows nothing of the rows that were read",),
    )
    report = execute(spark, tmp_path, [once], fresh=("q",), **options)
    assert report.diagnostics == ()
    assert sorted(row["n"] for row in report.rows("q")) == list(range(60))
    assert len(list((tmp_path / "state").glob("q.*"))) == 1


def test_an_old_checkpoint_is_not_moved_where_the_run_is_refused(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    queries = [query("q", memory(), to_files("out"))]
    options = {"once": True, "checkpoint": tmp_path / "state"}
    execute(spark, tmp_path, queries, **options)
    (found,) = execute(spark, tmp_path, queries, fresh=("q",), **options).diagnostics
    assert found.code == "SQ0806"
    # Beside it is the lock by which a checkpoint has one run at a time.
    assert sorted(p.name for p in (tmp_path / "state").iterdir()) == [".run.lock", "q"]


def test_a_new_run_does_not_write_into_the_output_of_another(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    queries = [query("q", memory(), to_files("out"))]
    execute(spark, tmp_path, queries, once=True)
    (found,) = execute(spark, tmp_path, queries, once=True).diagnostics
    assert found.code == "SQ0806"
    assert written(tmp_path / "out") == list(range(60))


def test_output_in_folders(spark: SparkSession, tmp_path: Path, numbers: StreamScript) -> None:
    spec = (("path", "out"), ("format", "csv"), ("header", True), ("partition_by", "odd"))
    step = Select(memory(), (("n", "`n`"), ("odd", "`n` % 2")), id="q")
    report = execute(spark, tmp_path, [query("q", step, SinkSpec("o", "file", spec))], once=True)
    assert report.diagnostics == ()
    folders = sorted(p.name for p in (tmp_path / "out").iterdir() if p.name.startswith("odd"))
    assert folders == ["odd=0", "odd=1"]


def test_an_output_folder_that_cannot_be_made(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    (tmp_path / "file").write_text("")
    (found,) = execute(
        spark, tmp_path, [query("q", memory(), to_files("file/out"))], once=True
    ).diagnostics
    assert (found.code, found.span) == ("SQ0806", Span("p.cql", 1, 5))


def test_runs_outside_the_main_thread(
    spark: SparkSession, tmp_path: Path, numbers: StreamScript
) -> None:
    reports: list[RunReport] = []
    work = threading.Thread(
        target=lambda: reports.append(execute(spark, tmp_path, [query("q", memory())], once=True))
    )
    work.start()
    work.join(ENOUGH_S)
    assert [r.ended_by for r in reports] == ["finished"]
