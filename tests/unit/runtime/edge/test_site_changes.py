"""An edge whose plan, cycle or source changes while it is at work, or between two times that it is."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamq.dsl.records import replace
from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.landing import Landing
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.at_source.source import Block, Files, Pipe
from streamq.runtime.edge.plan import BadPlan, CycleRule
from streamq.runtime.edge_command import _Progress, _work
from tests.unit.runtime.edge.support import (
    Clock,
    Wire,
    received,
    run,
    site_of,
    small_plan,
)
from tests.unit.runtime.edge.test_site import NARROW, Harness, line


def test_another_cycle_begins_with_the_next_row(tmp_path: Path) -> None:
    """Nothing is read twice, and what was retained by the old key is not asked for by the new one."""
    blocks = [(1000.0 + i, line("ab"[i % 2], float(i))) for i in range(20)]
    harness = Harness(tmp_path, small_plan(**NARROW), blocks[:10])
    harness.run()
    harness.plan = small_plan(cycle=CycleRule(length=5), **NARROW)
    harness.blocks = blocks
    harness.central = Central.of(tmp_path / "central", {"weather": harness.plan})
    harness.wire.central = harness.central
    harness.killed()
    assert harness.told[-1].startswith("the cycle is another one now")
    harness.run()
    messages = list(harness.central.desks["weather"].inbox.pending())
    assert [k for m in messages for k in m.rows.column("k").to_pylist()] == ["ab"[i % 2] for i in range(20)]
    assert {m.key for m in messages[:-1]} >= {("k",)}
    assert messages[-1].key == ()
    # Numbers go on after the last of any key before.
    assert messages[-1].cycle_no.tolist()[-1] == 15


def test_another_cycle_waits_for_rows_of_the_old_one(tmp_path: Path) -> None:
    harness = Harness(tmp_path, small_plan(), [(1000.0, line("a", 1.0) + line("b", 2.0))])
    harness.wire.down = lambda: "before"
    harness.site.turn(last=True)
    harness.plan = small_plan(cycle=CycleRule(length=5))
    with pytest.raises(BadPlan, match="let an edge with the program before send them"):
        harness.killed()


def test_an_edge_that_is_patient_sheds_nothing(tmp_path: Path) -> None:
    blocks = [(1000.0, b"".join(line("ab"[i % 2], i * 1.7) for i in range(400)))]
    hurried, patient = Harness(tmp_path / "h", small_plan(**NARROW), blocks), Harness(tmp_path / "p", small_plan(**NARROW), blocks)
    hurried.run()
    patient.site.patient = True
    patient.site.start()
    patient.run()
    assert any("x" in row["shed"] for row in hurried.rows())
    assert [row["x"] for row in patient.rows()] == [i * 1.7 for i in range(400)]


def test_why_rows_are_left_out_is_told_once(tmp_path: Path) -> None:
    blocks = [(1000.0 + i, b"none\n" + line(None, 1.0) + line("a", 1.0) + line("b", 2.0)) for i in range(3)]
    harness = Harness(tmp_path, small_plan(), blocks)
    harness.run()
    assert harness.site.counts.malformed == 6
    assert [text for text in harness.told if "malformed" in text] == [
        "a line is no row of the stream, and is counted as malformed: none",
        "rows are counted as malformed that no synopsis can keep: NULL, NaN or a text of more than 256 characters in a column of "
        "CYCLE, or the least BIGINT",
    ]


@pytest.mark.parametrize("landed_before", [True, False])
def test_another_length_of_the_cycle_leaves_recovered_values_right(tmp_path: Path, landed_before: bool) -> None:
    """Neither what a run remembers of old numbers, nor rows of the old cycle that land later, meet new values."""
    old = [(1000.0 + i, line("a", 100.0) + line("b", 100.0)) for i in range(6)]
    new = [(1010.0 + i, (line("a", 7.0) + line("b", 7.0)) * 2) for i in range(6)]
    harness = Harness(tmp_path, small_plan(**NARROW), old)
    incoming = Incoming(plan=harness.plan, synopsis=frozenset({"x"}))

    def landing() -> Landing:
        desk = harness.central.desks["weather"]
        return Landing(incoming, tmp_path / "central" / "weather", desk.inbox, desk.asking, clock=harness.clock, day=harness.clock)

    def both(land: Landing) -> None:
        for _ in range(2_000):
            harness.clock.now += max(min(harness.site.turn(last=True), 0.25), 0.01)
            land.step()
            if harness.site.done and land.idle:
                return
        raise AssertionError("it goes on and on")

    land = landing()
    if landed_before:
        both(land)
    else:
        harness.run()
    harness.plan = small_plan(cycle=CycleRule(key=("k",), length=4), **NARROW)
    harness.blocks = old + new
    harness.killed()
    if not landed_before:
        land = landing()
    both(land)
    files = sorted((tmp_path / "central" / "weather" / "rows").glob("*.parquet"))
    rows = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    assert len(rows) == 12 + 24
    for i, row in enumerate(rows):
        assert row["x"] is None or row["x_lo"] <= (100.0 if i < 12 else 7.0) <= row["x_hi"]
    assert all(row["x"] is not None for row in rows[12:])


def test_a_key_that_was_found_is_sent_though_nobody_reads_it(tmp_path: Path) -> None:
    plan = small_plan(cycle=CycleRule(training_rows=20), capacity_kbps=1e5)
    blocks = [(1000.0, b"".join(line("abcd"[i % 4], i * 0.7 + i % 3, i * 1.1) for i in range(40)))]
    blocks += [(1005.0 + i, b"".join(line("abcd"[j], 1.0 * i, 2.0 * i) for j in range(4))) for i in range(5)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run(lambda: bool(harness.rows()))
    assert harness.site.progress.cycle.key == ("k",)
    harness.central.change(replace(plan, revision=2, unread=frozenset({"k"})))
    harness.run()
    assert len(harness.rows()) == 60


def test_what_may_not_be_shed_any_more_is_not_after_a_restart_either(tmp_path: Path) -> None:
    blocks = [(1000.0 + i * 0.5, line("a", i * 1.0) + line("b", i * 2.0)) for i in range(60)]
    harness = Harness(tmp_path, small_plan(**NARROW), blocks)
    harness.run(lambda: any(row["shed"] for row in harness.rows()))
    later = small_plan(revision=2, protected=frozenset({"x", "y"}), **NARROW)
    harness.central.change(later)
    harness.run(lambda: harness.site.plan.revision == 2)
    before = len(harness.rows())
    harness.killed()
    harness.run(lambda: len(harness.rows()) > before + 4)
    waiting = [row for row in harness.rows()[before:] if row["shed"]]
    # Those that were on their way when the plan came.
    assert all(row["seq"] <= harness.rows()[before]["seq"] + 3 for row in waiting)
    assert harness.rows()[-1]["shed"] == ()


def test_rows_that_are_carried_are_fit_for_another_key(tmp_path: Path) -> None:
    blocks = [(1000.0, line("a", 3.0) * 5 + line(None, 1.0) + line("a", 2.0) * 2), (1020.0, line("b", 1.0))]
    harness = Harness(tmp_path, small_plan(cycle=CycleRule(length=5)), blocks)
    harness.run(lambda: bool(harness.rows()))
    assert harness.site.progress.carried.num_rows == 3
    harness.plan = small_plan(cycle=CycleRule(key=("k",), training_rows=10))
    harness.central = Central.of(tmp_path / "central", {"weather": harness.plan})
    harness.wire.central = harness.central
    harness.killed()
    assert harness.site.counts.malformed == 1
    harness.run()
    assert [m.rows.column("k").to_pylist() for m in harness.central.desks["weather"].inbox.pending()][1:] == [["a", "a", "b"]]


def test_a_plan_that_is_refused_is_not_lent(tmp_path: Path) -> None:
    plan = small_plan(capacity_kbps=50.0, lease_s=5.0, floor_kbps=1.0)
    blocks = [(1000.0 + i * 0.1, line("a", i * 1.0) + line("b", i * 2.0)) for i in range(600)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run(lambda: harness.clock.now > 1010)
    harness.central.desks["weather"].plan = small_plan(
        cycle=CycleRule(key=("k",), length=4), capacity_kbps=2.0, lease_s=5.0, floor_kbps=1.0, revision=2
    )
    harness.run(lambda: harness.clock.now > 1015)
    since = harness.clock.now
    harness.run(lambda: harness.clock.now > since + 40)
    went = sum(size for at, size in harness.wire.went if at > since)
    assert went <= 40 * 125 * 1.0 + 4096


@pytest.mark.parametrize("later", ["log", "log.2"])
@pytest.mark.parametrize("last", [line("b", 6.0), line("b", 6.0).rstrip()])
def test_rows_of_a_file_that_was_left_are_not_lost(tmp_path: Path, later: str, last: bytes) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    path, clock, plan = folder / "log", Clock(), small_plan(cycle=CycleRule(key=("k",), length=3))
    central = Central.of(tmp_path / "central", {"weather": plan})

    def started() -> Site:
        return site_of(plan, Files(folder), tmp_path / "store", Wire(central, clock), clock)

    def turns(site: Site) -> None:
        for _ in range(5):
            clock.now += 0.1
            site.turn()

    path.write_bytes(line("a", 1.0) + line("b", 2.0))
    site = started()
    turns(site)
    with path.open("ab") as file:
        file.write(line("c", 3.0) + line("a", 4.0))
    turns(site)
    with path.open("ab") as file:
        file.write(last)
    turns(site)
    path.rename(tmp_path / "old")
    (folder / later).write_bytes(b"")
    turns(site)
    # Killed: nothing more is written down.
    site.store.close()
    with (folder / later).open("ab") as file:
        file.write(line("c", 6.0) + line("d", 7.0) + line("e", 8.0))
    site = started()
    run(site, clock, lambda: site.done)
    keys = [key for message in received(central) for key in message.rows.column("k").to_pylist()]
    assert "".join(keys) == "abcabcde"


class Stopped(Pipe):
    """A pipe whose edge is asked to end once it was read."""

    def read(self) -> Block:
        block = Pipe.read(self)
        signal.raise_signal(signal.SIGTERM)
        return block


def test_rows_of_a_pipe_are_kept_where_the_edge_is_stopped(tmp_path: Path) -> None:
    clock, plan = Clock(), small_plan(cycle=CycleRule(key=("k",), length=3))
    central = Central.of(tmp_path / "central", {"weather": plan})
    for lines in (line("a", 1.0) + line("b", 2.0), line("c", 3.0) + line("a", 4.0), b""):
        out, into = os.pipe()
        os.write(into, lines)
        source = Stopped(out) if lines else Pipe(out)
        os.close(into)
        site = site_of(plan, source, tmp_path / "store", Wire(central, clock), clock)
        if lines:
            _work(site, _Progress("weather", quiet=True), True, 0.0)
        else:
            run(site, clock, lambda s=site: s.done)
        site.store.close()
        os.close(out)
    keys = [key for message in received(central) for key in message.rows.column("k").to_pylist()]
    assert "".join(keys) == "abca"
