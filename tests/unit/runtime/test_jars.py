"""Which libraries a run needs, where they come from, and logins that Java reads."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, SinkSpec
from streamq.dsl.diagnostics import Abort
from streamq.runtime.spark.jars import VARIABLE, given_jars, jar_settings, library_missing, needed
from streamq.runtime.spark.kafka import client_properties, jaas

KAFKA = ScanStream("s", "kafka", (), (), id="s.scan")
SINK = SinkSpec("out", "kafka", (("format", "avro"),))
QUERY = PhysicalQuery("q", KAFKA, "append", SINK, ())
PLAIN = PhysicalQuery("p", ScanStream("s", "file", (), (), id="s.scan"), "append", SinkSpec(None, "console"), ())


def test_libraries_are_got_by_the_version_of_spark_where_none_are_given() -> None:
    found = jar_settings([PLAIN, QUERY], (), ())
    version = pyspark.__version__
    assert found["spark.jars.packages"] == (
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version},org.apache.spark:spark-avro_2.13:{version}"
    )
    assert jar_settings([PLAIN], (), ()) == {}
    assert "spark.jars.packages" not in jar_settings([QUERY], (), ("spark.jars",))
    assert jar_settings([QUERY], (Path("/a.jar"), Path("/b.jar")), ())["spark.jars"] == "/a.jar,/b.jar"


def test_jars_are_files_and_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("in/a.jar", "in/b.jar", "in/read.me", "c.jar"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setenv(VARIABLE, str(tmp_path / "c.jar"))
    assert [jar.name for jar in given_jars([tmp_path / "in"])] == ["a.jar", "b.jar", "c.jar"]
    for wrong in (tmp_path / "none", tmp_path):
        (tmp_path / "c.jar").unlink(missing_ok=True)
        monkeypatch.setenv(VARIABLE, "")
        with pytest.raises(Abort, match="no jars") as caught:
            given_jars([wrong])
        assert caught.value.diagnostic.code == "SQ0811"


def test_what_is_missing_is_told_with_a_way_to_get_it() -> None:
    found = library_missing(needed([QUERY]))
    assert found.code == "SQ0811"
    assert found.message == "the library of connector 'kafka' and format 'avro' is not there"
    assert "spark-avro_2.13" in found.help


def test_logins_hold_any_password() -> None:
    text = jaas("PLAIN", "a\"b", 'x\\"; evil="1')
    assert text == (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="a\\"b" password="x\\\\\\"; evil=\\"1";'
    )
    assert "scram.ScramLoginModule" in jaas("SCRAM-SHA-512", "a", "b")


def test_what_the_client_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORE", "hidden")
    (tmp_path / "p.txt").write_text("hush\n")
    found = client_properties({
        "bootstrap_servers": "h:1", "topic": "a", "format": "json", "username": "me", "password": "file:p.txt",
        "sasl_mechanism": "PLAIN", "security_protocol": "SASL_SSL", "truststore_location": "t.jks",
        "truststore_password": "env:STORE", "kafka.client.id": "me", "kafka.x.secret": "env:STORE",
    }, str(tmp_path))
    assert found == {
        "bootstrap.servers": "h:1", "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "client.id": "me",
        "ssl.truststore.location": str(tmp_path / "t.jks"), "ssl.truststore.password": "hidden", "x.secret": "hidden",
        "sasl.jaas.config": jaas("PLAIN", "me", "hush"),
    }
