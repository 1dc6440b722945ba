from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_run import landing as landing_module
from streamq.runtime.edge.at_run import recovering
from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.landing import ASK_S, LOOK_S, Landing
from streamq.runtime.edge.frames import framed
from streamq.runtime.edge.messages import Rows, decoded_request, encoded_rows
from streamq.runtime.edge.plan import CycleRule
from streamq.runtime.metrics import Received
from streamq.stdlib.attributes.shed_plan import ShedPlan
from streamq.stdlib.recovery.lookup import Status
from tests.unit.runtime.edge.support import (
    Clock,
    encoded_answer,
    plan_of,
    small_plan,
)

ORIGIN = b"originA."


class World:
    """A central side of one stream, messages that are made by hand, and a landing that is started anew at will."""

    def __init__(self, folder: Path, incoming: Incoming, **options: Any) -> None:
        self.incoming, self.folder, self.clock, self.told = incoming, folder, Clock(), []
        self.options = options
        self.stream = incoming.plan.stream
        self.start()

    def start(self) -> None:
        self.central = Central.of(self.folder, {self.stream: self.incoming.plan}, self.clock)
        desk = self.central.desks[self.stream]
        self.inbox, self.asking = desk.inbox, desk.asking
        self.landing = Landing(
            self.incoming, self.folder / self.stream, desk.inbox, desk.asking, self.told.append, self.clock, self.clock,
            **self.options,
        )

    def message(
        self, seq: int, rows: dict[str, Sequence[Any]], shed: Sequence[str] = (), cycle: int = 1, origin: bytes = ORIGIN,
        key: tuple[str, ...] = ("k",),
    ) -> None:
        schema = self.incoming.plan.schema
        sent = pa.schema([f for f in schema if f.name not in shed])
        batch = pa.record_batch([pa.array(rows[f.name], f.type) for f in sent], schema=sent)
        message = Rows(self.stream, origin, seq, ShedPlan(1, 1, tuple(shed)), key, batch, np.full(batch.num_rows, cycle))
        self.central.handle(encoded_rows(message, schema, 1))

    def answer(self, value: Callable[[Any, int], Any], error: float = 0.0, status: int = Status.EXACT) -> None:
        """Answers all that is asked, by key and cycle."""
        schema = self.incoming.plan.schema
        for path in sorted((self.folder / self.stream).glob("*.request")):
            request = decoded_request(framed(path.read_bytes()), schema)
            keys = request.keys.column(0).to_pylist()
            values = [value(k, c) for k, c in zip(keys, request.cycle_no.tolist(), strict=True)]
            count = len(values)
            made = Answer(
                request.id, self.stream, 0, count, pa.array(values, schema.field(request.attribute).type),
                np.full(count, int(status)), request.cycle_no - (status == Status.APPROXIMATE), np.full(count, error),
            )
            self.central.handle(encoded_answer(made, request, 1))

    def landed(self) -> list[dict[str, Any]]:
        files = sorted((self.folder / self.stream / "rows").glob("*.parquet"))
        return [row for file in files for row in pq.read_table(file).to_pylist()]

    def names(self) -> list[str]:
        return sorted(path.name for path in (self.folder / self.stream / "rows").iterdir())

    def steps(self) -> None:
        for _ in range(100):
            if not self.landing.step():
                return
        raise AssertionError("it goes on and on")


def incoming(**changes: Any) -> Incoming:
    plan = small_plan(**changes.pop("plan", {}))
    return Incoming(plan=plan, **changes)


def test_rows_wait_for_their_answers(tmp_path: Path) -> None:
    world = World(tmp_path, incoming(synopsis=frozenset({"x"})))
    world.message(1, {"k": ["b", "a"], "x": [1.0, None], "y": [1.0, 2.0]})
    world.message(2, {"k": ["b", "a"], "y": [3.0, 4.0]}, shed=("x",), cycle=2)
    world.message(3, {"k": ["b", "a"]}, shed=("x", "y"), cycle=3)
    assert world.landing.step()
    assert not world.landing.step()
    assert world.names() == []
    world.answer(lambda k, cycle: 100.0 + cycle if k == "a" else None, 5.0, Status.APPROXIMATE)
    assert not world.landing.idle
    world.steps()
    assert world.landing.idle
    assert world.names() == [f"{ORIGIN.hex()}-{1:012d}-{3:012d}.parquet"]
    near = {"x_lo": pytest.approx(102 / 1.05), "x_hi": pytest.approx(102 / 0.95)}
    null = {"x_lo": None, "x_hi": None}
    assert world.landed() == [
        {"k": "b", "x": 1.0, "y": 1.0, "x_lo": 1.0, "x_hi": 1.0, "shed_columns": []},
        {"k": "a", "x": None, "y": 2.0, "shed_columns": []} | null,
        {"k": "b", "x": None, "y": 3.0, "shed_columns": ["x"]} | null,
        {"k": "a", "x": 102.0, "y": 4.0, "shed_columns": ["x"]} | near,
        {"k": "b", "x": None, "y": None, "shed_columns": ["x", "y"]} | null,
        {"k": "a", "x": 103.0, "y": None, "x_lo": pytest.approx(103 / 1.05), "x_hi": pytest.approx(103 / 0.95), "shed_columns": ["x", "y"]},
    ]
    assert world.landing.counts == Received(rows=6, messages=3, shed=6, recovered=4)
    assert sorted(path.name for path in (tmp_path / "weather").iterdir()) == [f"{ORIGIN.hex()}.taken", "rows"]


