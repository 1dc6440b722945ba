"""Talks to PostgreSQL through Arrow (ADBC), and says what it says without secrets and without data of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa

from streamq.runtime.spark.writers.base import Trouble, TroubleError
from streamq.stdlib.secrets import HIDDEN, redacted

PACKAGE = "adbc-driver-postgresql"

_LATER = ("08", "40", "53", "57", "55P", "58", "25006", "25P03", "25P04")
"""SQLSTATEs that pass by themselves: connections, deadlocks, resources, restarts and statements that were cancelled, locks,
the system; a server that takes no writes, as a standby does, and transactions that it ended as they took long."""

_ROWS = ("22", "23", "44", "54", "P0")
"""SQLSTATEs that rows are at fault for: values, constraints, checks of views, sizes, triggers."""

_CONNECTING = "Failed to connect"
_STARTING = re.compile(
    r"starting up|shutting down|too many (clients|connections)|remaining connection slots|recovery|not (yet )?accepting"
    # A pooler before the server says it in words of its own.
    r"|no more connections allowed|server login (has been )?failing|server_login_retry|query_wait_timeout"
)
_LOST = re.compile(
    r"terminating connection|closed the connection|no connection to the server|could not (send|receive)|connection (has been |was )?(reset|closed|lost)"
    r"|connection not open|timed? ?out|Broken pipe|terminated abnormally",
    re.IGNORECASE,
)
_NO_ANSWER = re.compile(r"connection to server|could not (translate|connect)|timeout expired|timed out", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:[A-Z_]+: )?(?:\[libpq\] )?(?:Failed to [^:]{1,60}: )?(?:PGRES_\w+ )?(?:could not begin COPY: )?(?:[A-Z]+:\s+)?")
_LONGEST = 300


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is and who writes. ``uri`` and ``secrets`` are never shown: no ``repr`` has them."""

    uri: str = field(repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


def address(parts: dict[str, str], connect_timeout_s: int) -> Address:
    """The address for the options that a sink has, with its secrets in the clear."""
    settings = {
        "connect_timeout": str(connect_timeout_s), "application_name": "streamq",
        "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3", "tcp_user_timeout": "30000",
    }
    if "uri" in parts:
        uri = parts["uri"]
        given = uri.partition("?")[2]
        more = {key: value for key, value in settings.items() if f"{key}=" not in given}
        return Address(f"{uri}{'&' if given else '?'}{urlencode(more)}", (uri, *_password(uri)))
    if "sslmode" in parts:
        settings["sslmode"] = parts["sslmode"]
    who = quote(parts["user"], safe="") if "user" in parts else ""
    password = parts.get("password", "")
    who += f":{quote(password, safe='')}" if password else ""
    host = quote(parts.get("host", "localhost"), safe="")
    at = f"{who}@" if who else ""
    uri = f"postgresql://{at}{host}:{parts.get('port', '5432')}/{quote(parts['database'], safe='')}"
    return Address(f"{uri}?{urlencode(settings)}", (password, quote(password, safe="")) if password else ())


def _password(uri: str) -> tuple[str, ...]:
    found = re.search(r"//[^/@]*:([^/@]+)@", uri)
    return (found[1],) if found is not None else ()


def is_there() -> bool:
    """True where the package is installed that this module talks through."""
    from importlib.util import find_spec

    return find_spec("adbc_driver_postgresql") is not None


@dataclass(frozen=True, slots=True)
class Connection:
    """An open connection; what happens between two ``commit`` is one transaction."""

    raw: Any
    address: Address

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._told(), self.raw.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def run(self, *statements: str) -> None:
        for sql in statements:
            self.change(sql)

    def change(self, sql: str, *values: object) -> None:
        with self._told(), self.raw.cursor() as cursor:
            cursor.execute(sql, values or None)

    def wait_for_locks(self, seconds: float) -> None:
        """How long statements of this transaction wait for what another one holds; TroubleError after that."""
        self.run(f"SET LOCAL lock_timeout = {max(1, round(seconds * 1000))}")

    def load(self, schema: str, table: str, batches: pa.RecordBatchReader) -> None:
        """Adds rows to a table by COPY."""
        with self._told(), self.raw.cursor() as cursor:
            cursor.adbc_ingest(table, batches, mode="append", db_schema_name=schema)

    def commit(self) -> None:
        with self._told():
            self.raw.commit()

    def rollback(self) -> None:
        with self._told():
            self.raw.rollback()

    @contextmanager
    def _told(self) -> Iterator[None]:
        import adbc_driver_manager

        try:
            yield
        except adbc_driver_manager.Error as error:
            raise TroubleError(trouble_of(error, self.address)) from None


@contextmanager
def connected(to: Address) -> Iterator[Connection]:
    """A connection that is closed at the end; what was not committed is undone. TroubleError where there is none."""
    import adbc_driver_manager
    import adbc_driver_postgresql.dbapi

    try:
        raw = adbc_driver_postgresql.dbapi.connect(to.uri)
    except adbc_driver_manager.Error as error:
        raise TroubleError(trouble_of(error, to)) from None
    try:
        yield Connection(raw, to)
    finally:
        # Of a connection that is lost nothing is left to close.
        with suppress(adbc_driver_manager.Error):
            raw.close()


def trouble_of(error: Any, to: Address) -> Trouble:
    """What an error of ADBC means for whoever wanted to write."""
    said, state = str(error), str(getattr(error, "sqlstate", None) or "")
    details = dict(getattr(error, "details", None) or ())
    primary = details.get(b"PG_DIAG_MESSAGE_PRIMARY", b"") or details.get("PG_DIAG_MESSAGE_PRIMARY", b"")
    text = primary.decode("utf-8", "replace") if isinstance(primary, bytes) else str(primary)
    return Trouble(_kind(said, state), _shown(text or said, to))


def _kind(said: str, state: str) -> str:
    if state:
        if state.startswith(_LATER):
            return "unreachable"
        return "refused" if state.startswith(_ROWS) else "failed"
    if _CONNECTING in said:
        if "FATAL:" in said:
            return "unreachable" if _STARTING.search(said) else "failed"
        return "unreachable" if _NO_ANSWER.search(said) else "failed"
    return "unreachable" if _LOST.search(said) else "failed"


def _shown(text: str, to: Address) -> str:
    """The first line that says something: no hints, no values of rows, no SQL; and no secret."""
    connecting = _CONNECTING in text
    first = next((line for line in text.splitlines() if line.strip()), "no reason was given")
    shown = first[first.index(_CONNECTING) + len(_CONNECTING) + 2:] if connecting and _CONNECTING in first else _PREFIX.sub("", first, count=1)
    for secret in sorted(filter(None, to.secrets), key=len, reverse=True):
        shown = shown.replace(secret, HIDDEN)
    return redacted(shown).strip()[:_LONGEST]
