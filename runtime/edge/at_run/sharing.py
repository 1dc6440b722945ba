"""A channel at work: asks what edges said, splits the capacity, and gives plans out, those that give less first."""

from __future__ import annotations

import math
from collections.abc import Callable

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.at_run.central import Contact
from streamq.runtime.edge.at_run.channel import (
    PERIOD_S,
    ChannelRule,
    Granted,
    Member,
    lowered,
    owed,
    raised,
    wanted,
)


@dataclass(slots=True)
class Sharing:
    """``members`` of one channel, as they are at ``since_s``.

    ``contact``: of a stream, None before the first; ``owes``: whether its edge was asked for values that did not come yet; ``give``: gives a plan of a stream out, by its revision and kbit/s. An
    edge that is answered after that gets it, and of one that was before, the contact is there when ``give`` is done.
    """

    rule: ChannelRule
    members: tuple[Member, ...]
    contact: Callable[[str], Contact | None]
    give: Callable[[str, int, float], None]
    since_s: float
    owes: Callable[[str], bool] = lambda _: False
    _split_s: float | None = None
    _states: tuple[str, ...] = field(default_factory=tuple)
    _owed: bool = False

    def step(self, now_s: float) -> bool:
        """Splits the channel where a period is over, or what edges said changes who is silent, or what is free. OSError.

        Gives whether it did.
        """
        before = self.members
        self._hear(now_s)
        if any(member.contact is None and not member.lapsed(now_s, self.since_s) for member in self.members):
            # Nothing is raised until all are heard, and nothing is to be lowered of those that are not silent after all.
            return False
        states = tuple(member.state(now_s, self.since_s) for member in self.members)
        told = self._owed and [m.granted for m in self.members] != [m.granted for m in before]
        over = self._split_s is None or not 0 <= now_s - self._split_s < PERIOD_S
        if not (over or told or states != self._states):
            return False
        wants = wanted(self.members, self.rule, now_s, self.since_s)
        self._give(lowered(self.members, wants, self.rule))
        self._hear(now_s)
        self._give(raised(self.members, wants, self.rule))
        self._split_s, self._states = now_s, states
        self._owed = owed(self.members, wants)
        return True

    def _hear(self, now_s: float) -> None:
        self.members = tuple(
            replace(m, owes=self.owes(m.stream)).heard(self.contact(m.stream), now_s, self.since_s) for m in self.members
        )

    def _give(self, plans: dict[str, float]) -> None:
        for member in self.members:
            if (kbps := plans.get(member.stream)) is not None:
                granted = member.granted.after(kbps)
                try:
                    self.give(member.stream, granted.revision, kbps)
                except OSError:
                    # Nobody knows whether edges get it: others get nothing until a plan after it is there.
                    self._note(member, member.granted.after(math.inf))
                    raise
                self._note(member, granted)

    def _note(self, of: Member, granted: Granted) -> None:
        self.members = tuple(replace(m, granted=granted) if m.stream == of.stream else m for m in self.members)
