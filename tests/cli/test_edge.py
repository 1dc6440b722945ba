"""``streamq edge``: what it reads, where it sends, what it says, and with which exit code it ends. Without Spark."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from streamq.runtime import cli
from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_run.compiled import edge_plan
from streamq.runtime.edge.at_run.server import Server
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.messages import Rows
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.plan_file import read_plan
from streamq.runtime.programs import load_program

ROWS = 120
PROGRAM = """\
CREATE STREAM weather (location STRING, humidity DOUBLE, barometer DOUBLE, spare INT, ts TIMESTAMP, WATERMARK FOR ts)
SHED ATTRIBUTES TO CAPACITY 400 KBPS
RECOVER (humidity) FROM SYNOPSIS ERROR 5 PERCENT CYCLE (location) RETAIN 2 HOURS
WITH (connector = 'edge', folder = 'inbox', read = 'station.jsonl');
CREATE QUERY q AS SELECT location, humidity, barometer FROM weather;
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the current folder, with what its edge reads."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "station.jsonl").write_text(lines())
    path = tmp_path / "p.cql"
    path.write_text(PROGRAM)
    return path


def lines() -> str:
    return "".join(
        json.dumps({"location": f"l{i % 4}", "humidity": 50 + i / 10, "barometer": 29.9, "spare": i, "ts": f"2024-01-01T00:{i // 60:02}:{i % 60:02}Z"})
        + "\n" for i in range(ROWS)
    ) + "no row\n"


def plan_of(program: Path, stream: str = "weather", token: str = "") -> EdgePlan:
    result = load_program(str(program)).result
    assert result is not None
    edges = result.require().edges
    return edge_plan(next(e for e in edges if e.stream == stream), edges, token)


def came(folder: Path, plan: EdgePlan) -> list[Rows]:
    """The messages in a folder."""
    inbox = Central.of(folder, {plan.stream: plan}).desks[plan.stream].inbox
    return [inbox.read(origin, seq) for origin, numbers in inbox.numbers().items() for seq in numbers]


def rows_of(messages: list[Rows], column: str) -> list[object]:
    return [value for m in messages for value in m.rows.column(column).to_pylist()]


