"""Lines of events: what they hold, and what becomes of them where they cannot be written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.metrics import QuerySample, QueryTotals
from streamq.runtime.report.events import EventLog, LineWriter
from streamq.runtime.run import Event, Happened


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_run_as_lines(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"event": "earlier"}\n')
    log = EventLog(LineWriter(str(path)), clock)
    log.started(("q",))
    found = Diagnostic("SQ0804", "query `q` met a malformed row", NO_SPAN)
    log.happened(Happened(event=Event.FAILURE, query="q", batch=3, wait_s=1.0, diagnostic=found, text="failed"))
    log.notice("q", "drifts")
    log.happened(Happened(event=Event.STOPPED, text="signal"))
    log.close()
    earlier, started, failure, notice, stopped = lines(path)
    assert earlier == {"event": "earlier"}
    assert started == {"time": "2023-11-14T22:13:20.000+00:00", "level": "info", "event": "started", "query": "q"}
    assert (failure["level"], failure["code"], failure["batch"], failure["wait_s"]) == ("warning", "SQ0804", 3, 1.0)
    assert (notice["level"], notice["text"]) == ("warning", "drifts")
    assert (stopped["event"], stopped["text"]) == ("stopped", "signal")


def test_batches_are_told_once_a_second_at_most_and_none_is_missing_in_the_sums(tmp_path: Path, clock: Clock) -> None:
    path = tmp_path / "run.jsonl"
    log = EventLog(LineWriter(str(path)), clock)
    totals = QueryTotals("q")
    for batch in range(5):
        sample = QuerySample("q", batch, clock.now, rows_in=10, kept=7, shed=2, malformed=1)
        totals = totals.plus(sample)
        log.sample(sample, totals)
        clock.now += 0.4
    log.happened(Happened(event=Event.STOPPED, text="signal"))
    *told, stopped = lines(path)
    assert [line["batch"] for line in told] == [0, 3]
    assert told[1]["rows_in"] == 10
    sums = told[1]["total"]
    assert isinstance(sums, dict)
    assert sums["rows_in"] == 40
    assert stopped["total"] == {"q": {
        "batches": 5, "rows_in": 50, "kept": 35, "shed": 10, "malformed": 5, "dead": 0, "late": 0, "rows_out": 0, "refused": 0,
    }}


def test_a_file_that_is_moved_away_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    writer = LineWriter(str(path))
    assert writer.write("one")
    path.rename(tmp_path / "run.jsonl.1")
    assert writer.write("two")
    assert (tmp_path / "run.jsonl.1").read_text() == "one\n"
    assert path.read_text() == "two\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_told_once(clock: Clock) -> None:
    told: list[str] = []
    log = EventLog(LineWriter("/dev/full", told.append), clock)
    log.notice("q", "a")
    log.notice("q", "b")
    assert told == ["events cannot be written to /dev/full: no space left on device; the run goes on"]
    assert log.writer.lost == 2


def test_what_was_lost_is_counted_when_there_is_room_again(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.jsonl"
    log = EventLog(LineWriter(str(path), lambda text: None), clock)

    def full(*args: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        log.notice("q", "a")
        log.notice("q", "b")
    log.notice("q", "c")
    lost, last = lines(path)
    assert (lost["event"], lost["lines"]) == ("lost", 2)
    assert last["text"] == "c"


def test_a_folder_that_is_gone_for_a_while_costs_lines_and_nothing_else(tmp_path: Path) -> None:
    folder, told = tmp_path / "logs", list[str]()
    folder.mkdir()
    writer = LineWriter(str(folder / "run.jsonl"), told.append)
    assert writer.write("one")
    folder.rename(tmp_path / "old")
    assert not writer.write("two")
    # What is opened now must not be taken for the file of events.
    other = tmp_path / "other"
    with other.open("w"):
        assert not writer.write("three")
        folder.mkdir()
        assert writer.write("four")
    assert (other.read_text(), (folder / "run.jsonl").read_text()) == ("", "four\n")
    assert (writer.lost, len(told)) == (2, 1)
