"""What is known of stored values is not sent again, and all comes back as if nothing were known."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.dsl.records import replace
from streamq.runtime.edge.answers import Answer, encoded_answers
from streamq.runtime.edge.at_run import known as known_module
from streamq.runtime.edge.at_run.asking import Asking
from streamq.runtime.edge.at_run.known import MOST_STORES, Known, Memories, Memory
from streamq.runtime.edge.at_run.recovering import Asked, asked
from streamq.runtime.edge.at_source import segments
from streamq.runtime.edge.at_source.answering import answered
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.packing import parts
from streamq.runtime.edge.at_source.pipeline import Pipeline
from streamq.runtime.edge.at_source.source import Position
from streamq.runtime.edge.at_source.store import Store
from streamq.runtime.edge.frames import BadMessage, framed
from streamq.runtime.edge.keying import keys_of
from streamq.runtime.edge.messages import (
    Request,
    Rows,
    decoded_request,
    decoded_rows,
    encoded_request,
)
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.recovery.lookup import Status
from tests.unit.runtime.edge.support import decoded_answer, small_plan

PLAN = small_plan(
    columns={"k": "string", "x": "double", "t": "string", "d": "date32[day]", "b": "bool"}, capacity_kbps=0.001, error_pct=5.0,
    ranking=Ranking(text="ENTROPY"),
)
ATTRIBUTES = ("x", "t", "d", "b")


class World:
    """An edge whose store is real, and a central side that asks for what it shed, with a memory. ``told``: bytes of answers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.stores, self.told, self.at = folder, 0, 0, 1.0
        self.asking = Asking(folder, "weather", PLAN.schema)
        self.memories = Memories()
        self.store, self.pipeline = self.opened()

    def opened(self) -> tuple[Store, Pipeline]:
        store = Store(self.folder / f"store{self.stores}", PLAN)
        return store, Pipeline(PLAN, store.origin, Offered(0.0))

    def restart(self, new: bool = False) -> None:
        """Of the edge, on the same disk or on a new one."""
        self.store.close()
        self.stores += new
        plan = self.pipeline.plan
        self.store, self.pipeline = self.opened()
        self.pipeline.plan = plan

    def took(self, rows: pa.RecordBatch, horizon: int = 0, most: int = 1 << 30) -> list[Rows]:
        """The messages of rows."""
        step = self.pipeline.after(self.store.progress(), rows, Position("f", 1), self.at, True)
        self.store.commit(step, horizon, most)
        self.at += 1.0
        return [decoded_rows(framed(message), PLAN.schema) for message in step.messages]

    def ask(self, messages: list[Rows], most: int = 4000) -> list[tuple[Asked, Answer, Answer]]:
        """Each request with its answer, and with what it would have been if nothing had been known."""
        memory = self.memories.of(messages[0].origin, messages[0].key)
        found = []
        for one in asked(self.asking, messages, ATTRIBUTES, memory):
            data = (self.folder / f"{one.id.hex()}.request").read_bytes()
            request = decoded_request(framed(data), PLAN.schema)
            plain = answered(replace(request, known=None), self.store, self.store.progress())
            for part in parts(answered(request, self.store, self.store.progress()), request, most):
                message = encoded_answers("weather", [part], 1)
                self.told += len(message)
                self.asking.answered(framed(message))
            answer = self.asking.answer(one.id)
            assert answer is not None
            found.append((one, one.known.filled(answer), plain))
            self.asking.done(one.id)
        for one, answer, _ in found:
            memory.learn(one.attribute, one.codes, answer)
        return found


def rows_of(random: np.random.RandomState, keys: int, last: dict[str, list[object]]) -> pa.RecordBatch:
    """Rows of some of the keys, some of them twice, of which most values did not change."""
    names = [f"k{i}" for i in random.permutation(keys)[: random.randint(1, keys + 1)]] * random.randint(1, 3)
    found: list[list[object]] = []
    for name in names:
        values = last.setdefault(name, [1.0, "t", 3, True])
        if random.random_sample() < 0.4:
            fresh = [float(random.randint(-40, 40)) / 8, f"t{random.randint(3)}", int(random.randint(9)), bool(random.randint(2))]
            values[random.randint(4)] = None if random.random_sample() < 0.2 else fresh[random.randint(4)]
            values[:] = [v if v is None or type(v) is type(f) else f for v, f in zip(values, fresh, strict=True)]
        found.append([name, *(v * 1.01 if isinstance(v, float) else v for v in values)])
    columns = [pa.array([row[i] for row in found], field.type) for i, field in enumerate(PLAN.schema)]
    return pa.record_batch(columns, schema=PLAN.schema)


