"""Missing paths, missing columns and sinks that cannot be written are found without Spark."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamq.compiler.ir.physical import (
    Join,
    PhysicalPlan,
    PhysicalQuery,
    ScanStream,
    ScanTable,
    SinkSpec,
    Step,
)
from streamq.dsl.diagnostics import Diagnostic, Severity
from streamq.dsl.source import Span
from streamq.runtime import datafiles
from streamq.runtime.datafiles import SAMPLE_LINES
from streamq.runtime.preflight import output_taken, preflight

SPAN, PATH = Span("p.cql", 3, 9), Span("p.cql", 20, 31)


def scan(path: str, data_format: str, *names: str, **options: Any) -> ScanStream:
    given = {"path": path, "format": data_format, "header": True, **options}
    return ScanStream(
        id="s", stream="s", connector="file", schema=tuple((n, "STRING") for n in names),
        options=tuple(given.items()), corrupt_column="__corrupt", origin=SPAN, path=PATH,
    )


def check(folder: Path, root: Step, sink: SinkSpec | None = None) -> tuple[Diagnostic, ...]:
    sink = sink or SinkSpec(None, "console")
    return preflight(PhysicalPlan((PhysicalQuery("q", root, "append", sink, ()),), base_dir=str(folder)))


def to_files(path: str) -> SinkSpec:
    return SinkSpec("out", "file", (("path", path), ("format", "json")), origin=SPAN)


def one(found: tuple[Diagnostic, ...]) -> Diagnostic:
    assert len(found) == 1, found
    return found[0]


def test_a_missing_path_is_found_with_the_nearest_name(tmp_path: Path) -> None:
    (tmp_path / "weather.csv").write_text("a\n")
    found = one(check(tmp_path, scan("wether.csv", "csv", "a")))
    assert (found.code, found.span) == ("SQ0705", PATH)
    assert found.help == "in the path, did you mean `weather.csv`?"


def test_a_table_is_looked_at_as_well(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n")
    table = ScanTable(
        id="t", table="t", connector="file", schema=(("k", "STRING"),),
        options=(("path", "b.csv"), ("format", "csv")), origin=SPAN,
    )
    root = Join(scan("a.csv", "csv", "k"), table, "inner", "true", id="j")
    assert one(check(tmp_path, root)).code == "SQ0705"


def test_an_empty_folder_may_still_grow(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    assert check(tmp_path, scan("in", "json", "a")) == ()
    (tmp_path / "in" / "a.json").write_text("")
    assert check(tmp_path, scan("in", "json", "a")) == ()


def test_addresses_elsewhere_are_left_to_spark(tmp_path: Path) -> None:
    assert check(tmp_path, scan("s3a://bucket/key", "json", "a")) == ()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_csv_header(tmp_path: Path, name: str) -> None:
    text = "\ufeffTemp;'hum;id'\n1;2\n".encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    options = {"delimiter": ";", "quote": "'"}
    assert check(tmp_path, scan(name, "csv", "temp", "hum;id", **options)) == ()
    found = one(check(tmp_path, scan(name, "csv", "tempo", "hum;id", **options)))
    assert (found.code, found.help) == ("SQ0803", "did you mean `Temp`?")
    assert found.notes == ("the data has: Temp, hum;id",)


def test_csv_without_header_has_too_few_columns(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2\n")
    assert check(tmp_path, scan("a.csv", "csv", "a", "b", header=False)) == ()
    assert one(check(tmp_path, scan("a.csv", "csv", "a", "b", "c", header=False))).code == "SQ0803"


def test_json_columns_are_those_of_all_first_lines(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n{broken\n[1]\n{"b": 2}\n')
    assert check(tmp_path, scan("a.json", "json", "a", "b")) == ()
    assert one(check(tmp_path, scan("a.json", "json", "c"))).severity is Severity.ERROR
    assert one(check(tmp_path, scan("a.json", "json", "A"))).help == "did you mean `a`?"


def test_a_column_may_come_late_in_a_long_json_file(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a": 1}\n' * (SAMPLE_LINES + 1))
    assert one(check(tmp_path, scan("a.json", "json", "zebra"))).severity is Severity.WARNING


def test_parquet_footer(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1], "b": [{"c": 1}]}), tmp_path / "a.parquet")
    assert check(tmp_path, scan("a.parquet", "parquet", "a", "B")) == ()
    assert one(check(tmp_path, scan("a.parquet", "parquet", "c"))).code == "SQ0803"


def test_a_file_of_another_format(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text("a,b\n1,2\n3,4\n5,6\n")
    found = one(check(tmp_path, scan("a.parquet", "parquet", "a")))
    assert found.code == "SQ0804"


def test_folder_names_count_as_columns(tmp_path: Path) -> None:
    (tmp_path / "in" / "state=NY").mkdir(parents=True)
    (tmp_path / "in" / "state=NY" / "a.csv").write_text("k\n")
    assert check(tmp_path, scan("in", "csv", "k", "state")) == ()


def test_only_files_that_spark_reads_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "in" / "old").mkdir(parents=True)
    for name in ("_log", ".hidden", "old/a.csv", "note.txt"):
        (tmp_path / "in" / name).write_text("other\n")
    (tmp_path / "in" / "z.csv").write_text("k\n")
    assert check(tmp_path, scan("in", "csv", "k", glob="*.csv")) == ()


def test_a_source_is_reported_once(tmp_path: Path) -> None:
    root = Join(scan("x", "json", "a"), scan("x", "json", "a"), "inner", "true", id="j")
    assert one(check(tmp_path, root)).code == "SQ0705"


def test_a_sink_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n")
    assert check(tmp_path, scan("a.csv", "csv", "k"), to_files("new/out")) == ()
    assert not (tmp_path / "new").exists()
    found = one(check(tmp_path, scan("a.csv", "csv", "k"), to_files("a.csv/out")))
    assert (found.code, found.span) == ("SQ0806", SPAN)


def test_a_sink_where_no_folder_can_be_made(tmp_path: Path) -> None:
    """The rights of a superuser do not tell it."""
    (tmp_path / "a.csv").write_text("k\n")
    found = one(check(tmp_path, scan("a.csv", "csv", "k"), to_files("/proc/out/deep")))
    assert (found.code, found.notes) == ("SQ0806", ("no folder can be made in `/proc`",))
    check(tmp_path, scan("a.csv", "csv", "k"), to_files("new/out"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


def test_two_queries_do_not_share_an_output_folder(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n")
    root = scan("a.csv", "csv", "k")
    plan = PhysicalPlan(
        tuple(PhysicalQuery(n, root, "append", to_files("out"), ()) for n in "ab"),
        base_dir=str(tmp_path),
    )
    assert one(preflight(plan)).code == "SQ0806"


def test_an_output_folder_of_another_run(tmp_path: Path) -> None:
    query = PhysicalQuery("q", scan("a", "csv", "k"), "append", to_files("out"), ())
    assert output_taken(query, str(tmp_path)) == ()
    log = tmp_path / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    assert output_taken(query, str(tmp_path)) == (), "a query that was killed as it started goes on"
    (log / "0").touch()
    (found,) = output_taken(query, str(tmp_path))
    assert found is not None
    assert found.code == "SQ0806"


@pytest.mark.parametrize(
    ("content", "options", "says"),
    [
        (b"a\n1\n", {"encoding": "utf-99"}, "unknown encoding"),
        (b"a\n1\n", {"encoding": "rot13"}, "not a text encoding"),
        (b'"' + b"x" * 200_000, {}, "field larger than"),
    ],
)
def test_text_that_cannot_be_read_is_a_finding(
    tmp_path: Path, content: bytes, options: dict[str, str], says: str
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    found = one(check(tmp_path, scan("a.csv", "csv", "a", **options)))
    assert found.code == "SQ0804"
    assert says in found.message


def test_a_broken_packing_is_a_finding(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(b"a,b\n" * 50_000))
    packed[12:40] = b"\xff" * 28
    (tmp_path / "a.csv.gz").write_bytes(packed)
    assert one(check(tmp_path, scan("a.csv.gz", "csv", "a", "b"))).code in ("SQ0705", "SQ0804")


def test_a_row_that_is_nested_without_end_is_malformed_as_others_are(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"a":' + "[" * 100_000 + '\n{"a": 1}\n')
    assert check(tmp_path, scan("a.json", "json", "a")) == ()


def test_a_line_without_end_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datafiles, "LONGEST_LINE", 1000)
    (tmp_path / "a.json").write_text('{"a": "' + "x" * 1_500 + '"}\n{"a": 1}\n')
    (tmp_path / "a.csv").write_text("a" * 2_000 + ",b\n")
    assert check(tmp_path, scan("a.json", "json", "a")) == ()
    assert datafiles.columns_of(tmp_path / "a.csv", "csv", {}) is not None


def test_comments_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("# exported today, by hand\n#\nk,n\na,1\n")
    assert check(tmp_path, scan("a.csv", "csv", "k", "n", comment="#")) == ()
    assert check(tmp_path, scan("a.csv", "csv", "k", "n", header=False, comment="#")) == ()
    assert one(check(tmp_path, scan("a.csv", "csv", "k", "N2", comment="#"))).code == "SQ0803"


@pytest.mark.parametrize("path", ["~nobody-of-this-name/in", "x" * 300, "a/" * 50 + "y" * 300])
def test_names_that_no_file_can_have_do_not_exist(tmp_path: Path, path: str) -> None:
    assert one(check(tmp_path, scan(path, "json", "a"))).code == "SQ0705"


def test_a_sink_of_a_name_that_no_folder_can_have(tmp_path: Path) -> None:
    check(tmp_path, scan(".", "json"), to_files("x" * 300))


def test_a_folder_that_cannot_be_entered_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()

    def refuse(folder: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(Path, "iterdir", refuse)
    found = one(check(tmp_path, scan("in", "json", "a")))
    assert (found.code, "permission denied" in found.message) == ("SQ0705", True)
    assert one(check(tmp_path, scan("other", "json", "a"))).code == "SQ0705"


def test_a_file_of_another_format_says_which_one_it_may_be(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rides-00.csv").write_text("k\n1\n")
    found = one(check(tmp_path, scan("in", "parquet", "k")))
    assert (found.code, found.help) == ("SQ0804", "is it `format = 'csv'`? Else take the file away")


def test_the_folder_of_a_duckdb_file_is_looked_at_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k\n")
    (tmp_path / "a.file").write_text("")
    for path, code in (("new/out.duckdb", None), ("out.duckdb", None), ("a.file/out.duckdb", "SQ0806")):
        sink = SinkSpec("out", "duckdb", (("path", path), ("table", "t")), origin=SPAN)
        assert [d.code for d in check(tmp_path, scan("a.csv", "csv", "k"), sink)] == ([] if code is None else [code])
