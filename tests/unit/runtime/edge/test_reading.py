from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.dsl.records import replace
from streamq.runtime.edge.at_source import source as reading
from streamq.runtime.edge.at_source.lines import Cutter
from streamq.runtime.edge.at_source.parsing import parsed
from streamq.runtime.edge.at_source.source import Block, Files, Pipe, Position, position_of
from streamq.runtime.edge.plan import CycleRule, EdgePlan
from tests.unit.runtime.edge.support import small_plan


@given(st.lists(st.binary(max_size=12)), st.integers(1, 20))
def test_lines_are_cut_whole(pieces: list[bytes], most: int) -> None:
    cutter, whole, skipped = Cutter(most), b"", 0
    for piece in pieces:
        lines, count = cutter.cut(piece)
        assert not lines or lines.endswith(b"\n")
        assert len(cutter.rest) <= most
        whole += lines
        skipped += count
    everything = b"".join(pieces)
    if not skipped:
        assert whole + cutter.ended() == everything
    else:
        assert len(whole) < len(everything)


def read_all(source: Files) -> tuple[bytes, int]:
    found, too_long = b"", 0
    for _ in range(1000):
        block = source.read()
        found += block.lines
        too_long += block.too_long
        if block.ended:
            return found, too_long
    raise AssertionError


def test_a_file_that_grows(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"1\n2\n3")
    source = Files(file)
    assert source.read().lines == b"1\n2\n"
    block = source.read()
    assert (block.lines, block.ended, block.position.file, block.position.offset) == (b"", True, "rows", 4)
    with file.open("ab") as more:
        more.write(b"3\n4\n")
    assert source.read().lines == b"33\n4\n"
    again = Files(file)
    again.seek(block.position)
    assert again.read().lines == b"33\n4\n"


def test_a_file_that_is_not_followed_ends_without_a_line_break(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"1\n2")
    assert read_all(Files(file, follow=False)) == (b"1\n2", 0)


def test_a_file_that_was_replaced_by_a_shorter_one(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"1\n2\n3\n")
    source = Files(file)
    assert source.read().lines == b"1\n2\n3\n"
    file.write_bytes(b"4\n")
    source.read()
    assert source.read().lines == b"4\n"


def test_a_folder_in_the_order_of_names(tmp_path: Path) -> None:
    for name, text in (("b", b"3\n4"), ("a", b"1\n2\n"), (".hidden", b"x\n"), ("_started", b"y\n")):
        (tmp_path / name).write_bytes(text)
    source = Files(tmp_path)
    found, _ = read_all(source)
    assert found == b"1\n2\n3\n"
    (tmp_path / "c").write_bytes(b"5\n")
    assert read_all(source)[0] == b"45\n"


def test_an_empty_folder_and_one_that_fills(tmp_path: Path) -> None:
    source = Files(tmp_path)
    assert source.read().ended
    (tmp_path / "a").write_bytes(b"1\n")
    assert read_all(source)[0] == b"1\n"


def test_lines_that_are_too_long_are_skipped_and_counted(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"1\n" + b"x" * 1000 + b"\n2\n" + b"y" * 500 + b"\n3\n")
    assert read_all(Files(file, block=64)) == (b"1\n2\n3\n", 2)


def test_a_restart_in_the_middle_of_a_line_that_is_too_long(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"1\n" + b"x" * 1000 + b"\n2\n")
    source = Files(file, block=64)
    while not (block := source.read()).position.skipping:
        pass
    again = Files(file, block=64)
    again.seek(position_of(block.position.text()))
    assert read_all(again)[0] == b"2\n"


def test_a_pipe() -> None:
    out, into = os.pipe()
    try:
        source = Pipe(out, wait_s=0.0)
        assert source.read().lines == b""
        os.write(into, b"1\n2")
        assert source.read().lines == b"1\n"
        os.close(into)
        block = source.read()
        assert (block.lines, block.ended) == (b"2", True)
    finally:
        os.close(out)


def test_columns_of_csv_are_those_of_its_first_line(tmp_path: Path) -> None:
    plan = small_plan(format="csv")
    (tmp_path / "a.csv").write_bytes(b"y,other,k,x\n1,9,a,2\n3,9,b,\n")
    (tmp_path / "b.csv").write_bytes(b"k,x,y\nc,5,6\n")
    source = Files(tmp_path, header=True, follow=False)
    found = []
    while not (block := source.read()).ended or block.lines:
        found += parsed(block.lines, plan, block.header).rows.to_pylist()
    assert [tuple(row.values()) for row in found] == [("a", 2.0, 1.0), ("b", None, 3.0), ("c", 5.0, 6.0)]


