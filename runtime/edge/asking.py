"""Requests for shed values on the central side, from when they are made until all of their answer is there.

They are files of the folder of their stream, so that a central run that starts anew still has them. An edge gets open
requests with every reply, as many as fit, and answers each in parts that fit into its messages.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np
import pyarrow as pa

from streamq.dsl.records import dataclass
from streamq.runtime.edge.frames import BadMessage, Frame, framed
from streamq.runtime.edge.inbox import write_once
from streamq.runtime.edge.messages import (
    Answer,
    Request,
    answered_id,
    decoded_answer,
    decoded_request,
    encoded_request,
)
from streamq.runtime.edge.transport import MOST_REPLY, MOST_REQUESTS
from streamq.stdlib.recovery.columns import Ints


@dataclass(frozen=True, slots=True)
class Asking:
    """Requests to the edges of one stream. ``folder``: that of its inbox; ``schema``: of the stream."""

    folder: Path
    stream: str
    schema: pa.Schema

    def ask(self, attribute: str, keys: pa.RecordBatch, cycle_no: Ints) -> bytes:
        """Asks for values of an attribute, of keys in cycles, ``[asked]``: the columns of the key as messages name them.

        Gives the number of the request. BadMessage for one that no edge would take; OSError.
        """
        id_ = secrets.token_bytes(8)
        data = encoded_request(Request(id_, self.stream, attribute, keys, cycle_no), self.schema, 0)
        decoded_request(framed(data), self.schema)
        if len(data) > MOST_REPLY // 2:
            raise BadMessage("a request is too large: ask for fewer values at once")
        write_once(self.folder / f"{id_.hex()}.request", data)
        return id_

    def open(self) -> tuple[bytes, ...]:
        """Requests that are not answered yet, the first ones that fit into a reply."""
        found: list[bytes] = []
        size = 0
        for path in sorted(self.folder.glob("*.request"), key=lambda p: (p.stat().st_mtime_ns, p.name)):
            data = path.read_bytes()
            size += 2 * len(data)
            if len(found) == MOST_REQUESTS or (found and size > MOST_REPLY // 2):
                break
            found.append(data)
        return tuple(found)

    def answered(self, frame: Frame, message: bytes) -> None:
        """Keeps a part of an answer; the request is done when all parts are there. BadMessage for what was never asked."""
        id_ = answered_id(frame)
        request = self.folder / f"{id_.hex()}.request"
        if not request.exists():
            return
        asked = self._asked(request)
        type_ = self.schema.field(asked.attribute).type
        part = decoded_answer(frame, type_)
        if part.stream != self.stream or part.total != len(asked.cycle_no):
            raise BadMessage("the answer is to another request")
        write_once(self.folder / f"{id_.hex()}-{part.first:08d}.answer", message)
        if self._whole(id_, type_) is not None:
            request.rename(request.with_suffix(".answered"))

    def answer(self, id_: bytes) -> Answer | None:
        """The answer to a request; None until all of it is there."""
        done = self.folder / f"{id_.hex()}.answered"
        return self._whole(id_, self.schema.field(self._asked(done).attribute).type) if done.exists() else None

    def done(self, id_: bytes) -> None:
        """A request is not needed any more."""
        for path in self.folder.glob(f"{id_.hex()}*"):
            if path.suffix in (".request", ".answered", ".answer"):
                path.unlink(missing_ok=True)

    def _whole(self, id_: bytes, type_: pa.DataType) -> Answer | None:
        parts = sorted(self.folder.glob(f"{id_.hex()}-*.answer"))
        found = [decoded_answer(framed(path.read_bytes()), type_) for path in parts]
        at = 0
        used = []
        for part in found:
            if part.first == at:
                used.append(part)
                at += len(part.status)
        if not used or at < used[0].total:
            return None
        status, stored_in, error = (
            np.concatenate([getattr(part, name) for part in used]) for name in ("status", "stored_in", "max_error_pct")
        )
        values = pa.concat_arrays([part.values for part in used])
        return Answer(id_, self.stream, 0, at, values, status, stored_in, error)

    def _asked(self, path: Path) -> Request:
        return decoded_request(framed(path.read_bytes()), self.schema)
