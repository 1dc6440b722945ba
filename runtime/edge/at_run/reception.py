"""The central side of all edges at work: takes their messages, lands their rows, and splits channels between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from streamq.dsl.records import replace
from streamq.runtime.edge.at_run.central import Central, Contact
from streamq.runtime.edge.at_run.channel import ChannelRule
from streamq.runtime.edge.at_run.folder_desk import Contacts, found_plan, leave_plan
from streamq.runtime.edge.at_run.inbox import Inbox
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.landing import KEEP_S, Landing
from streamq.runtime.edge.at_run.opening import checked, first_plans, member, of_channel, shared
from streamq.runtime.edge.at_run.server import Server
from streamq.runtime.edge.at_run.sharing import Sharing
from streamq.runtime.edge.frames import MOST_REVISION, BadMessage, OtherColumns
from streamq.runtime.edge.plan import EdgePlan
from streamq.runtime.metrics import Received
from streamq.runtime.one_run import locked

IDLE_S = 0.1
"""How long nothing is looked at where there was nothing to do."""

RETRY_S = 1.0
"""The same where a file could not be read or written."""

WRITING_S = 3_600.0
"""Nobody writes a message for as long."""


class Reception:
    """``folder``: with a folder for each of the ``streams``; ``channels``: by name, in kbit/s or as rules.

    ``listen``: where edges send to, with their ``token``; without it they write into the folder themselves. ``told``: what the
    user should know, in any thread. ``clock``: seconds that are never put back; ``keep_s``: after how long files of rows go.

    An edge of a channel gets no more than the ``capacity_kbps`` of its own plan, which is that of its link. OSError where
    another process has the folder, or it cannot be written; ValueError for streams or channels that cannot be.
    """

    def __init__(
        self, folder: Path, streams: Sequence[Incoming], channels: Mapping[str, float | ChannelRule], token: str = "",
        listen: tuple[str, int] | None = None, told: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic, keep_s: float = KEEP_S,
    ) -> None:
        self._folder, self._token, self._listen, self._told, self._clock = folder, token, listen, told, clock
        rules = checked(streams, channels)
        self._plans = {one.plan.stream: one.plan for one in streams}
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._server: Server | None = None
        self._failing: dict[str, tuple[str, float]] = {}
        self.failed: Exception | None = None
        self._lock = _locked(folder)
        try:
            plans = first_plans(streams, rules, {name: found_plan(folder / name) for name in self._plans})
            self.central = Central.of(folder, plans, clock)
            for name, plan in plans.items():
                leave_plan(folder / name, plan)
            for name, desk in self.central.desks.items():
                desk.inbox.clear(time.time() - WRITING_S)
                _check_waiting(name, desk.inbox)
            self._contacts = {name: Contacts(folder / name, clock) for name in plans}
            self._heard: dict[str, Contact] = {}
            self._landings = {one.plan.stream: self._landing(one, keep_s) for one in streams}
            self._sharings = tuple(
                Sharing(
                    rule, tuple(member(one, plans[one.plan.stream]) for one in of_channel(streams, name)), self._contact,
                    self._share, clock(), lambda stream: self._landings[stream].owed,
                )
                for name, rule in rules.items() if of_channel(streams, name)
            )
        except BaseException:
            self._lock.close()
            raise

    @property
    def address(self) -> str:
        """Where edges send to, once it has started; empty where they write into the folder."""
        return "" if self._server is None else self._server.address

    @property
    def listens(self) -> bool:
        """Whether edges send to a port of this process."""
        return self._listen is not None

    @property
    def idle(self) -> bool:
        """Whether all that came has landed."""
        return all(landing.idle for landing in self._landings.values())

    def counts(self) -> Mapping[str, Received]:
        """What came since it was made, by stream."""
        return {name: landing.counts for name, landing in self._landings.items()}

    def once(self, timeout_s: float) -> None:
        """Lands all that is in the inboxes, in the calling thread; rows that wait for answers go without after a time. OSError.

        Not while it is started. No channel is split.
        """
        until = self._clock() + timeout_s
        while busy := [landing for landing in self._landings.values() if not landing.idle]:
            late = self._clock() >= until
            found = [landing.step(at_once=late) for landing in busy]
            if not any(found):
                self._stopping.wait(IDLE_S)

    def start(self) -> None:
        """Takes messages, lands them and splits channels in threads of its own. OSError where it cannot listen."""
        if self._listen is not None:
            self._server = Server(self.central, self._token, *self._listen)
            self._server.start()
        self._thread = threading.Thread(target=self._run, name="reception", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes no more, ends its threads, and gives the folder free. What waits for answers is in the inboxes still."""
        self._stopping.set()
        if self._server is not None:
            self._server.stop()
            self._server = None
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._lock.close()

    def turn(self) -> bool:
        """Does what there is to do now; whether there was anything. A stream that cannot land keeps no other from it. OSError."""
        found = [self._stepped(name, landing) for name, landing in self._landings.items()]
        found += [sharing.step(self._clock()) for sharing in self._sharings]
        self._overtake()
        return any(found)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                try:
                    wait = 0.0 if self.turn() else IDLE_S
                except OSError as error:
                    wait = RETRY_S
                    self._fails("", f"channels of {self._folder.name} cannot be split now: {error.strerror or error}")
                self._stopping.wait(wait)
        except Exception as error:  # noqa: BLE001
            # Whoever runs the queries that wait for rows is to know.
            self.failed = error
            self._told(f"no more rows land: {error!r}")

    def _stepped(self, stream: str, landing: Landing) -> bool:
        """A step of a landing, but not just after one that could not be."""
        if stream in self._failing and self._clock() - self._failing[stream][1] < RETRY_S:
            return False
        try:
            return landing.step()
        except OSError as error:
            self._fails(stream, f"rows of {stream} cannot land now: {error.strerror or error}")
            return False

    def _fails(self, what: str, text: str) -> None:
        """Tells it once, and not each time that it is tried again."""
        before = self._failing.get(what, ("", 0.0))[0]
        self._failing[what] = (text, self._clock())
        if text != before:
            self._told(text)

    def _landing(self, one: Incoming, keep_s: float) -> Landing:
        name = one.plan.stream
        desk = self.central.desks[name]
        return Landing(one, self._folder / name, desk.inbox, desk.asking, self._told, self._clock, keep_s=keep_s)

    def _contact(self, stream: str) -> Contact | None:
        """The last one that can be: an edge got no revision so late from any run, and one after it would soon be the last."""
        found = self._contacts[stream]() if self._listen is None else self.central.desks[stream].contact
        if found is not None and found.revision <= max(self.central.desks[stream].plan.revision, MOST_REVISION // 2):
            self._heard[stream] = found
        return self._heard.get(stream)

    def _share(self, stream: str, revision: int, kbps: float) -> None:
        self._give(shared(self._plans[stream], kbps, self.central.desks[stream].plan.floor_kbps, revision))

    def _overtake(self) -> None:
        """An edge that has a later plan than ours, from a run that nobody remembers, gets ours as a later one."""
        of_channels = {m.stream for sharing in self._sharings for m in sharing.members}
        for name, desk in self.central.desks.items():
            contact = None if name in of_channels else self._contact(name)
            if contact is not None and contact.revision > desk.plan.revision:
                self._give(replace(desk.plan, revision=contact.revision + 1))

    def _give(self, plan: EdgePlan) -> None:
        leave_plan(self._folder / plan.stream, plan)
        self.central.change(plan)


def _check_waiting(stream: str, inbox: Inbox) -> None:
    """ValueError where messages wait that were made for other columns: they would all be put aside. OSError."""
    for origin, numbers in inbox.numbers().items():
        try:
            inbox.read(origin, numbers[0])
        except OtherColumns:
            raise ValueError(
                f"{len(numbers):,} messages of `{stream}` wait that were made when it had other columns: "
                "run the program with those columns once more, or take the messages away"
            ) from None
        except BadMessage:
            continue


def _locked(folder: Path) -> IO[bytes]:
    """The lock of a folder, until it is closed. OSError where another process has it."""
    try:
        return locked(folder / ".lock")
    except BlockingIOError:
        raise OSError(f"another run lands what comes to {folder.name}: one folder is of one run") from None
