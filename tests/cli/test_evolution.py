"""``compile --check-against``, ``run --fresh`` and ``state``: what they print, and that they start no Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from streamq.runtime import cli
from streamq.runtime.checkpoint import folder_of, record
from streamq.runtime.programs import load_program

PROGRAM = """\
CREATE STREAM bid (auction BIGINT, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'bids', format = 'json');
CREATE QUERY hot AS
  SELECT auction, COUNT(*) AS n FROM bid [TUMBLE 10 SECONDS] GROUP BY auction;
CREATE QUERY dear AS SELECT auction, price FROM bid WHERE price > 10;
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that ran for a micro-batch with checkpoint ``place``."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "bids").mkdir()
    path = tmp_path / "p.cql"
    path.write_text(PROGRAM)
    result = load_program("p.cql").result
    assert result is not None
    for query in result.require().queries:
        folder = folder_of(tmp_path / "place", query.name)
        record(query, folder, f"the text of {query.name}", 2)
        for log, text in (("offsets", 'v1\n{"batchWatermarkMs":5000}\n{"logOffset":3}'), ("commits", 'v1\n{"nextBatchWatermarkMs":7000}')):
            (folder / log).mkdir()
            (folder / log / "4").write_text(text)
    operator = tmp_path / "place" / "hot" / "state" / "0"
    (operator / "_metadata").mkdir(parents=True)
    (operator / "_metadata" / "metadata").write_text('v1\n' + json.dumps({
        "operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"},
        "stateStoreInfo": [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 2}],
    }))
    for part in ("0", "1"):
        (operator / part).mkdir()
        (operator / part / "5.delta").write_text("x" * 700)
    return path


def test_a_program_that_is_as_it_was(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", "p.cql", "--check-against", "place"]) == 0
    assert capsys.readouterr().out == "hot: compatible\ndear: compatible\n"


def test_a_program_that_was_changed(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("10 SECONDS", "20 SECONDS").replace("price > 10", "price > 20"))
    assert cli.main(["compile", "p.cql", "--check-against", "place"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "hot: needs a new checkpoint",
        "  ! hot.aggregate: groups rows by other windows (now a window of 20 seconds, no longer a window of 10 seconds): open windows would be "
        "taken for windows of the new kind (p.cql:4:3)",
        "  = `--fresh hot` moves the old checkpoint aside and starts anew; or take the change back",
        "dear: compatible",
        "  - rows are chosen by something else (now (bid.price > 20.0D), no longer (bid.price > 10.0D)), from now on",
    ]


def test_the_verdicts_as_json(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("QUERY dear", "QUERY costly"))
    assert cli.main(["compile", "p.cql", "--check-against", "place", "--format", "json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["version"] == 1
    assert [(q["query"], q["verdict"]) for q in report["queries"]] == [("hot", "compatible"), ("costly", "state lost")]
    assert report["gone"] == ["dear"]
    assert report["queries"][1]["reasons"][0]["where"] == "costly"


def test_a_changed_program_is_not_run_and_nothing_starts(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("10 SECONDS", "20 SECONDS"))
    assert cli.main(["run", "p.cql", "--once", "--checkpoint", "place"]) == 3
    told = capsys.readouterr()
    assert "error[SQ0805]: query `hot` cannot go on with checkpoint" in told.err
    assert "starting Spark" not in told.out + told.err


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["compile", "p.cql", "--check-against", "nowhere"], "there is no such folder"),
        (["state", "nowhere"], "there is no such folder"),
        (["state", "bids"], "no query has a checkpoint there"),
        (["state", "place", "--query", "hott"], "did you mean `hot`"),
        (["state", "place", "--rows", "hot.agregate"], "did you mean `hot.aggregate`"),
        (["run", "p.cql", "--fresh", "hot"], "--fresh needs --checkpoint"),
        (["run", "p.cql", "--checkpoint", "place", "--fresh", "hat"], "did you mean `hot`"),
    ],
)
def test_what_cannot_be_meant(program: Path, capsys: pytest.CaptureFixture[str], argv: list[str], words: str) -> None:
    assert cli.main(argv) == 2
    assert words in capsys.readouterr().err


def test_what_a_checkpoint_holds(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["state", "place"]) == 0
    assert capsys.readouterr().out == """\
dear
  micro-batch 4 planned, 4 done
  watermark   1970-01-01 00:00:07.000 UTC
  reads       bid (file) up to {"logOffset":3}
  keeps no state

hot
  micro-batch 4 planned, 4 done
  watermark   1970-01-01 00:00:07.000 UTC
  reads       bid (file) up to {"logOffset":3}
  hot.aggregate  (aggregate; operator 0 of Spark's: stateStoreSave)
    version 5, 2 KB in 3 files in 2 parts
"""


def test_all_that_keeps_a_run_from_its_start_is_told_at_once_and_nothing_is_moved(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no database, and a broker that is not there: the checkpoint waits until both are set right."""
    (program.parent / "no.duckdb").write_text("a text\n" * 100)
    program.write_text(PROGRAM.replace("CREATE QUERY dear", """\
CREATE STREAM far (price DOUBLE) WITH (connector = 'kafka', bootstrap_servers = '127.0.0.1:1', topic = 'far', format = 'json');
CREATE SINK base WITH (connector = 'duckdb', path = 'no.duckdb', table = 'dear');
CREATE QUERY low AS SELECT price FROM far;
CREATE QUERY dear INTO base"""))
    assert cli.main(["run", "p.cql", "--once", "--checkpoint", "place", "--fresh", "dear"]) == 1
    told = capsys.readouterr().err
    assert "no.duckdb" in told
    assert "error[SQ0808]: no broker of Kafka answers at `127.0.0.1:1`" in told
    assert sorted(path.name for path in (program.parent / "place").iterdir() if path.is_dir()) == ["dear", "hot"]


def test_what_a_checkpoint_holds_as_json(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["state", "place", "--query", "HOT", "--json"]) == 0
    (query,) = json.loads(capsys.readouterr().out)["queries"]
    assert (query["query"], query["done"], query["text"]) == ("hot", 4, "the text of hot")
    assert query["operators"][0]["partitions"] == 2


@pytest.mark.parametrize("argv", [["state", "place"], ["compile", "p.cql", "--check-against", "place"]])
def test_neither_needs_spark_or_a_table_of_numbers(program: Path, argv: list[str]) -> None:
    code = (
        "import sys; from streamq.runtime import cli; cli.main(sys.argv[1:]);"
        "print(sorted({'pyspark', 'py4j', 'pandas', 'pyarrow', 'numpy', 'rich', 'yaml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