def test_types_are_those_of_the_stream(tmp_path: Path) -> None:
    columns = {
        "k": "string", "i": "int8", "n": "int64", "f": "float", "b": "bool", "d": "date32[day]", "t": "timestamp[us]",
        "u": "timestamp[us, tz=UTC]",
    }
    plan = plan_of(columns=columns, cycle=CycleRule(key=("k",), length=2))
    world = World(tmp_path, Incoming(plan=plan, synopsis=frozenset({"i", "n", "b", "t"}), nearest=frozenset({"f"})))
    rows: dict[str, list[Any]] = {"k": ["a"], "i": [3], "n": [2**60 + 1], "f": [0.5], "b": [True], "d": [1], "t": [1], "u": [2]}
    world.message(1, rows)
    world.steps()
    table = pq.read_table(tmp_path / "weather" / "rows")
    bounds = [(name, pa.float64()) for c in ("i", "n", "f") for name in (f"{c}_lo", f"{c}_hi")]
    assert table.schema.equals(pa.schema([*plan.schema, *bounds, ("shed_columns", pa.list_(pa.string()))]))
    assert (table["i_lo"][0].as_py(), table["f_hi"][0].as_py()) == (3.0, 0.5)
    assert table["n_lo"][0].as_py() < 2**60 + 1 < table["n_hi"][0].as_py()


def test_rows_do_not_wait_for_an_edge_that_is_gone(tmp_path: Path) -> None:
    world = World(tmp_path, incoming(synopsis=frozenset({"x"})))
    world.message(1, {"k": ["a"], "y": [3.0]}, shed=("x",))
    world.message(1, {"k": ["a"], "x": [3.0], "y": [3.0]}, origin=b"another.")
    world.steps()
    # Others do not wait for it either.
    assert [row["x"] for row in world.landed()] == [3.0]
    world.clock.now += 9.9
    assert not world.landing.step()
    world.clock.now += 0.2
    world.steps()
    assert [(row["x"], row["shed_columns"]) for row in world.landed()] == [(3.0, []), (None, ["x"])]
    assert world.landing.counts == Received(rows=2, messages=2, shed=1, late=1)
    assert world.asking.open(ORIGIN) == ()
    world.message(2, {"k": ["a"], "y": [3.0]}, shed=("x",))
    world.landing.step(at_once=True)
    assert world.landing.counts.late == 2


def test_an_edge_is_not_asked_for_each_message(tmp_path: Path) -> None:
    world = World(tmp_path, incoming(synopsis=frozenset({"x"}), wait_s=3.0))

    def requests() -> int:
        return len(list((tmp_path / "weather").glob("*.request")))

    def came(seq: int, shed: Sequence[str] = ("x",)) -> None:
        world.message(seq, {"k": ["a"], "x": [0.5], "y": [float(seq)]}, shed=shed, cycle=seq)
        world.landing.step()

    came(1)
    assert requests() == 1
    world.answer(lambda k, cycle: cycle + 0.5)
    world.steps()
    for seq in (2, 3, 4):
        world.clock.now += ASK_S / 4
        came(seq)
        assert requests() == 0
    world.clock.now += ASK_S / 4
    came(5)
    assert requests() == 1
    # They have waited since the first of them came.
    world.clock.now += 3.0 - 3 * ASK_S / 4 - 0.01
    world.steps()
    assert [row["y"] for row in world.landed()] == [1.0]
    world.clock.now += 0.02
    world.steps()
    assert [(row["x"], row["y"]) for row in world.landed()] == [(1.5, 1.0), *((None, float(seq)) for seq in (2, 3, 4, 5))]
    # Where nothing was asked for just before nothing waits, nor where nothing may.
    for seq in (6, 7):
        came(seq, shed=())
        world.steps()
    assert len(world.landed()) == 7
    came(8)
    world.landing.step(at_once=True)
    came(9)
    assert len(world.landed()) == 8
    world.landing.step(at_once=True)
    world.steps()
    assert len(world.landed()) == 9