EVENTS = st.sampled_from(["", "", "", "unasked", "edge", "central", "disk", "forget", "full", "wide", "error", "unasked"])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 30), events=st.lists(EVENTS, min_size=2, max_size=12), most=st.integers(90, 400))
def test_all_comes_back_as_if_nothing_were_known(seed: int, events: list[str], most: int) -> None:
    random = np.random.RandomState(seed)
    last: dict[str, list[object]] = {}
    with TemporaryDirectory() as folder, mock.patch("os.fsync"), mock.patch.object(segments, "LARGE", 6):
        world = World(Path(folder))
        messages: list[Rows] = []
        for event in events:
            if event in ("edge", "disk"):
                world.restart(new=event == "disk")
                messages = [] if event == "disk" else messages
            elif event == "central":
                world.memories = Memories()
            elif event in ("wide", "error"):
                changes = {"capacity_kbps": 1e6} if event == "wide" else {"error_pct": float(random.choice([0.0, 5.0, 20.0]))}
                world.pipeline.plan = replace(PLAN, **changes)
            limits = {"forget": {"horizon": round(world.at + random.randint(-1, 2)) * 1000}, "full": {"most": int(random.choice([10, 2500]))}}
            messages += world.took(rows_of(random, 5, last), **limits.get(event, {}))
            if event == "unasked" or not messages:
                continue
            for one, answer, plain in world.ask(messages, most):
                assert str(answer.values.to_pylist()) == str(plain.values.to_pylist())
                assert answer.status.tolist() == plain.status.tolist()
                assert answer.stored_in.tolist() == plain.stored_in.tolist()
                assert str(answer.max_error_pct.tolist()) == str(plain.max_error_pct.tolist())
                assert answer.known is None
                assert len(one.rows) == len(answer.status)
            messages = []
        world.store.close()


