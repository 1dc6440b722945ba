"""Decisions from the files that Spark writes before a micro-batch is read."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.checkpoint import record
from streamq.runtime.control.controller import Controller
from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS, IDLE_MS, KNOBS, MOST_PAUSES, Forward
from streamq.runtime.control.knobs import publish, published
from streamq.runtime.control.looked import Looked
from streamq.runtime.control.offsets import Files, Numbers, Records, latest_batch, span_of, units_of
from streamq.runtime.control.throttle import PROBE_ROWS, Decision, Throttle
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.overload.batch_time import Cost, CostModel

NAMED = """\
CREATE STREAM a (k INT) WITH (connector = 'file', path = 'a', format = 'json');
CREATE STREAM b (k INT) WITH (connector = 'file', path = 'b', format = 'json');
CREATE QUERY q AS SELECT k FROM b UNION ALL SELECT k FROM a;
"""
COST = Cost(fixed=150.0, read=0.0005, work=0.004)
MODEL = CostModel(COST, (), 1_000_000)


def plan_batch(checkpoint: Path, batch: int, *offsets: object, at_ms: float | None = None) -> None:
    """What Spark writes before it reads a micro-batch, when it takes its input."""
    folder = checkpoint / "offsets"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["v1", json.dumps({"batchWatermarkMs": 0})]
    lines += ["-" if offset is None else json.dumps(offset) for offset in offsets]
    (folder / str(batch)).write_text("\n".join(lines))
    if at_ms is not None:
        os.utime(folder / str(batch), (at_ms / 1000, at_ms / 1000))


def commit(checkpoint: Path, batch: int, at_ms: float) -> None:
    folder = checkpoint / "commits"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / str(batch)).write_text("v1\n{}")
    os.utime(folder / str(batch), (at_ms / 1000, at_ms / 1000))


def test_no_batch_was_planned(tmp_path: Path) -> None:
    assert latest_batch(tmp_path) is None
    assert Forward(tmp_path, Throttle(2000.0), (1.0,), lambda: 0.0).decided().decision.keep == 1.0


def test_units_of_every_kind_of_offset(tmp_path: Path) -> None:
    plan_batch(tmp_path, 0, 5, {"n": 1000, "since": 77}, {"bids": {"0": 10, "1": 20}}, None)
    plan_batch(tmp_path, 1, 8, {"n": 4000, "since": 77}, {"bids": {"0": 15, "1": 40}}, None)
    plan_batch(tmp_path, 2, 8, {"n": 4000, "since": 77}, {"bids": {"0": 15, "1": 40, "2": 7}}, 3)
    assert latest_batch(tmp_path) == 2
    assert units_of(tmp_path, 0) == (5, 1000, 30, 0)
    assert units_of(tmp_path, 1) == (3, 3000, 25, 0)
    assert units_of(tmp_path, 2) == (0, 0, 7, 3)
    assert units_of(tmp_path, 9) == ()


def test_units_of_files_are_their_bytes(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a file.json", "b.json", "c.json")]
    for number, file in enumerate(files, 1):
        file.write_text("x" * number * 100)
    log = tmp_path / "checkpoint" / "sources" / "0"
    log.mkdir(parents=True)
    for entry, chosen in enumerate((files[:1], files[1:])):
        lines = [json.dumps({"path": f.as_uri(), "timestamp": 1, "batchId": entry}) for f in chosen]
        (log / str(entry)).write_text("\n".join(("v1", *lines)))
    plan_batch(tmp_path / "checkpoint", 0, {"logOffset": 0})
    plan_batch(tmp_path / "checkpoint", 1, {"logOffset": 1})
    assert units_of(tmp_path / "checkpoint", 0) == (100,)
    assert units_of(tmp_path / "checkpoint", 1) == (500,)
    (log / "1").write_text("v1\nbroken")
    assert units_of(tmp_path / "checkpoint", 1) == (0,)


def test_units_and_spans_of_named_sources(tmp_path: Path) -> None:
    """In their order in the plan, whatever that of the log; one that is new was not read before."""
    (query,) = compile_program(NAMED).require().queries
    record(query, tmp_path)
    files = [tmp_path / f"{n}.json" for n in range(2)]
    for size, file in zip((100, 30), files, strict=True):
        file.write_text("x" * size)
        log = tmp_path / "sources" / ("a" if size == 100 else "b")
        log.mkdir(parents=True)
        (log / "0").write_text("v1\n" + json.dumps({"path": file.as_uri(), "timestamp": 1, "batchId": 0}))
    folder = tmp_path / "offsets"
    folder.mkdir()
    (folder / "0").write_text('v2\n{}\na:{"logOffset":0}')
    (folder / "1").write_text('v2\n{}\na:{"logOffset":0}\nb:{"logOffset":0}')
    assert units_of(tmp_path, 0) == (0, 100)
    assert units_of(tmp_path, 1) == (30, 0)
    assert span_of(tmp_path, 0, 1) == Files((files[1].as_uri(),))
    assert span_of(tmp_path, 1, 1) == Files(())


def log_files(checkpoint: Path, name: str, *files: tuple[Path, int]) -> None:
    """An entry of the log of a file source: files, each with the number of the entry that it came in."""
    log = checkpoint / "sources" / "0"
    log.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"path": f.as_uri(), "timestamp": 1, "batchId": entry}) for f, entry in files]
    (log / name).write_text("\n".join(("v1", *lines)))


def test_spans_of_files_and_of_numbers(tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.json" for n in range(4)]
    log_files(tmp_path, "0", (files[0], 0))
    log_files(tmp_path, "1", (files[1], 1), (files[2], 1))
    for batch, n in enumerate((100, 100, 250)):
        plan_batch(tmp_path, batch, {"logOffset": min(batch, 1)}, {"n": n, "since": 7})
    assert span_of(tmp_path, 0, 0) == Files((files[0].as_uri(),))
    assert span_of(tmp_path, 0, 1) == Files((files[1].as_uri(), files[2].as_uri()))
    assert span_of(tmp_path, 0, 2) == Files(())
    assert [span_of(tmp_path, 1, n) for n in range(3)] == [Numbers(0, 100), Numbers(100, 100), Numbers(100, 250)]
    assert span_of(tmp_path, 2, 0) is None
    (tmp_path / "offsets" / "1").unlink()
    assert span_of(tmp_path, 0, 2) is None


def test_every_tenth_entry_of_a_log_holds_those_before_it(tmp_path: Path) -> None:
    files = [tmp_path / f"{n}.json" for n in range(11)]
    for n, file in enumerate(files):
        file.write_text("x" * (n + 1))
    log_files(tmp_path, "8", (files[8], 8))
    log_files(tmp_path, "9.compact", *((file, n) for n, file in enumerate(files[:10])))
    log_files(tmp_path, "10", (files[10], 10))
    for batch in range(11):
        plan_batch(tmp_path, batch, {"logOffset": batch})
    for batch in (0, 3, 8, 9, 10):
        assert span_of(tmp_path, 0, batch) == Files((files[batch].as_uri(),))
        assert units_of(tmp_path, batch) == (batch + 1,)


def forward(checkpoint: Path, now: float = 10_000.0, rows: tuple[float, ...] = (1.0,)) -> Forward:
    return Forward(checkpoint, Throttle(2000.0), rows, lambda: now)


def test_the_first_micro_batch_is_a_probe_and_stays_one(tmp_path: Path) -> None:
    plan_batch(tmp_path, 0, {"n": 1_000_000})
    assert forward(tmp_path).decided().decision.keep == PROBE_ROWS / 1_000_000
    publish(tmp_path / KNOBS, Throttle(2000.0, MODEL))
    assert forward(tmp_path).decided().decision.keep == PROBE_ROWS / 1_000_000


def test_the_share_follows_the_rows_of_this_micro_batch(tmp_path: Path) -> None:
    publish(tmp_path / KNOBS, Throttle(2000.0, MODEL))
    for batch, (n, now) in enumerate(((0, 0.0), (100_000, 850.0), (600_000, 1700.0))):
        plan_batch(tmp_path, batch, {"n": n})
        commit(tmp_path, batch - 1, now)
        keep = forward(tmp_path, now).decided().decision.keep
        assert (keep == 1.0) == (batch < 2)
    assert COST.time(500_000, keep * 500_000) == pytest.approx(850, rel=0.2)


def test_rows_for_each_unit(tmp_path: Path) -> None:
    """A million rows a second, as the options say; then half of it, as was seen."""
    plan_batch(tmp_path, 0, 1)
    assert forward(tmp_path, rows=(1e6,)).decided().decision.keep == PROBE_ROWS / 1e6
    controller = Controller(tmp_path, Throttle(2000.0))
    controller.after(QuerySample("q", 0, 0.0, rows_in=500_000, kept=5_000, batch_ms=400))
    assert controller.throttle.counted == 0.5
    plan_batch(tmp_path, 1, 2)
    forward(tmp_path, 11_000.0, rows=(1e6,)).decided()
    found = DecisionLog(tmp_path / DECISIONS).find(1)
    assert found is not None
    assert found.arrived == 1_000_000
    assert found.decision.rate == pytest.approx(500.0)


@pytest.mark.parametrize("text", [None, "", "{}", "broken"])
def test_the_last_good_numbers_stay_in_force(tmp_path: Path, text: str | None) -> None:
    publish(tmp_path / KNOBS, Throttle(2000.0, MODEL))
    plan_batch(tmp_path, 0, 0)
    forward(tmp_path, 0.0).decided()
    (tmp_path / KNOBS).unlink()
    if text is not None:
        (tmp_path / KNOBS).write_text(text)
    plan_batch(tmp_path, 1, 100_000)
    commit(tmp_path, 0, 850.0)
    assert forward(tmp_path, 850.0).decided().decision.keep == 1.0


def test_whole_windows_wait_for_what_the_micro_batch_before_held(tmp_path: Path) -> None:
    """Where micro-batches follow each other the controller hears of one while the next is planned already."""
    throttle = Throttle(2000.0, MODEL, window_ms=1000)
    publish(tmp_path / KNOBS, throttle)
    plan_batch(tmp_path, 0, 500_000)
    first = forward(tmp_path, 0.0).decided().throttle.steps
    commit(tmp_path, 0, 850.0)
    plan_batch(tmp_path, 1, 5_000_000)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            publish(tmp_path / KNOBS, replace(throttle, seen=0, newest=5e6))

    after = replace(forward(tmp_path, 850.0), pause=pause).decided().throttle.steps
    assert len(pauses) == 3
    assert after[:1] == first
    assert len(after) == 2
    # Where nothing is heard it goes on with what held before.
    plan_batch(tmp_path, 2, 9_000_000)
    commit(tmp_path, 1, 1700.0)
    found = replace(forward(tmp_path, 1700.0), pause=lambda seconds: pauses.append(seconds)).decided()
    assert found.throttle.steps == after
    assert len(pauses) == 3 + MOST_PAUSES


def second_rate(checkpoint: Path, taken_ms: float, trigger_ms: float = 0.0) -> float:
    """The rate by which a second micro-batch of 5,000 rows is judged, 0.7 s after it took them.

    The first took its input at 100,000 ms and was done at 101,000 ms.
    """
    publish(checkpoint / KNOBS, Throttle(2000.0, MODEL))
    plan_batch(checkpoint, 0, 0, at_ms=100_000.0)
    forward(checkpoint, 100_700.0).decided()
    commit(checkpoint, 0, 101_000.0)
    plan_batch(checkpoint, 1, 5_000, at_ms=taken_ms)
    replace(forward(checkpoint, taken_ms + 700.0), trigger_ms=trigger_ms).decided()
    found = DecisionLog(checkpoint / DECISIONS).find(1)
    assert found is not None
    return found.decision.rate


def test_after_a_pause_rows_have_not_waited(tmp_path: Path) -> None:
    assert second_rate(tmp_path, 160_000.0) == pytest.approx(5_000 / IDLE_MS)


def test_a_query_that_takes_long_to_plan_is_busy(tmp_path: Path) -> None:
    assert second_rate(tmp_path, 101_050.0) == pytest.approx(5_000 / 1_050)


def test_a_query_that_waits_for_its_trigger_is_busy(tmp_path: Path) -> None:
    assert second_rate(tmp_path, 110_000.0, trigger_ms=10_000.0) == pytest.approx(5_000 / 10_000)


def test_a_controller_goes_on_from_what_was_published(tmp_path: Path) -> None:
    controller = Controller(tmp_path, Throttle(2000.0, MODEL))
    controller.after(QuerySample("q", 3, 0.0, rows_in=100_000, kept=100_000, batch_ms=6000))
    assert controller.throttle.model == MODEL, "the first micro-batch of a run takes its time for compiling"
    controller.after(QuerySample("q", 4, 0.0, rows_in=100_000, kept=100_000, batch_ms=600))
    assert controller.throttle.model.batches[-1].kept == 100_000
    assert json.loads((tmp_path / KNOBS).read_text())["latency_ms"] == 2000


def test_streams_that_are_spared_keep_all_rows_and_count(tmp_path: Path) -> None:
    """450,000 rows come, of which 10,000 are of a stream that loses none; of its files each byte gives half a row."""
    plan_batch(tmp_path, 0, {"n": 0}, {"n": 0})
    plan_batch(tmp_path, 1, {"n": 440_000}, {"n": 20_000})
    throttle = replace(Throttle(2000.0, MODEL), counted=450 / 460, counted_spared=0.5)
    whole = Forward(tmp_path, throttle, (1.0, 1.0), lambda: 0.0).decided()
    (tmp_path / DECISIONS / "1").unlink()
    part = Forward(tmp_path, throttle, (1.0, 1.0), lambda: 0.0, spared=(False, True)).decided()
    assert (part.arrived, part.spared, whole.spared) == (460_000, 20_000, 0)
    assert 0 < part.decision.keep < 1
    assert part.decision.keep * 440_000 + 10_000 == pytest.approx(whole.decision.keep * 450_000)
    assert DecisionLog(tmp_path / DECISIONS).find(1) == part


def test_numbers_of_an_older_version_are_read_on(tmp_path: Path) -> None:
    """They have no cost of the state, and no count of micro-batches at one rate."""
    plan_batch(tmp_path, 0, {"n": 0})
    plan_batch(tmp_path, 1, {"n": 400_000})
    publish(tmp_path / KNOBS, Throttle(2000.0, MODEL))
    made = Forward(tmp_path, Throttle(2000.0), (1.0,), lambda: 0.0).decided()
    for file in (tmp_path / KNOBS, tmp_path / DECISIONS / "1"):
        numbers = json.loads(file.read_text())
        for name in ("hold", "held", "holding", "steady", "spared", "counted_spared"):
            numbers.pop(name, None)
        file.write_text(json.dumps(numbers))
    assert DecisionLog(tmp_path / DECISIONS).find(1) == made
    known = published(tmp_path / KNOBS)
    assert known is not None
    assert known.model.cost == COST


def behind(checkpoint: Path, throttle: Throttle, started_ms: float = 0.0) -> Forward:
    """The third micro-batch of Kafka, planned at 100 s; the second ended at 99.9 s and had records of up to 40 s."""
    for batch, at_ms in ((0, 98_000.0), (1, 98_500.0), (2, 100_000.0)):
        plan_batch(checkpoint, batch, {"bids": {"0": 5_000 * (batch + 1)}}, at_ms=at_ms)
        commit(checkpoint, batch, at_ms + 1_400)
    plan_batch(checkpoint, 2, {"bids": {"0": 15_000}}, at_ms=100_000.0)
    publish(checkpoint / KNOBS, throttle)
    log = DecisionLog(checkpoint / DECISIONS)
    log.decide(1, lambda _: Decided(Decision(rate=10.0), 5_000, 98_500.0, throttle))
    return replace(forward(checkpoint, 100_000.0), started_ms=started_ms)


BEHIND = Throttle(2000.0, CostModel(Cost(150.0, 0.0, 0.1), (), 1_000_000), read_until=40_000.0, unread=9_000, seen=1)


def test_records_that_were_left_are_as_old_as_they_say(tmp_path: Path) -> None:
    """They are past the goal: a micro-batch takes no longer than half of one that is on time, until it has caught up."""
    on_time = behind(tmp_path / "a", replace(BEHIND, unread=0)).decided()
    late = behind(tmp_path / "b", BEHIND).decided()
    assert (on_time.waited_ms, late.waited_ms) == (1_500.0, 60_000.0)
    assert late.decision.rate == on_time.decision.rate
    assert late.decision.keep < on_time.decision.keep


def test_what_was_left_long_ago_says_nothing(tmp_path: Path) -> None:
    assert behind(tmp_path, replace(BEHIND, seen=-2)).decided().waited_ms == 1_500.0


def test_records_that_came_while_nobody_read_waited_all_the_time(tmp_path: Path) -> None:
    """A run that goes on after a break: what came in it is one burst, which came at the rate of the break."""
    found = behind(tmp_path, replace(BEHIND, unread=0), started_ms=99_950.0).decided()
    assert found.waited_ms == 60_000.0
    assert found.decision.rate == pytest.approx(5_000 / 60_000)


def test_rows_of_the_first_micro_batch_of_kafka_count_from_where_it_began(tmp_path: Path) -> None:
    log = tmp_path / "sources" / "0"
    log.mkdir(parents=True)
    (log / "0").write_bytes(b'\0v1\n{"bids":{"0":1000,"1":500}}')
    plan_batch(tmp_path, 0, {"bids": {"0": 1010, "1": 520}})
    plan_batch(tmp_path, 1, {"bids": {"0": 1010, "1": 521, "2": 7}})
    assert units_of(tmp_path, 0) == (30,)
    assert units_of(tmp_path, 1) == (8,)
    first, second = (span_of(tmp_path, 0, batch) for batch in (0, 1))
    assert first == Records('{"bids": {"0": 1000, "1": 500}}', '{"bids": {"0": 1010, "1": 520}}')
    assert isinstance(second, Records)
    assert json.loads(second.start) == {"bids": {"0": 1010, "1": 520, "2": -2}}
    assert first
    assert not Records(first.start, first.start)


def test_how_far_was_read_is_published(tmp_path: Path) -> None:
    controller = Controller(tmp_path, Throttle(2000.0))
    controller.after(QuerySample("q", 3, 100.0, backlog_rows=7), Looked(read_until=99_000.0))
    found = published(tmp_path / KNOBS)
    assert found is not None
    assert (found.read_until, found.unread, found.seen) == (99_000.0, 7, 3)