def test_rows_that_may_not_wait_for_long_are_asked_for_in_time(tmp_path: Path) -> None:
    world = World(tmp_path, incoming(synopsis=frozenset({"x"}), wait_s=0.4))
    for seq in (1, 2):
        world.message(seq, {"k": ["a"], "y": [3.0]}, shed=("x",), cycle=seq)
        world.landing.step()
        world.answer(lambda k, cycle: 7.0)
        world.clock.now += 0.2
        world.steps()
        if seq == 2:
            world.answer(lambda k, cycle: 7.0)
            world.steps()
    assert [row["x"] for row in world.landed()] == [7.0, 7.0]
    assert world.landing.counts.late == 0


def test_what_is_not_retained_is_counted(tmp_path: Path) -> None:
    world = World(tmp_path, incoming(synopsis=frozenset({"x"})))
    world.message(1, {"k": ["a", "b"], "y": [3.0, 4.0]}, shed=("x",))
    world.landing.step()
    world.answer(lambda k, cycle: None, float("nan"), Status.NOT_RETAINED)
    world.steps()
    assert [row["x"] for row in world.landed()] == [None] * 2
    assert world.landing.counts == Received(rows=2, messages=1, shed=2, not_retained=2)


def test_a_stream_without_a_key(tmp_path: Path) -> None:
    plan = {"cycle": CycleRule(length=3)}
    world = World(tmp_path, incoming(plan=plan, synopsis=frozenset({"x"}), nearest=frozenset({"y"})))
    schema = world.incoming.plan.schema
    y = np.array([5.0, 4.0, 6.0])
    for seq, cycles in ((1, [1, 2, 3]), (2, [6, 4, 5])):
        sent = pa.record_batch({"k": ["c", "a", "b"], "y": y})
        message = Rows("weather", ORIGIN, seq, ShedPlan(1, 1, ("x",)), (), sent, np.array(cycles))
        world.central.handle(encoded_rows(message, schema, 1))
    world.landing.step()
    (path,) = (tmp_path / "weather").glob("*.request")
    request = decoded_request(framed(path.read_bytes()), schema)
    assert request.cycle_no.tolist() == [1, 2, 3, 4, 5, 6]
    status = np.array([0, 1, 1, 0, 1, 3])
    values = pa.array([1.5, 1.5, 1.5, 4.5, 4.5, None])
    error = np.where(status == 1, 1.0, np.where(status == 0, 0.0, np.nan))
    answer = Answer(request.id, "weather", 0, 6, values, status, np.array([1, 1, 1, 4, 4, 0]), error)
    world.central.handle(encoded_answer(answer, request, 1))
    world.steps()
    assert [row["x"] for row in world.landed()] == [1.5, 1.5, 1.5, None, 4.5, 4.5]
    assert world.landing.counts == Received(rows=6, messages=2, shed=6, recovered=5, not_retained=1)


def test_what_nobody_reads_is_not_shed(tmp_path: Path) -> None:
    world = World(tmp_path, incoming(plan={"unread": frozenset({"y"})}))
    world.message(1, {"k": ["a"], "x": [1.0]}, shed=("y",))
    world.message(2, {"k": ["a"]}, shed=("x", "y"))
    world.steps()
    assert [row["shed_columns"] for row in world.landed()] == [[], ["x"]]
    assert world.landing.counts.shed == 1


def test_a_file_that_is_no_message_is_put_aside(tmp_path: Path) -> None:
    world = World(tmp_path, incoming())
    for seq in (1, 2, 3):
        world.message(seq, {"k": ["a"], "x": [float(seq)], "y": [3.0]})
    bad = tmp_path / "weather" / f"{ORIGIN.hex()}-{2:012d}.rows"
    bad.write_bytes(b"SQED nothing")
    world.steps()
    world.steps()
    assert [row["x"] for row in world.landed()] == [1.0, 3.0]
    assert bad.with_name(f"{bad.name}.bad").exists()
    assert world.told == [f"a message of weather is put aside as {bad.name}.bad: the message is cut off in its first bytes"]
    assert world.landing.counts == Received(rows=2, messages=2, bad=1)
    # One whose key is NULL, which nobody takes at the port, cannot be asked for; after it only this one came.
    null = pa.record_batch({"k": pa.array([None], pa.string()), "x": [1.0], "y": [3.0]})
    made = Rows("weather", ORIGIN, 4, ShedPlan(), ("k",), null, np.array([1]))
    world.inbox.accept(ORIGIN, 4, encoded_rows(made, world.incoming.plan.schema, 1))
    world.steps()
    assert world.landing.counts.bad == 2
    assert world.landing.idle
    world.message(5, {"k": ["a"], "x": [5.0], "y": [3.0]})
    world.start()
    world.steps()
    assert [row["x"] for row in world.landed()] == [1.0, 3.0, 5.0]


