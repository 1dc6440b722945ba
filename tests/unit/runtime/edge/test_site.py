from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_source import pipeline
from streamq.runtime.edge.at_source.backoff import MOST_S, Backoff
from streamq.runtime.edge.at_source.offered import SPAN_S, Offered
from streamq.runtime.edge.at_source.site import POLL_S
from streamq.runtime.edge.at_source.source import Files
from streamq.runtime.edge.columns import to_column
from streamq.runtime.edge.frames import Kind, framed
from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.runtime.edge.transport import Refused, Reply
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.recovery.lookup import Status
from streamq.stdlib.recovery.measures import rel_error_pct
from tests.unit.runtime.edge.support import (
    Clock,
    Fed,
    Wire,
    lines_of,
    most_above,
    plan_of,
    received,
    run,
    site_of,
    small_plan,
    weather_rows,
)


class Harness:
    """An edge, its wire, and what came out at the other end."""

    def __init__(self, tmp_path: Path, plan: EdgePlan, blocks: list[tuple[float, bytes]]) -> None:
        self.plan, self.folder, self.clock, self.told = plan, tmp_path, Clock(), []
        self.blocks = blocks
        self.central = Central.of(tmp_path / "central", {plan.stream: plan})
        self.wire = Wire(self.central, self.clock)
        self.site = self._site()

    def _site(self) -> Any:
        return site_of(
            self.plan, Fed(self.clock, self.blocks), self.folder / "store", self.wire, self.clock, self.told.append
        )

    def killed(self) -> None:
        """The process is gone, and starts anew."""
        self.site.store.close()
        self.site = self._site()

    def run(self, until: Callable[[], bool] | None = None) -> None:
        run(self.site, self.clock, until or (lambda: self.site.done))

    def rows(self) -> list[dict[str, Any]]:
        return [
            row | {"cycle": int(c), "seq": m.seq, "shed": m.plan.attrs, "offered": m.offered_kbps}
            for m in received(self.central) for row, c in zip(m.rows.to_pylist(), m.cycle_no, strict=True)
        ]

    def recovered(self, attribute: str, keys: list[str], cycles: list[int]) -> tuple[list[Any], list[int]]:
        asking = self.central.desks["weather"].asking
        key = self.site.progress.cycle.key[0]
        id_ = asking.ask(self.site.store.origin, attribute, pa.record_batch({key: keys}), np.array(cycles))
        self.run(lambda: asking.answer(id_) is not None)
        answer = asking.answer(id_)
        return answer.values.to_pylist(), answer.status.tolist()


def line(k: str | None, x: float | None, y: float | None = 1.0) -> bytes:
    return json.dumps({"k": k, "x": x, "y": y}).encode() + b"\n"


NARROW = {"capacity_kbps": 0.5, "error_pct": 10.0}


