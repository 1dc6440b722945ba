"""Messages into a folder that the central side reads: the same files as those that its port makes."""

from __future__ import annotations

from pathlib import Path

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.central import Central, Full
from streamq.runtime.edge.frames import BadMessage
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.edge.transport import Refused, Reply, Unreachable


@dataclass(slots=True)
class FolderSender:
    """``folder``: with a folder for each stream; ``plan``: of the stream of this edge. Requests are found there as well.

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
            return self._central.handle(message)
        except BadMessage as error:
            raise Refused(str(error)) from None
        except Full:
            raise Unreachable("nobody takes the messages in the folder") from None
        except OSError as error:
            raise Unreachable(f"the folder {self.folder.name} cannot be written: {error.strerror}") from None
