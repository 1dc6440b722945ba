from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamq.dsl.records import replace
from streamq.runtime.edge.answers import Answer, encoded_answers, encoded_part
from streamq.runtime.edge.at_run.asking import Asking
from streamq.runtime.edge.at_run.central import Central, Contact, Full
from streamq.runtime.edge.at_source.folder_sender import FolderSender
from streamq.runtime.edge.at_source.packing import packed, parts
from streamq.runtime.edge.frames import MOST_MESSAGE, BadMessage, framed
from streamq.runtime.edge.messages import (
    Poll,
    Request,
    Rows,
    decoded_request,
    decoded_rows,
    encoded_poll,
    encoded_request,
    encoded_rows,
)
from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.runtime.edge.plan_file import from_json
from streamq.runtime.edge.transport import Refused, Reply, Unreachable, reply_of, reply_text
from streamq.stdlib.attributes.shed_plan import ShedPlan
from tests.unit.runtime.edge.support import Clock, encoded_answer, small_plan

PLAN = small_plan()
ORIGIN = b"12345678"


def message(seq: int, origin: bytes = ORIGIN, plan: EdgePlan = PLAN, offered: float = 0.0) -> bytes:
    rows = pa.record_batch({"k": ["a", "b"], "y": [1.0, float(seq)]})
    made = Rows(plan.stream, origin, seq, ShedPlan(1, 1, ("x",)), ("k",), rows, np.array([seq, seq]), offered)
    return encoded_rows(made, plan.schema, plan.revision)


def poll(stream: str, origin: bytes = ORIGIN, offered: float = 0.0, revision: int = 1) -> bytes:
    return encoded_poll(Poll(stream, origin, offered), revision)


def central_of(folder: Path, plan: EdgePlan = PLAN) -> Central:
    return Central.of(folder, {plan.stream: plan})


def taken(central: Central) -> list[int]:
    inbox = central.desks["weather"].inbox
    found = []
    for rows in inbox.pending():
        found.append(rows.seq)
        inbox.take(rows)
    return found


