"""The commands: what they print, and with which exit code they end."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from streamq.compiler.ir.goals import Goal
from streamq.dsl.codes import CODES
from streamq.dsl.records import replace
from streamq.runtime import cli
from streamq.runtime.arguments import master, writable_folder
from streamq.runtime.control.forward import KNOBS
from streamq.runtime.control.knobs import publish
from streamq.runtime.control.sifting import store
from streamq.runtime.control.throttle import first_throttle
from streamq.stdlib.sifters.compact import Wish, built
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Both, Compare

PROGRAM = """\
CREATE STREAM bid (auction BIGINT, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'bids', format = 'json');
CREATE QUERY hot AS
  SELECT auction, COUNT(*) AS n FROM bid [TUMBLE 10 SECONDS] GROUP BY auction;
CREATE QUERY dear AS SELECT auction, price FROM bid WHERE price > 10;
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A correct program in the current folder, with its data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_COLOR", "1")
    (tmp_path / "bids").mkdir()
    row = {"auction": 1, "price": 12.5, "ts": "2024-01-01T00:00:00Z"}
    (tmp_path / "bids" / "a.json").write_text(json.dumps(row) + "\n")
    path = tmp_path / "p.cql"
    path.write_text(PROGRAM)
    return path


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def usage(*argv: str) -> int:
    """The exit code where the arguments themselves are wrong."""
    with pytest.raises(SystemExit) as stopped:
        cli.main(list(argv))
    assert isinstance(stopped.value.code, int)
    return stopped.value.code


# --- check ---------------------------------------------------------------------------------------


def test_check_of_a_correct_program(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["check", "p.cql"]) == 0
    assert capsys.readouterr().out == "p.cql: ok, 2 queries\n"


