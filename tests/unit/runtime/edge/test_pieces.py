from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.dsl.records import replace
from streamq.runtime.edge.answers import (
    MOST_PARTS,
    Answer,
    encoded_answers,
    part_of,
    parts_of,
)
from streamq.runtime.edge.at_source.packing import parts
from streamq.runtime.edge.frames import BadMessage, Frame, framed
from streamq.runtime.edge.messages import Request
from streamq.stdlib.recovery.lookup import Status
from tests.unit.runtime.edge.support import decoded_answer, encoded_answer

ID, ORIGIN = b"12345678", b"abcdefgh"
HEAD = struct.Struct(">8sIIIBdI")
MESSAGE, PART = 16 + 2 + 1, HEAD.size
"""Bytes of a message of answers beside them, for a stream with a name of one letter, and of an answer beside its pieces."""


def asked_for(keys: list[str], cycles: list[int]) -> Request:
    keys_of = pa.record_batch({"k": pa.array(keys, pa.string())})
    return Request(ID, ORIGIN, "s", "x", keys_of, np.array(cycles, dtype=np.int64))


def answer_of(request: Request, stored: dict[tuple[str, int], float | None], first: int = 1, bound: float = 5.0) -> Answer:
    """From what is stored by key and cycle; cycles before ``first`` were sent, and keys that nothing is stored of unknown."""
    values, status, stored_in = [], [], []
    for key, cycle in zip(request.keys.column(0).to_pylist(), request.cycle_no.tolist(), strict=True):
        of = max((c for k, c in stored if k == key and c <= cycle), default=0)
        sent = of > 0 and cycle < first
        values.append(stored[key, of] if of and not sent else None)
        status.append(Status.SENT if sent else Status.NOT_RETAINED if not of else Status.APPROXIMATE if of < cycle else Status.EXACT)
        stored_in.append(of if of and not sent else 0)
    known = np.array(status, dtype=np.int64)
    error = np.select([known == Status.EXACT, known == Status.APPROXIMATE], [0.0, bound], np.nan)
    n = len(values)
    return Answer(ID, "s", 0, n, pa.array(values, pa.float64()), known, np.array(stored_in, dtype=np.int64), error)


def back(data: bytes, request: Request) -> Answer:
    return decoded_answer(framed(data), request, pa.float64())


def assert_same(found: Answer, expected: Answer) -> None:
    assert str(found.values.to_pylist()) == str(expected.values.to_pylist())
    assert found.status.tolist() == expected.status.tolist()
    assert found.stored_in.tolist() == expected.stored_in.tolist()
    assert str(found.max_error_pct.tolist()) == str(expected.max_error_pct.tolist())
    assert (found.id, found.stream, found.first, found.total) == (expected.id, expected.stream, expected.first, expected.total)


NUMBERS = st.one_of(st.none(), st.floats(width=32), st.just(0.0))


@settings(max_examples=300, deadline=None)
@given(
    asked=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 400)), max_size=60),
    stored=st.dictionaries(st.tuples(st.sampled_from("ab"), st.integers(1, 400)), NUMBERS, max_size=30),
    first=st.integers(1, 100), ordered=st.booleans(), most=st.integers(100, 400),
)
def test_whatever_is_asked_in_any_order_comes_back(
    asked: list[tuple[str, int]], stored: dict[tuple[str, int], float | None], first: int, ordered: bool, most: int
) -> None:
    asked = sorted(asked) if ordered else asked
    request = asked_for([k for k, _ in asked], [c for _, c in asked])
    answer = answer_of(request, stored, first)
    if not np.any(answer.status == Status.APPROXIMATE):
        assert np.nanmax(answer.max_error_pct, initial=0.0) == 0.0
    assert_same(back(encoded_answer(answer, request, 1), request), answer)
    at = 0
    for part in parts(answer, request, most):
        data = encoded_answers("s", [part], 1)
        found = back(data, request)
        assert found.first == at
        assert_same(found, answer.slice(at, len(found.status)))
        assert len(data) <= most or len(found.status) == 1
        at += len(found.status)
    assert at == len(asked)


@pytest.mark.parametrize("type_", [pa.bool_(), pa.int8(), pa.float32(), pa.string(), pa.date32(), pa.timestamp("us", "UTC")])
def test_values_of_every_type(type_: pa.DataType) -> None:
    request = asked_for(["a"] * 4, [7, 8, 9, 300])
    wide = pa.int32() if pa.types.is_date(type_) else pa.int64()
    values = pa.array([1, 1, None, None], wide).cast(type_)
    stored = np.array([7, 7, 9, 9])
    status = np.array([0, 1, 0, 1])
    answer = Answer(ID, "s", 0, 4, values, status, stored, np.array([0.0, 2.0, 0.0, 2.0]))
    found = decoded_answer(framed(encoded_answer(answer, request, 1)), request, type_)
    assert found.values.equals(values)
    assert found.stored_in.tolist() == stored.tolist()