def test_missing_late_and_duplicate_rows_do_not_break_recovery(tmp_path: Path) -> None:
    random = np.random.RandomState(7)
    sent: list[tuple[str, float]] = []
    for cycle in range(60):
        keys = [f"k{i}" for i in range(6)]
        if random.random_sample() < 0.5:
            keys.remove(keys[random.randint(6)])
        if random.random_sample() < 0.5:
            keys.append(keys[random.randint(len(keys))])
        random.shuffle(keys)
        sent += [(k, float(np.round(10 + cycle / 7 + int(k[1]) + random.random_sample(), 2))) for k in keys]
    plan = small_plan(cycle=CycleRule(key=("k",), length=6), **NARROW)
    blocks = [(1000.0 + i / 10, b"".join(line(k, x) for k, x in sent[i : i + 50])) for i in range(0, len(sent), 50)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run()
    rows = harness.rows()
    assert [row["k"] for row in rows] == [k for k, _ in sent]
    shed = [i for i, row in enumerate(rows) if "x" in row["shed"]]
    assert len(shed) > 100
    values, status = harness.recovered("x", [rows[i]["k"] for i in shed], [rows[i]["cycle"] for i in shed])
    assert max(status) <= Status.APPROXIMATE
    errors = rel_error_pct(to_column(pa.array([sent[i][1] for i in shed])), to_column(pa.array(values)))
    assert errors.max() <= 10.0


def test_null_shed_and_sent_are_told_apart(tmp_path: Path) -> None:
    harness = Harness(tmp_path, small_plan(**NARROW), [(1000.0, line("a", None, None) + line("b", 2.0, None))])
    harness.run()
    assert {row["shed"] for row in harness.rows()} == {("x", "y")}
    assert harness.recovered("x", ["a", "b"], [1, 1]) == ([None, 2.0], [Status.EXACT] * 2)
    wide = Harness(tmp_path / "wide", small_plan(capacity_kbps=1e6), [(1000.0, line("a", None, None) + line("b", 2.0, None))])
    wide.run()
    assert [row["shed"] for row in wide.rows()] == [(), ()]
    assert wide.rows()[0]["x"] is None
    assert wide.recovered("x", ["a"], [1])[1] == [Status.NOT_RETAINED]


def test_a_request_whose_key_cannot_be_is_refused(tmp_path: Path) -> None:
    plan = small_plan(columns={"k": "double", "x": "double", "y": "double"})
    harness = Harness(tmp_path, plan, [(1000.0, b'{"k": 1.0, "x": 1, "y": 1}\n{"k": 2.0, "x": 1, "y": 1}\n')])
    harness.run()
    asking = harness.central.desks["weather"].asking
    asking.ask(harness.site.store.origin, "x", pa.record_batch({"k": [float("nan")]}), np.array([1]))
    harness.run(lambda: harness.site.counts.refused_requests > 0)
    assert harness.told[-1].startswith("a request is not answered: ")


def test_rows_without_a_key_are_malformed(tmp_path: Path) -> None:
    bad = line(None, 1.0) + b'{"x": 3}\n' + line("a\0", 1.0) + line("k" * 300, 1.0) + b"nothing\n"
    harness = Harness(tmp_path, small_plan(), [(1000.0, bad + line("a", 1.0) + bad + line("b", 1.0))])
    harness.run()
    assert harness.site.counts.malformed == 10
    assert [row["k"] for row in harness.rows()] == ["a", "b"]


def test_a_source_that_makes_up_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LEAST_KEYS", 8)
    lines = b"".join(line(f"k{i % 5}", 1.0) + line(f"made up {i}", 1.0) for i in range(100))
    harness = Harness(tmp_path, small_plan(cycle=CycleRule(key=("k",), length=2), **NARROW), [(1000.0, lines)])
    monkeypatch.setattr(pipeline, "KEYS_OF_A_CYCLE", 4)
    harness.run()
    assert len(harness.site.progress.keys) == 8
    known = [row["k"] for row in harness.rows()]
    assert known.count("k0") == 20
    assert len(known) + harness.site.counts.malformed == 200
    assert len(harness.recovered("x", ["k0"], [20])[0]) == 1


def test_nothing_but_keys_that_are_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LEAST_KEYS", 2)
    monkeypatch.setattr(pipeline, "KEYS_OF_A_CYCLE", 1)
    blocks = [(1000.0 + i, b"".join(line(f"{i} {k}", 1.0) for k in range(4))) for i in range(3)]
    harness = Harness(tmp_path, small_plan(), [*blocks, (1010.0, line("0 0", 7.0) + line("0 1", 8.0))])
    harness.run()
    assert [row["x"] for row in harness.rows()] == [1.0, 1.0, 7.0, 8.0]
    assert harness.site.counts.malformed == 10


@pytest.mark.parametrize("key", [("k", "n"), ("n", "k")])
def test_a_key_of_two_columns(tmp_path: Path, key: tuple[str, ...]) -> None:
    plan = small_plan(columns={"k": "string", "n": "int32", "x": "double", "y": "double"}, cycle=CycleRule(key=key, length=6), **NARROW)
    given = [("ab"[i % 2], i % 3, float(i), 1.0) for i in range(60)]
    lines = b"".join(json.dumps(dict(zip("knxy", row, strict=True))).encode() + b"\n" for row in given)
    harness = Harness(tmp_path, plan, [(1000.0, lines)])
    harness.run()
    asking = harness.central.desks["weather"].asking
    rows = harness.rows()
    keys = pa.record_batch({"k": [row["k"] for row in rows], "n": pa.array([row["n"] for row in rows], pa.int32())})
    id_ = asking.ask(harness.site.store.origin, "x", keys, np.array([row["cycle"] for row in rows]))
    harness.run(lambda: asking.answer(id_) is not None)
    for value, row in zip(asking.answer(id_).values.to_pylist(), given, strict=True):
        assert abs(value - row[2]) <= 0.1 * row[2]


def test_constant_negative_zero_and_text_columns(tmp_path: Path) -> None:
    columns = {"k": "string", "c": "double", "n": "int64", "z": "double", "t": "string", "b": "bool", "d": "date32[day]"}
    plan = small_plan(columns=columns, ranking=Ranking(text="ENTROPY"), **NARROW)
    rows = [
        {"k": "ab"[i % 2], "c": 5.0, "n": -i, "z": (i % 4 // 2) * -1.5, "t": f"t{i // 5}", "b": i % 3 == 0, "d": f"2024-01-{i // 9 + 1:02d}"}
        for i in range(40)
    ]
    blocks = [(1000.0 + i, b"".join(json.dumps(r).encode() + b"\n" for r in rows[i * 10 : i * 10 + 10])) for i in range(4)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run()
    assert len(harness.rows()) == 40
    for name in columns:
        shed = [(i, row) for i, row in enumerate(harness.rows()) if name in row["shed"]]
        if name == "k":
            assert not shed
            continue
        assert shed
        values, status = harness.recovered(name, [row["k"] for _, row in shed], [row["cycle"] for _, row in shed])
        assert max(status) <= Status.APPROXIMATE
        for value, (i, _) in zip(values, shed, strict=True):
            original = rows[i][name]
            if isinstance(original, int | float) and not isinstance(original, bool):
                assert abs(value - original) <= 0.1 * abs(original)
            else:
                assert str(value) == str(original)


def test_a_capacity_below_one_attribute_loses_no_row(tmp_path: Path) -> None:
    lines = b"".join(line("ab"[i % 2], float(i)) for i in range(200))
    harness = Harness(tmp_path, small_plan(capacity_kbps=0.05), [(1000.0, lines)])
    harness.run()
    assert len(harness.rows()) == 200
    assert set(harness.rows()[-1]["shed"]) == {"x", "y"}
    assert most_above(harness.wire.went, 0.05) <= harness.plan.bucket


def broken_wires() -> Iterator[str]:
    yield from itertools.cycle(["", "before", "after", "after", "", "before", ""])


def test_a_wire_that_breaks_loses_and_repeats_nothing(tmp_path: Path) -> None:
    blocks = [(1000.0 + i, b"".join(line(k, i + 0.5) for k in "abab")) for i in range(30)]
    harness = Harness(tmp_path, small_plan(), blocks)
    states = broken_wires()
    harness.wire.down = lambda: next(states)
    harness.run()
    assert [row["x"] for row in harness.rows()] == [i + 0.5 for i in range(30) for _ in range(4)]
    assert harness.central.desks["weather"].repeated > 0
    assert harness.site.counts.failures > 0
    assert set(harness.told) == {"the wire is broken"}


class Confused(Wire):
    """Acknowledges other messages than those that came."""

    by = 0

    def send(self, message: bytes) -> Reply:
        return Reply(Wire.send(self, message).acknowledged + self.by)


@pytest.mark.parametrize("by", [-1, 1000])
def test_only_what_was_sent_is_acknowledged(tmp_path: Path, by: int) -> None:
    blocks = [(1000.0 + i, line("a", float(i)) + line("b", float(i))) for i in range(10)]
    harness = Harness(tmp_path, small_plan(), blocks)
    confused = Confused(harness.central, harness.clock)
    confused.by = by
    harness.site.transport = confused
    for _ in range(60):
        harness.clock.now += min(harness.site.turn(last=True), 0.5)
    if by < 0:
        assert set(harness.told) == {"the central side does not say that it has a message"}
    confused.by = 0
    harness.run()
    assert [row["x"] for row in harness.rows()] == [float(i) for i in range(10) for _ in range(2)]


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_killed_at_any_turn(tmp_path: Path, every: int) -> None:
    blocks = [(1000.0 + i / 4, b"".join(line(k, float(i)) for k in "ab" * (1 + i % 3))) for i in range(25)]
    harness = Harness(tmp_path, small_plan(**NARROW | {"capacity_kbps": 8.0}), blocks)
    states = broken_wires()
    harness.wire.down = lambda: next(states)
    turns = 0
    while not harness.site.done:
        harness.clock.now += max(harness.site.turn(last=True), 0.01)
        turns += 1
        if turns % every == 0 and turns < 200:
            harness.killed()
    rows = harness.rows()
    expected = [(k, float(i)) for i in range(25) for k in "ab" * (1 + i % 3)]
    assert [row["k"] for row in rows] == [k for k, _ in expected]
    assert [row["x"] for row in rows if "x" in row] == [x for (_, x), row in zip(expected, rows, strict=True) if "x" in row]
    shed = [i for i, row in enumerate(rows) if "x" in row["shed"]]
    if shed:
        values, status = harness.recovered("x", [rows[i]["k"] for i in shed], [rows[i]["cycle"] for i in shed])
        assert max(status) <= Status.APPROXIMATE
        for value, i in zip(values, shed, strict=True):
            assert abs(value - expected[i][1]) <= 0.1 * expected[i][1]


def test_a_later_plan_is_used_at_once_and_after_a_restart(tmp_path: Path) -> None:
    blocks = [(1000.0 + i, line("a", float(i)) + line("b", float(-i))) for i in range(40)]
    harness = Harness(tmp_path, small_plan(capacity_kbps=1e5), blocks)
    harness.run(lambda: len(harness.wire.went) >= 5)
    harness.central.change(small_plan(capacity_kbps=0.3, revision=2, protected=frozenset({"y"}), token=""))
    harness.run(lambda: len(harness.wire.went) >= 15)
    assert harness.site.plan.revision == 2
    assert harness.site.plan.token == "secret-token"
    harness.killed()
    assert harness.site.plan.capacity_kbps == 0.3
    harness.run()
    rows = harness.rows()
    assert [row["shed"] for row in rows[:4]] == [()] * 4
    assert rows[-1]["shed"] == ("x",)
    assert harness.told == []


def test_a_plan_that_cannot_follow_is_told_of(tmp_path: Path) -> None:
    harness = Harness(tmp_path, small_plan(), [(1000.0, line("a", 1.0) + line("b", 1.0))])
    harness.central.desks["weather"].plan = small_plan(revision=9, format="csv")
    harness.run()
    assert harness.site.plan.revision == 1
    assert harness.told == [
        "a plan that was sent is not used, start the edge again with the program that it is of: a running edge cannot change its format"
    ]


def test_requests_that_are_wrong_are_told_of(tmp_path: Path) -> None:
    plan = small_plan(**NARROW)
    harness = Harness(tmp_path, plan, [(1000.0 + i, line("a", 1.0) + line("b", 1.0)) for i in range(3)])
    other = Central.of(tmp_path / "other", {"weather": small_plan()}).desks["weather"].asking
    other.ask(harness.site.store.origin, "x", pa.record_batch({"y": [1.0]}), np.array([1]))
    (bad,) = other.open(harness.site.store.origin)
    (tmp_path / "central" / "weather" / f"{'00' * 8}.request").write_bytes(bad)
    harness.run(lambda: harness.site.ended)
    assert harness.site.counts.refused_requests > 0
    assert set(harness.told) == {"a request is not answered: it has not the key of the stream"}


def test_large_answers_come_in_parts(tmp_path: Path) -> None:
    plan = small_plan(capacity_kbps=20.0, error_pct=0.0, bucket_bytes=4096)
    blocks = [(1000.0 + i / 50, b"".join(line(k, i * 40.0 + j) for j, k in enumerate("ab" * 20))) for i in range(30)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run()
    asked = [(k, c) for k in "ab" for c in range(1, 601)]
    values, status = harness.recovered("x", [k for k, _ in asked], [c for _, c in asked])
    assert harness.wire.kinds.count(Kind.ANSWER) > 3
    assert len(values) == 1200
    shed = {(row["k"], row["cycle"]) for row in harness.rows() if "x" in row["shed"]}
    assert {one for one, s in zip(asked, status, strict=True) if s <= Status.APPROXIMATE} >= shed
    assert most_above(harness.wire.went, 20.0) <= 4096


def test_answers_that_wait_are_one_message(tmp_path: Path) -> None:
    blocks = [(1000.0 + i, line("a", float(i), 2.0 * i) + line("b", float(-i), 3.0)) for i in range(30)]
    harness = Harness(tmp_path, small_plan(**NARROW), blocks)
    harness.run()
    asking = harness.central.desks["weather"].asking
    keys = pa.record_batch({"k": ["a", "b"]})
    ids = [asking.ask(harness.site.store.origin, name, keys, np.array([c, c])) for c in range(20, 25) for name in "xy"]
    before = len(harness.wire.kinds)
    harness.run(lambda: all(asking.answer(id_) is not None for id_ in ids))
    assert harness.wire.kinds[before:].count(Kind.ANSWER) == 1
    assert harness.site.counts.answers == 10
    (poll, sent) = (size for _, size in harness.wire.went[before:])
    assert sent <= 16 + 2 + len("weather") + 10 * (33 + 1 + 2 * (1 + 1 + 8))
    assert poll < sent


class Refusing(Wire):
    """Takes no answers."""

    def send(self, message: bytes) -> Reply:
        if framed(message).kind == Kind.ANSWER:
            raise Refused("nobody knows why")
        return Wire.send(self, message)


def test_a_message_of_answers_that_is_refused_is_told_of(tmp_path: Path) -> None:
    blocks = [(1000.0 + i, line("a", float(i)) + line("b", float(-i))) for i in range(10)]
    harness = Harness(tmp_path, small_plan(**NARROW), blocks)
    harness.run()
    asking = harness.central.desks["weather"].asking
    ids = [asking.ask(harness.site.store.origin, name, pa.record_batch({"k": ["a"]}), np.array([5])) for name in "xy"]
    harness.site.transport = Refusing(harness.central, harness.clock)
    harness.run(lambda: bool(harness.told))
    assert harness.told == ["an answer is not taken: nobody knows why"]
    assert harness.site.counts.answers == 0
    harness.site.transport = harness.wire
    harness.run(lambda: all(asking.answer(id_) is not None for id_ in ids))


def test_a_cycle_that_is_found(tmp_path: Path) -> None:
    rows = weather_rows(8)
    lines = lines_of(rows)
    plan = plan_of(cycle=CycleRule(training_rows=200), capacity_kbps=40.0)
    blocks = [(1000.0 + i, b"".join(lines[i * 60 : i * 60 + 60])) for i in range(10)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run(lambda: bool(harness.wire.went) and harness.site.progress.cycle is not None)
    assert (harness.site.progress.cycle.key, harness.site.progress.cycle.length) == (("location",), 75)
    harness.killed()
    assert harness.site.progress.cycle.length == 75
    harness.run()
    assert [row["location"] for row in harness.rows()] == rows.column("location").to_pylist()
    assert any(row["shed"] for row in harness.rows())


def test_no_cycle_says_what_to_do(tmp_path: Path) -> None:
    lines = b"".join(line(f"k{i}", i * 1.1, i * 0.3) for i in range(50))
    harness = Harness(tmp_path, small_plan(cycle=CycleRule(training_rows=20)), [(1000.0, lines)])
    with pytest.raises(BadPlan, match=r"no columns come again in a fixed order in the first 20 rows: say CYCLE \(columns\)"):
        harness.run()


def test_ranking_by_key(tmp_path: Path) -> None:
    plan = small_plan(ranking=Ranking(scope="PER_KEY"), capacity_kbps=1.2, protected=frozenset())
    # Values of x differ between keys, but not in time; those of y do in time.
    blocks = [(1000.0 + i / 4, line("a", 100.0, float(i % 5)) + line("b", -100.0, float(i % 7))) for i in range(60)]
    harness = Harness(tmp_path, plan, blocks)
    harness.run()
    assert harness.rows()[-1]["shed"][0] == "x"


def test_rows_do_not_wait_for_a_cycle_for_ever(tmp_path: Path) -> None:
    harness = Harness(tmp_path, small_plan(linger_s=5.0), [(1000.0, line("a", 1.0)), (2000.0, line("b", 2.0))])
    for _ in range(40):
        harness.clock.now += min(harness.site.turn(), 0.25)
        if harness.rows():
            break
    assert 1005 <= harness.clock.now < 1006.5
    assert [row["k"] for row in harness.rows()] == ["a"]


def test_a_file_is_not_read_faster_than_it_goes(tmp_path: Path) -> None:
    file = tmp_path / "rows.json"
    file.write_bytes(b"".join(line("ab"[i % 2], float(i)) for i in range(3000)))
    plan = small_plan(capacity_kbps=40.0)
    clock = Clock()
    central = Central.of(tmp_path / "central", {"weather": plan})
    wire = Wire(central, clock)
    site = site_of(plan, Files(file, block=8192), tmp_path / "store", wire, clock)
    most = 0
    while not site.done:
        clock.now += min(site.turn(last=True), 0.25)
        most = max(most, site.store.waiting_bytes())
    assert most < 40 * 125 * 2 + 8192
    assert sum(m.rows.num_rows for m in received(central)) == 3000
    assert most_above(wire.went, 40.0) <= plan.bucket


def test_an_idle_edge_asks_for_work(tmp_path: Path) -> None:
    harness = Harness(tmp_path, small_plan(), [])
    for _ in range(12):
        harness.clock.now += min(harness.site.turn(), 0.5)
    assert set(harness.wire.kinds) == {Kind.POLL}
    assert 4 <= len(harness.wire.kinds) <= 6


def test_backoff_grows_and_ends() -> None:
    backoff, now, waits = Backoff(), 0.0, []
    for _ in range(12):
        backoff = backoff.failed(now, lambda: 1.0)
        waits.append(backoff.wait_s(now))
        now += waits[-1]
    assert waits[:4] == [0.5, 1.0, 2.0, 4.0]
    assert waits[-1] == MOST_S
    assert Backoff().failed(0.0, lambda: 0.0).wait_s(0.0) == 0.25
    # A clock that is put back.
    assert backoff.wait_s(-1e9) == MOST_S


def test_offered_rates() -> None:
    offered = Offered(0.0)
    for second in range(1, 11):
        offered = offered.after(float(second), 100, 1000)
    assert offered.kbps == pytest.approx(8.0)
    assert offered.rows_per_s == pytest.approx(100.0)
    # What waited for the wire did not come slowly.
    later = offered.blocked(50.0).after(61.0, 100, 1000)
    assert later.kbps == pytest.approx(8.0)
    assert offered.after(3.0, 100, 1000).kbps == pytest.approx(8.0)
    assert Offered(5.0).after(5.0, 10, 1000).kbps == pytest.approx(8.0)


def test_offered_now_is_nothing_soon_after_the_last_row() -> None:
    offered = Offered(0.0)
    assert offered.kbps_at(3.0) == 0.0
    for second in range(1, 11):
        offered = offered.after(float(second), 100, 1000)
    # Until the next block is late it comes as it came.
    assert offered.kbps_at(10.9) == pytest.approx(8.0)
    rates = [offered.kbps_at(10.0 + i / 10) for i in range(10, 41)]
    assert rates == sorted(rates, reverse=True)
    assert 0 < rates[15] < 4
    assert rates[-1] == 0.0
    # A silence in which nothing was read is none.
    assert offered.blocked(50.0).kbps_at(60.5) == pytest.approx(8.0)
    # A clock that is put back.
    assert offered.kbps_at(2.0) == pytest.approx(8.0)


def test_the_central_side_knows_what_is_offered(tmp_path: Path) -> None:
    blocks = [(1000.0 + i / 2, b"".join(line(k, float(i)) for k in "ab" * 10)) for i in range(1, 41)]
    harness = Harness(tmp_path, small_plan(capacity_kbps=200.0), blocks)
    desk = harness.central.desks["weather"]
    harness.run()
    assert desk.contact.origin == harness.site.store.origin
    assert desk.contact.offered_kbps == pytest.approx(harness.site._pipeline.offered.kbps)
    assert desk.contact.offered_kbps > 5
    assert harness.rows()[-1]["offered"] == desk.contact.offered_kbps
    last = harness.clock.now
    harness.run(lambda: desk.contact.offered_kbps == 0.0)
    assert harness.clock.now - last <= SPAN_S + POLL_S + 0.5


def test_while_nothing_is_read_the_stream_is_not_silent(tmp_path: Path) -> None:
    blocks = [(1000.0 + i / 2, b"".join(line(k, float(i)) for k in "ab" * 200)) for i in range(1, 9)]
    harness = Harness(tmp_path, small_plan(capacity_kbps=0.5, protected=frozenset({"x"})), blocks)
    harness.run(lambda: harness.site._blocked_s is not None)
    before = harness.site._offered_kbps()
    assert before > 10
    harness.clock.now += 100.0
    assert harness.site._offered_kbps() == pytest.approx(before)


def test_another_store_has_other_cycles(tmp_path: Path) -> None:
    harness = Harness(tmp_path, small_plan(**NARROW), [(1000.0, line("a", 1.0) + line("b", 2.0))])
    harness.run()
    assert harness.recovered("x", ["a"], [1])[1] == [Status.EXACT]
    asking = harness.central.desks["weather"].asking
    id_ = asking.ask(b"another!", "x", pa.record_batch({"k": ["a", "b"]}), np.array([1, 1]))
    (request,) = asking.open(b"another!")
    harness.site._do(Reply(0, (request,)))
    harness.run(lambda: asking.answer(id_) is not None)
    assert asking.answer(id_).status.tolist() == [Status.NOT_RETAINED] * 2
