from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from streamq.runtime.edge.at_run import server as server_module
from streamq.runtime.edge.at_run.central import Central
from streamq.runtime.edge.at_run.server import PATH, Server
from streamq.runtime.edge.at_source.http_sender import HttpSender
from streamq.runtime.edge.frames import MOST_MESSAGE, framed
from streamq.runtime.edge.messages import Poll, encoded_poll
from streamq.runtime.edge.transport import Refused, Unreachable
from tests.unit.runtime.edge.support import Clock, Fed, encoded_answer, run, site_of, small_plan
from tests.unit.runtime.edge.test_central import PLAN, answer_to, message, requested, taken

TOKEN = "a-shared-secret"


@pytest.fixture
def central(tmp_path: Path) -> Central:
    return Central.of(tmp_path / "central", {"weather": PLAN})


@pytest.fixture
def server(central: Central) -> Iterator[Server]:
    made = Server(central, TOKEN, timeout_s=5.0)
    made.start()
    yield made
    made.stop()


def talk(server: Server, data: bytes, wait_s: float = 5.0) -> bytes:
    """All that comes back to some bytes, of which the other side may not have taken all before it closes."""
    host, port = server.server_address[:2]
    found = b""
    with socket.create_connection((str(host), int(port)), timeout=wait_s) as connection:
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(data)
        with suppress(OSError):  # it is closed already
            connection.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            while more := connection.recv(65_536):
                found += more
    return found


