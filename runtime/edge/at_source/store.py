"""What an edge has on disk: its synopsis, messages that are not acknowledged yet, and how far it is.

All that comes of a batch is written in one transaction, and sent only after it: a process that is killed at any moment
goes on with the next batch, and with the messages that wait, and neither loses a row nor sends it in two messages.
One process writes: a second one is refused.
"""

from __future__ import annotations

import io
import json
import secrets
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pyarrow as pa

from streamq.dsl.records import replace
from streamq.runtime.edge.at_source.pipeline import Step
from streamq.runtime.edge.at_source.progress import Progress, cycle_of, shedding_of, small_to_json
from streamq.runtime.edge.at_source.segments import TABLE, Segments
from streamq.runtime.edge.at_source.sifting import part_bytes, sifting_of
from streamq.runtime.edge.at_source.source import position_of
from streamq.runtime.edge.columns import fingerprint
from streamq.runtime.edge.messages import ORIGIN_BYTES
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.plan_file import parsed, to_json
from streamq.stdlib.recovery.intervals import Denominator
from streamq.stdlib.recovery.retaining import Retained, Rule
from streamq.stdlib.recovery.stored_state import from_arrays, to_arrays

VERSION = 1
_SAMPLED = "sampled."
"""Before the number of a part of sampled rows, among the names of arrays."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS arrays (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS outbox (seq INTEGER PRIMARY KEY, message BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS rules (attribute TEXT PRIMARY KEY, error_pct REAL NOT NULL, denominator TEXT NOT NULL)",
    TABLE,
)


class BadStore(ValueError):
    """A store that cannot be used: says in a sentence why."""


class Store:
    """The store of the edge of one stream in a file.

    BadStore where the file is something else, is of another stream or version, or is in use.
    """

    def __init__(self, path: Path, plan: EdgePlan) -> None:
        self._types = {field.name: field.type for field in plan.schema}
        self._schema = plan.schema
        self._arrays: dict[str, bytes] = {}
        try:
            self._database = sqlite3.connect(path, timeout=0.2, isolation_level=None)
            try:
                self._open(plan)
            except BaseException:
                self._database.close()
                raise
        except sqlite3.OperationalError as error:
            reason = "is used by another process" if "locked" in str(error) else f"cannot be used: {error}"
            raise BadStore(f"the store {path.name} {reason}") from None
        except sqlite3.DatabaseError:
            raise BadStore(f"{path.name} is no store of an edge") from None
        self.segments = Segments(self._database, self._types)

    def _open(self, plan: EdgePlan) -> None:
        # One writer, which keeps the file to itself; each transaction is on disk before a message of it goes.
        for setting in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute("BEGIN IMMEDIATE")
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version not in (0, VERSION):
            raise BadStore(f"the store has version {version}, and not {VERSION}")
        for table in _TABLES:
            self._database.execute(table)
        self._database.execute(f"PRAGMA user_version = {VERSION}")
        of = plan.stream.encode() + b"\0" + fingerprint(plan.schema)
        if (known := self._note("stream")) is None:
            self._put("stream", of)
            self._put("origin", secrets.token_bytes(ORIGIN_BYTES))
        elif known != of:
            raise BadStore(
                "the store is of another stream, or of one with other columns: give another file with --store, "
                "and mind that its source is then read from the beginning"
            )
        self._database.execute("COMMIT")

    @property
    def origin(self) -> bytes:
        """What tells this store from any other: numbers of messages begin anew with each."""
        return self._note("origin") or b""

    def plan(self, given: EdgePlan) -> EdgePlan:
        """The plan to go by: the one that the central side sent last, unless that which is given is of a later revision.

        It has the errors that were found.
        """
        kept = self._note("plan")
        if kept is None:
            return given
        sent = parsed(kept)
        if sent.cycle != given.cycle:
            # The program was changed since, as an edge alone cannot change it.
            return given
        return given.with_errors_of(sent) if sent.revision <= given.revision else sent.succeeds(given)

    def keep_plan(self, plan: EdgePlan) -> None:
        """Writes down a plan that was sent, or has errors that were found; its token is in no store."""
        self._put("plan", json.dumps(to_json(plan, token=False)).encode())

    def progress(self) -> Progress:
        """How far the edge is. BadStore where that cannot be read."""
        note = self._note("progress")
        if note is None:
            return Progress()
        try:
            found = json.loads(note)
            cycle = cycle_of(found)
            made = Progress(
                position_of(found["position"]), cycle, found["windows"], found["seq"], shedding_of(found),
                since_s=found["since_s"], untold=found["untold"], base=found["base"],
            )
            self._arrays = dict(self._database.execute("SELECT name, value FROM arrays").fetchall())
            parts = {name: value for name, value in self._arrays.items() if name.startswith(_SAMPLED)}
            arrays = {
                name: np.load(io.BytesIO(value), allow_pickle=False) for name, value in self._arrays.items() if name not in parts
            }
            if "sifting" in found:
                numbered = {int(name.removeprefix(_SAMPLED)): value for name, value in parts.items()}
                made = replace(made, sifting=sifting_of(found["sifting"], numbered))
            retained, keys = from_arrays(arrays) if arrays else (Retained(), None)
            carried = pa.ipc.read_record_batch(pa.py_buffer(self._note("carried") or b""), self._schema)
        except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise BadStore("what the store says of its progress cannot be read") from error
        return replace(made, retained=retained, keys=keys, carried=carried)

    def begin_anew(self, progress: Progress) -> Progress:
        """Forgets the cycle, and with it all that is told by its key; goes on with what was read. BadStore as ``commit``.

        Numbers of cycles go on as well: what the central side still knows, or asks for, by old ones means no new row.
        """
        anew = Progress(
            progress.position, windows=progress.windows, seq=progress.seq, carried=progress.carried, since_s=progress.since_s,
            untold=progress.untold, base=max(progress.base, int(progress.retained.cycle_no.max(initial=0))),
        )
        try:
            with self._transaction():
                for table in ("segments", "rules", "arrays"):
                    self._database.execute(f"DELETE FROM {table}")
                self._put_progress(anew)
        except sqlite3.Error as error:
            raise BadStore(f"the store cannot be written: {error}") from None
        self._arrays = {}
        return anew

    def commit(self, step: Step, horizon: int, most: int) -> None:
        """Writes down all that a step made. ``horizon``: a time in ms, before which values may be forgotten; ``most``: bytes.

        BadStore where it cannot be written: then nothing of it is.
        """
        try:
            self._arrays = self._committed(step, horizon, most)
        except sqlite3.Error as error:
            raise BadStore(f"the store cannot be written: {error}") from None

    def _committed(self, step: Step, horizon: int, most: int) -> dict[str, bytes]:
        with self._transaction():
            for attribute, entries in step.entries.items():
                self.segments.append(attribute, entries)
            for attribute, rule in step.rules.items():
                self._widen(attribute, rule)
            seq = step.progress.seq - len(step.messages)
            numbered = ((seq + i, message) for i, message in enumerate(step.messages, 1))
            self._database.executemany("INSERT INTO outbox VALUES (?, ?)", numbered)
            arrays = self._put_progress(step.progress)
            if step.plan is not None:
                self.keep_plan(step.plan)
            self.segments.forget(horizon, most)
        return arrays

    def keep(self, progress: Progress) -> None:
        """Writes down how far the edge is, with the rows that are carried, where no step was made. BadStore as ``commit``."""
        try:
            with self._transaction():
                arrays = self._put_progress(progress)
        except sqlite3.Error as error:
            raise BadStore(f"the store cannot be written: {error}") from None
        self._arrays = arrays

    def waiting(self) -> tuple[int, bytes] | None:
        """The first message that is not acknowledged, with its number."""
        found = self._database.execute("SELECT seq, message FROM outbox ORDER BY seq LIMIT 1").fetchone()
        return None if found is None else (int(found[0]), bytes(found[1]))

    def waiting_bytes(self) -> int:
        """Bytes of all messages that are not acknowledged."""
        (size,) = self._database.execute("SELECT coalesce(sum(length(message)), 0) FROM outbox").fetchone()
        return int(size)

    def acknowledged(self, seq: int) -> None:
        """Messages up to this number have come."""
        self._database.execute("DELETE FROM outbox WHERE seq <= ?", (seq,))

    def rule(self, attribute: str) -> Rule:
        """The widest rule by which values of an attribute were ever left out."""
        found = self._database.execute(
            "SELECT error_pct, denominator FROM rules WHERE attribute = ?", (attribute,)
        ).fetchone()
        if found is None:
            return Rule(0.0)
        denominator: Denominator = "mv" if found[1] == "mv" else "sv"
        return Rule(float(found[0]), denominator)

    def close(self) -> None:
        """Gives the file free."""
        self._database.close()

    def __enter__(self) -> Store:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Closes it."""
        self.close()

    def _put_progress(self, progress: Progress) -> dict[str, bytes]:
        """Writes what changed; gives the arrays that are there after it."""
        self._put("progress", small_to_json(progress).encode())
        if progress.carried is not None:
            self._put("carried", bytes(progress.carried.serialize()))
        if progress.keys is None:
            return self._arrays
        arrays = {name: _saved(array) for name, array in to_arrays(progress.retained, progress.keys).items()}
        arrays |= self._sampled(progress)
        changed = [(name, value) for name, value in arrays.items() if self._arrays.get(name) != value]
        self._database.executemany("INSERT OR REPLACE INTO arrays VALUES (?, ?)", changed)
        gone = [(name,) for name in self._arrays if name not in arrays]
        self._database.executemany("DELETE FROM arrays WHERE name = ?", gone)
        return arrays

    def _sampled(self, progress: Progress) -> dict[str, bytes]:
        """Sampled rows by name: a part stays as it was written when it came."""
        found: dict[str, bytes] = {}
        if (state := progress.sifting) is not None:
            for number, part in enumerate(state.recent, state.parts - len(state.recent)):
                name = f"{_SAMPLED}{number}"
                found[name] = self._arrays.get(name) or part_bytes(part)
        return found

    def _widen(self, attribute: str, rule: Rule) -> None:
        self._database.execute(
            "INSERT INTO rules VALUES (?, ?, ?) ON CONFLICT (attribute) DO UPDATE SET error_pct = excluded.error_pct, "
            "denominator = excluded.denominator WHERE excluded.error_pct > rules.error_pct",
            (attribute, rule.max_rel_error_pct, rule.denominator),
        )

    def _note(self, name: str) -> bytes | None:
        found = self._database.execute("SELECT value FROM notes WHERE name = ?", (name,)).fetchone()
        return None if found is None else bytes(found[0])

    def _put(self, name: str, value: bytes) -> None:
        self._database.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def _transaction(self) -> _Transaction:
        return _Transaction(self._database)


class _Transaction:
    """All of it or nothing."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.database = database

    def __enter__(self) -> None:
        self.database.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.database.execute("COMMIT")
        elif self.database.in_transaction:
            self.database.execute("ROLLBACK")


def _saved(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)
    return file.getvalue()