def changing(cycles: int, keys: int) -> tuple[Request, Answer]:
    """A series of each key that changes in every fifth cycle."""
    names = [f"k{i:03d}" for i in range(keys)]
    stored = np.tile(np.arange(cycles) // 5 * 5 + 1, keys)
    cycle_no = np.tile(np.arange(1, cycles + 1), keys)
    request = asked_for([name for name in names for _ in range(cycles)], cycle_no.tolist())
    status = (stored < cycle_no).astype(np.int64)
    values = pa.array(stored * 1.25 + np.repeat(np.arange(keys), cycles))
    n = len(cycle_no)
    return request, Answer(ID, "s", 0, n, values, status, stored, np.where(status, 4.81, 0.0))


def test_bytes_of_a_value_that_is_asked_for() -> None:
    request, answer = changing(200, 75)
    data = encoded_answer(answer, request, 1)
    asked = len(answer.status)
    # A bit for each, and of a fifth 8 bytes of value, one of status, one of age; the frame takes what it takes.
    computed = 1 / 8 + (8 + 1 + 1) / 5
    assert len(data) == computed * asked + MESSAGE + PART
    assert len(data) / asked < 2.2
    assert_same(back(data, request), answer)
    # By cycle and key no two are of the same value: it works, and is not small.
    order = np.argsort(request.cycle_no, kind="stable")
    keys = request.keys.take(pa.array(order))
    across = replace(request, keys=keys, cycle_no=request.cycle_no[order])
    mixed = Answer(ID, "s", 0, asked, answer.values.take(pa.array(order)), answer.status[order], answer.stored_in[order], answer.max_error_pct[order])
    data = encoded_answer(mixed, across, 1)
    assert 10 < len(data) / asked < 10.2
    assert_same(back(data, across), mixed)


REQUEST, ANSWER = changing(10, 2)
DATA = encoded_answer(ANSWER, REQUEST, 1)


def part(body: bytes, **fields: Any) -> bytes:
    given = {"id": ID, "first": 0, "total": 20, "count": 20, "age_bytes": 1, "bound": 1.0, "length": len(body)}
    return HEAD.pack(*(given | fields).values()) + body


def message(*parts: bytes) -> Frame:
    return Frame(framed(DATA).kind, 1, framed(DATA).head, b"".join(parts))


BODY = bytes(parts_of(framed(DATA))[0].body)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"id": b"87654321"}, "another request"), ({"total": 21}, "another request"), ({"first": 1}, "more than was asked"),
        ({"count": 21}, "more than was asked"), ({"count": 19}, "where it is from"), ({"age_bytes": 3}, "where it is from"),
        ({"count": 12}, "where it is from"), ({"age_bytes": 2}, "as many values"), ({"age_bytes": 8}, "as many values|no known way"),
        ({"bound": -1.0}, "error that cannot be"), ({"bound": float("nan")}, "error that"), ({"bound": 101.0}, "error that cannot be"),
        ({"count": 0}, "as many values"), ({"first": 0xFFFFFFFF}, "more than"), ({"length": len(BODY) + 1}, "cut off"),
        ({"length": 0xFFFFFFFF}, "cut off"), ({"length": len(BODY) - 1}, "cut off"), ({"length": 0}, "cut off"),
    ],
)
def test_heads_that_cannot_be(fields: dict[str, Any], says: str) -> None:
    assert decoded_answer(message(part(BODY)), REQUEST, pa.float64()).status.tolist() == ANSWER.status.tolist()
    with pytest.raises(BadMessage, match=says):
        decoded_answer(message(part(BODY, **fields)), REQUEST, pa.float64())


def test_messages_of_answers_that_cannot_be() -> None:
    for bad, says in (
        (message(), "no answers"), (message(part(BODY), b"x"), "cut off"), (message(part(BODY)[:20]), "cut off"),
        (message(*[part(b"", count=0)] * (MOST_PARTS + 1)), "at most"),
        (Frame(framed(DATA).kind, 1, framed(DATA).head + b"x", part(BODY)), "nothing more"),
    ):
        with pytest.raises(BadMessage, match=says):
            parts_of(bad)
    with pytest.raises(BadMessage, match="as long as it says"):
        part_of(part(BODY) + b"x")


def body_of(same: list[bool], values: list[float], status: list[int], age: list[int]) -> bytes:
    bits = np.packbits(np.array(same), bitorder="little").tobytes()
    return bits + bytes(status) + bytes(age) + np.array(values, dtype="<f8").tobytes()


