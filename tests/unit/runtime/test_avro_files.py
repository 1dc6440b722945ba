"""Schemas of Avro are looked at before a run: that they are there, are schemas, and have the columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.preflight import preflight

PROGRAM = """
CREATE STREAM s (id BIGINT, who STRING, k STRING)
WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 'a', key = 'k', format = 'avro', schema_file = 'in.avsc');
CREATE SINK out WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 'b', key = 'id', format = 'avro', schema_file = 'out.avsc');
INSERT INTO out SELECT id, who FROM s;
"""


def found(folder: Path) -> list[Diagnostic]:
    plan = compile_program(PROGRAM, CompileOptions(base_dir=str(folder))).plan
    assert plan is not None
    return list(preflight(plan))


def write(path: Path, *names: str) -> None:
    fields = [{"name": name, "type": ["null", "string"]} for name in names]
    path.write_text(json.dumps({"type": "record", "name": "r", "fields": fields}))


def test_schemas_that_have_all_columns(tmp_path: Path) -> None:
    write(tmp_path / "in.avsc", "who", "more", "ID")
    write(tmp_path / "out.avsc", "id", "who")
    assert found(tmp_path) == []


def test_files_that_are_not_there_and_columns_that_they_lack(tmp_path: Path) -> None:
    write(tmp_path / "out.avsc", "id", "whom")
    first, second = found(tmp_path)
    assert (first.code, first.message) == ("SQ0705", "schema `in.avsc` cannot be read: no such file or directory")
    assert (second.code, second.message) == ("SQ0803", "column `who` is not in the schema `out.avsc`")
    assert "whom" in second.help


@pytest.mark.parametrize("text", ["", '"string"', "[]", '{"type": "record"}', '{"type": "record", "fields": [{}]}', '{"type": "record", "fields": [1]}'])
def test_what_is_no_schema(tmp_path: Path, text: str) -> None:
    write(tmp_path / "out.avsc", "id", "who")
    (tmp_path / "in.avsc").write_text(text)
    assert [d.code for d in found(tmp_path)] == ["SQ0703"]
