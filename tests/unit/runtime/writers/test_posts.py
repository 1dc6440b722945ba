"""Requests of a webhook: cut into pieces, tried again, never told with their secrets. With a server, without Spark."""

from __future__ import annotations

import json
import random
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.runtime.spark.writers.base import TroubleError
from streamq.runtime.spark.writers.http_posts import Posts, reached
from streamq.runtime.spark.writers.webhook import _chunks, body_of
from streamq.stdlib.sink_options import headers_of, is_web_address
from tests.support.certificates import certificates
from tests.support.webhook import receiver

POSTS = Posts("", "hunter2", (("X-Team", "ads"),), "application/json", 5.0, 4, 1.0)


@settings(deadline=None)
@given(st.lists(st.integers(0, 40), max_size=6), st.integers(1, 30))
def test_pieces_have_all_rows_in_order(sizes: list[int], most: int) -> None:
    numbers = iter(range(10_000))
    batches = [pa.RecordBatch.from_pydict({"row": [str(next(numbers)) for _ in range(size)]}, pa.schema({"row": pa.string()})) for size in sizes]
    pieces = list(_chunks(iter(batches), most))
    assert [row for piece in pieces for row in piece.to_pylist()] == [str(n) for n in range(sum(sizes))]
    assert all(len(piece) == most for piece in pieces[:-1])
    assert all(0 < len(piece) <= most for piece in pieces)


def test_bodies() -> None:
    rows = pa.array(['{"a":1}', '{"a":"ü"}', '{"a":3}']).slice(1)
    assert json.loads(body_of(rows, lines=False)) == [{"a": "ü"}, {"a": 3}]
    assert body_of(rows, lines=True).decode() == '{"a":"ü"}\n{"a":3}\n'


@pytest.fixture
def slept() -> list[float]:
    return []


def test_what_may_help_is_tried_again(slept: list[float]) -> None:
    with receiver({503: 0.5, "close": 0.2}, seed=11) as to:
        posts = replace(POSTS, url=to.url, tries=50, sleep=slept.append)
        with posts.connected(random.Random(3)) as post:
            for n in range(20):
                post(json.dumps([{"n": n}]).encode(), f"key-{n}")
    assert sorted(row["n"] for row in to.rows) == list(range(20))
    assert len(slept) == to.failed > 10
    headers, _ = to.requests[0]
    assert (headers["Authorization"], headers["X-Team"], headers["Idempotency-Key"]) == ("Bearer hunter2", "ads", "key-0")


def test_over_tls_only_a_server_that_is_vouched_for_gets_rows(tmp_path: Path, slept: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    made = certificates(tmp_path / "made", "127.0.0.1")
    with receiver(made=made) as to:
        posts = replace(POSTS, url=to.url, tries=2, sleep=slept.append)
        with posts.connected(random.Random(3)) as post, pytest.raises(TroubleError, match="certificate") as error:
            post(b"[]", "key")
        assert "hidden" not in error.value.trouble.text
        assert not to.requests
        monkeypatch.setenv("SSL_CERT_FILE", str(made.text("authority")))
        with posts.connected(random.Random(3)) as post:
            post(b'[{"n": 1}]', "key")
    assert to.rows == [{"n": 1}]


def test_an_answer_without_end_is_not_waited_for(slept: list[float]) -> None:
    began = time.monotonic()
    posts = replace(POSTS, timeout_s=0.5, sleep=slept.append)
    with receiver(drips=True) as to, replace(posts, url=to.url).connected(random.Random(3)) as post:
        for n in range(2):
            post(json.dumps([{"n": n}]).encode(), f"key-{n}")
    assert [row["n"] for row in to.rows] == [0, 1]
    # Without a bound each took 50 s, for 1,000 bytes.
    assert time.monotonic() - began < 25


@pytest.mark.parametrize(("status", "kind", "tries"), [
    (400, "refused", 1), (422, "refused", 1), (401, "failed", 1), (404, "failed", 1), (302, "failed", 1), (429, "unreachable", 4), (500, "unreachable", 4),
])
def test_answers(slept: list[float], status: int, kind: str, tries: int) -> None:
    with receiver({status: 1.0}) as to:
        posts = replace(POSTS, url=to.url, sleep=slept.append)
        with posts.connected(random.Random(3)) as post, pytest.raises(TroubleError) as error:
            post(b"[]", "key")
    assert error.value.trouble.kind == kind
    assert str(status) in error.value.trouble.text
    assert len(to.requests) == tries == len(slept) + 1
    assert "hidden" not in error.value.trouble.text
    for before, after in pairwise(slept):
        assert after > before / 2


def test_nobody_listens(slept: list[float]) -> None:
    with receiver() as gone:
        pass
    posts = replace(POSTS, url=gone.url, sleep=slept.append)
    with pytest.raises(TroubleError) as error:
        reached(posts)
    assert error.value.trouble.text == f"http://127.0.0.1:{gone.port}: connection refused"
    with posts.connected(random.Random(3)) as post, pytest.raises(TroubleError):
        post(b"[]", "key")
    assert len(slept) == 3
    assert "hunter2" not in repr(posts)
    assert "hidden" not in repr(posts)


@pytest.mark.parametrize(("text", "pairs"), [
    ("", ()),
    ("X-Team: ads; X-Env: a:b;", (("X-Team", "ads"), ("X-Env", "a:b"))),
    ("X Team: ads", None),
    ("X-Team", None),
    ("X-Team: a\r\nHost: evil", None),
    ("X-Team: ü", None),
])
def test_headers(text: str, pairs: object) -> None:
    assert headers_of(text) == pairs


@pytest.mark.parametrize("url", ["http://a", "https://a.b:8443/c?d=e", "HTTPS://A/b", "http://[::1]:80/"])
def test_addresses(url: str) -> None:
    assert is_web_address(url)


@pytest.mark.parametrize("url", ["", "a.b/c", "ftp://a", "http://", "https:///x", "http://a:99999", "http://a/b c", "http://a/\r\nX: y", "http://ü.de", "file:///etc/passwd"])
def test_no_addresses(url: str) -> None:
    assert not is_web_address(url)
