"""What is kept beside a checkpoint: the shape of its query, its text, and never a secret."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.evolution import shape_of
from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, SinkSpec, Where
from streamq.runtime import checkpoint

PROGRAM = """\
CREATE STREAM s (k INT, x INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'file', path = 'in', format = 'json');
"""
COUNTS = "CREATE QUERY counts AS SELECT k, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k;"
ROWS = "CREATE QUERY rows AS SELECT k FROM s;"


def query(text: str) -> PhysicalQuery:
    (found,) = compile_program(PROGRAM + text).require().queries
    return found


def begin(directory: Path) -> None:
    """A micro-batch is planned."""
    (directory / "offsets").mkdir(parents=True, exist_ok=True)
    (directory / "offsets" / "0").write_text("v1\n")


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    counts = query(COUNTS)
    started = checkpoint.record(counts, tmp_path, COUNTS, 3)
    found = checkpoint.stored(tmp_path)
    assert found is not None
    assert (found.shape, found.started, found.text, found.partitions) == (shape_of(counts), started, COUNTS, 3)
    assert found.streamq
    assert found.spark


def test_a_later_start_keeps_the_first_start_and_the_parts_of_the_state(tmp_path: Path) -> None:
    started = checkpoint.record(query(COUNTS), tmp_path, partitions=3)
    begin(tmp_path)
    assert checkpoint.record(query(COUNTS), tmp_path, partitions=5) == started
    found = checkpoint.stored(tmp_path)
    assert found is not None
    assert found.partitions == 3


def test_sources_have_the_names_that_a_checkpoint_began_with(tmp_path: Path) -> None:
    assert checkpoint.has_names(query(ROWS), tmp_path)
    assert not checkpoint.has_names(query(COUNTS), tmp_path)
    checkpoint.record(query(COUNTS), tmp_path)
    begin(tmp_path)
    assert not checkpoint.has_names(query(ROWS), tmp_path)


@pytest.mark.parametrize("text", ["", "[]", '{"version": 99}', '{"version": 1, "operators": {}}', '{"version": 2, "shape": {}}'])
def test_a_file_of_something_else_has_no_shape(tmp_path: Path, text: str) -> None:
    (tmp_path / checkpoint.FILE_NAME).write_text(text)
    found = checkpoint.stored(tmp_path)
    assert found is None or found.shape is None


def test_no_secret_is_written(tmp_path: Path) -> None:
    scan = ScanStream(
        id="e.scan", stream="e", connector="edge", schema=(("a", "INT"),), options=(("path", "in"), ("token", "hush-hush")),
    )
    asked = PhysicalQuery("q", Where(scan, "`a` > 1", id="q.filter"), "append", SinkSpec(None, "console"), (("a", "INT"),))
    checkpoint.record(asked, tmp_path)
    text = (tmp_path / checkpoint.FILE_NAME).read_text()
    assert json.loads(text)["shape"]["sources"][0]["id"] == "e"
    assert "hush" not in text


def test_queries_are_found_by_their_folders_and_not_those_moved_aside(tmp_path: Path) -> None:
    for name in ("a b", "dots.in.it"):
        checkpoint.record(replace(query(ROWS), name=name), checkpoint.folder_of(tmp_path, name))
    checkpoint.record(query(ROWS), tmp_path / "rows.20261130T100000Z")
    assert checkpoint.queries_in(tmp_path) == ("a b", "dots.in.it")
    assert checkpoint.queries_in(tmp_path / "nowhere") == ()
