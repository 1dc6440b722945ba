"""Which errors pass by themselves, which the rows are at fault for; and that none of them tells a secret."""

from __future__ import annotations

import random
import threading
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, SinkSpec
from streamq.dsl.diagnostics import Abort
from streamq.runtime.sink_errors import SinkFailed, SinkRefused, SinkUnreachable
from streamq.runtime.spark.writers.base import (
    Target,
    Trouble,
    TroubleError,
    failure,
    is_there,
    patiently,
    pauses,
    told,
)
from streamq.runtime.spark.writers.postgres_client import Address, address, trouble_of
from streamq.runtime.spark.writers.run_id import FILE_NAME, before, begin_run, begun, run_of

TO = Address("postgresql://me:hunter2@db/x", ("hunter2",))


class Said(Exception):
    """An error as ADBC has them."""

    def __init__(self, text: str, state: str | None = None, primary: str = "") -> None:
        super().__init__(text)
        self.sqlstate = state
        self.details = [("PG_DIAG_MESSAGE_PRIMARY", primary.encode())] if primary else []


def target(directory: Path = Path()) -> Target:
    scan = ScanStream(id="s", stream="s", connector="memory", schema=(("n", "BIGINT"),), options=())
    return Target(PhysicalQuery("q", scan, "append", SinkSpec("out", "postgres", (("patience", 1500),)), (("n", "BIGINT"),)), directory, "")


@pytest.mark.parametrize(("error", "kind", "text"), [
    (Said('IO: [libpq] Failed to connect: connection to server at "h", port 1 failed: Connection refused\n\tIs the server running?\n'), "unreachable",
     'connection to server at "h", port 1 failed: Connection refused'),
    (Said('IO: [libpq] Failed to connect: could not translate host name "h" to address: Name or service not known\n'), "unreachable",
     'could not translate host name "h" to address: Name or service not known'),
    (Said('IO: [libpq] Failed to connect: connection to server at "h", port 1 failed: FATAL:  the database system is starting up\n'), "unreachable",
     'connection to server at "h", port 1 failed: FATAL:  the database system is starting up'),
    (Said('IO: [libpq] Failed to connect: connection to server at "h", port 1 failed: FATAL:  no more connections allowed (max_client_conn)\n'), "unreachable",
     'connection to server at "h", port 1 failed: FATAL:  no more connections allowed (max_client_conn)'),
    (Said('IO: [libpq] Failed to connect: connection to server at "h", port 1 failed: FATAL:  password authentication failed for user "me"\n'), "failed",
     'connection to server at "h", port 1 failed: FATAL:  password authentication failed for user "me"'),
    (Said('IO: [libpq] Failed to connect: invalid percent-encoded token: "hunter2%"\n'), "failed", 'invalid percent-encoded token: "***%"'),
    (Said("IO: Failed to prepare query: FATAL:  terminating connection due to administrator command\nQuery was: SELECT 'hunter2'"), "unreachable",
     "terminating connection due to administrator command"),
    (Said("INTEGRITY: ERROR: x\nDETAIL:  Key (id)=(5) already exists.", "23505", 'duplicate key value violates unique constraint "t"'), "refused",
     'duplicate key value violates unique constraint "t"'),
    (Said("…", "22021", "invalid byte sequence"), "refused", "invalid byte sequence"),
    (Said("…", "42501", "permission denied for table t"), "failed", "permission denied for table t"),
    (Said("…", "40P01", "deadlock detected"), "unreachable", "deadlock detected"),
    (Said("…", "57P01", "terminating connection"), "unreachable", "terminating connection"),
    (Said("…", "57014", "canceling statement due to statement timeout"), "unreachable", "canceling statement due to statement timeout"),
    (Said("…", "25006", "cannot execute INSERT in a read-only transaction"), "unreachable", "cannot execute INSERT in a read-only transaction"),
    (Said("…", "25P03", "terminating connection"), "unreachable", "terminating connection"),
    (Said("…", "25P02", "current transaction is aborted"), "failed", "current transaction is aborted"),
    (Said("…", "53300", "too many connections for postgresql://me:hunter2@db/x"), "unreachable", "too many connections for postgresql://***@db/x"),
], ids=lambda value: value if isinstance(value, str) and " " not in value else "")
def test_what_errors_mean(error: Any, kind: str, text: str) -> None:
    assert trouble_of(error, TO) == Trouble(kind, text)


