"""A Kafka broker of one node for tests, in a process of its own: started, stopped, killed, started again where it was."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.certificates import PASSWORD as STORE_PASSWORD
from tests.support.certificates import Certificates

HOST = "127.0.0.1"
STARTS_IN_S = 90.0

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{quorum}
listeners=CLIENTS://{host}:{port},CONTROLLER://{host}:{quorum}
advertised.listeners=CLIENTS://{host}:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=CLIENTS
listener.security.protocol.map=CONTROLLER:PLAINTEXT,CLIENTS:{protocol}
log.dirs={data}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
# Records of tests may be old by their time; by itself a broker removes those within seconds.
log.retention.ms=-1
group.initial.rebalance.delay.ms=0
num.partitions=1
"""


@dataclass(slots=True)
class Broker:
    """``jars``: a folder with what the broker is made of. ``folder``: its data and its log. ``user``, ``password``: who
    may ask, by SASL PLAIN; anybody where they are empty. ``certificates``: of the broker and of those who may ask, over TLS.
    """

    jars: Path
    folder: Path
    java: str = "java"
    user: str = ""
    password: str = ""
    certificates: Certificates | None = None
    port: int = field(default_factory=lambda: free_port())
    quorum: int = field(default_factory=lambda: free_port())
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def start(self, deadline_s: float = STARTS_IN_S) -> Broker:
        """Starts it, with the data that it has, and waits until it answers. Raises RuntimeError where it does not."""
        self.folder.mkdir(parents=True, exist_ok=True)
        properties = self.folder / "server.properties"
        properties.write_text(self._properties())
        if not (self.data / "meta.properties").exists():
            # Its first byte is 0, as an id that begins with a dash is taken for an option.
            cluster = urlsafe_b64encode(b"\0" + uuid.uuid4().bytes[1:]).decode().rstrip("=")
            self._java(["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)])
        with (self.folder / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.java, "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{self.jars}/*",
                 "kafka.Kafka", str(properties)],
                stdout=log, stderr=log, cwd=self.folder, start_new_session=True,
            )
        ends = time.monotonic() + deadline_s
        while time.monotonic() < ends:
            if self._process.poll() is not None:
                break
            if self._answers():
                return self
            time.sleep(0.1)
        self.kill()
        raise RuntimeError(f"the broker did not start:\n{self._last_lines()}")

    def stop(self) -> None:
        """Lets it end by itself."""
        self._end(signal.SIGTERM, 30.0)

    def kill(self) -> None:
        """Ends it as a crash would."""
        self._end(signal.SIGKILL, 10.0)

    def _end(self, number: int, patience_s: float) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(number)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(10)

    def _answers(self) -> bool:
        """Whether a client is told of the broker, which comes some time after it takes connections."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        with suppress(OSError, KafkaException), socket.create_connection((HOST, self.port), 0.2):
            return bool(AdminClient(self.client()).list_topics(timeout=2).brokers)
        return False

    def client(self) -> dict[str, str | int]:
        """What clients of ``confluent_kafka`` need to know of it."""
        found: dict[str, str | int] = {"bootstrap.servers": self.address, "log_level": 0}
        if self.user:
            found |= {"sasl.mechanism": "PLAIN", "sasl.username": self.user, "sasl.password": self.password}
        if self.certificates is not None:
            client = str(self.certificates.text("client"))
            found |= {
                "ssl.ca.location": str(self.certificates.text("authority")),
                "ssl.certificate.location": client, "ssl.key.location": client,
            }
        return found | {"security.protocol": self.protocol}

    @property
    def protocol(self) -> str:
        over = "PLAINTEXT" if self.certificates is None else "SSL"
        return f"SASL_{over}" if self.user else over

    def _properties(self) -> str:
        text = _PROPERTIES.format(
            host=HOST, port=self.port, quorum=self.quorum, data=self.data,
            protocol=self.protocol,
        )
        if self.user:
            escaped = self.password.replace("\\", "\\\\").replace('"', '\\"')
            jaas = (
                "org.apache.kafka.common.security.plain.PlainLoginModule required "
                f'username="{self.user}" password="{escaped}" user_{self.user}="{escaped}";'
            ).replace("\\", "\\\\")
            text += (
                "sasl.enabled.mechanisms=PLAIN\nsasl.mechanism.inter.broker.protocol=PLAIN\n"
                f"listener.name.clients.plain.sasl.jaas.config={jaas}\n"
            )
        if self.certificates is not None:
            stored = STORE_PASSWORD.replace("\\", "\\\\")
            text += (
                f"ssl.keystore.location={self.certificates.store('server')}\nssl.keystore.password={stored}\n"
                f"ssl.key.password={stored}\nssl.truststore.location={self.certificates.trusted}\n"
                f"ssl.truststore.password={stored}\nssl.client.auth=required\n"
            )
        return text

    def _java(self, arguments: list[str]) -> None:
        command = [self.java, "-cp", f"{self.jars}/*", *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, timeout=120)

    def _last_lines(self) -> str:
        with suppress(OSError):
            return "\n".join((self.folder / "broker.log").read_text(errors="replace").splitlines()[-20:])
        return ""


@contextmanager
def running(jars: Path, folder: Path, **given: Any) -> Iterator[Broker]:
    """A broker that ends, with its data, with the block."""
    broker = Broker(jars, folder, **given)
    try:
        yield broker.start()
    finally:
        broker.kill()
        shutil.rmtree(folder, ignore_errors=True)


def create_topics(broker: Broker, topics: Mapping[str, int]) -> None:
    """Topics with so many partitions each."""
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient(broker.client())
    for future in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
        future.result(30)


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port
