"""The rows of files that are malformed: in which line they stand, and what is wrong with them; as many as a run counts."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.malformed import file_streams
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Abort
from streamq.runtime.malformed_command import _print
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.malformed import LONGEST_TEXT, Search, search
from streamq.runtime.spark.runner import run_plan

pytestmark = pytest.mark.spark

RIDE = "id INT, fare DOUBLE, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE"
GOOD = "1,2.5,2024-01-01T00:00:00Z"
HEADER = "id,fare,at"


def program(folder: Path, options: str, columns: str = RIDE, wanted: str = "*") -> str:
    return f"CREATE STREAM ride ({columns}) WITH (connector = 'file', path = 'rides', {options}); SELECT {wanted} FROM ride;"


def found(spark: SparkSession, folder: Path, text: str, limit: int = 100) -> Search:
    (stream,) = file_streams(compile_program(text, CompileOptions(base_dir=str(folder))))
    return search(stream, str(folder), limit, spark)


def counted(spark: SparkSession, folder: Path, text: str) -> int:
    """What a run counts as malformed."""
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, RunOptions(once=True), session=spark)
    assert report.diagnostics == ()
    return report.totals[0].malformed


def write(folder: Path, name: str, *lines: str, end: str = "\n") -> Path:
    file = folder / "rides" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(line + end for line in lines), encoding="utf-8", newline="")
    return file


def places(search: Search) -> list[tuple[str, int | None]]:
    return [(Path(row.file).name, row.line) for row in search.first]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_of_csv(spark: SparkSession, tmp_path: Path, end: str) -> None:
    write(
        tmp_path, "a.csv", "# made by hand", HEADER, GOOD, "", "2,abc,2024-01-01T00:00:01Z", "3,1.0,", "4,1.0", GOOD + ",7",
        '5,"a,b",soon', HEADER, "#6,x,x", end=end,
    )
    write(tmp_path, "b.csv", HEADER, GOOD, GOOD)
    write(tmp_path, "no rows.csv", HEADER)
    write(tmp_path, "empty.csv")
    text = program(tmp_path, "format = 'csv', comment = '#'")
    whole = found(spark, tmp_path, text)
    assert (whole.rows, whole.malformed, whole.files, whole.bad_files) == (9, 6, 2, 1)
    assert whole.malformed == counted(spark, tmp_path, text)
    assert [(row.line, row.reasons) for row in whole.first] == [
        (5, ("`fare` is no DOUBLE: abc",)),
        (6, ("`at` is NULL or missing",)),
        (7, ("`at` is NULL or missing",)),
        (8, ("has more or fewer fields than its file has columns",)),
        (9, ("`fare` is no DOUBLE: a,b", "`at` is no TIMESTAMP: soon")),
        (10, ("`id` is no INT: id", "`fare` is no DOUBLE: fare", "`at` is no TIMESTAMP: at")),
    ]
    assert whole.first[0].text == "2,abc,2024-01-01T00:00:01Z"
    assert places(found(spark, tmp_path, text, limit=2)) == [("a.csv", 5), ("a.csv", 6)]


def test_columns_by_the_header_and_texts_in_a_way_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """The file has its columns in another order, and one that nobody declared."""
    write(tmp_path, "a.csv", "at;more;id;fare", "01.02.2024 00:00;x;1;-", "2024-02-01;x;1;2", "01.02.2024 00:00;x;one;2")
    text = program(tmp_path, "format = 'csv', delimiter = ';', null_value = '-', timestamp_format = 'dd.MM.yyyy HH:mm'")
    assert [(row.line, row.reasons) for row in found(spark, tmp_path, text).first] == [
        (3, ("`at` is no TIMESTAMP: 2024-02-01",)), (4, ("`id` is no INT: one",)),
    ]


def test_lines_of_json(spark: SparkSession, tmp_path: Path) -> None:
    good = {"id": 1, "fare": 2.5, "at": "2024-01-01T00:00:00Z"}
    lines = [good, "nonsense", {**good, "id": "x"}, {"id": 2, "fare": "y"}, {**good, "fare": None}, {**good, "more": [1]}]
    write(tmp_path, "a.json", *(line if isinstance(line, str) else json.dumps(line) for line in lines))
    text = program(tmp_path, "format = 'json'")
    whole = found(spark, tmp_path, text)
    assert [(row.line, row.reasons) for row in whole.first] == [
        (2, ("is no JSON object with these columns",)),
        (3, ("`id` is no INT: x",)),
        (4, ("`fare` is no DOUBLE: y", "`at` is NULL or missing")),
    ]
    assert whole.malformed == counted(spark, tmp_path, text) == 3
    only = program(tmp_path, "format = 'json'", wanted="at, fare")
    assert [row.line for row in found(spark, tmp_path, only).first] == [2, 4]
    assert counted(spark, tmp_path, only) == 2


def test_lines_are_those_of_their_own_file(spark: SparkSession, tmp_path: Path) -> None:
    """Many small files, one in a folder that is a column, one packed, one with a name that Spark writes in another way."""
    for number in range(30):
        write(tmp_path, f"state=NY/{number:02}.csv", HEADER, *[GOOD] * number, "bad,1,2024-01-01T00:00:00Z", GOOD)
    write(tmp_path, "state=NJ/a b%20[1]?.csv", HEADER, GOOD, "bad,1,2024-01-01T00:00:00Z")
    (tmp_path / "rides/state=NJ/p.csv.gz").write_bytes(gzip.compress(f"{HEADER}\n{GOOD}\n{GOOD}\nbad,1,\n".encode()))
    text = program(tmp_path, "format = 'csv'", f"state STRING NOT NULL, {RIDE}")
    whole = found(spark, tmp_path, text)
    assert places(whole) == [("a b%20[1]?.csv", 3), ("p.csv.gz", 4), *((f"{n:02}.csv", n + 2) for n in range(30))]
    assert whole.malformed == 32 == counted(spark, tmp_path, text)


def test_rows_over_lines_and_other_character_sets_have_a_file_alone(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a.csv", HEADER, GOOD, '"two', 'lines",1,2024-01-01T00:00:00Z')
    for options in ("multi_line = true", "encoding = 'ISO-8859-1'"):
        whole = found(spark, tmp_path, program(tmp_path, f"format = 'csv', {options}"))
        assert whole.malformed >= 1
        assert set(places(whole)) == {("a.csv", None)}


def test_rows_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rides").mkdir()
    pq.write_table(pa.table({"id": [1, None, 3, None], "fare": [1.0, 2.0, None, 4.0]}), tmp_path / "rides/a.parquet")
    text = program(tmp_path, "format = 'parquet'", "id BIGINT NOT NULL, fare DOUBLE")
    whole = found(spark, tmp_path, text)
    assert [(row.line, row.reasons, row.text) for row in whole.first] == [(n, ("`id` is NULL or missing",), "") for n in (2, 4)]
    every = found(spark, tmp_path, program(tmp_path, "format = 'parquet'", "id BIGINT, fare DOUBLE"))
    assert (every.rows, every.malformed, every.first) == (4, 0, ())


def test_what_is_shown_of_a_row_is_bounded(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a.csv", HEADER, "x" * 100_000 + ",1,2024-01-01T00:00:00Z")
    (row,) = found(spark, tmp_path, program(tmp_path, "format = 'csv'")).first
    assert len(row.text) == LONGEST_TEXT + 1
    assert len(row.reasons[0]) < LONGEST_TEXT


def test_settings_are_as_before(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")
    write(tmp_path, "a.csv", HEADER, "x,1,2024-01-01T00:00:00Z")
    found(spark, tmp_path, program(tmp_path, "format = 'csv'"))
    assert spark.conf.get("spark.sql.files.maxPartitionBytes") == before


def test_names_that_are_hostile(spark: SparkSession, tmp_path: Path) -> None:
    """Columns with the names of what Spark has beside them, or with its own quotes in them."""
    write(tmp_path, "a.csv", "_metadata,value,a`b", "1,2,3", "1,x,3")
    text = program(tmp_path, "format = 'csv'", '"_metadata" INT, "value" INT, "a`b" INT')
    assert [(row.line, row.reasons) for row in found(spark, tmp_path, text).first] == [(3, ("`value` is no INT: x",))]


def test_files_that_spark_cannot_read(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path, "a.parquet", "no parquet")
    with pytest.raises(Abort) as stop:
        found(spark, tmp_path, program(tmp_path, "format = 'parquet'", "id BIGINT NOT NULL"))
    assert stop.value.diagnostic.code == "SQ0801"
    assert "a.parquet" in stop.value.diagnostic.notes[0]
    assert "\n" not in stop.value.diagnostic.notes[0]


def test_text_that_steers_a_terminal_is_shown_without_that_and_is_whole_as_json(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, "a.csv", HEADER, "\x1b[31mred\u202e,1,2024-01-01T00:00:00Z")
    rows = found(spark, tmp_path, program(tmp_path, "format = 'csv'"))
    _print(rows, as_json=False)
    assert not {"\x1b", "\u202e"} & set(capsys.readouterr().out)
    _print(rows, as_json=True)
    told = capsys.readouterr().out
    assert not {"\x1b", "\u202e"} & set(told)
    assert json.loads(told)["text"].startswith("\x1b[31mred\u202e,1")
