from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.dsl.records import replace
from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_source import segments
from streamq.runtime.edge.at_source.answering import answered
from streamq.runtime.edge.at_source.offered import Offered
from streamq.runtime.edge.at_source.pipeline import Pipeline
from streamq.runtime.edge.at_source.source import Position
from streamq.runtime.edge.at_source.store import BadStore, Store
from streamq.runtime.edge.messages import Request
from streamq.runtime.edge.plan import EdgePlan
from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.lookup import Status, recover
from streamq.stdlib.recovery.retaining import Batch, Entries, Retained, Rule, retain
from streamq.stdlib.recovery.synopsis import Synopsis
from tests.unit.runtime.edge.support import small_plan

RULE = Rule(10.0)


def narrow(**changes: object) -> EdgePlan:
    """So narrow that both numbers are shed."""
    return small_plan(capacity_kbps=0.001, error_pct=10.0, **changes)


def rows_of(values: list[float | None], cycle: int = 0) -> pa.RecordBatch:
    return pa.record_batch({
        "k": pa.array(["a", "b"] * (len(values) // 2)), "x": pa.array(values, pa.float64()),
        "y": pa.array([float(cycle)] * len(values)),
    })


def committed(store: Store, pipeline: Pipeline, rows: pa.RecordBatch, at: float, **limits: int) -> None:
    step = pipeline.after(store.progress(), rows, Position("f", int(at)), at)
    assert step.decision is not None
    store.commit(step, limits.get("horizon", 0), limits.get("most", 1 << 30))


def asked(store: Store, attribute: str, keys: list[str], cycles: list[int]) -> Answer:
    request = Request(b"12345678", store.origin, "weather", attribute, pa.record_batch({"k": keys}), np.array(cycles))
    return answered(request, store, store.progress())


def edge(path: Path, **changes: object) -> tuple[Store, Pipeline]:
    plan = narrow(**changes)
    store = Store(path, plan)
    return store, Pipeline(plan, store.origin, Offered(0.0))


def test_example_4_of_the_thesis_across_restarts(tmp_path: Path) -> None:
    for cycle, values in enumerate([[29.91, 27.96], [30.08, 31.64]], 1):
        store, pipeline = edge(tmp_path / "store")
        committed(store, pipeline, rows_of(values, cycle), float(cycle))
        store.close()
    store, _ = edge(tmp_path / "store")
    found = asked(store, "x", ["a", "b", "b", "a", "z", "a"], [2, 2, 1, 3, 1, 0])
    assert found.values.to_pylist() == [29.91, 31.64, 27.96, None, None, None]
    assert found.status.tolist() == [Status.APPROXIMATE, Status.EXACT, Status.EXACT] + [Status.NOT_RETAINED] * 3
    assert found.stored_in.tolist() == [1, 2, 1, 0, 0, 0]
    assert found.max_error_pct.tolist()[:3] == [10.0, 0.0, 0.0]
    assert np.isnan(found.max_error_pct[3:]).all()
    store.close()


def test_null_and_nan_come_back_as_they_are(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    for cycle, values in enumerate([[1.0, None], [None, float("nan")], [float("nan"), 0.0], [0.0, None]], 1):
        committed(store, pipeline, rows_of(values), float(cycle))
    found = asked(store, "x", ["a"] * 4 + ["b"] * 4, [1, 2, 3, 4] * 2)
    assert str(found.values.to_pylist()) == "[1.0, None, nan, 0.0, None, nan, 0.0, None]"
    assert (found.status == Status.EXACT).all()
    store.close()


def test_what_is_sent_again_is_said_to_be(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    committed(store, pipeline, rows_of([1.0, 2.0]), 1.0)
    pipeline.plan = replace(pipeline.plan, capacity_kbps=1e6)
    committed(store, pipeline, rows_of([3.0, 4.0]), 2.0)
    assert asked(store, "x", ["a", "a"], [1, 2]).status.tolist() == [Status.EXACT, Status.SENT]
    store.close()


def test_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    committed(store, pipeline, rows_of([1.0, 2.0]), 1.0)
    before = store.progress()
    step = pipeline.after(before, rows_of([5.0, 6.0]), Position("f", 9), 2.0)
    broken = replace(step, messages=(*step.messages, None), progress=replace(step.progress, seq=step.progress.seq + 1))
    with pytest.raises(BadStore, match="cannot be written"):
        store.commit(broken, 0, 1 << 30)
    store.close()
    again, pipeline = edge(tmp_path / "store")
    assert again.progress().position == before.position
    assert again.progress().retained.cycle_no.tolist() == [1, 1]
    assert asked(again, "x", ["a"], [2]).status.tolist() == [Status.NOT_RETAINED]
    committed(again, pipeline, rows_of([5.0, 6.0]), 2.0)
    assert asked(again, "x", ["a"], [2]).values.to_pylist() == [5.0]
    again.close()


def test_rows_that_are_carried_are_written_down(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    rows = rows_of([1.0, 2.0, 3.0, 4.0]).slice(0, 3)
    committed(store, pipeline, rows, 1.0)
    assert store.progress().carried.to_pylist() == [{"k": "a", "x": 3.0, "y": 0.0}]
    store.close()


def test_one_writer(tmp_path: Path) -> None:
    store, _ = edge(tmp_path / "store")
    with pytest.raises(BadStore, match="used by another process"):
        edge(tmp_path / "store")
    store.close()
    edge(tmp_path / "store")[0].close()


def test_what_is_no_store_of_this_stream(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database at all" * 100)
    with pytest.raises(BadStore, match="text is no store of an edge"):
        edge(tmp_path / "text")
    with pytest.raises(BadStore, match="cannot be used"):
        edge(tmp_path / "nowhere" / "store")
    edge(tmp_path / "store")[0].close()
    with pytest.raises(BadStore, match="of another stream"):
        Store(tmp_path / "store", narrow(stream="other"))
    with sqlite3.connect(tmp_path / "newer") as newer:
        newer.execute("PRAGMA user_version = 9")
    newer.close()
    with pytest.raises(BadStore, match="version 9"):
        edge(tmp_path / "newer")


def test_origins_are_different(tmp_path: Path) -> None:
    one, two = edge(tmp_path / "1")[0], edge(tmp_path / "2")[0]
    assert one.origin != two.origin
    assert len(one.origin) == 8
    one.close()
    two.close()


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "LARGE", 8)


@pytest.mark.usefixtures("small_segments")
def test_forgetting_keeps_what_has_not_changed(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    for cycle in range(1, 41):
        # The value of a never changes, that of b always does.
        committed(store, pipeline, rows_of([1.0, 2.0**cycle]), float(cycle), horizon=(cycle - 10) * 1000)
    found = asked(store, "x", ["a"] * 40 + ["b"] * 40, [*range(1, 41)] * 2)
    assert found.values.to_pylist()[:40] == [1.0] * 40
    status = found.status[40:]
    assert (status[30:] == Status.EXACT).all()
    assert (status[:20] == Status.NOT_RETAINED).all()
    expected = [None if s == Status.NOT_RETAINED else 2.0**c for c, s in enumerate(status, 1)]
    assert found.values.to_pylist()[40:] == expected
    store.close()


@pytest.mark.usefixtures("small_segments")
def test_a_full_store_forgets_the_oldest_first(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    most = 6000
    for cycle in range(1, 101):
        committed(store, pipeline, rows_of([3.0**cycle, 2.0**cycle]), float(cycle), most=most)
        assert store.segments.size_bytes <= most
    found = asked(store, "x", ["b"] * 100, [*range(1, 101)])
    assert found.status[-1] == Status.EXACT
    assert found.status[0] == Status.NOT_RETAINED
    first = int(np.argmax(found.status == Status.EXACT))
    assert (found.status[first:] == Status.EXACT).all()
    assert found.values.to_pylist()[first:] == [2.0**c for c in range(first + 1, 101)]
    store.close()


def test_a_limit_below_one_value_of_each_key(tmp_path: Path) -> None:
    store, pipeline = edge(tmp_path / "store")
    for cycle in range(1, 5):
        committed(store, pipeline, rows_of([3.0**cycle, 2.0**cycle]), float(cycle), most=10)
    assert store.segments.size_bytes <= 10
    assert (asked(store, "x", ["a", "b"], [4, 4]).status == Status.NOT_RETAINED).all()
    store.close()


@settings(max_examples=40, deadline=None)
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 4), st.one_of(st.none(), st.integers(-3, 3).map(float))), min_size=1, max_size=12),
        max_size=12,
    ),
    large=st.integers(2, 40), shed=st.integers(0, 2**12 - 1),
)
def test_segments_answer_as_the_synopsis_in_memory(
    tmp_path_factory: pytest.TempPathFactory, batches: list, large: int, shed: int
) -> None:
    database = sqlite3.connect(tmp_path_factory.mktemp("s") / "db")
    database.execute(segments.TABLE)
    on_disk = segments.Segments(database, {"x": pa.float64()})
    state, synopsis = Retained(), Synopsis()
    before = segments.LARGE
    segments.LARGE = large
    try:
        for number, batch in enumerate(batches):
            keys = np.array([k for k, _ in batch])
            rules = {"x": RULE} if shed >> number & 1 else {}
            state, entries = retain(state, Batch(keys, {"x": column([v for _, v in batch])}), rules)
            synopsis = synopsis.after("s", entries, rules, state.cycle_no)
            for name, some in entries.items():
                on_disk.append(name, some)
    finally:
        segments.LARGE = before
    keys, cycles = (a.ravel() for a in np.meshgrid(np.arange(5), np.arange(1, 40)))
    expected = recover(synopsis, "s", "x", keys, cycles)
    found = np.full(len(keys), int(Status.NOT_RETAINED))
    for number in on_disk.numbers("x"):
        one = Synopsis({("s", "x"): segments_series(on_disk, number)}, {"s": state.cycle_no})
        status = recover(one, "s", "x", keys, cycles).status
        found = np.where(found == Status.NOT_RETAINED, status, found)
    assert found.tolist() == expected.status.tolist()
    database.close()


def segments_series(on_disk: segments.Segments, number: int):
    from streamq.stdlib.recovery.synopsis import Series

    return Series((on_disk.read("x", number),), RULE)


def test_entries_of_every_type_are_kept(tmp_path: Path) -> None:
    types = {
        "b": pa.bool_(), "i": pa.int8(), "n": pa.int64(), "f": pa.float32(), "x": pa.float64(), "t": pa.string(),
        "d": pa.date32(), "u": pa.timestamp("us", "UTC"),
    }
    values = {
        "b": [True, None, False], "i": [1, None, -7], "n": [2**60, None, 3], "f": [1.5, None, float("nan")],
        "x": [0.1, None, float("nan")], "t": ["a", None, "längerer Text"], "d": [1, None, 3], "u": [1, None, 2**50],
    }
    database = sqlite3.connect(tmp_path / "db")
    database.execute(segments.TABLE)
    on_disk = segments.Segments(database, types)
    for name, given_values in values.items():
        array = pa.array(given_values).cast(types[name]) if name not in "du" else pa.array(given_values, pa.int32() if name == "d" else pa.int64()).cast(types[name])
        from streamq.runtime.edge.columns import to_array, to_column

        kept = to_column(array)
        on_disk.append(name, Entries(np.arange(3), np.ones(3, dtype=np.int64), np.ones(3, dtype=np.int64), kept))
        back = to_array(on_disk.read(name, 1).values, types[name])
        assert str(back.to_pylist()) == str(array.to_pylist())
        assert back.type == array.type
    database.close()


KILLED = """
import sys
from pathlib import Path
from tests.unit.runtime.edge.test_store import committed, edge, rows_of

store, pipeline = edge(Path(sys.argv[1]))
print("ready", flush=True)
cycle = int(store.progress().position.offset)
while True:
    cycle += 1
    committed(store, pipeline, rows_of([2.0 ** (cycle % 100), 1.0]), float(cycle))
    print(cycle, flush=True)
"""


def test_kill_9_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "store"
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, env=dict(os.environ))
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        said = [int(process.stdout.readline()) for _ in range(15)]
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        store, _ = edge(path)
        progress = store.progress()
        done = progress.position.offset
        # Whatever it said was done is there, and what is there is whole.
        assert done >= said[-1]
        assert progress.retained.cycle_no.tolist() == [done, done]
        assert progress.seq == done
        messages = store._database.execute("SELECT seq FROM outbox ORDER BY seq").fetchall()
        assert [seq for (seq,) in messages] == list(range(1, done + 1))
        found = asked(store, "x", ["a"] * done, [*range(1, done + 1)])
        assert found.values.to_pylist() == [2.0 ** (c % 100) for c in range(1, done + 1)]
        store.close()