def test_messages_of_other_columns_stay(tmp_path: Path) -> None:
    world = World(tmp_path, incoming())
    world.message(1, {"k": ["a"], "x": [1.0], "y": [3.0]})
    other = small_plan(columns={"k": "string", "x": "double", "y": "double", "z": "double"})
    rows = pa.record_batch({"k": ["a"], "x": [1.0], "y": [3.0], "z": [4.0]})
    for seq in (2, 3):
        made = Rows("weather", ORIGIN, seq, ShedPlan(), ("k",), rows, np.array([seq]))
        Central.of(tmp_path, {"weather": other}).handle(encoded_rows(made, other.schema, 1))
        world.steps()
    world.message(1, {"k": ["a"], "x": [2.0], "y": [3.0]}, origin=b"another.")
    world.steps()
    assert sorted(row["x"] for row in world.landed()) == [1.0, 2.0]
    assert world.landing.idle
    assert world.landing.counts == Received(rows=2, messages=2)
    assert len(world.told) == 1
    assert "made for other columns" in world.told[0]
    assert sorted(path.name for path in (tmp_path / "weather").glob("*.rows*")) == [
        f"{ORIGIN.hex()}-{seq:012d}.rows" for seq in (2, 3)
    ]


def test_a_file_has_so_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing_module, "MOST_ROWS", 5)
    world = World(tmp_path, incoming())
    for seq, count in enumerate((2, 3, 1, 7, 1), 1):
        world.message(seq, {"k": ["a"] * count}, shed=("x", "y"), cycle=seq)
    world.steps()
    assert [name[17:42] for name in world.names()] == [f"{a:012d}-{b:012d}" for a, b in ((1, 2), (3, 3), (4, 4), (5, 5))]


def test_many_values_are_asked_for_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "MOST_ASKED", 100)
    world = World(tmp_path, incoming(synopsis=frozenset({"x", "y"})))
    keys = [f"k{i % 300:03d}" for i in range(500)]
    random = np.random.RandomState(3)
    random.shuffle(keys)
    world.message(1, {"k": keys}, shed=("x", "y"), cycle=4)
    world.landing.step()
    requests = [decoded_request(framed(path.read_bytes()), world.incoming.plan.schema) for path in (tmp_path / "weather").glob("*.request")]
    assert sum(len(request.cycle_no) for request in requests) == 1000
    assert max(len(request.cycle_no) for request in requests) <= 100
    for request in requests:
        asked = request.keys.column(0).to_pylist()
        assert asked == sorted(asked)
    world.answer(lambda k, cycle: float(k[1:]))
    world.steps()
    assert [(row["x"], row["y"]) for row in world.landed()] == [(float(k[1:]),) * 2 for k in keys]
    monkeypatch.setattr(recovering, "MOST_BYTES", 500)
    world.clock.now += ASK_S
    world.message(2, {"k": keys}, shed=("x", "y"), cycle=5)
    world.landing.step()
    assert len(list((tmp_path / "weather").glob("*.request"))) > 20


def test_files_are_bounded_and_go_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landing_module, "MOST_BYTES", 2000)
    world = World(tmp_path, incoming(), keep_s=100.0)
    for seq in range(1, 11):
        world.message(seq, {"k": ["a"], "x": [float(seq)], "y": [3.0]})
    world.message(1, {"k": ["a"], "x": [11.0], "y": [3.0]}, origin=b"zanother")
    world.steps()
    assert [row["x"] for row in world.landed()] == [float(i) for i in range(1, 12)]
    names = world.names()
    assert len(names) > 3
    for at, name in enumerate(names):
        os.utime(tmp_path / "weather" / "rows" / name, (world.clock.now + at,) * 2)
    world.clock.now += 100.5
    world.landing.step()
    assert world.names() == names[1:]
    world.clock.now += LOOK_S
    world.landing.step()
    # The newest of each edge stays: it says how far the edge is.
    assert world.names() == names[-2:]
    world.start()
    world.message(11, {"k": ["a"], "x": [12.0], "y": [3.0]})
    world.steps()
    assert [row["x"] for row in world.landed()] == [12.0, 11.0]