BODIES_THAT_CANNOT_BE: list[tuple[list[bool], list[float], list[int], list[int]]] = [
    ([True, True], [], [], []),                   # of the same as nothing
    ([False, True], [1.0, 2.0], [0, 0], [0, 0]),  # more pieces than bits say
    ([False, False], [1.0], [0], [0]),            # fewer
    ([False, True], [1.0], [8], [0]),             # no status
    ([False, True], [], [8], [0]),
    ([False, True], [1.0], [1], [200]),           # stored before the first cycle
    ([False, True], [1.0], [0], [1]),             # its own, and stored before
    ([False, True], [1.0], [1], [0]),             # not its own, and stored in its cycle
    ([False, True], [1.0], [3], [0]),             # not retained, and there
    ([False, True], [], [0], [0]),                # there, and no value
    ([False, True], [1.0], [4], [0]),             # NULL, and a value
    ([False, True], [], [6], [0]),                # sent, and NULL
    ([False, True], [], [7], [0]),                # not retained, and NULL
    ([False, True], [], [2], [7]),                # sent, and stored some time
    ([False, True, True], [1.0], [0], [0]),       # bits of values that nobody asked for
]


@pytest.mark.parametrize(("same", "values", "status", "age"), BODIES_THAT_CANNOT_BE)
def test_bodies_that_cannot_be(same: list[bool], values: list[float], status: list[int], age: list[int]) -> None:
    request = asked_for(["a", "a"], [100, 101])
    with pytest.raises(BadMessage):
        decoded_answer(of_two(body_of(same, values, status, age)), request, pa.float64())


def of_two(body: bytes) -> Frame:
    return message(part(body, total=2, count=2))


def test_null_is_told_from_nothing() -> None:
    request = asked_for(["a", "b"], [100, 101])
    found = decoded_answer(of_two(body_of([False, False], [], [4, 5], [0, 3])), request, pa.float64())
    assert (found.values.to_pylist(), found.status.tolist(), found.stored_in.tolist()) == ([None] * 2, [0, 1], [100, 98])


def test_a_truth_value_is_one() -> None:
    bits = body_of([False, False], [], [0, 0], [0, 0])
    request = asked_for(["a", "b"], [100, 101])
    assert decoded_answer(of_two(bits + b"\1\0"), request, pa.bool_()).values.to_pylist() == [True, False]
    for bad in (b"\2\0", b"\1", b"\1\0\0"):
        with pytest.raises(BadMessage):
            decoded_answer(of_two(bits + bad), request, pa.bool_())


def test_texts_are_as_many_as_there_are() -> None:
    bits = body_of([False, False], [], [0, 0], [0, 0])
    request = asked_for(["a", "b"], [100, 101])

    def texts(*given: str | None) -> Frame:
        return of_two(bits + bytes(pa.record_batch({"value": pa.array(given, pa.string())}).serialize()))

    assert decoded_answer(texts("x", ""), request, pa.string()).values.to_pylist() == ["x", ""]
    for bad in (texts("x"), texts("x", None), texts("x", "y", "z"), of_two(bits), of_two(bits + b"x" * 16)):
        with pytest.raises(BadMessage):
            decoded_answer(bad, request, pa.string())


def test_an_earlier_cycle_is_not_of_a_later_value() -> None:
    request = asked_for(["a", "a"], [100, 50])
    body = body_of([False, True], [1.0], [1], [10])
    with pytest.raises(BadMessage, match="cannot have been recovered"):
        decoded_answer(of_two(body), request, pa.float64())
    assert back(of_two(body).encoded(), asked_for(["a", "a"], [100, 90])).status.tolist() == [1, 0]


def test_another_key_is_not_of_the_same_value() -> None:
    body = body_of([False, True], [1.0], [1], [10])
    with pytest.raises(BadMessage, match="cannot have been recovered"):
        decoded_answer(of_two(body), asked_for(["a", "b"], [100, 100]), pa.float64())
    # Where nothing is recovered there is nothing to be taken for another's.
    nothing = body_of([False, True], [], [3], [0])
    assert decoded_answer(of_two(nothing), asked_for(["a", "b"], [100, 100]), pa.float64()).status.tolist() == [3, 3]


@settings(max_examples=400, deadline=None)
@given(at=st.integers(0, len(DATA) - 1), more=st.binary(min_size=1, max_size=8))
def test_whatever_bytes_change_it_is_an_answer_or_refused(at: int, more: bytes) -> None:
    data = bytearray(DATA)
    data[at : at + len(more)] = more
    try:
        found = back(bytes(data[: len(DATA)]), REQUEST)
    except BadMessage:
        return
    assert len(found.values) == len(found.status) == len(found.stored_in) == len(found.max_error_pct)
    assert np.all(found.stored_in <= REQUEST.cycle_no[found.first : found.first + len(found.status)])
    found.values.to_pylist()
