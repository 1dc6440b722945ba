"""``streamq run`` as a process: killed in the middle, interrupted, read by a pipe that closes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

FILES, ROWS = 8, 50
DEADLINE_S = 600.0

PROGRAM = """\
CREATE STREAM numbers (n BIGINT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'in', format = 'json', max_files_per_trigger = 1);
CREATE SINK lines WITH (connector = 'file', path = 'out', format = 'json');
CREATE SINK sums WITH (connector = 'file', path = 'sums', format = 'json');
INSERT INTO lines SELECT n FROM numbers;
CREATE QUERY totals INTO sums AS
  SELECT WINDOW_END, COUNT(*) AS n FROM numbers [TUMBLE 10 SECONDS];
"""

SHEDDING = """\
CREATE SINK some WITH (connector = 'file', path = 'some', format = 'json');
CREATE QUERY few INTO some AS SELECT n FROM numbers SHED RANDOM TO RATE 20 ROWS PER SECOND;
"""

JOINED = PROGRAM.split("CREATE SINK")[0] + """\
CREATE SINK pairs WITH (connector = 'file', path = 'pairs', format = 'json');
CREATE QUERY near INTO pairs AS
  SELECT ISTREAM(a.n, b.n AS m) FROM numbers [RANGE 60 SECONDS] a JOIN numbers [RANGE 60 SECONDS] b ON ABS(a.n - b.n) <= 3
  SHED JOIN BASIC WINDOW 4 SECONDS BY 50 PERCENT;
"""
Counts = tuple[int, int, int]
"""Rows in, kept and shed."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The program and its input: each number once, a file per micro-batch, a second per row."""
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        path = tmp_path / "in" / f"{file:03}.json"
        path.write_text("".join(_row(n) for n in range(file * ROWS, (file + 1) * ROWS)))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    (tmp_path / "p.cql").write_text(PROGRAM)
    return tmp_path


def _row(n: int) -> str:
    minute, second = divmod(n, 60)
    stamp = f"2024-01-01T{minute // 60:02}:{minute % 60:02}:{second:02}Z"
    return json.dumps({"n": n, "ts": stamp}) + "\n"


def command(*argv: str) -> list[str]:
    return [sys.executable, "-m", "streamq", "run", "p.cql", "--checkpoint", "state", *argv]


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts runs in the folder; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*argv: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(*argv), cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=DEADLINE_S)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Looks every few milliseconds, up to the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {DEADLINE_S} s"
        pause.wait(0.01)


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=DEADLINE_S)
    return output


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()] if listed.exists() else []


def gone(pid: int) -> bool:
    """True where the process ended, or waits only for its parent to take notice."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def batches_in(log: Path) -> set[int]:
    """The micro-batches that a log of Spark's has."""
    return {int(p.name.split(".")[0]) for p in log.iterdir() if p.name[0].isdecimal()} if log.is_dir() else set()


def committed(folder: Path, sink: str) -> int:
    log = folder / sink / "_spark_metadata"
    return sum(p.name.isdigit() for p in log.iterdir()) if log.is_dir() else 0


def written_and_not_done(folder: Path, query: str, sink: str) -> set[int]:
    """The micro-batch, if any, whose rows are in the sink, and which a run after a kill begins again.

    It finds its rows there, so that it reads none, and counts none.
    """
    return batches_in(folder / sink / "_spark_metadata") - batches_in(folder / "state" / query / "commits")