def test_check_reports_every_error_with_its_place(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(program, "SELECT auction, price", "SELECT auction, prise")
    change(program, "COUNT(*)", "COUMT(auction)")
    assert cli.main(["check", "p.cql"]) == 1
    out = capsys.readouterr().out
    assert "error[SQ0202]" in out
    assert "did you mean `price`?" in out
    assert "error[SQ0204]" in out
    assert "--> p.cql:5:38" in out
    assert out.splitlines()[-1] == "2 errors"


def test_check_in_one_line_per_finding(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(program, "SELECT auction, price", "SELECT auction, prise")
    assert cli.main(["check", "--format", "concise", "p.cql"]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("p.cql:5:38: error[SQ0202]: ")


def test_check_as_json(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program.parent / "bad.cql").write_text("SELECT x FROM nowhere;")
    assert cli.main(["check", "--format", "json", "p.cql", "bad.cql"]) == 1
    document = json.loads(capsys.readouterr().out)
    good, bad = document["files"]
    assert document["version"] == 1
    assert (good["ok"], good["queries"], good["diagnostics"]) == (True, ["hot", "dear"], [])
    assert (bad["ok"], bad["queries"], bad["diagnostics"][0]["code"]) == (False, [], "SQ0201")


def test_check_looks_at_the_data(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(program, "price DOUBLE", "prize DOUBLE")
    change(program, "price FROM bid WHERE price", "prize FROM bid WHERE prize")
    assert cli.main(["check", "p.cql"]) == 1
    assert "error[SQ0803]: column `prize` is not in `bids`" in capsys.readouterr().out
    change(program, "path = 'bids'", "path = 'bid'")
    assert cli.main(["check", "p.cql"]) == 1
    told = capsys.readouterr().out
    assert "error[SQ0705]: path `bid` does not exist" in told
    pointed_at, carets = (line.split("|", 1)[1] for line in told.splitlines()[3:5])
    assert pointed_at[carets.index("^"):][:len("path = 'bid'")] == "path = 'bid'"


def test_relative_paths_start_at_the_program(
    program: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert cli.main(["check", str(program)]) == 0


def test_included_files_are_read(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program.parent / "main.cql").write_text("INCLUDE 'p.cql';\nSELECT pric FROM bid;\n")
    assert cli.main(["check", "main.cql"]) == 1
    assert "--> main.cql:2:8" in capsys.readouterr().out
    (program.parent / "lost.cql").write_text("INCLUDE 'no.cql';\n")
    assert cli.main(["check", "lost.cql"]) == 1
    assert "SQ0001" in capsys.readouterr().out


def test_a_program_from_standard_input(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert cli.main(["check", "-"]) == 0
    assert capsys.readouterr().out == "<stdin>: ok, 2 queries\n"


@pytest.mark.parametrize(
    ("data", "code"),
    [(None, "SQ0001"), (b"\xff\xfe\x00junk", "SQ0005"), (b"", "SQ0004"), (b"\xef\xbb\xbf", "SQ0004")],
)
def test_what_is_no_program(
    program: Path, capsys: pytest.CaptureFixture[str], data: bytes | None, code: str
) -> None:
    if data is not None:
        (program.parent / "x.cql").write_bytes(data)
    assert cli.main(["check", "x.cql"]) == 1
    assert f"error[{code}]" in capsys.readouterr().out


def test_byte_order_mark_and_windows_line_ends(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_bytes(b"\xef\xbb\xbf" + PROGRAM.replace("\n", "\r\n").encode())
    assert cli.main(["check", "p.cql"]) == 0


# --- compile and explain -------------------------------------------------------------------------


def test_explain_at_every_stage(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for stage in ("logical", "annotated", "physical", "spark"):
        assert cli.main(["explain", "p.cql", "--stage", stage]) == 0
        out = capsys.readouterr().out
        assert "hot" in out
        assert "dear" in out


def test_explain_of_one_query_in_other_formats(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", "p.cql", "--query", "HOT", "--format", "json"]) == 0
    assert [q["name"] for q in json.loads(capsys.readouterr().out)["queries"]] == ["hot"]
    assert cli.main(["explain", "p.cql", "--format", "mermaid"]) == 0
    assert capsys.readouterr().out.startswith("flowchart")


SIFTED = """
CREATE STREAM bid (auction BIGINT, price DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'nexmark', table = 'bid', rate = 5000);
CREATE SINK nowhere WITH (connector = 'noop');
CREATE VIEW dear AS SELECT auction, price, ts FROM bid WHERE price > 1000;
CREATE QUERY much INTO nowhere AS SELECT COUNT(*) AS n, WINDOW_END FROM dear [TUMBLE 1 MINUTE] WHERE price < 5000
  QOS LATENCY 2 SECONDS WEIGHT 3 SHED SIFTER ON (price, auction);
CREATE QUERY all_of_them INTO nowhere AS SELECT auction, MAX(price) AS most, WINDOW_END FROM dear [TUMBLE 1 MINUTE] GROUP BY auction;
"""


def test_explain_where_rows_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sifted.cql"
    file.write_text(SIFTED)
    assert cli.main(["explain", str(file), "--shed"]) == 0
    out = capsys.readouterr().out
    assert "wants price > 1000 and price < 5000; weight 3" in out
    # Rows of the view are needed whole, so only on the way to the first query some may go.
    assert "kept for all_of_them" in out
    assert "to save 50% of what shedding can save" in out
    assert "`all_of_them` needs all rows" in out


def test_explain_sifters_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, checkpoint = tmp_path / "sifted.cql", tmp_path / "checkpoint"
    file.write_text(SIFTED)
    (checkpoint / "much").mkdir(parents=True)
    assert cli.main(["explain", str(file), "--shed", "--checkpoint", str(checkpoint)]) == 0
    assert "much: no sifter yet" in capsys.readouterr().out
    random = np.random.default_rng(1)
    columns = [random.integers(0, 5000, 1000).astype(float), 100 * 10 ** (3 * random.random(1000))]
    made = built(Plan(regions=8), columns, [Wish(Both((Compare(1, ">", 1000.0), Compare(1, "<", 5000.0))))], 3)
    store(checkpoint / "much", made)
    publish(checkpoint / "much" / KNOBS, replace(first_throttle(Goal(latency_ms=2000, ranked=True)), sifter=3))
    arguments = ["explain", str(file), "--shed", "--checkpoint", str(checkpoint), "--picture", str(tmp_path / "pictures")]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert "sifter 3 of auction, price: keeps 100.0% of all rows, where 100.0% may stay; the query gets 100.0%" in out
    assert len([line for line in out.splitlines() if "price " in line and "%" in line and "auction " in line]) == 8
    picture = (tmp_path / "pictures" / "much.svg").read_text()
    assert picture.count("class=\"region\"") == 8
    assert picture.count("class=\"wanted\"") == 1
    for wrong in (
        ["--checkpoint", str(checkpoint)], ["--shed", "--query", "much"], ["--shed", "--format", "json"],
        ["--shed", "--picture", str(tmp_path / "pictures")],
        ["--shed", "--checkpoint", str(checkpoint), "--picture", str(file / "below")],
    ):
        assert cli.main(["explain", str(file), *wrong]) == 2


def test_explain_of_what_is_not_there(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "p.cql", "--query", "cold"]) == 2
    assert "cold" in capsys.readouterr().err
    assert cli.main(["explain", "p.cql", "--stage", "spark", "--format", "json"]) == 2
    change(program, "SELECT auction, price", "SELECT auction, prise")
    assert cli.main(["explain", "p.cql"]) == 1
    assert "SQ0202" in capsys.readouterr().err


def test_compile_writes_a_plan_or_a_program(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["compile", "p.cql"]) == 0
    assert json.loads(capsys.readouterr().out)["stage"] == "physical"
    assert cli.main(["compile", "p.cql", "--emit", "pyspark", "-o", "p.py"]) == 0
    ast.parse((program.parent / "p.py").read_text())
    assert cli.main(["compile", "p.cql", "-o", "no/such/folder"]) == 2
    assert "cannot write" in capsys.readouterr().err


# --- fmt -----------------------------------------------------------------------------------------


def test_fmt_in_place_and_only_once(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text("select   auction from bid;")
    program.chmod(0o640)
    assert cli.main(["fmt", "--check", "p.cql"]) == 1
    assert capsys.readouterr().out == "p.cql: would be formatted\n"
    assert cli.main(["fmt", "--diff", "p.cql"]) == 1
    assert "-select   auction from bid;" in capsys.readouterr().out
    assert program.read_text() == "select   auction from bid;"
    assert cli.main(["fmt", "p.cql"]) == 0
    assert program.read_text() != "select   auction from bid;"
    assert program.stat().st_mode & 0o777 == 0o640
    assert cli.main(["fmt", "--check", "p.cql"]) == 0
    assert sorted(p.name for p in program.parent.iterdir()) == ["bids", "p.cql"]


def test_fmt_keeps_line_ends(program: Path) -> None:
    program.write_bytes(b"select   auction\r\nfrom bid;\r\n")
    assert cli.main(["fmt", "p.cql"]) == 0
    written = program.read_bytes()
    assert written.count(b"\n") == written.count(b"\r\n") > 0


def test_fmt_of_standard_input(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"select   a from b;")))
    assert cli.main(["fmt", "-"]) == 0
    assert "select   a" not in capsys.readouterr().out


def test_fmt_leaves_a_broken_program_alone(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program.write_text("SELECT FROM WHERE;")
    assert cli.main(["fmt", "p.cql"]) == 1
    assert program.read_text() == "SELECT FROM WHERE;"
    assert "error[SQ01" in capsys.readouterr().err


# --- usage, help, version ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "argv",
    [
        ["bogus"],
        ["check"],
        ["check", "--format", "xml", "p.cql"],
        ["run", "p.cql", "--quiet", "--json"],
        ["run", "p.cql", "--for", "soon"],
        ["run", "p.cql", "--limit", "0"],
        ["run", "p.cql", "--limit", "ten"],
        ["run", "p.cql", "--report", "run.pdf"],
        ["run", "p.cql", "--checkpoint", "p.cql"],
        ["run", "p.cql", "--checkpoint", "p.cql/below"],
        ["run", "p.cql", "--log-file", "no/such/folder/spark.log"],
        ["run", "p.cql", "--log-file", "."],
        ["run", "p.cql", "--report", "no/such/folder/run.html"],
        ["explain", "p.cql", "--stag", "spark"],
    ],
)
def test_wrong_arguments(program: Path, argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert usage(*argv) == 2
    said, more = capsys.readouterr().err.splitlines()
    command = "streamq" if argv == ["bogus"] else f"streamq {argv[0]}"
    assert said.startswith(f"{command}: ")
    assert more == f"`{command} --help` tells what can be given"


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["run", "p.cql", "--onc"], "streamq run: unknown option --onc, did you mean `--once`?"),
        (["run", "p.cql", "--lmit=3"], "streamq run: unknown option --lmit, did you mean `--limit`?"),
        (["run", "p.cql", "--zzz"], "streamq run: unknown option --zzz"),
        (["run", "p.cql", "q.cql"], "streamq run: unexpected argument q.cql"),
        (["--versoin"], "streamq: unknown option --versoin, did you mean `--version`?"),
    ],
)
def test_arguments_that_a_command_does_not_have(argv: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert usage(*argv) == 2
    assert capsys.readouterr().err.splitlines()[0] == told


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("localhost:7099", "did you mean spark://localhost:7099?"),
        ("http://localhost:8080", "write spark://HOST:PORT"),
        ("spark://localhost", "write spark://HOST:PORT"),
        ("local[]", "write spark://HOST:PORT"),
    ],
)
def test_what_is_no_master(program: Path, given: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert usage("run", "p.cql", "--master", given) == 2
    assert f"'{given}' is no master of Spark, {hint}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        "local", "local[2]", "local[*]", "local[2, 3]", "local-cluster[2,1,1024]", "spark://host:7077",
        "spark://a:7077,b:7077", "spark://[::1]:7077", "yarn", "k8s://https://host:443",
    ],
)
def test_masters_that_spark_knows(given: str) -> None:
    assert master(given) == given


def test_a_checkpoint_where_no_folder_can_be_made(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The rights of a superuser do not tell it."""
    assert usage("run", "p.cql", "--checkpoint", "/proc/state") == 2
    assert "no folder can be made in `/proc`: choose another one" in capsys.readouterr().err
    assert writable_folder(str(program.parent / "a" / "b")) == program.parent / "a" / "b"
    assert {path.name for path in program.parent.iterdir()} == {"bids", "p.cql"}


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        (["--query", "hott"], "did you mean `hot`?"),
        (["--set", "shuffle_partition=2"], "unknown setting"),
        (["--set", "shuffle_partitions=none"], "whole number"),
        (["--set", "spark.sql.ansi.enabled=true"], "rests on this setting"),
        (["--set", "novalue"], "KEY=VALUE"),
    ],
)
def test_wrong_options_of_run(
    program: Path, extra: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "p.cql", *extra]) == 2
    assert text in capsys.readouterr().err


REFUSED = {
    "a secret that is not there": ("token = 'env:NOT_SET_ANYWHERE', url = 'http://127.0.0.1:9/'", 1, "SQ0709"),
    "a server that does not answer": ("url = 'http://127.0.0.1:9/'", 3, "SQ0808"),
}


@pytest.mark.parametrize(("options", "code", "told"), REFUSED.values(), ids=REFUSED)
def test_a_run_that_is_refused_says_whether_to_start_it_again(
    program: Path, options: str, code: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 where somebody has to mend something first."""
    change(program, "CREATE QUERY dear", f"CREATE SINK web WITH (connector = 'webhook', {options});\nCREATE QUERY dear INTO web")
    assert cli.main(["run", "p.cql", "--once", "--query", "dear"]) == code
    assert f"error[{told}]" in capsys.readouterr().err


def test_events_and_json_do_not_share_standard_output(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", program.name, "--events", "-", "--json"]) == 2
    assert "both write to standard output" in capsys.readouterr().err


def test_run_does_not_start_a_wrong_program(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(program, "path = 'bids'", "path = 'bid'")
    assert cli.main(["run", "p.cql"]) == 1
    assert "SQ0705" in capsys.readouterr().err
    assert cli.main(["run", "p.cql", "--json"]) == 1
    shown = capsys.readouterr()
    assert [json.loads(line)["code"] for line in shown.out.splitlines()] == ["SQ0705"]
    assert shown.err == ""


@pytest.mark.parametrize(
    ("text", "seconds"), [("20s", 20), ("20", 20), ("1.5m", 90), ("2h", 7200), ("300ms", 0.3)]
)
def test_lengths_of_time(text: str, seconds: float) -> None:
    from streamq.runtime.arguments import duration

    assert duration(text) == pytest.approx(seconds)


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("streamq ")
    assert usage("--help") == 0
    assert "explain-error" in capsys.readouterr().out
    assert usage("explain", "--help") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "into mermaid.live" in told
    assert "sifters of two attributes there, as SVG; of nothing else" in told
    assert cli.main([]) == 2


def test_explain_error(capsys: pytest.CaptureFixture[str]) -> None:
    for code in CODES:
        assert cli.main(["explain-error", code.lower()]) == 0
        assert code in capsys.readouterr().out
    assert cli.main(["explain-error", "SQ9999"]) == 2
    assert "unknown code SQ9999; `streamq explain-error` lists all" in capsys.readouterr().err
    assert cli.main(["explain-error"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{code}: {title}" for code, title in CODES.items()]


def test_doctor_names_what_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(["doctor"])
    out = capsys.readouterr().out
    for name in ("python", "java", "pyspark", "pandas"):
        assert name in out


def test_a_fault_of_ours_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(args: Any) -> int:
        raise RuntimeError("oops")

    monkeypatch.delenv("STREAMQ_DEBUG", raising=False)
    monkeypatch.setitem(cli.COMMANDS, "doctor", broken)
    assert cli.main(["doctor"]) == 3
    err = capsys.readouterr().err
    assert "internal error: RuntimeError: oops" in err
    assert "Traceback" not in err


def test_a_pyspark_program_cannot_follow_a_goal(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with program.open("a") as file:
        file.write("CREATE QUERY young AS SELECT auction FROM bid QOS LATENCY 2 SECONDS;")
    assert cli.main(["compile", "p.cql", "--emit", "pyspark"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "error[SQ0601]: a PySpark program cannot follow the goal of `young`" in told.err
    assert cli.main(["compile", "p.cql"]) == 0


@pytest.mark.parametrize("argv", [["check"], ["explain"], ["compile", "--emit", "pyspark"]])
def test_no_heavy_import(program: Path, argv: list[str]) -> None:
    script = (
        "import sys\n"
        "from streamq.runtime.cli import main\n"
        f"code = main([*{argv!r}, 'p.cql'])\n"
        "heavy = {'pyspark', 'py4j', 'pandas', 'pyarrow', 'numpy', 'rich', 'lark', 'yaml'}\n"
        "print(code, sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=program.parent, capture_output=True, text=True,
        check=True,
    )
    assert ran.stderr == "0 []\n"


@pytest.mark.parametrize(("more", "code", "said"), [
    (["--stream", "bit"], 2, "no stream `bit` of files, did you mean `bid`?"),
    (["--limit", "0"], 2, "'0' is no whole number from 1"),
])
def test_malformed_rows_of_what_is_no_stream(
    program: Path, more: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        assert cli.main(["malformed", str(program), *more]) == code
    assert said in capsys.readouterr().err


def test_malformed_rows_of_a_program_that_reads_no_files(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text("CREATE STREAM n (k BIGINT) WITH (connector = 'memory'); SELECT k FROM n;")
    assert cli.main(["malformed", str(program)]) == 2
    assert "reads a stream of files" in capsys.readouterr().err
    program.write_text("SELECT k FROM nothing;")
    assert cli.main(["malformed", str(program)]) == 1
