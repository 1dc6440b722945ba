"""Each physical step becomes the Spark operation it stands for; results through a memory sink."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamq.compiler.ir.physical import (
    Aggregate,
    AssignWindow,
    ControlRelation,
    DropDuplicates,
    FunctionSource,
    Join,
    Knob,
    Observe,
    PhysicalPlan,
    PhysicalQuery,
    ScanStream,
    ScanTable,
    Select,
    SinkSpec,
    Step,
    UnionAll,
    Where,
    WithWatermark,
)
from streamq.runtime.metrics import RunReport
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.testing import StreamScript

Row = dict[str, Any]
SCHEMA = (("k", "BIGINT"), ("v", "BIGINT"), ("ts", "TIMESTAMP"))
COLUMNS = (("k", "BIGINT"), ("v", "BIGINT"), ("ts", "TIMESTAMP"))


def at(second: int) -> datetime:
    return datetime(2024, 1, 1, 0, second // 60, second % 60, tzinfo=UTC)


@pytest.fixture
def events(tmp_path: Path) -> StreamScript:
    """Two batches: keys 1, 2, 1 in the first ten seconds, then key 1 far later."""
    script = StreamScript(tmp_path / "events")
    script.add(
        {"k": 1, "v": 10, "ts": at(1)},
        {"k": 2, "v": 20, "ts": at(2)},
        {"k": 1, "v": 30, "ts": at(7)},
    )
    script.add({"k": 1, "v": 40, "ts": at(31)})
    return script


def stream() -> ScanStream:
    return ScanStream(
        id="events", stream="events", connector="memory", schema=SCHEMA, options=()
    )


def marked(below: Step | None = None) -> Step:
    return WithWatermark(below or stream(), "ts", 0, id="events")


def files(path: str, data_format: str, *schema: tuple[str, str], **options: Any) -> ScanStream:
    given = {"path": path, "format": data_format, **options}
    return ScanStream(
        id="files",
        stream="files",
        connector="file",
        schema=schema,
        options=tuple(given.items()),
        corrupt_column=None if options.get("on_error") == "fail" else "__corrupt",
    )


def pick(below: Step, *names: str) -> Select:
    return Select(below, tuple((n, f"`{n}`") for n in names), id="q")


def run(
    spark: SparkSession, folder: Path, root: Step, mode: str = "append", **fields: Any
) -> RunReport:
    functions = fields.pop("functions", ())
    query = PhysicalQuery("q", root, mode, SinkSpec("out", "memory"), COLUMNS, **fields)
    plan = PhysicalPlan((query,), functions=functions, base_dir=str(folder))
    return run_plan(plan, RunOptions(once=True), session=spark)


def rows(
    spark: SparkSession, folder: Path, root: Step, mode: str = "append", **f: Any
) -> list[Row]:
    report = run(spark, folder, root, mode, **f)
    assert report.diagnostics == ()
    return report.rows("q")


def values(found: list[Row]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row.values()) for row in found)


def test_select_and_where(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    root = Select(Where(stream(), "`v` > 10", id="f"), (("twice", "`v` * 2"),), id="q")
    assert values(rows(spark, tmp_path, root)) == [(40,), (60,), (80,)]


def test_names_that_need_quotes(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    odd = Select(stream(), (("a b`c.d", "`v`"), ("t.s", "`ts`")), id="q")
    windowed = AssignWindow(
        WithWatermark(odd, "t.s", 0, id="w"), "w.w", "t.s", 10_000, 10_000, id="w"
    )
    root = Aggregate(windowed, (("w w", "`w.w`"),), (("n", "sum(`a b``c.d`)"),), id="a")
    found = rows(spark, tmp_path, root)
    assert [row["n"] for row in found] == [60]


def test_sliding_window_emits_each_window_once(
    spark: SparkSession, tmp_path: Path, events: StreamScript
) -> None:
    window = AssignWindow(marked(), "w", "ts", 10_000, 5_000, id="w")
    grouped = Aggregate(window, (("w", "`w`"), ("k", "`k`")), (("n", "count(1)"),), id="a")
    root = Select(grouped, (("start", "`w`.start"), ("k", "`k`"), ("n", "`n`")), id="q")
    assert values(rows(spark, tmp_path, root)) == [
        (datetime(2023, 12, 31, 23, 59, 55, tzinfo=UTC), 1, 1),
        (datetime(2023, 12, 31, 23, 59, 55, tzinfo=UTC), 2, 1),
        (at(0), 1, 2),
        (at(0), 2, 1),
        (at(5), 1, 1),
    ]


def test_session_window(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    grouped = Aggregate(
        marked(), (("k", "`k`"),), (("n", "count(1)"),), session=("s", "ts", 8_000_000), id="a"
    )
    root = Select(grouped, (("k", "`k`"), ("until", "`s`.end"), ("n", "`n`")), id="q")
    assert values(rows(spark, tmp_path, root)) == [(1, at(15), 2), (2, at(10), 1)]


def test_group_without_aggregates_gives_distinct_keys(
    spark: SparkSession, tmp_path: Path, events: StreamScript
) -> None:
    root = Aggregate(stream(), (("k", "`k`"),), (), id="a")
    found = rows(spark, tmp_path, root, "update")
    assert {tuple(row) for row in found} == {("k",)}
    assert {row["k"] for row in found} == {1, 2}


def test_drop_duplicates(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    root = pick(DropDuplicates(marked(), ("k",), id="d"), "k")
    assert values(rows(spark, tmp_path, root)) == [(1,), (2,)]


def test_join_with_a_table(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    (tmp_path / "names.csv").write_text("label,id\none,1\n")
    table = ScanTable(
        id="t",
        table="names",
        connector="file",
        schema=(("id", "BIGINT"), ("label", "STRING")),
        options=(("path", "names.csv"), ("format", "csv"), ("header", True)),
    )
    joined = Join(stream(), table, "left_outer", "`k` = `id`", True, id="j")
    assert values(rows(spark, tmp_path, pick(joined, "v", "label"))) == [
        (10, "one"),
        (20, None),
        (30, "one"),
        (40, "one"),
    ]


def test_join_of_two_streams(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    right = Select(marked(), (("k2", "`k`"), ("v2", "`v`"), ("ts2", "`ts`")), id="r")
    condition = "`k` = `k2` AND `ts2` > `ts` AND `ts2` <= `ts` + INTERVAL 10 SECONDS"
    joined = Join(marked(), right, "inner", condition, id="j")
    assert values(rows(spark, tmp_path, pick(joined, "v", "v2"))) == [(10, 30)]


def test_union(spark: SparkSession, tmp_path: Path, events: StreamScript) -> None:
    root = UnionAll((pick(stream(), "v"), Select(stream(), (("v", "-`v`"),), id="n")), id="u")
    assert values(rows(spark, tmp_path, root)) == [
        (-40,),
        (-30,),
        (-20,),
        (-10,),
        (10,),
        (20,),
        (30,),
        (40,),
    ]


def test_unbounded_group_sends_changes(
    spark: SparkSession, tmp_path: Path, events: StreamScript
) -> None:
    root = Aggregate(stream(), (("k", "`k`"),), (("total", "sum(`v`)"),), id="a")
    report = run(spark, tmp_path, root, "update", keys=("k",))
    batches = [values(batch.to_dicts()) for batch in report.memory["q"]]
    assert batches == [[(1, 40), (2, 20)], [(1, 80)]]
    assert all(batch.update and batch.keys == ("k",) for batch in report.memory["q"])


def test_shedder_reads_the_control_relation(
    spark: SparkSession, tmp_path: Path, events: StreamScript
) -> None:
    keep = "(xxhash64(`v`, 42) & 1048575L) < (SELECT threshold FROM `streamq_control_q`)"
    tested = Select(stream(), (("v", "`v`"), ("kept", keep)), id="s")
    counts = (("arrived", "count(1)"), ("kept", "count_if(`kept`)"))
    root = pick(Where(Observe(tested, "shed@q", counts, id="s"), "`kept`", id="s"), "v")
    for share, expected in ((1.0, 4), (0.0, 0)):
        control = ControlRelation("streamq_control_q", "q", (Knob("keep", share, 0.0, 1.0),))
        report = run(spark, tmp_path, root, controls=(control,))
        assert report.diagnostics == ()
        assert len(report.rows("q")) == expected
        (totals,) = report.totals
        assert (totals.rows_in, totals.kept, totals.shed) == (4, expected, 4 - expected)


def test_malformed_json_rows_are_counted_and_left_out(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"k": 1}\n{oops\n{"k": "x"}\n{"k": 2}\n')
    scan = files("in", "json", ("k", "BIGINT"))
    marker = "coalesce(`__corrupt`, IF(`k` IS NULL, NULL, `__corrupt`))"
    counts = (("malformed", f"count({marker})"),)
    good = Where(Observe(scan, "intake@q", counts, id="o"), "`__corrupt` IS NULL", id="w")
    # Only a count: Spark would refuse to read nothing but the text of malformed rows.
    report = run(spark, tmp_path, Aggregate(good, (), (("n", "count(1)"),), id="a"), "update")
    assert report.diagnostics == ()
    assert report.rows("q") == [{"n": 2}]
    (totals,) = report.totals
    assert (totals.rows_in, totals.kept, totals.malformed) == (4, 2, 2)


def test_csv_columns_are_found_by_name(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("v;extra;k\n1;x;10\n2;y;NA\n")
    scan = files(
        "a.csv",
        "csv",
        ("k", "BIGINT"),
        ("v", "BIGINT"),
        header=True,
        delimiter=";",
        null_value="NA",
    )
    assert values(rows(spark, tmp_path, Where(pick(scan, "k", "v"), "`v` = 1", id="w"))) == [
        (10, 1)
    ]
    nulls = pick(Where(scan, "`k` IS NULL", id="w"), "v")
    assert values(rows(spark, tmp_path, nulls)) == [(2,)]


@pytest.mark.parametrize("name", ["day one.csv", "{1}.csv", "*.csv"])
def test_a_single_file_with_an_odd_name(spark: SparkSession, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("k\n1\n")
    assert values(
        rows(spark, tmp_path, pick(files(name, "csv", ("k", "BIGINT"), header=True), "k"))
    ) == [(1,)]


def test_folder_names_are_columns(spark: SparkSession, tmp_path: Path) -> None:
    for state in ("NY", "CA"):
        (tmp_path / "in" / f"state={state}").mkdir(parents=True)
        (tmp_path / "in" / f"state={state}" / "a.csv").write_text("k\n1\n")
    scan = files("in", "csv", ("k", "BIGINT"), ("state", "STRING"), header=True)
    assert values(rows(spark, tmp_path, pick(scan, "k", "state"))) == [(1, "CA"), (1, "NY")]


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_parquet_timestamps_of_any_unit_carry_a_watermark(
    spark: SparkSession, tmp_path: Path, unit: str, zone: str | None
) -> None:
    moments = pa.array([at(1).replace(tzinfo=None)], pa.timestamp("us")).cast(pa.timestamp(unit))
    table = pa.table({"k": [1], "ts": moments.cast(pa.timestamp(unit, zone))})
    pq.write_table(table, tmp_path / "a.parquet")
    scan = files("a.parquet", "parquet", ("k", "BIGINT"), ("ts", "TIMESTAMP"))
    assert rows(spark, tmp_path, marked(scan)) == [{"k": 1, "ts": at(1)}]


def test_files_per_trigger_makes_batches(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for n in range(3):
        (tmp_path / "in" / f"{n}.json").write_text(f'{{"k": {n}}}\n')
    scan = files("in", "json", ("k", "BIGINT"), max_files_per_trigger=1)
    report = run(spark, tmp_path, pick(scan, "k"))
    assert report.totals[0].batches == 3


@pytest.mark.usefixtures("functions_allowed")
def test_python_function_over_arrow_arrays(
    spark: SparkSession, tmp_path: Path, events: StreamScript
) -> None:
    (tmp_path / "money_functions.py").write_text(
        "import pyarrow.compute as pc\n\ndef cents(amount):\n    return pc.multiply(amount, 100)\n"
    )
    function = FunctionSource("cents", "money_functions:cents", ("BIGINT",), "BIGINT")
    root = Select(stream(), (("c", "cents(`v`)"),), id="q")
    found = rows(spark, tmp_path, root, functions=(function,))
    assert values(found) == [(1000,), (2000,), (3000,), (4000,)]