def test_an_edge_sends_a_file_once(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["edge", "p.cql", "--once"]) == 0
    said = capsys.readouterr().err
    assert "reads station.jsonl, sends to inbox" in said.replace(f"{program.parent}/", "")
    assert f"{ROWS} rows, 1 malformed" in said
    messages = came(program.parent / "inbox", plan_of(program))
    assert rows_of(messages, "location") == [f"l{i % 4}" for i in range(ROWS)]
    assert all(m.rows.schema.names == ["location", "humidity", "barometer", "ts"] for m in messages)
    # Again: all of it is behind it.
    assert cli.main(["edge", "p.cql", "--once", "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert len(rows_of(came(program.parent / "inbox", plan_of(program)), "location")) == ROWS


def test_what_a_program_says_is_in_the_plan(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", "p.cql", "--emit", "edge", "-o", "plan.json"]) == 0
    plan = read_plan(Path("plan.json"))
    assert plan == plan_of(program)
    assert (plan.capacity_kbps, plan.unit, plan.retain_s, dict(plan.errors)) == (400.0, "BYTES", 7200.0, {"humidity": 5.0})
    assert (plan.unread, plan.retained, plan.protected) == ({"spare"}, {"humidity"}, {"location", "ts"})
    assert (plan.cycle.key, plan.cycle.length, plan.cycle.training_rows) == (("location",), 0, 1000)
    assert plan.schema.field("ts").type == pa.timestamp("us", "UTC")
    assert not plan.error_auto


def test_an_edge_needs_no_program(program: Path) -> None:
    assert cli.main(["compile", "p.cql", "--emit", "edge", "-o", "plan.json"]) == 0
    program.rename("gone.cql")
    assert cli.main(["edge", "plan.json", "--from", "station.jsonl", "--to", "other", "--once", "-q"]) == 0
    assert len(rows_of(came(program.parent / "other", read_plan(Path("plan.json"))), "ts")) == ROWS


def test_what_comes_through_a_pipe_ends_with_it(program: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "streamq", "edge", "p.cql", "--from", "-"], cwd=program.parent, input=lines(), text=True,
        capture_output=True, timeout=60, check=False,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert len(rows_of(came(program.parent / "inbox", plan_of(program)), "ts")) == ROWS


def test_over_http_with_a_token(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (program.parent / "edge.token").write_text("secret\n")
    program.write_text(PROGRAM.replace("read =", "listen = '127.0.0.1:1', token_file = 'edge.token', read ="))
    plan = plan_of(program)
    central = Central.of(program.parent / "central", {"weather": plan})
    server = Server(central, "secret")
    server.start()
    try:
        assert cli.main(["edge", "p.cql", "--to", server.address, "--once", "-q"]) == 0
        (program.parent / "edge.token").write_text("another")
        (program.parent / "station.jsonl").write_text(lines() * 2)
        assert cli.main(["edge", "p.cql", "--to", server.address, "--once", "-q"]) == 3
    finally:
        server.stop()
    said = capsys.readouterr().err
    assert "the central side does not know the token" in said
    assert "another" not in said
    assert len(rows_of(came(program.parent / "central", plan), "ts")) == ROWS


def test_plans_of_a_channel_begin_with_its_floor(program: Path) -> None:
    program.write_text(
        "CREATE CHANNEL up CAPACITY 50 KBPS;"
        + PROGRAM.replace("'inbox',", "'inbox', channel = 'up',").replace("TO CAPACITY 400 KBPS", "")
        + PROGRAM.replace("'inbox',", "'inbox', channel = 'up',").replace("weather", "other").replace("QUERY q", "QUERY r")
    )
    shared, linked = plan_of(program), plan_of(program, "other")
    assert (shared.capacity_kbps, shared.floor_kbps, shared.lease_s) == (1.0, 1.0, 5.0)
    assert linked.capacity_kbps == 1.0


WRONG = {
    "no stream": (["edge", "p.cql", "--stream", "wether"], 2, "no stream `wether` comes from an edge and is read; weather does"),
    "no source": (["edge", "p.cql", "--from", "nothing.jsonl"], 2, "'nothing.jsonl' is not there"),
    "no address": (["edge", "p.cql", "--to", "http://nobody"], 2, "token"),
    "no way": (["edge", "p.cql", "--to", "ftp://there"], 2, "http://host:port, or into a folder, and not to ftp://there"),
    "no plan": (["edge", "none.json", "--from", "-", "--to", "x"], 3, "none.json cannot be read"),
    "no place": (["edge", "plan.json"], 2, "give --from and --to"),
    "no text": (["edge", "p.cql", "--token-file", "none"], 3, "none: no such file"),
    "another store": (["edge", "p.cql", "--store", "station.jsonl"], 3, "station.jsonl is no store of an edge"),
    "no program": (["edge", "none.cql"], 1, "none.cql"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_a_sentence(name: str, program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", "p.cql", "--emit", "edge", "-o", "plan.json"]) == 0
    argv, code, text = WRONG[name]
    assert cli.main(argv) == code
    said = capsys.readouterr().err
    assert text in said
    assert "Traceback" not in said


def test_a_program_without_an_edge(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text("CREATE STREAM s (n INT) WITH (connector = 'memory'); SELECT n FROM s;")
    assert cli.main(["edge", "p.cql"]) == 2
    assert "no query of the program reads a stream with connector = 'edge'" in capsys.readouterr().err


def test_an_edge_without_its_secret_need_not_be_started_again(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("'inbox'", "'inbox', listen = '127.0.0.1:9', token = 'env:NOT_SET_ANYWHERE'"))
    assert cli.main(["edge", "p.cql", "--once"]) == 1
    assert "NOT_SET_ANYWHERE" in capsys.readouterr().err


def test_rows_without_a_cycle_end_the_edge(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("CYCLE (location)", "CYCLE AUTO").replace("read =", "training_rows = 50, read ="))
    (program.parent / "station.jsonl").write_text("".join(
        json.dumps({"location": f"l{i * i}", "humidity": i * 1.7, "barometer": i * 3.1, "spare": i * i * 7, "ts": None}) + "\n" for i in range(60)
    ))
    assert cli.main(["edge", "p.cql", "--once"]) == 3
    assert "say CYCLE (columns)" in capsys.readouterr().err


def test_a_store_is_of_one_edge_at_a_time(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from streamq.runtime.edge.at_source.store import Store

    with Store(Path("weather.edge"), plan_of(program)):
        assert cli.main(["edge", "p.cql", "--once"]) == 3
    assert "the store weather.edge is used by another process" in capsys.readouterr().err


def test_an_edge_starts_without_spark(program: Path) -> None:
    code = "import sys; from streamq.runtime import cli; cli.main(['edge', 'p.cql', '--once', '-q']); print('pyspark' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=program.parent, text=True, capture_output=True, timeout=60, check=True)
    assert done.stdout == "False\n"


def test_what_is_there_once_and_for_all_is_in_no_hurry(program: Path) -> None:
    """Nothing is shed with ``--once``, whatever the wire takes."""
    program.write_text(PROGRAM.replace("400 KBPS", "60 KBPS"))
    assert cli.main(["edge", "p.cql", "--once", "-q"]) == 0
    messages = came(program.parent / "inbox", plan_of(program))
    assert rows_of(messages, "humidity") == [50 + i / 10 for i in range(ROWS)]


def test_an_edge_stays_to_answer(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its time after the end is counted from when all was sent."""
    times: list[float] = []
    monkeypatch.setattr("streamq.runtime.edge.at_source.site.Site.turn", _watched(times))
    assert cli.main(["edge", "p.cql", "--once", "-q", "--stay", "500ms"]) == 0
    assert times[-1] - times[0] >= 0.3


def _watched(times: list[float]) -> Callable[..., float]:
    turn = Site.turn

    def watched(site: Site, last: bool = False) -> float:
        times.append(time.monotonic())
        return turn(site, last)

    return watched


def test_rows_that_are_sifted_are_told(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.split("SHED")[0] + "SHED SIFTER ON (barometer) TO CAPACITY 8 KBPS\n" + "WITH" + PROGRAM.split("WITH", 1)[1])
    done = subprocess.run(
        [sys.executable, "-m", "streamq", "edge", "p.cql", "--from", "-"], cwd=program.parent, input=lines() * 30, text=True,
        capture_output=True, timeout=60, check=False,
    )
    assert done.returncode == 0
    assert "of them shed" in done.stderr
    assert "nothing shed" not in done.stderr


def test_columns_that_a_csv_file_does_not_have_are_told(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program.write_text(PROGRAM.replace("read =", "format = 'csv', read ="))
    (program.parent / "station.jsonl").write_text("location,humidity,ts\na,1,2024-01-01 00:00:00\nb,2,2024-01-01 00:00:00\n")
    assert cli.main(["edge", "p.cql", "--once", "-q"]) == 0
    assert "the first line names no column barometer: all of it is NULL" in capsys.readouterr().err
    assert rows_of(came(program.parent / "inbox", plan_of(program)), "humidity") == [1.0, 2.0]
