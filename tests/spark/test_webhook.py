"""The webhook sink against a server of the test that fails at random."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamq.runtime.spark.writers.webhook import WebhookWriter
from tests.support.postgres import free_port
from tests.support.sink_runs import SinkRuns, rows
from tests.support.webhook import Receiver, receiver


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> SinkRuns:
    return SinkRuns(spark, tmp_path)


INSERT = "INSERT INTO web SELECT k, n, ts FROM numbers;"


def sink(to: Receiver, **options: object) -> str:
    given = {"url": to.url, "backoff": "1 ms", **options}
    shown = ", ".join(f"{key} = '{value}'" for key, value in given.items())
    return f"CREATE SINK web WITH (connector = 'webhook', {shown});\n"


def numbers(to: Receiver) -> list[int]:
    return sorted(row["n"] for row in to.rows)


def test_rows_come_as_json(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "hunter2")
    runs.add({"k": 'ü "x"', "n": None, "ts": "2024-01-01T00:00:01Z"}, *rows(*range(1201)))
    with receiver() as to:
        report = runs.done(sink(to, token="env:HOOK_TOKEN", headers="X-Team: ads; X-Env: test") + INSERT)
    assert {"k": 'ü "x"', "n": None, "ts": "2024-01-01T00:00:01.000000Z"} in to.rows
    assert sorted(row["n"] for row in to.rows if row["n"] is not None) == list(range(1201))
    assert report.totals[0].rows_out == 1202
    headers, body = to.requests[0]
    assert headers["Content-Type"] == "application/json"
    assert (headers["X-Team"], headers["X-Env"], headers["Authorization"]) == ("ads", "test", "Bearer hunter2")
    assert len(json.loads(body)) == 500
    assert "hunter2" not in repr(report)


def test_lines(runs: SinkRuns) -> None:
    runs.add(*rows(1, 2, 3))
    with receiver() as to:
        runs.done(sink(to, format="lines", rows_per_request=2) + INSERT)
    assert [len(body.splitlines()) for _, body in to.requests] == [2, 1]
    assert to.requests[0][0]["Content-Type"] == "application/x-ndjson"
    assert numbers(to) == [1, 2, 3]


def test_server_that_fails_at_random(runs: SinkRuns) -> None:
    runs.add(*rows(*range(300)))
    runs.add(*rows(*range(300, 500)))
    with receiver({503: 0.2, 429: 0.1, "close": 0.2}, seed=5) as to:
        runs.done(sink(to, tries=100, rows_per_request=10) + INSERT)
    assert to.failed > 10
    assert numbers(to) == list(range(500))


def test_repeated_micro_batch_has_the_keys_that_it_had(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.add(*rows(*range(50)))
    runs.add(*rows(*range(50, 60)))
    real = WebhookWriter.write

    def failing(self: WebhookWriter, *args: Any) -> None:
        real(self, *args)
        raise ValueError("after it was sent")

    with receiver() as to:
        with monkeypatch.context() as patch:
            patch.setattr(WebhookWriter, "write", failing)
            assert runs.refused(sink(to, rows_per_request=7) + INSERT)[0] == "SQ0801"
        first = len(to.requests)
        runs.done(sink(to, rows_per_request=7) + INSERT)
        assert first == 8
        assert len(to.requests) == 8 + 8 + 2
        assert numbers(to) == list(range(60))
        # Another run begins anew, and its requests are no repetitions.
        runs.done(sink(to, rows_per_request=7) + INSERT, "another")
        assert len(to.once) == 2 * 10


@pytest.mark.parametrize(("status", "code", "said"), [
    (422, "SQ0806", "the server refuses rows of query `into_web`"),
    (401, "SQ0806", "answers 401 Unauthorized: see to `token`"),
    (301, "SQ0806", "answers 301 Moved Permanently: see to `url`"),
    (500, "SQ0808", "answers 500 Internal Server Error"),
])
def test_what_is_said_of_an_answer(runs: SinkRuns, status: int, code: str, said: str) -> None:
    runs.add(*rows(1))
    with receiver({status: 1.0}) as to:
        found, text = runs.refused(sink(to, tries=3) + INSERT)
    assert (found, said in text) == (code, True), text
    assert len(to.requests) == (3 if status == 500 else 1)
    assert "hidden" not in text


def test_nobody_listens(runs: SinkRuns) -> None:
    runs.add(*rows(1))
    code, text = runs.refused(sink(Receiver(free_port())) + INSERT)
    assert (code, "connection refused" in text) == ("SQ0808", True)
    assert "hidden" not in text


def test_address_that_is_a_secret(runs: SinkRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.add(*rows(1))
    with receiver() as to:
        monkeypatch.setenv("HOOK", to.url)
        runs.done("CREATE SINK web WITH (connector = 'webhook', url = 'env:HOOK');" + INSERT)
        assert numbers(to) == [1]
    monkeypatch.setenv("HOOK", "ftp://hidden")
    code, text = runs.refused("CREATE SINK web WITH (connector = 'webhook', url = 'env:HOOK');" + INSERT)
    assert (code, "hidden" in text) == ("SQ0703", False)