def test_the_nearest_row_of_the_cycle_before(tmp_path: Path) -> None:
    columns = {"k": "string", "x": "double", "y": "int32", "name": "string", "z": "double"}
    plan = {"columns": columns, "cycle": CycleRule(key=("k",), length=3)}
    world = World(tmp_path, incoming(plan=plan, nearest=frozenset({"x", "name"})))
    world.message(1, {"k": ["a"], "y": [1], "z": [5.0], "name": ["early"]}, shed=("x",))
    world.message(2, {"k": ["a", "b", "c"], "x": [1.0, 2.0, None], "y": [10, 20, 30], "name": ["A", "B", "C"], "z": [1.0, 2.0, 3.0]})
    world.message(3, {"k": ["d", "e", "f"], "y": [29, 19, None], "z": [2.9, None, 1.1]}, shed=("x", "name"))
    world.steps()
    assert [row["x"] for row in world.landed()] == [None, 1.0, 2.0, None, 2.0, 2.0, 1.0]
    assert [row["name"] for row in world.landed()][4:] == ["C", "B", "A"]
    assert [row["x_lo"] for row in world.landed()] == [None, 1.0, 2.0, None, None, None, None]
    assert world.landing.counts == Received(rows=7, messages=3, shed=7, recovered=6, not_retained=1)
    # It is still there after a restart, and rows of an older cycle go.
    world.start()
    world.message(4, {"k": ["a"], "y": [21], "z": [2.0], "name": ["D"]}, shed=("x",))
    world.message(5, {"k": ["a", "b", "c"], "x": [7.0, 8.0, 9.0], "y": [10, 20, 30], "name": ["A", "B", "C"], "z": [1.0, 2.0, 3.0]})
    world.message(6, {"k": ["a"], "y": [21], "z": [2.0], "name": ["D"]}, shed=("x",))
    world.steps()
    assert [row["x"] for row in world.landed()][7:] == [2.0, 7.0, 8.0, 9.0, 8.0]
    # Of another stream, or damaged, it counts as nothing.
    (tmp_path / "weather" / "nearest.arrow").write_bytes(b"nothing")
    world.start()
    world.message(7, {"k": ["a"], "y": [21], "z": [2.0], "name": ["D"]}, shed=("x",))
    world.steps()
    assert world.landed()[-1]["x"] is None


class Killed(BaseException):
    """The process is gone."""


class Effects:
    """Changes of files, of which the landing is killed before or after one. ``armed``: while it is the landing that runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count, self.until, self.armed = 0, 0, False
        for name in ("replace", "unlink", "rename"):
            monkeypatch.setattr(Path, name, self.counted(getattr(Path, name)))

    def counted(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def change(path: Path, *given: Any, **options: Any) -> Any:
            self.count += self.armed
            if self.armed and self.count * 2 - 1 == self.until:
                raise Killed
            found = plain(path, *given, **options)
            if self.armed and self.count * 2 == self.until:
                raise Killed
            return found

        return change


@pytest.mark.parametrize("recovery", ["synopsis", "nearest"])
def test_a_process_that_is_killed_anywhere_lands_each_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recovery: str
) -> None:
    effects = Effects(monkeypatch)
    expected: list[dict[str, Any]] = []
    killed = 0
    while effects.until <= 2 * effects.count:
        effects.count, effects.until = 0, effects.until + 1
        folder = tmp_path / str(effects.until)
        world = World(folder, incoming(**{recovery: frozenset({"x"})}))
        for first in (1, 3, 5):
            world.clock.now += ASK_S
            for seq in (first, first + 1):
                rows = {"k": ["a", "b"], "x": [seq + 0.5, 2.0], "y": [float(seq), 0.0]}
                world.message(seq, rows, shed=("x",) if seq % 2 == 0 else (), cycle=seq)
            try:
                effects.armed = True
                world.landing.step()
                effects.armed = False
                world.answer(lambda k, cycle: cycle + 0.25)
                effects.armed = True
                world.steps()
            except Killed:
                killed += 1
                effects.armed = False
                world.start()
            effects.armed = False
        world.landing.step()
        world.answer(lambda k, cycle: cycle + 0.25)
        world.steps()
        expected = expected or world.landed()
        assert [row["y"] for row in expected] == [y for seq in range(1, 7) for y in (float(seq), 0.0)]
        assert world.landed() == expected
        assert world.landing.idle
        left = {path.suffix for path in (folder / "weather").iterdir() if path.is_file() and not path.name.startswith(".")}
        assert left <= {".taken", ".arrow"}
        assert all(name.endswith(".parquet") for name in world.names())
    assert killed == effects.until - 1 > 20