@pytest.mark.parametrize(("attribute", "changed"), [("x", 0.2), ("t", 0.0), ("d", 0.0), ("b", 0.0)])
def test_bytes_of_a_value_where_each_request_is_for_one_cycle(tmp_path: Path, attribute: str, changed: float) -> None:
    keys, cycles = 75, 30
    world = World(tmp_path)
    world.pipeline.plan = replace(PLAN, protected=frozenset(ATTRIBUTES) - {attribute})
    # Of a message: the frame and the name of the stream; of an answer: its head, and what is left of the last byte of bits.
    constant = 16 + 2 + len("weather") + 33 + 1
    for cycle in range(1, cycles + 1):
        x = [2.0 ** ((cycle + i) // 5) for i in range(keys)]
        rows = pa.record_batch(
            [pa.array([f"k{i:02d}" for i in range(keys)]), pa.array(x), pa.array(["same"] * keys), pa.array([7] * keys, pa.int32()).cast(pa.date32()), pa.array([True] * keys)],
            schema=PLAN.schema,
        )
        before = world.told
        ((_, answer, _),) = world.ask(world.took(rows))
        assert answer.values.equals(rows.column(attribute))
        assert (answer.status <= Status.APPROXIMATE).all()
        if cycle > 1:
            assert world.told - before <= keys * (1 / 8 + changed * (8 + 1 + 1)) + constant
    world.store.close()


def test_many_columns_are_one_message(tmp_path: Path) -> None:
    keys = 75
    world = World(tmp_path)
    sizes = []
    for _ in range(2):
        rows = pa.record_batch(
            [pa.array([f"k{i:02d}" for i in range(keys)]), pa.array([1.5] * keys), pa.array(["same"] * keys), pa.array([7] * keys, pa.int32()).cast(pa.date32()), pa.array([True] * keys)],
            schema=PLAN.schema,
        )
        messages = world.took(rows)
        memory = world.memories.of(messages[0].origin, messages[0].key)
        found = []
        for one in asked(world.asking, messages, ATTRIBUTES, memory):
            request = decoded_request(framed((tmp_path / f"{one.id.hex()}.request").read_bytes()), PLAN.schema)
            found += parts(answered(request, world.store, world.store.progress()), request, 1 << 20)
            memory.learn(one.attribute, one.codes, one.known.filled(answered(request, world.store, world.store.progress())))
        sizes.append(len(encoded_answers("weather", found, 1)))
    assert sizes[1] == 16 + 2 + len("weather") + 4 * (33 + 10) < sizes[0] / 5
    world.store.close()


def known_of(stored_in: list[int], values: list[float | None], error: float = 0.0) -> Known:
    return Known(pa.array(values, pa.float64()), np.array(stored_in), np.full(len(values), error))


def asked_for(cycles: list[int], known: list[int]) -> Request:
    return Request(b"12345678", b"abcdefgh", "s", "x", pa.record_batch({"k": ["a"] * len(cycles)}), np.array(cycles), np.array(known))


def answer_of(values: list[float | None], stored_in: list[int], cycles: list[int], error: float) -> Answer:
    status = np.where(np.array(stored_in) == np.array(cycles), 0, 1)
    return Answer(
        b"12345678", "s", 0, len(values), pa.array(values, pa.float64()), status, np.array(stored_in), np.where(status, error, 0.0)
    )


def test_the_larger_error_is_that_of_a_known_value() -> None:
    memory = Memory(("k",), keys_of(("k",)))
    codes = memory.codes(pa.record_batch({"k": ["a", "a", "b"]}), 3)
    memory.learn("x", codes, answer_of([1.0, 1.0, None], [5, 5, 6], [5, 6, 6], 8.0))
    known = memory.of("x", codes, pa.float64())
    assert (known.values.to_pylist(), known.stored_in.tolist(), known.max_error_pct.tolist()) == ([1.0, 1.0, None], [5, 5, 6], [8.0, 8.0, 0.0])
    told = replace(answer_of([None, None, None], [5, 5, 6], [5, 7, 9], 3.0), known=np.array([True, True, True]))
    filled = known.filled(told)
    assert filled.values.to_pylist() == [1.0, 1.0, None]
    assert filled.max_error_pct.tolist() == [0.0, 8.0, 3.0]
    memory.learn("x", codes, filled)
    assert memory.of("x", codes, pa.float64()).max_error_pct.tolist() == [8.0, 8.0, 3.0]
    # A value that was stored later takes its place, and an earlier one does not.
    memory.learn("x", codes, answer_of([4.0, 4.0, 0.5], [4, 4, 8], [4, 5, 9], 2.0))
    known = memory.of("x", codes, pa.float64())
    assert (known.values.to_pylist(), known.stored_in.tolist(), known.max_error_pct.tolist()) == ([1.0, 1.0, 0.5], [5, 5, 8], [8.0, 8.0, 2.0])
    assert memory.of("y", codes, pa.string()).stored_in.tolist() == [0] * 3


def test_only_so_much_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_module, "MOST_KEYS", 2)
    memory = Memory(("k",), keys_of(("k",)))
    codes = memory.codes(pa.record_batch({"k": ["a", "b", "c"]}), 3)
    memory.learn("x", codes, answer_of([1.0, 2.0, 3.0], [5, 5, 5], [5, 5, 5], 0.0))
    assert memory.of("x", codes, pa.float64()).stored_in.tolist() == [5, 5, 0]
    memories = Memories()
    first = memories.of(b"0", ("k",))
    for i in range(1, MOST_STORES):
        memories.of(bytes([i]), ("k",))
    assert memories.of(b"0", ["k"]) is first
    for i in range(MOST_STORES, 2 * MOST_STORES - 1):
        memories.of(bytes([i]), ("k",))
    assert memories.of(b"0", ("k",)) is first
    assert memories.of(b"0", ("other",)) is not first


def test_what_is_known_is_told_from_what_was_there_before() -> None:
    request = asked_for([7, 8, 9, 10], [5, 0, 0, 0])
    for values, stored_in, known in (
        ([None, None, 2.0, 2.0], [5, 5, 9, 9], [True, True, False, False]),
        ([1.0, 1.0, 1.0, 1.0], [6, 6, 6, 6], [False] * 4),
        ([None] * 4, [5] * 4, [True] * 4),
    ):
        given = answer_of(values, stored_in, [7, 8, 9, 10], 1.0)
        for part in parts(given, request, 1000):
            found = decoded_answer(framed(encoded_answers("s", [part], 1)), request, pa.float64())
            assert found.values.to_pylist() == values
            assert (found.stored_in.tolist(), found.known.tolist()) == (stored_in, known)
    # Nothing after the cycle that is asked for was stored for it.
    late = asked_for([7, 8], [8, 0])
    part = parts(answer_of([None] * 2, [5, 5], [7, 8], 1.0), asked_for([7, 8], [5, 0]), 1000)[0]
    with pytest.raises(BadMessage, match="cannot have been recovered"):
        decoded_answer(framed(encoded_answers("s", [part], 1)), late, pa.float64())


@pytest.mark.parametrize("known", [[-1, 0], [1 << 41, 0]])
def test_requests_that_know_what_cannot_be(known: list[int]) -> None:
    schema = pa.schema([("k", pa.string()), ("x", pa.float64())])
    with pytest.raises(BadMessage, match="knows values"):
        decoded_request(framed(encoded_request(asked_for([1, 2], known), schema, 0)), schema)


KNOWN = known_of([1, 2], [1.5, None])
HOSTILE = asked_for([7, 8, 9, 10], [5, 0, 6, 0])
DATA = encoded_answers("s", parts(answer_of([None, None, 2.0, 2.0], [5, 5, 9, 9], [7, 8, 9, 10], 1.0), HOSTILE, 1000), 1)


@settings(max_examples=400, deadline=None)
@given(at=st.integers(0, len(DATA) - 1), more=st.binary(min_size=1, max_size=8))
def test_whatever_bytes_change_it_is_an_answer_or_refused(at: int, more: bytes) -> None:
    data = bytearray(DATA)
    data[at : at + len(more)] = more
    try:
        found = decoded_answer(framed(bytes(data[: len(DATA)])), HOSTILE, pa.float64())
    except BadMessage:
        return
    assert np.all(found.stored_in <= HOSTILE.cycle_no[found.first : found.first + len(found.status)])
    assert len(found.values) == len(found.known) == len(found.status)
    found.values.to_pylist()


def test_nothing_is_known_of_keys_that_came_later() -> None:
    assert KNOWN.take(np.array([1, -1, 7, 0])).stored_in.tolist() == [2, 0, 0, 1]
    assert KNOWN.take(np.array([1, -1, 7, 0])).values.to_pylist() == [None, None, None, 1.5]
    assert Known.nothing(0, pa.float64()).take(np.array([0, -1])).stored_in.tolist() == [0, 0]