def test_a_first_line_of_csv_that_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"y,k")
    source = Files(tmp_path, header=True)
    assert source.read().ended
    (tmp_path / "a.csv").write_bytes(b"y,k,x\n1,a,2\n")
    block = source.read()
    assert (block.lines, block.header) == (b"1,a,2\n", ("y", "k", "x"))
    (tmp_path / "b.csv").write_bytes(b"")
    (tmp_path / "c.csv").write_bytes(b"k\nb\n")
    assert read_all(source)[0] == b"b\n"


@pytest.mark.parametrize("text", ["", "[]", '["a"]', '["a", -1, false]', '["a", "b", true]', '["a", 1, true, 2]'])
def test_no_position(text: str) -> None:
    with pytest.raises(ValueError, match="no position"):
        position_of(text)


BAD_JSON = [
    b"not json", b"[1]", b'{"k": "a"', b'{"k": 5}', b'{"x": "warm"}', b'{"x": true}', b'{"k": "\xff\xfe"}',
    b'{"k": ' + b"[" * 5000, b'{"k": "a", "k": "b"}', b'{"x": 1e999}', b"\x00\x01", b'{"k": {"a": 1}}',
]


@pytest.mark.parametrize("bad", BAD_JSON)
def test_a_malformed_line_is_counted_and_others_are_read(bad: bytes) -> None:
    good = [json.dumps({"k": f"k{i}", "x": i, "z": [i]}).encode() for i in range(40)]
    found = parsed(b"\n".join([*good[:13], bad, *good[13:], b"", bad]) + b"\n", small_plan())
    assert found.malformed == 2
    assert found.rows.column("k").to_pylist() == [f"k{i}" for i in range(40)]


def test_nothing_but_malformed_lines() -> None:
    found = parsed(b"\n".join(BAD_JSON * 20) + b"\n", small_plan())
    assert (found.rows.num_rows, found.malformed) == (0, 20 * len(BAD_JSON))
    assert found.rows.schema == small_plan().schema
    assert parsed(b"", small_plan()).malformed == 0
    assert parsed(b"\n\n \n", small_plan()).rows.num_rows == 0


def test_malformed_lines_of_csv() -> None:
    plan = small_plan(format="csv")
    found = parsed(b'a,1,2\nb,1\nc,x,2\n"d"",1,2\ne,,\nf,1,2,3\n\xff,1,2\n', plan)
    assert found.rows.column("k").to_pylist() == ["a", "e"]
    assert found.malformed == 5


def test_all_types() -> None:
    columns = {
        "k": "string", "b": "bool", "i": "int16", "f": "float", "d": "date32[day]", "t": "timestamp[us, tz=UTC]",
        "u": "timestamp[us]",
    }
    plan = small_plan(columns=columns)
    row = {"k": "a", "b": True, "i": 7, "f": 1.5, "d": "2024-02-29", "t": "2024-02-29T12:00:00.000001Z", "u": "2024-02-29 12:00:00"}
    found = parsed(json.dumps(row).encode() + b"\n", plan)
    assert found.malformed == 0
    assert found.rows.schema == plan.schema
    csv = parsed((",".join(str(v).lower() if v is True else str(v) for v in row.values()) + "\n").encode(), small_plan(columns=columns, format="csv"))
    assert csv.rows.equals(found.rows)
    bad = json.dumps(row | {"d": "29 Feb"}).encode() + b"\n" + json.dumps(row | {"i": 70_000}).encode() + b"\n"
    assert parsed(bad, plan).malformed == 2
    assert isinstance(found.rows, pa.RecordBatch)


CLOCKED = EdgePlan(
    stream="s", columns={"n": "int64", "t": "timestamp[us, tz=UTC]"}, cycle=CycleRule(length=2), capacity_kbps=1.0, format="csv"
)


@pytest.mark.parametrize("kind", ["csv", "json"])
@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2024-01-01 00:00:01", 1_000_000), ("2024-01-01T00:00:01Z", 1_000_000), ("2024-01-01T02:00:01+02:00", 1_000_000),
        ("2023-12-31 23:00:01-0100", 1_000_000), ("2024-01-01T00:00:01.123456789Z", 1_123_456), ("2024-01-01 00:00:01.5", 1_500_000),
        ("2024-01-01", 0),
    ],
)
def test_times_are_those_that_people_write(kind: str, text: str, micros: int) -> None:
    plan = replace(CLOCKED, format=kind)  # type: ignore[arg-type]
    line = f"1,{text}\n" if kind == "csv" else json.dumps({"n": 1, "t": text}) + "\n"
    found = parsed(line.encode(), plan)
    assert found.malformed == 0
    first = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    assert found.rows.column("t").to_pylist() == [first + dt.timedelta(microseconds=micros)]


