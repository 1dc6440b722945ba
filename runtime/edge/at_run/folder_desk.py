"""What the central side and an edge that writes into its folder leave there for each other: the plan in force, and a contact.

An edge writes down that it is there before it reads the plan, and the central side gives a plan out before it looks who is
there. So an edge either goes by that plan, or is seen to be one that may not.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from streamq.dsl.records import dataclass
from streamq.runtime.edge.at_run.central import Contact
from streamq.runtime.edge.at_run.inbox import write_once
from streamq.runtime.edge.frames import MOST_REVISION
from streamq.runtime.edge.messages import ORIGIN_BYTES
from streamq.runtime.edge.plan import BadPlan, EdgePlan
from streamq.runtime.edge.plan_file import read_plan, to_json

PLAN, CONTACT = "plan.json", "contact.json"


def leave_plan(folder: Path, plan: EdgePlan) -> None:
    """Writes down the plan in force of a stream, without its token. ``folder``: of the stream. OSError."""
    write_once(folder / PLAN, json.dumps(to_json(plan, token=False)).encode())


def found_plan(folder: Path) -> EdgePlan | None:
    """The plan in force; None where there is none that can be read."""
    try:
        return read_plan(folder / PLAN)
    except BadPlan:
        return None


def leave_contact(folder: Path, contact: Contact) -> None:
    """Writes down that an edge is there. The time is left out: clocks of two sides are not the same. OSError."""
    said = {"origin": contact.origin.hex(), "revision": contact.revision, "offered_kbps": contact.offered_kbps}
    write_once(folder / CONTACT, json.dumps(said).encode())


@dataclass(slots=True)
class Contacts:
    """The contacts of a stream as they are found. ``clock``: of the central side.

    An edge counts as heard of when that is found, which may be later than it was, and so no plan is taken for over too early.
    """

    folder: Path
    clock: Callable[[], float]
    _seen: tuple[int, int] = (0, 0)
    _last: Contact | None = None

    def __call__(self) -> Contact | None:
        """The last one; what cannot be read is none."""
        try:
            path = self.folder / CONTACT
            stat = path.stat()
            # Each is a file of its own that takes the place of that before it.
            if (stat.st_ino, stat.st_mtime_ns) != self._seen:
                self._last = _contact(path.read_bytes(), self.clock())
                self._seen = (stat.st_ino, stat.st_mtime_ns)
        except (OSError, ValueError, RecursionError):
            return self._last
        return self._last


def _contact(text: bytes, at_s: float) -> Contact:
    match json.loads(text):
        case {"origin": str(origin), "revision": int(revision), "offered_kbps": float(kbps)} if 0 <= revision < MOST_REVISION and (
            0 <= kbps < float("inf") and len(bytes.fromhex(origin)) == ORIGIN_BYTES
        ):
            return Contact(bytes.fromhex(origin), at_s, revision, kbps)
    raise ValueError("this is no contact")