def test_only_this_machine_by_default(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert server.address.startswith("http://127.0.0.1:")


def test_messages_requests_and_answers(server: Server, central: Central) -> None:
    sender = HttpSender(server.address, TOKEN)
    assert sender.send(message(1)).acknowledged == 1
    assert sender.send(message(1)).acknowledged == 1
    asking = central.desks["weather"].asking
    id_ = asking.ask(b"12345678", "x", pa.record_batch({"k": ["a", "b"]}), np.array([1, 1]))
    (request,) = sender.send(encoded_poll(Poll("weather", b"12345678", 0.0), 1)).requests
    sender.send(encoded_answer(answer_to(request, [1.0, None]), requested(request), 1))
    found = asking.answer(id_)
    assert found is not None
    assert found.values.to_pylist() == [1.0, None]
    assert taken(central) == [1]
    assert central.desks["weather"].repeated == 1


def test_a_wrong_token_is_told_nothing(server: Server, central: Central) -> None:
    for token in ("wrong", TOKEN[:-1], TOKEN + "x"):
        sender = HttpSender(server.address, token)
        with pytest.raises(Refused, match="does not know the token") as caught:
            sender.send(message(1))
        assert token not in str(caught.value)
        assert token not in repr(sender)
    assert taken(central) == []


def test_requests_that_are_none(server: Server, central: Central) -> None:
    auth = f"Authorization: Bearer {TOKEN}\r\n".encode()
    post = b"POST " + PATH.encode() + b" HTTP/1.1\r\n"
    assert b" 401 " in talk(server, post + b"Content-Length: 1\r\n\r\nx")
    assert b" 401 " in talk(server, post + b"Authorization: \xff\xfe\r\n\r\n")
    assert b" 411 " in talk(server, post + auth + b"\r\n")
    assert b" 411 " in talk(server, post + auth + b"Content-Length: -1\r\n\r\n")
    assert b" 411 " in talk(server, post + auth + b"Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert b" 413 " in talk(server, post + auth + f"Content-Length: {MOST_MESSAGE + 1}\r\n\r\n".encode())
    assert b" 413 " in talk(server, post + auth + b"Content-Length: " + b"9" * 4000 + b"\r\n\r\n")
    assert b" 400 " in talk(server, post + auth + b"Content-Length: 5\r\n\r\nhello")
    assert b" 404 " in talk(server, b"POST /other HTTP/1.1\r\n" + auth + b"Content-Length: 1\r\n\r\nx")
    assert b" 501 " in talk(server, b"GET / HTTP/1.1\r\n\r\n")
    assert b"200" not in talk(server, b"\x16\x03\x01\x02\x00" * 50)
    assert talk(server, post + auth + b"Content-Length: 100\r\n\r\ntoo short") == b""
    talk(server, post + b"X: " + b"y" * 100_000 + b"\r\n\r\n")
    talk(server, post + b"".join(b"X%d: y\r\n" % i for i in range(500)) + b"\r\n")
    # It still works.
    assert HttpSender(server.address, TOKEN).send(message(1)).acknowledged == 1
    assert taken(central) == [1]


def test_who_is_slow_is_cut_off(central: Central) -> None:
    server = Server(central, TOKEN, timeout_s=0.2)
    server.start()
    try:
        host, port = server.server_address[:2]
        with socket.create_connection((str(host), int(port)), timeout=5) as slow:
            started = time.monotonic()
            # A byte now and then, for ever, if it were by the byte that time is taken.
            stop = threading.Event()

            def drip() -> None:
                try:
                    while not stop.wait(0.05):
                        slow.sendall(b"P")
                except OSError:
                    return

            thread = threading.Thread(target=drip)
            thread.start()
            try:
                assert slow.recv(100) == b""
            except ConnectionResetError:
                pass
            finally:
                stop.set()
                thread.join()
            assert time.monotonic() - started < 4
    finally:
        server.stop()


def test_who_is_told_nothing_and_is_slow_is_cut_off(central: Central, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "LEAVE_S", 0.3)
    server = Server(central, TOKEN, at_once=1)
    server.start()
    try:
        host, port = server.server_address[:2]
        with socket.create_connection((str(host), int(port)), timeout=5) as slow:
            slow.sendall(b"POST / HTTP/1.1\r\nContent-Length: 1000\r\n\r\n")
            cut_off = False
            for _ in range(40):
                time.sleep(0.05)
                try:
                    slow.sendall(b".")
                except OSError:
                    cut_off = True
                    break
            assert cut_off
            assert HttpSender(server.address, TOKEN).send(message(1)).acknowledged == 1
    finally:
        server.stop()


def test_only_so_many_at_once(central: Central) -> None:
    server = Server(central, TOKEN, at_once=1)
    server.start()
    try:
        host, port = server.server_address[:2]
        with socket.create_connection((str(host), int(port)), timeout=5) as first:
            first.sendall(b"POST ")
            deadline = time.monotonic() + 5
            refused = False
            while not refused and time.monotonic() < deadline:
                try:
                    HttpSender(server.address, TOKEN).send(message(1))
                except Unreachable:
                    refused = True
            assert refused
    finally:
        server.stop()


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match=r"cannot be reached \(ConnectionRefusedError\)"):
        HttpSender(f"http://127.0.0.1:{port}", TOKEN).send(message(1))


def test_what_is_refused_says_why(server: Server) -> None:
    with pytest.raises(Refused, match="other columns"):
        HttpSender(server.address, TOKEN).send(message(1, plan=small_plan(columns={"k": "string", "x": "float", "y": "double"})))


@pytest.mark.parametrize(
    ("address", "token"),
    [
        ("ftp://x", "t"), ("x:80", "t"), ("http://user:secret@x", "t"), ("http://x/path", "t"), ("http://x", ""),
        ("http://x", "a\r\nHost: y"), ("http://x", "ä"),
    ],
)
def test_addresses_and_tokens_that_are_none(address: str, token: str) -> None:
    with pytest.raises(ValueError, match=r"^(the central side is at|edges and the central side share)") as caught:
        HttpSender(address, token)
    assert "secret" not in str(caught.value)


def test_a_server_without_a_token(central: Central) -> None:
    with pytest.raises(ValueError, match="share a token"):
        Server(central, "")


def test_an_edge_sends_over_http(server: Server, central: Central, tmp_path: Path) -> None:
    clock = Clock()
    lines = b"".join(b'{"k": "%s", "x": %d, "y": 1}\n' % (b"ab"[i % 2 : i % 2 + 1], i) for i in range(20))
    site = site_of(PLAN, Fed(clock, [(0.0, lines)]), tmp_path / "store", HttpSender(server.address, TOKEN), clock)
    run(site, clock, lambda: site.done)
    rows = [row for m in central.desks["weather"].inbox.pending() for row in m.rows.to_pylist()]
    assert len(rows) == 20


def test_nothing_secret_is_said(server: Server, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused):
        HttpSender(server.address, "another-secret").send(message(1))
    connection = http.client.HTTPConnection(*map(str, server.server_address[:2]), timeout=5)
    connection.request("GET", "/?token=secret")
    assert b"secret" not in connection.getresponse().read()
    connection.close()
    out, err = capfd.readouterr()
    assert out + err == ""
    assert framed(message(1)).revision == 1
