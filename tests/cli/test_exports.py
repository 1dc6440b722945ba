"""``streamq compile --emit submit`` and ``--emit pipelines``: what is written where, and exit codes."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.runtime.cli import main

PROGRAM = """
CREATE STREAM s (timestamp TIMESTAMP, value BIGINT) WITH (connector = 'rate');
CREATE QUERY q AS SELECT value FROM s;
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.cql"
    path.write_text(PROGRAM)
    return path


def test_a_script_for_spark_submit(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(program), "--emit", "submit"]) == 0
    script = capsys.readouterr().out
    assert '"p.cql": "\\nCREATE STREAM s' in script
    assert str(program.parent) not in script


def test_a_project_of_pipelines(program: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert main(["compile", str(program), "--emit", "pipelines", "-o", str(folder)]) == 0
    made = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert made == {"spark-pipeline.yml", "transformations/queries.py"}
    assert f"storage: \"file://{folder}/pipeline-storage\"" in (folder / "spark-pipeline.yml").read_text()


def test_pipelines_need_a_folder(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(program), "--emit", "pipelines"]) == 2
    assert "-o DIR" in capsys.readouterr().err


def test_nothing_is_written_of_what_is_refused(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text(PROGRAM.replace("FROM s;", "FROM s QOS LATENCY 2 SECONDS SHED RANDOM;"))
    assert main(["compile", str(program), "--emit", "pipelines"]) == 2
    told = capsys.readouterr().err
    assert "error[SQ0504]: query `q` cannot be exported" in told
    assert "-o DIR" in told
    assert main(["compile", str(program), "--emit", "pipelines", "-o", str(tmp_path / "out")]) == 1
    assert "error[SQ0504]: query `q` cannot be exported" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert main(["compile", str(program), "--emit", "pyspark"]) == 1
    assert "`--emit submit` writes a script that can" in capsys.readouterr().err
