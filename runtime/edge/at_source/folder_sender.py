"""Messages into a folder that the central side reads: the same files as those that its port makes."""

from __future__ import annotations

from pathlib import Path

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_run.central import Central, Full
from streamq.runtime.edge.at_run.folder_desk import found_plan, leave_contact
from streamq.runtime.edge.frames import BadMessage, framed
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.plan_file import to_json
from streamq.runtime.edge.transport import Refused, Reply, Unreachable


@dataclass(slots=True)
class FolderSender:
    """``folder``: with a folder for each stream; ``plan``: of the stream of this edge. Requests are found there as well, and
    later plans.

    A message that is sent again after a restart has the name that it had, so that it is there once.
    """

    folder: Path
    plan: EdgePlan
    extra: int = 0
    _central: Central | None = field(default=None, repr=False)

    def send(self, message: bytes) -> Reply:
        """Puts a message there, whole. Unreachable, Refused."""
        try:
            if self._central is None:
                self._central = Central.of(self.folder, {self.plan.stream: self.plan})
            reply = self._central.handle(message)
            return replace(reply, plan=self._plan(framed(message).revision))
        except BadMessage as error:
            raise Refused(str(error)) from None
        except Full:
            raise Unreachable("nobody takes the messages in the folder") from None
        except OSError as error:
            raise Unreachable(f"the folder {self.folder.name} cannot be written: {error.strerror}") from None

    def _plan(self, revision: int) -> dict[str, object] | None:
        """The plan in force, if it is later than that of the edge. It is read when the contact is there, and not before."""
        assert self._central is not None
        desk = self._central.desks[self.plan.stream]
        if desk.contact is not None:
            leave_contact(self.folder / self.plan.stream, desk.contact)
        found = found_plan(self.folder / self.plan.stream) or self.plan
        return to_json(found, token=False) if found.revision > revision else None