def test_classes_of_failures() -> None:
    with pytest.raises(SinkUnreachable) as unreachable, told(target(), "the server"):
        raise TroubleError(Trouble("unreachable", "nobody there"))
    assert (unreachable.value.diagnostic.code, unreachable.value.query, unreachable.value.diagnostic.notes) == ("SQ0808", "q", ("nobody there",))
    refused, failed = failure(target(), "the server", Trouble("refused", "x")), failure(target(), "the server", Trouble("failed", "x"))
    assert (type(refused), refused.diagnostic.code) == (SinkRefused, "SQ0806")
    assert (type(failed), failed.message) == (SinkFailed, "sink `out` cannot be written: x")
    assert isinstance(failed, Abort)
    with pytest.raises(AttributeError):
        failed.query = "other"  # type: ignore[misc]


def test_micro_batches_that_are_there() -> None:
    assert is_there(4, 4, target())
    assert not is_there(5, 4, target())
    for number, said in ((3, "ahead of"), (6, "behind")):
        with pytest.raises(SinkFailed, match=said):
            is_there(number, 4, target())


@given(st.text(min_size=1), st.text(min_size=1), st.text(min_size=1))
def test_addresses_hold_any_name_and_password(user: str, password: str, database: str) -> None:
    from urllib.parse import unquote, urlsplit

    try:
        (user + password + database).encode()
    except UnicodeEncodeError:
        return
    to = address({"host": "db.example.org", "user": user, "password": password, "database": database}, 5)
    parts = urlsplit(to.uri)
    assert (unquote(parts.username or ""), unquote(parts.password or ""), unquote(parts.path[1:])) == (user, password, database)
    assert (parts.hostname, parts.port) == ("db.example.org", 5432)
    assert repr(to) == "Address()"


def test_address_in_one() -> None:
    to = address({"uri": "postgresql://me:hunter2@db/x?sslmode=require&connect_timeout=9"}, 5)
    assert "connect_timeout=9" in to.uri
    assert "connect_timeout=5" not in to.uri
    assert "hunter2" in to.secrets


def test_pauses_grow_and_differ() -> None:
    first, second = (list(islice(pauses(1.0, random.Random(seed)), 10)) for seed in (1, 2))
    assert first != second
    for n, pause in enumerate(first):
        assert min(2**n, 60) / 2 <= pause <= min(2**n, 60)


def test_patience_ends() -> None:
    tried: list[str] = []

    def attempt(kind: str) -> str:
        tried.append(kind)
        raise TroubleError(Trouble(kind, "no"))

    with pytest.raises(TroubleError):
        patiently(lambda: attempt("unreachable"), 0.0, threading.Event())
    with pytest.raises(TroubleError):
        patiently(lambda: attempt("failed"), 60.0, threading.Event())
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(TroubleError):
        patiently(lambda: attempt("stopped"), 60.0, stopping)
    assert tried == ["unreachable", "failed", "stopped"]


def test_run_has_one_id(tmp_path: Path) -> None:
    assert run_of(tmp_path) is None
    made = begin_run(tmp_path)
    assert begin_run(tmp_path) == made == run_of(tmp_path)
    assert begin_run(tmp_path / "other") != made
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [FILE_NAME]
    assert (before(tmp_path), begun(tmp_path)) == (-1, -1)
    for log, last in (("offsets", 3), ("commits", 2)):
        (tmp_path / log).mkdir()
        (tmp_path / log / str(last)).touch()
    assert (before(tmp_path), begun(tmp_path)) == (2, 3)
