"""Brokers that cannot be reached are told before anything starts."""

from __future__ import annotations

import socket

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, SinkSpec
from streamq.runtime.kafka_servers import unreachable


def query(servers: str, sink: str = "") -> PhysicalQuery:
    scan = ScanStream("s", "kafka", (), (("bootstrap_servers", servers),), id="s.scan")
    target = SinkSpec("out", "kafka", (("bootstrap_servers", sink),)) if sink else SinkSpec(None, "console")
    return PhysicalQuery("q", scan, "append", target, ())


def test_one_broker_of_several_is_enough() -> None:
    with socket.socket() as here, socket.socket() as nobody:
        here.bind(("127.0.0.1", 0))
        here.listen()
        nobody.bind(("127.0.0.1", 0))
        port, closed = here.getsockname()[1], nobody.getsockname()[1]
        assert unreachable([query(f"127.0.0.1:{closed},127.0.0.1:{port}")]) == ()
        found = unreachable([query(f"127.0.0.1:{closed}", f"127.0.0.1:{port}"), query(f"127.0.0.1:{closed}")])
    assert [d.code for d in found] == ["SQ0808"]
    assert found[0].notes == (f"127.0.0.1:{closed}: connection refused",)


def test_programs_without_kafka_ask_nobody() -> None:
    scan = ScanStream("s", "file", (), (("path", "in"),), id="s.scan")
    assert unreachable([PhysicalQuery("q", scan, "append", SinkSpec(None, "console"), ())]) == ()
