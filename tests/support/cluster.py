"""A standalone Spark cluster on this machine: a master and workers of one core and 1 GB, whose processes can be killed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyspark

from streamq.runtime.spark.java import find_java

LOOPBACK = "127.0.0.1"
DEADLINE_S = 180.0
_POLL_S = 0.05
_MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"


@dataclass(slots=True)
class Daemon:
    """A process of the cluster and the file that it logs to."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self, pattern: str | re.Pattern[str]) -> re.Match[str] | None:
        return re.search(pattern, self.log.read_text("utf-8", "replace")) if self.log.is_file() else None

    def wait_for(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """The first match in the log; fails where the process ends before, or at the deadline."""
        found: list[re.Match[str]] = []

        def there() -> bool:
            assert self.process.poll() is None, self.log.read_text("utf-8", "replace")[-2000:]
            match = self.said(pattern)
            found.extend([match] if match else [])
            return bool(found)

        wait_until(there, f"`{pattern}` in {self.log}")
        return found[0]

    def kill(self) -> None:
        """Ends the process as a crash does, and waits until it is gone."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@dataclass(slots=True)
class Cluster:
    """``with Cluster(folder, workers=2) as cluster:`` programs run on ``cluster.master``.

    Nothing of it is importable on the executors but what they are sent. ``cluster.kill_worker(0)`` and
    ``cluster.kill_executor(0)`` are kill -9; a killed worker takes its executors with it. ``cluster.start_worker()`` adds one.
    """

    folder: Path
    workers: int = 2
    master: str = ""
    running: list[Daemon] = field(default_factory=list)
    _master: Daemon | None = None
    _started: int = 0

    def __enter__(self) -> Cluster:
        try:
            self.start_master()
            for _ in range(self.workers):
                self.start_worker(wait=False)
            for worker in self.running:
                worker.wait_for(_REGISTERED)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start_master(self) -> None:
        """Starts the master on a free port."""
        arguments = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        self._master = self._start("master", "org.apache.spark.deploy.master.Master", arguments)
        self.master = self._master.wait_for(_MASTER_URL)[1]

    def start_worker(self, *, wait: bool = True) -> Daemon:
        """One more worker; ``wait``: until the master knows it."""
        self._started += 1
        name = f"worker-{self._started}"
        arguments = (
            "--host", LOOPBACK, "--port", "0", "--webui-port", "0", "--cores", "1", "--memory", "1g",
            "--work-dir", str(self.folder / name), self.master,
        )
        worker = self._start(name, "org.apache.spark.deploy.worker.Worker", arguments)
        self.running.append(worker)
        if wait:
            worker.wait_for(_REGISTERED)
        return worker

    def executors(self, worker: int) -> list[int]:
        """The process ids of the executors of a running worker."""
        pid = self.running[worker].pid
        listed = Path(f"/proc/{pid}/task")
        below = [int(child) for task in listed.iterdir() for child in (task / "children").read_text().split()]
        return [child for child in below if b"CoarseGrainedExecutorBackend" in _command_line(child)]

    def kill_executor(self, worker: int) -> int:
        """kill -9 of an executor of a worker, when there is one; its process id. The worker starts another."""
        wait_until(lambda: bool(self.executors(worker)), "an executor")
        pid = self.executors(worker)[0]
        os.kill(pid, signal.SIGKILL)
        return pid

    def kill_worker(self, worker: int) -> None:
        """kill -9 of a worker and of its executors, as when a machine goes down."""
        daemon = self.running.pop(worker)
        below = _below(daemon.pid)
        daemon.kill()
        for pid in below:
            _kill(pid)

    def stop(self) -> None:
        """Ends all that was started here."""
        while self.running:
            self.kill_worker(0)
        if self._master is not None:
            self._master.kill()
            self._master = None

    def _start(self, name: str, main_class: str, arguments: tuple[str, ...]) -> Daemon:
        self.folder.mkdir(parents=True, exist_ok=True)
        package = Path(pyspark.__file__).parent
        unset = ("PYTHONPATH", "PYSPARK_PYTHON", "SPARK_CONF_DIR", "SPARK_MASTER_HOST")
        environment = {key: value for key, value in os.environ.items() if key not in unset} | {
            "SPARK_HOME": str(package), "JAVA_HOME": str(find_java().home), "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m", "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        }
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(package / "bin" / "spark-class"), main_class, *arguments], cwd=self.folder,
                env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            )
        return Daemon(process, log)


def wait_until(condition: Callable[[], bool], what: str, deadline_s: float = DEADLINE_S) -> None:
    """Looks every few milliseconds, up to the deadline."""
    deadline = time.monotonic() + deadline_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen in {deadline_s} s"
        pause.wait(_POLL_S)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _below(pid: int) -> list[int]:
    """All processes below one, the nearest first."""
    found = []
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(c) for task in tasks for c in (task / "children").read_text().split()]
    except OSError:
        return []
    for child in children:
        found += [child, *_below(child)]
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