def rows_of(folder: Path, sink: str) -> list[dict[str, object]]:
    """All rows in the output folder, as a reader sees them that knows nothing of Spark's log."""
    files = sorted(p for p in (folder / sink).glob("*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def kill_after(batches: int, folder: Path, run: subprocess.Popen[str], sink: str = "out") -> str:
    """Kills a run once its sink has that many batches, and waits until nothing of it is left; gives what it printed."""
    wait_until(lambda: committed(folder, sink) >= batches or run.poll() is not None, f"batch {batches}")
    assert run.poll() is None, finish(run)
    below = children(run.pid)
    os.kill(run.pid, signal.SIGKILL)
    output = finish(run)
    # The JVM ends when it notices that its parent is gone; a user is slower than that.
    wait_until(lambda: all(gone(pid) for pid in below), "the end of the JVM")
    return output


def leave_unfinished(output: Path) -> None:
    """A file as a batch leaves it that is killed between writing its rows and counting them."""
    (output / f"part-00000-{uuid4()}-c000.json").write_text('{"n": 0}\n')


def undo(folder: Path, query: str) -> None:
    """The query as it is where it is killed after its last micro-batch wrote its rows, and before that is written down."""
    log = folder / "state" / query / "commits"
    for last in sorted(batches_in(log))[-1:]:
        for name in (str(last), f".{last}.crc"):
            (log / name).unlink(missing_ok=True)


def samples_of(output: str) -> dict[int, Counts]:
    """The micro-batches of the query that sheds, as far as the run told of them."""
    found: dict[int, Counts] = {}
    for line in output.splitlines():
        if not line.endswith("}"):
            continue  # the line that was being written
        record = json.loads(line)
        if record["type"] == "sample" and record["query"] == "few":
            found[record["batch"]] = (record["rows_in"], record["kept"], record["shed"])
    return found


def decisions(folder: Path) -> dict[str, str]:
    """What was decided, by micro-batch; nothing before the query began."""
    log = folder / "state" / "few" / "decisions"
    return {p.name: p.read_text() for p in log.iterdir() if p.name.isdecimal()} if log.is_dir() else {}


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds child processes in /proc")
def test_killed_in_the_middle_every_row_counts_exactly_once_and_the_same_rows_are_shed(
    folder: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    (folder / "p.cql").write_text(PROGRAM + SHEDDING)
    told: list[dict[int, Counts]] = []
    decided: dict[str, str] = {}
    again: set[int] = set()
    for batches in (2, 4):
        told.append(samples_of(kill_after(batches, folder, start("--json"))))
        assert committed(folder, "out") < FILES
        leave_unfinished(folder / "out")
        decided |= decisions(folder)
        undo(folder, "few")
        again |= written_and_not_done(folder, "few", "some")

    last = start("--once", "--json")
    output = finish(last)
    assert last.returncode == 0, output
    assert sorted(row["n"] for row in rows_of(folder, "out")) == list(range(FILES * ROWS))
    sums = rows_of(folder, "sums")
    ends = [row["WINDOW_END"] for row in sums]
    assert len(ends) == len(set(ends)) == (FILES * ROWS - 1) // 10
    assert {row["n"] for row in sums} == {10}

    # What a killed run decided to shed, and whatever of it was told, holds for the runs after it.
    kept = [int(str(row["n"])) for row in rows_of(folder, "some")]
    assert 0 < len(kept) == len(set(kept)) < FILES * ROWS
    assert decisions(folder).items() >= decided.items()
    for batch, counts in (item for samples in (*told, samples_of(output)) for item in samples.items()):
        here = sum(n // ROWS == batch for n in kept)
        assert counts == (ROWS, here, ROWS - here) or (counts == (0, 0, 0) and batch in again)


@pytest.mark.long
def test_a_join_that_sheds_goes_on_after_a_kill_as_if_there_had_been_none(
    folder: Path, start: Callable[..., subprocess.Popen[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The windows, what was learned, and which rows are compared with all: the same pairs as in a run that is not killed."""
    (folder / "p.cql").write_text(JOINED)
    for batches in (2, 4):
        kill_after(batches, folder, start(), "pairs")
        assert committed(folder, "pairs") < FILES
        leave_unfinished(folder / "pairs")
        undo(folder, "near")
    last = start("--once")
    output = finish(last)
    assert last.returncode == 0, output
    found = sorted((row["n"], row["m"]) for row in rows_of(folder, "pairs"))
    assert len(found) == len(set(found))

    whole = tmp_path_factory.mktemp("whole")
    shutil.copytree(folder / "in", whole / "in")
    (whole / "p.cql").write_text(JOINED)
    unbroken = subprocess.run(command("--once"), cwd=whole, text=True, capture_output=True, check=False)
    assert unbroken.returncode == 0, unbroken.stdout
    assert found == sorted((row["n"], row["m"]) for row in rows_of(whole, "pairs"))
    # Of the pairs of numbers three apart at most, a part: with half of the window compared.
    assert 0.4 < len(found) / (7 * FILES * ROWS) < 0.9


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_cleanly(
    folder: Path, start: Callable[..., subprocess.Popen[str]], number: signal.Signals
) -> None:
    run = start()
    wait_until(lambda: committed(folder, "out") >= 2, "the second batch")
    # As a terminal does on Ctrl-C: every process of the group gets it.
    target = os.killpg if number is signal.SIGINT else os.kill
    target(run.pid, number)
    output = finish(run)
    assert run.returncode == 0, output
    assert "stopped after" in output
    assert "rows in = " in output
    assert "Traceback" not in output
    assert "Exception" not in output


def test_json_lines_of_a_whole_run(
    folder: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    (folder / "p.cql").write_text(PROGRAM.replace("INTO sums ", ""))
    output = finish(start("--once", "--json"))
    records = [json.loads(line) for line in output.splitlines()]
    kinds = {record["type"] for record in records}
    assert kinds == {"diagnostic", "started", "sample", "rows", "summary"}
    shown = [row for r in records if r["type"] == "rows" for row in r["rows"]]
    assert len(shown) == (FILES * ROWS - 1) // 10
    summary = records[-1]
    assert summary["ended_by"] == "finished"
    assert {q["query"]: q["rows_in"] for q in summary["queries"]}["totals"] == FILES * ROWS


def test_a_run_whose_java_is_killed_says_so(
    folder: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    run = start()
    wait_until(lambda: committed(folder, "out") >= 1, "the first batch")
    for child in children(run.pid):
        os.kill(child, signal.SIGKILL)
    output = finish(run)
    assert run.returncode == 3, output
    assert "error[SQ0801]: Spark ended in the middle of the run" in output
    assert "Traceback" not in output
    assert "internal error" not in output


@pytest.mark.parametrize("setting", ["spark.driver.memory=200m", "spark.master=bogus"])
def test_a_setting_with_which_spark_does_not_start(
    folder: Path, start: Callable[..., subprocess.Popen[str]], setting: str
) -> None:
    run = start("--set", setting)
    output = finish(run)
    assert run.returncode == 3, output
    assert "error[SQ0801]: Spark did not start" in output
    assert "at org.apache" not in output
    assert "Traceback" not in output


def test_a_failed_run_ends_with_3_and_a_place(
    folder: Path, start: Callable[..., subprocess.Popen[str]]
) -> None:
    text = PROGRAM.replace("max_files_per_trigger = 1", "on_error = 'fail'")
    (folder / "p.cql").write_text(text)
    with (folder / "in" / "007.json").open("a") as file:
        file.write("{broken\n")
    run = start("--once")
    output = finish(run)
    assert run.returncode == 3, output
    assert "error[SQ0804]" in output
    assert "--> p.cql:1:" in output
    assert "Traceback" not in output
    assert "at org.apache" not in output
