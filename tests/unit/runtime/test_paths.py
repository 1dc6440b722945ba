"""Paths of a program: where they start, and how a single file reaches Spark's file stream."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.runtime.paths import data_files, exists, is_remote, resolve, spark_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("in", "/home/x/in"),
        ("../in/./a.csv", "/home/in/a.csv"),
        ("/data/in", "/data/in"),
        ("file:///data/in", "/data/in"),
        ("file:/data/in", "/data/in"),
        ("s3a://bucket/in", "s3a://bucket/in"),
    ],
)
def test_relative_paths_start_at_the_program(path: str, expected: str) -> None:
    assert resolve("/home/x", path) == expected


def test_what_lies_elsewhere() -> None:
    assert is_remote("hdfs://host/a")
    assert not is_remote("file:///a")
    assert not is_remote("a:b")


def test_a_folder_or_pattern_reaches_spark_as_it_is(tmp_path: Path) -> None:
    assert spark_path(str(tmp_path)) == str(tmp_path)
    assert spark_path(str(tmp_path / "*.csv")) == str(tmp_path / "*.csv")


def test_a_file_becomes_a_pattern_that_matches_it_alone(tmp_path: Path) -> None:
    (tmp_path / "a{1}.csv").write_text("")
    made = spark_path(str(tmp_path / "a{1}.csv"))
    assert made == rf"{tmp_path}/a\{{1\}}.cs[v]"


def test_files_that_are_read(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "_x.csv", ".y.csv", "deep/c.csv", "k=1/d.csv", "e.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    found = [f.name for f in data_files(str(tmp_path), {"glob": "*.csv"})]
    assert found == ["a.csv", "b.csv", "d.csv"]
    assert len(list(data_files(str(tmp_path), {"recursive": True}))) == 5
    assert [f.name for f in data_files(str(tmp_path / "*.csv"))] == ["_x.csv", "a.csv", "b.csv"]
    assert exists(str(tmp_path / "*.csv"))
    assert not exists(str(tmp_path / "*.json"))
