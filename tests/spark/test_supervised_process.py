"""``streamq run`` as a service: stopped by signals, killed between two steps, on a disk that fills up."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

import pytest

from tests.spark.test_restart import (
    DEADLINE_S,
    batches_in,
    children,
    committed,
    finish,
    gone,
    rows_of,
    wait_until,
)

FILES, ROWS, POISON = 5, 8, 13
PROGRAM = """\
SET tries = 2; SET dead_letters = 'dead'; SET restart_delay = '100 milliseconds';
CREATE STREAM numbers (n BIGINT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'in', format = 'json', max_files_per_trigger = 1);
CREATE FUNCTION checked (n BIGINT) RETURNS BIGINT AS 'own_checks:checked';
CREATE SINK lines WITH (connector = 'file', path = 'out', format = 'json');
CREATE SINK others WITH (connector = 'file', path = 'others', format = 'json');
CREATE QUERY q INTO lines AS SELECT checked(n) AS n FROM numbers;
CREATE QUERY other INTO others AS SELECT n FROM numbers;
"""
MODULE = """\
import os, time

def checked(n):
    numbers = n.to_pylist()
    if 13 in numbers:
        raise ValueError("13 is no number")
    if 16 in numbers:
        open("at_work", "w").close()
        time.sleep(float(os.environ["BATCH_S"]))
    return n
