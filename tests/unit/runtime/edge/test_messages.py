from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.frames import (
    MOST_HEAD,
    MOST_MESSAGE,
    PREFIX,
    BadMessage,
    Frame,
    Kind,
    framed,
)
from streamq.runtime.edge.messages import (
    Poll,
    Request,
    Rows,
    decoded_poll,
    decoded_request,
    decoded_rows,
    encoded_poll,
    encoded_request,
    encoded_rows,
    stream_of,
)
from streamq.stdlib.attributes.shed_plan import ShedPlan
from tests.unit.runtime.edge.support import decoded_answer, encoded_answer

SCHEMA = pa.schema([("k", pa.string()), ("x", pa.float64()), ("n", pa.int64()), ("y", pa.float64())])
ORIGIN = b"\1\2\3\4\5\6\7\x08"


def rows_message(**changes: Any) -> Rows:
    rows = pa.record_batch({"k": ["a", "b", "a"], "n": pa.array([1, None, 3]), "y": [0.5, float("nan"), None]})
    given: dict[str, Any] = {
        "stream": "s", "origin": ORIGIN, "seq": 7, "plan": ShedPlan(3, 2, ("x",)), "key": ("k",), "rows": rows,
        "cycle_no": np.array([5, 5, 6]), "offered_kbps": 98.6, "dropped": 12,
    }
    return Rows(**(given | changes))


REQUEST = Request(b"12345678", ORIGIN, "s", "x", pa.record_batch({"k": ["a", "b"]}), np.array([1, 2]))
MESSAGE = encoded_rows(rows_message(), SCHEMA, 4)


def test_rows_there_and_back() -> None:
    frame = framed(MESSAGE)
    assert (frame.kind, frame.revision, stream_of(frame)) == (Kind.ROWS, 4, "s")
    found = decoded_rows(frame, SCHEMA)
    expected = rows_message()
    assert str(found.rows.to_pylist()) == str(expected.rows.to_pylist())
    assert found.cycle_no.tolist() == [5, 5, 6]
    assert (found.plan, found.key, found.origin, found.seq, found.offered_kbps, found.dropped) == (expected.plan, ("k",), ORIGIN, 7, 98.6, 12)


def test_null_is_told_from_what_is_shed() -> None:
    found = decoded_rows(framed(MESSAGE), SCHEMA)
    assert found.rows.column("n").null_count == 1
    assert "x" not in found.rows.schema.names
    assert found.plan.attrs == ("x",)


@pytest.mark.parametrize("above", [0, 255, 256, 65_536, 1 << 33])
def test_numbers_of_cycles_are_as_narrow_as_they_go(above: int) -> None:
    message = encoded_rows(rows_message(cycle_no=np.array([9, 9, 9 + above])), SCHEMA, 1)
    assert decoded_rows(framed(message), SCHEMA).cycle_no.tolist() == [9, 9, 9 + above]


def test_no_rows_are_rows() -> None:
    empty = rows_message(rows=rows_message().rows.slice(0, 0), cycle_no=np.empty(0, dtype=np.int64))
    with pytest.raises(BadMessage):
        decoded_rows(framed(encoded_rows(empty, SCHEMA, 1)), pa.schema([("k", pa.string())]))


def test_a_request_and_its_answer_there_and_back() -> None:
    request = REQUEST
    found = decoded_request(framed(encoded_request(request, SCHEMA, 0)), SCHEMA)
    assert (found.id, found.origin, found.stream, found.attribute) == (b"12345678", ORIGIN, "s", "x")
    assert found.cycle_no.tolist() == [1, 2]
    assert found.keys.equals(request.keys)
    answer = Answer(
        b"12345678", "s", 0, 2, pa.array([1.5, None]), np.array([0, 3]), np.array([1, 0]), np.array([0.0, np.nan])
    )
    back = decoded_answer(framed(encoded_answer(answer, request, 1)), request, pa.float64())
    assert back.values.to_pylist() == [1.5, None]
    assert back.status.tolist() == [0, 3]


def test_a_poll_there_and_back() -> None:
    frame = framed(encoded_poll(Poll("s", ORIGIN, 12.5), 2))
    assert (frame.kind, frame.revision, stream_of(frame)) == (Kind.POLL, 2, "s")
    assert decoded_poll(frame) == Poll("s", ORIGIN, 12.5)
    with pytest.raises(BadMessage, match="nothing more"):
        decoded_poll(Frame(Kind.POLL, 1, frame.head + b"x"))


def test_a_count_of_dropped_rows_that_cannot_be_is_refused() -> None:
    assert decoded_rows(framed(encoded_rows(rows_message(dropped=1 << 40), SCHEMA, 1)), SCHEMA).dropped == 1 << 40
    with pytest.raises(BadMessage, match="a number that cannot be"):
        decoded_rows(framed(encoded_rows(rows_message(dropped=1 << 41), SCHEMA, 1)), SCHEMA)


@pytest.mark.parametrize("rate", [-1.0, float("nan"), float("inf"), -float("inf")])
def test_rates_that_cannot_be_are_refused(rate: float) -> None:
    with pytest.raises(BadMessage, match="a rate that cannot be"):
        decoded_poll(framed(encoded_poll(Poll("s", ORIGIN, rate), 1)))
    with pytest.raises(BadMessage, match="a rate that cannot be"):
        decoded_rows(framed(encoded_rows(rows_message(offered_kbps=rate), SCHEMA, 1)), SCHEMA)