def test_a_message_that_comes_again_is_acknowledged_and_there_once(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    for seq in (1, 2, 2, 1, 3, 3):
        assert central.handle(message(seq)).acknowledged == seq
    assert central.desks["weather"].repeated == 3
    assert taken(central) == [1, 2, 3]


def test_a_central_run_that_starts_anew(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    central.handle(message(1))
    central.handle(message(2))
    assert taken(central) == [1, 2]
    central.handle(message(3))
    again = central_of(tmp_path)
    # What was taken, and what lies there, is known.
    for seq in (2, 3, 4):
        again.handle(message(seq))
    assert again.desks["weather"].repeated == 2
    assert taken(again) == [3, 4]


def test_a_file_that_is_there_again_is_not_read_again(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    central.handle(message(1))
    (file,) = (tmp_path / "weather").glob("*.rows")
    data = file.read_bytes()
    assert taken(central) == [1]
    file.write_bytes(data)
    assert taken(central) == []
    assert not file.exists()


def test_a_new_store_of_an_edge_begins_anew(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    central.handle(message(1))
    central.handle(message(1, b"abcdefgh"))
    assert sorted(taken(central)) == [1, 1]


def test_messages_that_never_came_are_counted(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    for seq in (5, 6, 9):
        central.handle(message(seq))
    assert central.desks["weather"].inbox.missing == 2


def test_too_many_messages_wait(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    central.most_waiting = 2
    central.handle(message(1))
    central.handle(message(2))
    with pytest.raises(Full):
        central.handle(message(4))
    central.handle(message(2))
    assert taken(central) == [1, 2]
    central.handle(message(4))


def test_messages_of_many_edges_are_counted_together(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    central.most_waiting = 10
    for at in range(10):
        central.handle(message(1, at.to_bytes(8, "big")))
    for at in range(10, 20):
        with pytest.raises(Full):
            central.handle(message(1, at.to_bytes(8, "big")))
    # Those that wait from an earlier run are counted with the first one.
    again = central_of(tmp_path)
    again.most_waiting = 10
    with pytest.raises(Full):
        again.handle(message(1))


def test_rows_have_keys_and_numbers_that_can_be(tmp_path: Path) -> None:
    plan = small_plan(columns={"k": "double", "x": "double", "y": "double"})
    central = central_of(tmp_path, plan)
    for key in (None, float("nan")):
        rows = pa.record_batch({"k": pa.array([1.0, key], pa.float64()), "y": [1.0, 2.0]})
        made = Rows("weather", ORIGIN, 1, ShedPlan(1, 1, ("x",)), ("k",), rows, np.array([1, 1]))
        with pytest.raises(BadMessage, match="a key that cannot be"):
            central.handle(encoded_rows(made, plan.schema, 1))
    with pytest.raises(BadMessage, match="a number that cannot be"):
        central_of(tmp_path).handle(message(1 << 63))
    assert list(tmp_path.rglob("*.rows")) == []


def test_streams_that_nobody_asked_for(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    other = small_plan(stream="other")
    for bad in (message(1, plan=other), poll("../../etc"), poll("x" * 200)):
        with pytest.raises(BadMessage, match="nobody asked for"):
            central.handle(bad)
    assert list(tmp_path.rglob("*.rows")) == []


def test_rows_have_the_key_of_their_stream(tmp_path: Path) -> None:
    rows = pa.record_batch({"k": ["a"], "y": [1.0]})
    for plan, key in ((PLAN, ()), (PLAN, ("y",)), (small_plan(cycle=CycleRule(length=3)), ("k",))):
        made = Rows("weather", ORIGIN, 1, ShedPlan(1, 1, ("x",)), key, rows, np.array([1]))
        with pytest.raises(BadMessage, match="another key"):
            central_of(tmp_path, plan).handle(encoded_rows(made, plan.schema, 1))


def test_edges_do_not_ask(tmp_path: Path) -> None:
    request = Request(b"abcdefgh", ORIGIN, "weather", "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    with pytest.raises(BadMessage, match="do not ask"):
        central_of(tmp_path).handle(encoded_request(request, PLAN.schema, 1))


def test_a_later_plan_goes_with_the_reply(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    assert central.handle(message(1)).plan is None
    with pytest.raises(ValueError, match="larger revision"):
        central.change(small_plan())
    with pytest.raises(BadPlan, match="cannot change"):
        central.change(small_plan(revision=2, format="csv"))
    central.change(small_plan(revision=2, capacity_kbps=5.0))
    reply = central.handle(message(2))
    assert reply.plan is not None
    assert "token" not in reply.plan
    assert from_json(reply.plan).capacity_kbps == 5.0
    assert central.handle(poll("weather", revision=2)).plan is None


def requested(data: bytes) -> Request:
    return decoded_request(framed(data), PLAN.schema)


def answer_to(data: bytes, values: list[float | None]) -> Answer:
    """That each value was stored in the cycle asked for."""
    request, n = requested(data), len(values)
    return Answer(
        request.id, "weather", 0, n, pa.array(values, pa.float64()), np.zeros(n, dtype=np.int64), request.cycle_no, np.zeros(n)
    )


def test_requests_are_open_until_all_of_the_answer_came(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    asking = central.desks["weather"].asking
    id_ = asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"] * 40}), np.arange(1, 41))
    (request,) = central.handle(message(1)).requests
    again = central_of(tmp_path)
    assert again.handle(message(2)).requests == (request,)
    cut = parts(answer_to(request, [float(i) for i in range(40)]), requested(request), 200)
    some = [encoded_answers("weather", [part], 1) for part in cut]
    assert len(some) > 2
    for part in reversed(some):
        assert asking.answer(id_) is None
        again.handle(part)
    assert again.handle(poll("weather")).requests == ()
    found = asking.answer(id_)
    assert found is not None
    assert found.values.to_pylist() == [float(i) for i in range(40)]
    # A part that comes once more is one of no open request.
    again.handle(some[0])
    asking.done(id_)
    assert asking.answer(id_) is None
    assert [p for p in (tmp_path / "weather").iterdir() if p.name.startswith(id_.hex())] == []


def test_answers_that_do_not_fit_their_request(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    asking = central.desks["weather"].asking
    for cycles in ([1], [1, 2]):
        asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"] * len(cycles)}), np.array(cycles))
    one, two = sorted(central.handle(message(1)).requests, key=len)
    other = replace(answer_to(two, [1.0, 2.0]), id=requested(one).id)
    with pytest.raises(BadMessage, match="another request"):
        central.handle(encoded_answer(other, requested(two), 1))


def test_one_message_has_answers_to_many_requests(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    asking = central.desks["weather"].asking
    ids = [asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"] * n}), np.arange(1, n + 1)) for n in (1, 2, 3, 2)]
    requests = sorted(central.handle(message(1)).requests, key=lambda data: ids.index(requested(data).id))
    made = [encoded_part(answer_to(r, [1.5] * n), requested(r)) for r, n in zip(requests, (1, 2, 3, 2), strict=True)]
    # What is to no open request, and one that is wrong, keep the others from nothing.
    wrong = encoded_part(replace(answer_to(requests[3], [1.5] * 2), id=ids[0]), requested(requests[3]))
    asking.done(ids[1])
    with pytest.raises(BadMessage, match="another request"):
        central.handle(encoded_answers("weather", [made[1], wrong, made[2]], 1))
    assert [asking.answer(id_) is not None for id_ in ids] == [False, False, True, False]
    assert central.handle(encoded_answers("weather", [made[0], made[3]], 1)).requests == ()
    assert [asking.answer(id_) is not None for id_ in ids] == [True, False, True, True]


def test_edges_are_asked_for_what_they_counted(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    asking = central.desks["weather"].asking
    for origin in (b"aaaaaaaa", b"bbbbbbbb", b"aaaaaaaa"):
        asking.ask(origin, "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    for origin, count in ((b"aaaaaaaa", 2), (b"bbbbbbbb", 1), (ORIGIN, 0)):
        for found in (central.handle(message(1, origin)).requests, central.handle(poll("weather", origin)).requests):
            assert {decoded_request(framed(r), PLAN.schema).origin for r in found} <= {origin}
            assert len(found) == count
    # The reply to an answer has what else its edge is asked for.
    first, second = asking.open(b"aaaaaaaa")
    assert central.handle(encoded_answer(answer_to(first, [1.0]), requested(first), 1)).requests == (second,)


def test_requests_and_answers_that_are_none_are_put_aside(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    asking = central.desks["weather"].asking
    id_ = asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    folder = tmp_path / "weather"
    (folder / f"{'0' * 16}.request").write_bytes(b"nothing")
    (folder / f"{'1' * 16}.request").mkdir()
    (request,) = central.handle(message(1)).requests
    assert (folder / f"{'0' * 16}.request.bad").exists()
    (folder / f"{id_.hex()}-00000001.answer").write_bytes(b"nothing")
    central.handle(encoded_answer(answer_to(request, [1.0]), requested(request), 1))
    assert asking.answer(id_) is not None
    (folder / f"{id_.hex()}-00000000.answer").write_bytes(b"nothing")
    assert asking.answer(id_) is None
    (folder / f"{id_.hex()}.answered").write_bytes(b"nothing")
    assert asking.answer(id_) is None
    assert sorted(path.name for path in folder.glob(f"{id_.hex()}*")) == [
        f"{id_.hex()}-00000000.answer.bad", f"{id_.hex()}-00000001.answer.bad", f"{id_.hex()}.answered.bad"
    ]


def test_requests_of_an_earlier_run_are_cleared(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    asking = central.desks["weather"].asking
    done = asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    (request,) = central.handle(message(1)).requests
    central.handle(encoded_answer(answer_to(request, [1.0]), requested(request), 1))
    asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    (tmp_path / "weather" / f".{done.hex()}.request.77").write_bytes(b"not all of")
    asking.clear()
    assert [path.suffix for path in (tmp_path / "weather").iterdir()] == [".rows"]
    assert asking.answer(done) is None
    assert central.handle(poll("weather")).requests == ()


def test_when_an_edge_was_heard_of_last(tmp_path: Path) -> None:
    clock = Clock(10.0)
    central = Central.of(tmp_path, {"weather": PLAN}, clock)
    desk = central.desks["weather"]
    assert desk.contact is None
    central.handle(message(1, offered=7.5))
    assert desk.contact == Contact(ORIGIN, 10.0, 1, 7.5)
    desk.asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    clock.now = 11.0
    (request,) = central.handle(poll("weather", offered=3.0, revision=2)).requests
    assert desk.contact == Contact(ORIGIN, 11.0, 2, 3.0)
    clock.now = 12.0
    central.handle(encoded_answer(answer_to(request, [1.0]), requested(request), 3))
    assert desk.contact == Contact(ORIGIN, 12.0, 3, 3.0)
    clock.now = 13.0
    for bad in (message(2, plan=small_plan(columns={"k": "string", "x": "float", "y": "double"})), poll("weather")[:-1]):
        with pytest.raises(BadMessage):
            central.handle(bad)
    assert desk.contact.at_s == 12.0
    central.handle(poll("weather", b"abcdefgh"))
    assert desk.contact == Contact(b"abcdefgh", 13.0, 1, 0.0)


def test_requests_that_no_edge_would_take(tmp_path: Path) -> None:
    asking = Asking(tmp_path, "weather", PLAN.schema)
    for attribute, keys, cycles in (("k", ["a"], [1]), ("z", ["a"], [1]), ("x", ["a"] * 70_000, range(70_000)), ("x", [None], [1])):
        with pytest.raises((BadMessage, ValueError)):
            asking.ask(ORIGIN, attribute, pa.record_batch({"k": pa.array(keys, pa.string())}), np.array(list(cycles)))
    assert asking.open(ORIGIN) == ()


def test_only_so_many_requests_come_at_once(tmp_path: Path) -> None:
    central = central_of(tmp_path)
    for _ in range(20):
        central.desks["weather"].asking.ask(ORIGIN, "x", pa.record_batch({"k": ["a"]}), np.array([1]))
    assert len(central.handle(poll("weather")).requests) == 16


@pytest.mark.parametrize("reply", [Reply(), Reply(7, (b"\0\xff", b""), {"a": [1]})])
def test_replies_there_and_back(reply: Reply) -> None:
    assert reply_of(reply_text(reply)) == reply


@pytest.mark.parametrize(
    "text",
    [
        b"", b"[]", b"{}", b'{"acknowledged": -1}', b'{"acknowledged": true}', b'{"acknowledged": 1e3}', b"[" * 100_000,
        b'{"acknowledged": 1, "requests": "x"}', b'{"acknowledged": 1, "requests": ["***"]}', b"x" * (5 << 20),
        b'{"acknowledged": 1, "requests": [1]}', b'{"acknowledged": 1, "plan": 3}', b'{"acknowledged": 99999999999999999999}',
        b'{"acknowledged": 1, "requests": [' + b",".join([b'""'] * 17) + b"]}",
    ],
)
def test_replies_that_are_none(text: bytes) -> None:
    with pytest.raises(BadMessage):
        reply_of(text)


def test_the_folder_has_the_same_files(tmp_path: Path) -> None:
    for _ in range(2):
        sender = FolderSender(tmp_path / "out", PLAN)
        assert sender.send(message(1)).acknowledged == 1
        assert FolderSender(tmp_path / "out", PLAN).send(message(2)).acknowledged == 2
    central = central_of(tmp_path / "out")
    assert taken(central) == [1, 2]
    with pytest.raises(Refused, match="other columns"):
        sender.send(message(3, plan=small_plan(columns={"k": "string", "x": "float", "y": "double"})))
    (tmp_path / "file").write_text("")
    with pytest.raises(Unreachable, match="cannot be written"):
        FolderSender(tmp_path / "file", PLAN).send(message(1))


def test_rows_are_cut_into_messages_that_fit() -> None:
    rows = pa.record_batch({"k": ["a" * (i % 90) for i in range(500)], "y": np.arange(500.0)})
    whole = Rows("weather", ORIGIN, 5, ShedPlan(1, 1, ("x",)), ("k",), rows, np.arange(1, 501), dropped=7)
    messages, lost = packed(whole, PLAN.schema, 1, 2000)
    assert lost == 0
    assert max(map(len, messages)) <= 2000
    found = [decoded_rows(framed(m), PLAN.schema) for m in messages]
    assert [m.seq for m in found] == list(range(5, 5 + len(found)))
    assert [m.dropped for m in found] == [7, *[0] * (len(found) - 1)]
    assert pa.concat_batches([m.rows for m in found]).equals(rows)
    assert np.concatenate([m.cycle_no for m in found]).tolist() == list(range(1, 501))
    # Most of them are quite full, though rows differ in size.
    assert sum(map(len, messages)) / len(messages) > 1100


def test_a_row_that_is_wider_than_a_bucket_goes_alone() -> None:
    rows = pa.record_batch({"k": ["b" * 5000, "a", "c"], "y": [1.0, 2.0, 3.0]})
    whole = Rows("weather", ORIGIN, 1, ShedPlan(1, 1, ("x",)), ("k",), rows, np.array([1, 1, 1]), dropped=7)
    messages, lost = packed(whole, PLAN.schema, 1, 2000)
    came = [decoded_rows(framed(m), PLAN.schema) for m in messages]
    assert [m.dropped for m in came] == [7, 0, 0]
    assert [m.rows.column("y").to_pylist() for m in came] == [[1.0], [2.0], [3.0]]
    assert lost == 0
    wide = pa.record_batch({"k": ["b" * MOST_MESSAGE], "y": [1.0]})
    assert packed(replace(whole, rows=wide, cycle_no=np.array([1])), PLAN.schema, 1, 2000) == ((), 1)