def test_the_first_line_that_is_no_row_is_told() -> None:
    found = parsed(b"1,2024-01-01\nx,2024-01-01\n2,yesterday\n3,\n", CLOCKED)
    assert found.rows.column("n").to_pylist() == [1, 3]
    assert (found.malformed, found.wrong) == (2, b"x,2024-01-01")


def test_a_file_that_takes_the_place_of_another_is_read_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_bytes(b"one\ntwo\n")
    files = Files(path)
    assert files.read().lines == b"one\ntwo\n"
    assert files.read().lines == b""
    path.rename(tmp_path / "log.json.1")
    assert files.read().lines == b""
    path.write_bytes(b"three\nfour\nfive\n")
    assert b"".join(files.read().lines for _ in range(3)) == b"three\nfour\nfive\n"


def between(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Lets something happen once, just before a method of files looks."""
    looks, acts = getattr(Files, name), [act]

    def first_acts(files: Files) -> object:
        if acts:
            acts.pop()()
        return looks(files)

    monkeypatch.setattr(Files, name, first_acts)


def add(path: Path, lines: bytes) -> None:
    with path.open("ab") as file:
        file.write(lines)


def test_a_line_that_comes_just_before_a_later_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path / "a", b"1\n")
    files = Files(tmp_path)
    assert files.read().lines == b"1\n"
    between(monkeypatch, "_next", lambda: (add(tmp_path / "a", b"2\n"), add(tmp_path / "b", b"3\n")))
    assert read_all(files)[0] == b"2\n3\n"


def test_a_first_line_of_csv_that_comes_just_before_a_later_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path / "a", b"k")
    files = Files(tmp_path, header=True)
    assert files.read().ended
    header = reading._header

    def late(file: Any) -> Any:
        found = header(file)
        if not (tmp_path / "b").exists():
            add(tmp_path / "a", b"\n1\n")
            add(tmp_path / "b", b"k\n2\n")
        return found

    monkeypatch.setattr(reading, "_header", late)
    assert files.read().ended
    assert read_all(files)[0] == b"1\n2\n"


def replaced(path: Path, lines: bytes) -> None:
    path.rename(path.with_name("_old"))
    path.write_bytes(lines)


def test_a_line_that_comes_just_before_a_file_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    add(path, b"1\n")
    files = Files(path)
    assert files.read().lines == b"1\n"
    between(monkeypatch, "_is_new", lambda: (add(path, b"2\n"), replaced(path, b"3\n")))
    assert read_all(files)[0] == b"2\n3\n"


def test_the_last_line_of_a_replaced_file_needs_no_line_break(tmp_path: Path) -> None:
    path = tmp_path / "log"
    add(path, b"k\n1\n2")
    files = Files(path, header=True)
    assert files.read().lines == b"1\n"
    replaced(path, b"l\n3\n")
    block = files.read()
    assert (block.lines, block.header, block.position) == (b"2", ("k",), Position("log"))
    assert files.read().lines == b"3\n"


@pytest.mark.parametrize("in_folder", [True, False])
def test_a_file_that_was_replaced_by_a_longer_one_meanwhile(tmp_path: Path, in_folder: bool) -> None:
    path = tmp_path / "log"
    add(path, b"1\n2\n")
    read = tmp_path if in_folder else path
    text = Files(read).read().position.text()
    add(path, b"3\n")
    same = Files(read)
    same.seek(position_of(text))
    assert read_all(same)[0] == b"3\n"
    replaced(path, b"44\n5\n6\n")
    other = Files(read)
    other.seek(position_of(text))
    assert read_all(other)[0] == b"44\n5\n6\n"


def test_a_position_of_before_there_were_inodes(tmp_path: Path) -> None:
    add(tmp_path / "log", b"1\n2\n")
    files = Files(tmp_path / "log")
    files.seek(position_of('["log", 2, false]'))
    assert read_all(files)[0] == b"2\n"


def test_a_file_of_a_folder_that_is_gone(tmp_path: Path) -> None:
    for name in "abc":
        add(tmp_path / name, name.encode() + b"\n")
    files = Files(tmp_path)
    files.seek(Position("b", 2))
    (tmp_path / "b").unlink()
    assert read_all(files)[0] == b"c\n"
    files.seek(Position("d", 2))
    assert files.read() == Block(b"", Position("d", 2), ended=True)
    add(tmp_path / "e", b"e\n")
    assert read_all(files)[0] == b"e\n"


@pytest.mark.parametrize("position", [Position(), Position("log", 2)])
def test_a_file_that_is_not_there_is_waited_for(tmp_path: Path, position: Position) -> None:
    files = Files(tmp_path / "log")
    files.seek(position)
    assert files.read() == Block(b"", position, ended=True)
    add(tmp_path / "log", b"1\n")
    assert read_all(files)[0] == (b"" if position.offset else b"1\n")