def with_prefix(**changes: Any) -> bytes:
    head, body = framed(MESSAGE).head, framed(MESSAGE).body
    given = {"magic": b"SQED", "version": 1, "kind": 1, "revision": 4, "head": len(head), "body": len(body)} | changes
    return PREFIX.pack(*given.values()) + head + bytes(body)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "cut off"),
        (b"SQED", "cut off"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "no message of an edge"),
        (MESSAGE[:-1], "not as long as it says"),
        (MESSAGE + b"x", "not as long as it says"),
        (with_prefix(version=2), "version 2"),
        (with_prefix(kind=9), "no message of kind 9"),
        (with_prefix(revision=1 << 31), "a plan that cannot be"),
        (with_prefix(body=0xFFFFFFFF), "not as long as it says"),
        (with_prefix(head=0xFFFF), f"at most {MOST_HEAD}"),
        (b"SQED" + bytes(MOST_MESSAGE), f"at most {MOST_MESSAGE}"),
    ],
)
def test_what_is_no_message_is_refused(data: bytes, says: str) -> None:
    with pytest.raises(BadMessage, match=says):
        framed(data)


def test_other_columns_are_refused() -> None:
    for other in (SCHEMA.remove(1), SCHEMA.set(1, pa.field("x", pa.float32())), SCHEMA.set(1, pa.field("z", pa.float64()))):
        with pytest.raises(BadMessage, match="other columns"):
            decoded_rows(framed(MESSAGE), other)


def body_changed(body: bytes) -> Frame:
    frame = framed(MESSAGE)
    return Frame(frame.kind, frame.revision, frame.head, body)


def stream_bytes(rows: pa.RecordBatch, compression: str | None = None) -> list[bytes]:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, rows.schema, options=options) as writer:
        writer.write_batch(rows)
    return [bytes(message.serialize()) for message in pa.ipc.MessageReader.open_stream(sink.getvalue())]


def test_a_body_that_is_no_record_batch_is_refused() -> None:
    body = framed(MESSAGE).body
    rows = decoded_rows(framed(MESSAGE), SCHEMA).rows
    for bad in (
        b"", b"\0" * 64, b"not arrow at all", body[:-8], body[:40], stream_bytes(rows)[0], bytes(rows.serialize()),
        struct.pack("<Ii", 0xFFFFFFFF, 0x7FFFFFFF) + body[8:], struct.pack("<Ii", 0xFFFFFFFF, -5) + body[8:],
    ):
        with pytest.raises(BadMessage):
            decoded_rows(body_changed(bytes(bad)), SCHEMA)


def test_a_packed_body_is_refused_before_it_is_unpacked() -> None:
    whole = pa.record_batch({"k": ["a"] * 9999, "n": [1] * 9999, "y": [0.5] * 9999, "c": pa.array([0] * 9999, pa.uint8())})
    for codec in ("lz4", "zstd"):
        with pytest.raises(BadMessage, match="packed"):
            decoded_rows(body_changed(stream_bytes(whole, codec)[1]), SCHEMA)


def test_texts_that_are_none_are_refused() -> None:
    body = bytes(framed(MESSAGE).body)
    at = body.rindex(b"aba")
    with pytest.raises(BadMessage):
        decoded_rows(body_changed(body[:at] + b"\xff\xfe\xfd" + body[at + 3 :]), SCHEMA)


@settings(max_examples=600, deadline=None)
@given(at=st.integers(0, len(MESSAGE) - 1), value=st.integers(0, 255), more=st.binary(max_size=8))
def test_whatever_bytes_change_it_is_rows_or_refused(at: int, value: int, more: bytes) -> None:
    changed = bytearray(MESSAGE)
    changed[at] = value
    changed[at + 1 : at + 1 + len(more)] = more
    try:
        found = decoded_rows(framed(bytes(changed)), SCHEMA)
    except BadMessage:
        return
    assert found.rows.num_rows == len(found.cycle_no) <= MOST_MESSAGE
    found.rows.to_pylist()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_as_a_body(body: bytes) -> None:
    with pytest.raises(BadMessage):
        decoded_rows(body_changed(body), SCHEMA)


@settings(max_examples=200, deadline=None)
@given(head=st.binary(max_size=80), kind=st.sampled_from(Kind))
def test_any_bytes_as_a_head(head: bytes, kind: Kind) -> None:
    frame = framed(Frame(kind, 1, head, framed(MESSAGE).body).encoded())
    for decode in (
        stream_of, decoded_poll, lambda f: decoded_rows(f, SCHEMA), lambda f: decoded_request(f, SCHEMA),
        lambda f: decoded_answer(f, REQUEST, pa.float64()),
    ):
        try:
            decode(frame)
        except BadMessage:
            continue


def test_a_message_that_is_too_large_is_not_made() -> None:
    wide = rows_message(rows=rows_message().rows.set_column(0, "k", pa.array(["a" * MOST_MESSAGE, "b", "c"])))
    with pytest.raises(BadMessage, match="at most"):
        encoded_rows(wide, SCHEMA, 1)
