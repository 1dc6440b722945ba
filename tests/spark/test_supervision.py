"""Queries that fail: started again, without the rows of a micro-batch that cannot pass, or given up."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.json as pajson
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalQuery, SinkSpec
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.records import replace
from streamq.dsl.source import NO_SPAN
from streamq.runtime.metrics import QuerySample, QueryTotals, RunReport
from streamq.runtime.run import Event, Happened, RunOptions, SilentListener
from streamq.runtime.sink_errors import SinkRefused
from streamq.runtime.spark.letters import letters_instead
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.supervise import letters
from streamq.runtime.supervise.letters import Aside, put_aside

pytestmark = pytest.mark.usefixtures("functions_allowed")
FILES, ROWS = 4, 10
POISON = 13
"""The number of the row that no function takes, of the second file and micro-batch."""

MODULE = """
import pyarrow as pa, pyarrow.compute as pc

def checked(n):
    if 13 in n.to_pylist():
        raise ValueError("13 is no number")
    return n
"""
LATE = """
import pyarrow.compute as pc

def late(ms):
    if (pc.min(ms).as_py() // 1000) % 4 == 1:
        raise ValueError("not at this time")
    return ms
"""
STREAM = """
SET dead_letters = 'dead'; SET restart_delay = '10 milliseconds'; SET tries = 2;
CREATE STREAM numbers (n BIGINT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'in', format = '{format}', max_files_per_trigger = 1{more});
CREATE FUNCTION checked (n BIGINT) RETURNS BIGINT AS 'own_checks:checked';
"""
PLAIN = "CREATE QUERY q INTO out AS SELECT checked(n) AS n FROM numbers;"
WINDOWED = """CREATE QUERY q INTO out AS
  SELECT WINDOW_END, COUNT(*) AS n, SUM(checked(n)) AS total FROM numbers [TUMBLE 4 SECONDS];"""
SINK = "CREATE SINK out WITH (connector = 'memory');\n"


@dataclass
class Heard(SilentListener):
    """Remembers what happened, and the samples."""

    events: list[Happened] = field(default_factory=list)
    samples: list[QuerySample] = field(default_factory=list)

    def happened(self, what: Happened) -> None:
        self.events.append(what)

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.samples.append(sample)

    def of(self, query: str) -> list[Event]:
        return [e.event for e in self.events if e.query == query]


def row(n: int) -> str:
    return json.dumps({"n": n, "ts": f"2024-01-01T00:00:{n:02}Z"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of ten rows each, a second apart, and the function that does not take one of them."""
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        add_file(tmp_path, file, [row(n) for n in range(file * ROWS, (file + 1) * ROWS)])
    (tmp_path / "own_checks.py").write_text(MODULE)
    return tmp_path


def add_file(folder: Path, number: int, lines: list[str]) -> None:
    path = folder / "in" / f"{number:03}.json"
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def run(
    spark: SparkSession, folder: Path, text: str, listener: SilentListener | None = None, more: str = "", kind: str = "json",
    checkpoint: str = "state",
) -> RunReport:
    program = STREAM.format(more=more, format=kind) + SINK + text
    result = compile_program(program, CompileOptions(base_dir=str(folder)))
    return run_plan(result.require(), RunOptions(once=True, checkpoint=folder / checkpoint), listener, session=spark)


def good_numbers() -> list[int]:
    return [n for n in range(FILES * ROWS) if n // ROWS != POISON // ROWS]


def test_a_poison_batch_goes_to_dead_letters_and_all_else_to_the_sink(spark: SparkSession, folder: Path) -> None:
    heard = Heard()
    report = run(spark, folder, PLAIN, heard)
    assert (report.ended_by, report.diagnostics) == ("finished", ())
    assert sorted(r["n"] for r in report.rows("q")) == good_numbers()
    (totals,) = report.totals
    assert (totals.rows_in, totals.dead, totals.kept) == (FILES * ROWS, ROWS, (FILES - 1) * ROWS)
    assert heard.of("q") == [Event.FAILURE, Event.RESTART, Event.FAILURE, Event.QUARANTINE, Event.RESTART, Event.DONE]
    place = folder / "dead" / "q" / "batch-1"
    assert (place / "numbers" / "001.json").read_bytes() == (folder / "in" / "001.json").read_bytes()
    note = json.loads((place / "note.json").read_text())
    assert (note["query"], note["batch"], note["rows"], note["code"]) == ("q", 1, "input", "SQ0801")
    assert "13 is no number" in note["error"]

    # A run that goes on knows what was put aside, and what came since counts.
    add_file(folder, FILES, [row(50)])
    again = run(spark, folder, PLAIN)
    assert [r["n"] for r in again.rows("q")] == [50]


def test_windows_are_those_of_the_other_rows(spark: SparkSession, folder: Path) -> None:
    report = run(spark, folder, WINDOWED)
    assert report.diagnostics == ()
    # The same over input that never had these rows, in as many files.
    add_file(folder, 1, [""])
    expected = run(spark, folder, WINDOWED, checkpoint="other")
    assert report.rows("q") == expected.rows("q") != []
    assert report.totals[0].watermark == expected.totals[0].watermark != ""
    assert report.totals[0].late == expected.totals[0].late == 0


def test_malformed_rows_that_end_a_query_are_put_aside_with_their_file(spark: SparkSession, folder: Path) -> None:
    text = "CREATE QUERY q INTO out AS SELECT n FROM numbers;"
    add_file(folder, 2, ['{"n": 20', row(21)])
    report = run(spark, folder, text, more=", on_error = 'fail'")
    assert report.diagnostics == ()
    assert [r["n"] for r in report.rows("q")] == [n for n in range(FILES * ROWS) if n // ROWS != 2]
    assert report.totals[0].dead == 2
    # The query of this run has the gate from the first malformed row on; the second one must not pass behind it.
    add_file(folder, 5, [row(50), "oops"])
    add_file(folder, 6, [row(51), "oops"])
    add_file(folder, 7, [row(52)])
    later = run(spark, folder, text, more=", on_error = 'fail'")
    assert later.diagnostics == ()
    assert [r["n"] for r in later.rows("q")] == [52]
    assert sorted(put_aside(folder / "state" / "q")) == [2, 4, 5]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_of_each_format_are_copied_and_their_rows_counted(spark: SparkSession, folder: Path, kind: str) -> None:
    for file in (folder / "in").iterdir():
        table = pajson.read_json(file)
        made = file.with_suffix(f".{kind}")
        if kind == "parquet":
            pq.write_table(table, made)
        else:
            made.write_text("".join(f"{r['n']},{r['ts']:%Y-%m-%dT%H:%M:%SZ}\n" for r in table.to_pylist()))
        os.utime(made, (file.stat().st_mtime, file.stat().st_mtime))
        file.unlink()
    more = ", header = false" if kind == "csv" else ""
    report = run(spark, folder, PLAIN, kind=kind, more=more)
    assert report.diagnostics == ()
    assert sorted(r["n"] for r in report.rows("q")) == good_numbers()
    (totals,) = report.totals
    assert (totals.rows_in, totals.dead, totals.kept, totals.malformed) == (FILES * ROWS, ROWS, (FILES - 1) * ROWS, 0)
    copied = folder / "dead" / "q" / "batch-1" / "numbers" / f"001.{kind}"
    assert copied.read_bytes() == (folder / "in" / f"001.{kind}").read_bytes()

    # The letters are input like any other, once the function takes the row.
    again = STREAM.replace("path = 'in'", "path = 'dead/*/batch-*/numbers'").format(more=more, format=kind) + SINK
    text = again + "CREATE QUERY q INTO out AS SELECT n, checked(0) AS zero FROM numbers;"
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, RunOptions(once=True), session=spark)
    assert sorted(r["n"] for r in report.rows("q")) == list(range(ROWS, 2 * ROWS))


def test_rows_that_were_made_by_number_are_letters_too_and_shedding_goes_on(spark: SparkSession, folder: Path) -> None:
    text = """
    SET dead_letters = 'dead'; SET restart_delay = '10 milliseconds'; SET tries = 2;
    CREATE STREAM bid (auction BIGINT, price BIGINT, dateTime TIMESTAMP, WATERMARK FOR dateTime)
      WITH (connector = 'nexmark', table = 'bid', events = 40000, max_events_per_trigger = 10000);
    CREATE FUNCTION checked (n BIGINT) RETURNS BIGINT AS 'own_checks:late';
    CREATE SINK gone WITH (connector = 'file', format = 'json', path = 'gone');
    """
    (folder / "own_checks.py").write_text(LATE)
    query = "CREATE QUERY q INTO out AS SELECT checked(CAST(unix_millis(dateTime) AS BIGINT)) AS n FROM bid SHED RANDOM BY 30 PERCENT"
    plan = compile_program(
        text + SINK + query + " RECOVER DROPPED INTO gone;", CompileOptions(base_dir=str(folder))
    ).require()
    report = run_plan(plan, RunOptions(once=True, checkpoint=folder / "state"), session=spark)
    assert report.diagnostics == ()
    (totals,) = report.totals
    assert totals.dead > 0
    assert totals.shed > 0
    assert totals.rows_in == totals.kept + totals.shed + totals.dead == 36_800
    (batch,) = put_aside(folder / "state" / "q")
    letters_of = list((folder / "dead" / "q" / f"batch-{batch}" / "bid").glob("*.json"))
    assert sum(len(p.read_text().splitlines()) for p in letters_of) == totals.dead
    gone = list((folder / "gone").rglob("*.json"))
    assert sum(len(p.read_text().splitlines()) for p in gone) == totals.shed
    assert not (folder / "gone" / "bid" / f"batch-{batch}").exists()


def test_without_a_folder_for_letters_the_query_is_given_up_and_the_others_go_on(spark: SparkSession, folder: Path) -> None:
    heard = Heard()
    text = f"{PLAIN} CREATE SINK all_of WITH (connector = 'memory'); CREATE QUERY other INTO all_of AS SELECT n FROM numbers;"
    program = (STREAM.format(more="", format="json") + SINK + text).replace("SET dead_letters = 'dead';", "")
    plan = compile_program(program, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, RunOptions(once=True), heard, session=spark)
    assert (report.ended_by, report.given_up, report.failed) == ("failed", ("q",), True)
    assert len(report.rows("other")) == FILES * ROWS
    (found,) = report.diagnostics
    assert found.code == "SQ0810"
    assert "2 times at batch 1" in found.message
    assert "13 is no number" in found.notes[0]
    assert heard.of("q") == [Event.FAILURE, Event.RESTART, Event.FAILURE, Event.GIVEN_UP]


def test_rows_that_cannot_be_read_again_are_not_put_aside(spark: SparkSession, folder: Path) -> None:
    text = STREAM.replace("connector = 'file', path = 'in', format = '{format}', max_files_per_trigger = 1{more}",
                          "connector = 'rate', rows_per_second = 100").replace("(n BIGINT, ts", "(value BIGINT, timestamp")
    text = text.replace("FOR ts", "FOR timestamp") + SINK + PLAIN.replace("checked(n)", "checked(value)")
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, RunOptions(duration_s=60), session=spark)
    (found,) = report.diagnostics
    assert found.code == "SQ0810"
    assert any("cannot be read again" in note for note in found.notes)
    assert not (folder / "dead").exists() or not list((folder / "dead").rglob("note.json"))


def test_who_dies_between_the_letters_and_the_list_writes_them_once(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def killed(*args: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("streamq.runtime.spark.supervisor.list_aside", killed)
        with pytest.raises(Killed):
            run(spark, folder, PLAIN)
    assert put_aside(folder / "state" / "q") == {}
    place = folder / "dead" / "q" / "batch-1"
    before = (place / letters.NOTE).stat().st_mtime_ns
    report = run(spark, folder, PLAIN)
    assert report.diagnostics == ()
    assert sorted(r["n"] for r in report.rows("q"))[-2 * ROWS :] == good_numbers()[-2 * ROWS :]
    assert (place / letters.NOTE).stat().st_mtime_ns == before
    assert [p.name for p in (folder / "dead" / "q").iterdir()] == ["batch-1"]


class Picky:
    """A sink that takes no numbers above 29."""

    def __init__(self, query: PhysicalQuery) -> None:
        self.query, self.taken = query, dict[int, list[int]]()

    def check(self) -> None:
        pass

    def prepare(self, frame: DataFrame) -> None:
        pass

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        rows = [r["n"] for r in batch.collect()]
        if max(rows, default=0) > 29:
            raise SinkRefused(self.query.name, Diagnostic("SQ0806", "the sink refuses rows", NO_SPAN))
        self.taken[number] = rows


def test_rows_that_a_sink_refuses_are_put_aside_as_they_were_to_be_written(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = STREAM.format(more="", format="json") + SINK + "CREATE QUERY q INTO out AS SELECT n + 0 AS n FROM numbers;"
    plan = compile_program(program, CompileOptions(base_dir=str(folder))).require()
    query = replace(plan.queries[0], sink=SinkSpec("out", "picky"))
    sink = Picky(query)
    monkeypatch.setattr("streamq.runtime.spark.sinks.writer_of", lambda *args: sink)
    add_file(folder, FILES, [row(20)])
    heard = Heard()
    options = RunOptions(once=True, checkpoint=folder / "state")
    report = run_plan(replace(plan, queries=(query,)), options, heard, session=spark)
    assert report.diagnostics == ()
    assert {number: len(taken) for number, taken in sink.taken.items()} == {0: 10, 1: 10, 2: 10, 3: 0, 4: 1}
    (totals,) = report.totals
    assert (totals.rows_in, totals.kept, totals.dead, totals.refused, totals.rows_out) == (41, 41, 0, 10, 31)
    place = folder / "dead" / "q" / "batch-3"
    lines = [json.loads(line)["n"] for p in sorted((place / "refused").glob("*.json")) for line in p.read_text().splitlines()]
    assert sorted(lines) == list(range(30, 40))
    assert json.loads((place / "note.json").read_text())["rows"] == "output"
    assert heard.of("q")[-3:] == [Event.QUARANTINE, Event.RESTART, Event.DONE]


def test_letters_have_all_digits_of_a_time(spark: SparkSession, tmp_path: Path) -> None:
    aside = Aside(str(tmp_path), refused=True, note={"query": "q", "batch": 7, "checkpoint": 1.0})
    rows = spark.sql("SELECT TIMESTAMP'2024-01-01 00:00:00.123456' AS ts, CAST(NULL AS INT) AS n")
    letters_instead(lambda _rows, _number: None, {7: aside})(rows, 7)
    (part,) = (tmp_path / "q" / "batch-7" / "refused").glob("*.json")
    assert json.loads(part.read_text()) == {"ts": "2024-01-01T00:00:00.123456Z", "n": None}


def test_refused_rows_are_read_where_their_letters_are_there_already(spark: SparkSession, tmp_path: Path) -> None:
    read, given = spark.sparkContext.accumulator(0), list[tuple[int, int]]()

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    batch = spark.range(5).mapInArrow(count, "id bigint")
    note = {"query": "q", "batch": 1, "checkpoint": 1.0}
    take = letters_instead(lambda frame, number: given.append((number, frame.count())), {1: Aside(str(tmp_path), True, note)})
    take(batch, 1)
    assert (read.value, given) == (5, [(1, 0)])
    take(batch, 1)
    assert (read.value, given) == (10, [(1, 0), (1, 0)])
