"""Requests for shed values on the central side, from when they are made until all of their answer is there.

They are files of the folder of their stream, so that a central run that starts anew still has them. An edge gets open
requests with every reply, as many as fit, and answers each in parts that fit into its messages.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.answers import Answer, Part, decoded_part, part_of, parts_of
from streamq.runtime.edge.at_run.inbox import write_once
from streamq.runtime.edge.frames import BadMessage, Frame, framed
from streamq.runtime.edge.messages import (
    Request,
    decoded_request,
    encoded_request,
    requested_origin,
)
from streamq.runtime.edge.transport import MOST_REPLY, MOST_REQUESTS
from streamq.stdlib.recovery.columns import Ints

_OURS = re.compile(r"\.?[0-9a-f]{16}(-[0-9]+)?\.(request|answered|answer)(\.[0-9]+)?")
"""Files of requests and answers, and of those that a process did not end to write."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Requests to the edges of one stream. ``folder``: that of its inbox; ``schema``: of the stream."""

    folder: Path
    stream: str
    schema: pa.Schema

    def ask(
        self, origin: bytes, attribute: str, keys: pa.RecordBatch, cycle_no: Ints, known: Ints | None = None
    ) -> bytes:
        """Asks the edge with a store for values of an attribute, of keys in cycles, ``[asked]``.

        ``origin``: of the messages that the cycles are of; ``keys``: the columns of the key as messages name them. Any order
        will do; the answer takes the least where rows are by key and cycle. ``known``: see ``Request``; what is known the answer
        leaves out. Gives the number of the request. BadMessage for one that no edge would take; OSError.
        """
        id_ = secrets.token_bytes(8)
        data = encoded_request(Request(id_, origin, self.stream, attribute, keys, cycle_no, known), self.schema, 0)
        decoded_request(framed(data), self.schema)
        if len(data) > MOST_REPLY // 2:
            raise BadMessage("a request is too large: ask for fewer values at once")
        write_once(self.folder / f"{id_.hex()}.request", data)
        return id_

    def open(self, origin: bytes) -> tuple[bytes, ...]:
        """Requests to the edge with a store that are not answered yet, the first ones that fit into a reply."""
        found: list[bytes] = []
        size = 0
        for path, data in self._requests():
            try:
                if requested_origin(framed(data)) != origin:
                    continue
            except BadMessage:
                _aside(path)
                continue
            size += 2 * len(data)
            if len(found) == MOST_REQUESTS or (found and size > MOST_REPLY // 2):
                break
            found.append(data)
        return tuple(found)

    def answered(self, frame: Frame) -> bytes | None:
        """Keeps answers, or parts of them; a request is done when all parts are there. BadMessage for what was never asked.

        One that is wrong does not keep the others from being there. Gives the origin of the requests; None where none is
        open any more.
        """
        origin: bytes | None = None
        wrong: BadMessage | None = None
        for part in parts_of(frame):
            try:
                origin = self._kept(part) or origin
            except BadMessage as error:
                wrong = error
        if wrong is not None:
            raise wrong
        return origin

    def answer(self, id_: bytes) -> Answer | None:
        """The answer to a request; None until all of it is there."""
        done = self.folder / f"{id_.hex()}.answered"
        if not done.exists():
            return None
        try:
            asked = self._asked(done)
        except BadMessage:
            _aside(done)
            return None
        return self._whole(asked)

    def done(self, id_: bytes) -> None:
        """A request is not needed any more."""
        for path in self.folder.glob(f"{id_.hex()}*"):
            if path.suffix in (".request", ".answered", ".answer"):
                path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Removes all requests and answers: those of an earlier run, which nobody waits for any more."""
        for path in self.folder.iterdir():
            if _OURS.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _kept(self, part: Part) -> bytes | None:
        """Writes a part down; gives the origin of its request, None where it is not open."""
        request = self.folder / f"{part.id.hex()}.request"
        try:
            asked = self._asked(request)
        except FileNotFoundError:
            return None
        decoded_part(part, asked, self.schema.field(asked.attribute).type)
        write_once(self.folder / f"{part.id.hex()}-{part.first:08d}.answer", bytes(part.data))
        if self._whole(asked) is not None:
            request.rename(request.with_suffix(".answered"))
        return asked.origin

    def _requests(self) -> Iterator[tuple[Path, bytes]]:
        """All open requests, the first one first; those that are done meanwhile, or cannot be read, are left out."""
        found = []
        for path in self.folder.glob("*.request"):
            with suppress(FileNotFoundError):
                found.append((path.stat().st_mtime_ns, path.name, path))
        for _, _, path in sorted(found):
            try:
                data = path.read_bytes()
            except OSError:
                continue
            yield path, data

    def _whole(self, asked: Request) -> Answer | None:
        type_ = self.schema.field(asked.attribute).type
        parts = sorted(self.folder.glob(f"{asked.id.hex()}-*.answer"))
        found = []
        for path in parts:
            try:
                found.append(decoded_part(part_of(path.read_bytes()), asked, type_))
            except ValueError:
                _aside(path)
        at = 0
        used = []
        for part in found:
            if part.first == at:
                used.append(part)
                at += len(part.status)
        if not used or at < used[0].total:
            return None
        status, stored_in, error, known = (
            np.concatenate([getattr(part, name) for part in used])
            for name in ("status", "stored_in", "max_error_pct", "known")
        )
        values = pa.concat_arrays([part.values for part in used])
        return Answer(asked.id, self.stream, 0, at, values, status, stored_in, error, known)

    def _asked(self, path: Path) -> Request:
        return decoded_request(framed(path.read_bytes()), self.schema)


def _aside(path: Path) -> None:
    """Puts away a file that is not what its name says, so that nobody reads it again."""
    with suppress(OSError):
        path.replace(path.with_name(f"{path.name}.bad"))