"""
"""The second micro-batch fails, the third takes its time."""

pytestmark = [
    pytest.mark.long, pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds child processes in /proc"),
]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        path = tmp_path / "in" / f"{file:03}.json"
        numbers = range(file * ROWS, (file + 1) * ROWS)
        path.write_text("".join(json.dumps({"n": n, "ts": f"2024-01-01T00:00:{n:02}Z"}) + "\n" for n in numbers))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    (tmp_path / "p.cql").write_text(PROGRAM)
    (tmp_path / "own_checks.py").write_text(MODULE.replace('"at_work"', repr(str(tmp_path / "at_work"))))
    return tmp_path


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Starts runs in the folder, in a group of their own; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*argv: str, batch_s: float = 0.0) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "streamq", "run", "p.cql", "--allow-functions", "--checkpoint", "state", "--events", "run.jsonl", *argv]
        process = subprocess.Popen(
            command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            env={**os.environ, "BATCH_S": str(batch_s)},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=DEADLINE_S)


def events(folder: Path, kind: str) -> list[dict[str, object]]:
    log = folder / "run.jsonl"
    found = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    return [record for record in found if record["event"] == kind]


def below(pid: int) -> list[int]:
    """All processes below one: Java, and the workers below that."""
    return [p for child in children(pid) for p in (child, *below(child))]


def at_work(folder: Path, run: subprocess.Popen[str]) -> list[int]:
    """Waits until the slow micro-batch is at work; gives the processes of the run."""
    wait_until(lambda: (folder / "at_work").exists() or run.poll() is not None, "the slow batch")
    assert run.poll() is None, finish(run)
    return below(run.pid)


def expect_all_but_poison(folder: Path) -> None:
    expected = [n for n in range(FILES * ROWS) if n // ROWS != POISON // ROWS]
    assert sorted(int(str(row["n"])) for row in rows_of(folder, "out")) == expected
    assert sorted(int(str(row["n"])) for row in rows_of(folder, "others")) == list(range(FILES * ROWS))
    letters = [json.loads(line)["n"] for p in (folder / "dead").rglob("0*.json") for line in p.read_text().splitlines()]
    assert sorted(letters) == list(range(ROWS, 2 * ROWS))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_lets_the_running_batch_end(folder: Path, start: Start, number: signal.Signals) -> None:
    run = start(batch_s=4)
    processes = at_work(folder, run)
    # As a terminal does on Ctrl-C: every process of the group gets it.
    (os.killpg if number is signal.SIGINT else os.kill)(run.pid, number)
    output = finish(run)
    assert run.returncode == 0, output
    assert "Traceback" not in output
    assert batches_in(folder / "state" / "q" / "commits") == {0, 1, 2}
    assert [e["batch"] for e in events(folder, "batch") if e["query"] == "q"][-1] == 2
    assert events(folder, "stopped")[-1]["text"] == "signal"
    wait_until(lambda: all(gone(pid) for pid in processes), "the end of all processes")
    last = start("--once", "--set", "tries=1")
    output = finish(last)
    assert last.returncode == 0, output
    expect_all_but_poison(folder)


@pytest.mark.parametrize("twice", [False, True])
def test_after_the_bound_or_a_second_signal_the_batch_is_broken_off(folder: Path, start: Start, twice: bool) -> None:
    run = start("--stop-within", "300s" if twice else "1s", batch_s=300)
    processes = at_work(folder, run)
    began = time.monotonic()
    run.send_signal(signal.SIGTERM)
    if twice:
        wait_until(lambda: bool(events(folder, "stopping")), "the stop")
        run.send_signal(signal.SIGTERM)
    output = finish(run)
    assert time.monotonic() - began < 60
    assert run.returncode == 0, output
    assert "Traceback" not in output
    assert batches_in(folder / "state" / "q" / "commits") == {0, 1}
    wait_until(lambda: all(gone(pid) for pid in processes), "the end of all processes")
    last = start("--once")
    output = finish(last)
    assert last.returncode == 0, output
    expect_all_but_poison(folder)


def test_killed_after_letters_were_written_they_are_there_once(folder: Path, start: Start) -> None:
    run = start()
    place = folder / "dead" / "q" / "batch-1"
    wait_until(lambda: place.exists() or run.poll() is not None, "the letters")
    processes = below(run.pid)
    os.kill(run.pid, signal.SIGKILL)
    finish(run)
    wait_until(lambda: all(gone(pid) for pid in processes), "the end of Java")
    last = start("--once")
    output = finish(last)
    assert last.returncode == 0, output
    expect_all_but_poison(folder)


def fill(file: Path) -> None:
    """Takes all room that is left on the disk of a file."""
    with suppress(OSError), file.open("wb", buffering=0) as output:
        while output.write(b"x" * 1024):
            pass


@pytest.fixture
def small_disk(folder: Path) -> Iterator[Path]:
    """A disk of a megabyte under the folder of checkpoints; skips where none can be mounted."""
    place = folder / "state"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("how", ["--json", "--rows=5"])
def test_results_that_cannot_be_printed_end_the_run_with_a_diagnostic(folder: Path, how: str) -> None:
    (folder / "p.cql").write_text(PROGRAM.split("CREATE FUNCTION")[0] + "SELECT n FROM numbers;")
    with open("/dev/full", "w") as full_device:
        run = subprocess.run(
            [sys.executable, "-m", "streamq", "run", "p.cql", "--once", how], cwd=folder, text=True, stdout=full_device,
            stderr=subprocess.PIPE, timeout=DEADLINE_S, check=False,
        )
    assert run.returncode == 3, run.stderr
    assert "error[SQ0809]: the run cannot write to `standard output`: the disk is full" in run.stderr
    assert "Traceback" not in run.stderr


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """No room is left on the disk."""
    filling = disk / "filling"
    fill(filling)
    yield
    filling.unlink()


@contextmanager
def closed(disk: Path) -> Iterator[None]:
    """The disk may only be read."""
    # While a file is open for writing the system refuses.
    wait_until(lambda: _remount(disk, "ro") == 0, "the disk to be closed")
    yield
    assert _remount(disk, "rw") == 0


def _remount(disk: Path, how: str) -> int:
    return subprocess.run(["mount", "-o", f"remount,{how}", str(disk)], capture_output=True, check=False).returncode


@pytest.mark.parametrize(("trouble", "reason"), [(full, "disk is full"), (closed, "read-only")])
def test_on_a_disk_that_is_full_or_closed_a_query_waits(
    folder: Path, start: Start, small_disk: Path, trouble: Callable[[Path], AbstractContextManager[None]], reason: str
) -> None:
    run = start()
    wait_until(lambda: committed(folder, "others") >= FILES or run.poll() is not None, "the first batches")
    with trouble(small_disk):
        for number in range(FILES, FILES + 3):
            (folder / "in" / f"{number:03}.json").write_text('{"n": 99, "ts": "2024-01-01T00:01:00Z"}\n')
        wait_until(
            lambda: any(e["query"] == "other" for e in events(folder, "failure")) or run.poll() is not None, "the failure"
        )
        assert run.poll() is None, finish(run)
    wait_until(lambda: committed(folder, "others") >= FILES + 3 or run.poll() is not None, "all batches")
    assert run.poll() is None, finish(run)
    run.send_signal(signal.SIGTERM)
    output = finish(run)
    assert run.returncode == 0, output
    assert "Traceback" not in output
    failures = [e for e in events(folder, "failure") if e["query"] == "other"]
    assert {e["code"] for e in failures} == {"SQ0809"}
    assert all(reason in str(e["message"]) and str(small_disk) in str(e["message"]) for e in failures)
    assert events(folder, "given_up") == []
    numbers = [int(str(row["n"])) for row in rows_of(folder, "others")]
    assert sorted(numbers) == [*range(FILES * ROWS), 99, 99, 99]
