"""A channel at work: asks what edges said, splits the capacity, and gives plans out, those that give less first."""

from __future__ import annotations

import math
from collections.abc import Callable

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.central import Contact
from streamq.runtime.edge.channel import (
    PERIOD_S,
    ChannelRule,
    Granted,
    Member,
    lowered,
    raised,
    wanted,
)


@dataclass(slots=True)
class Sharing:
    """``members`` of one channel, as they are at ``since_s``.

    ``contact``: of a stream, None before the first; ``give``: gives a plan of a stream out, by its revision and kbit/s. An
    edge that is answered after that gets it, and of one that was before, the contact is there when ``give`` is done.
    """

    rule: ChannelRule
    members: tuple[Member, ...]
    contact: Callable[[str], Contact | None]
    give: Callable[[str, int, float], None]
    since_s: float
    _split_s: float | None = None
    _silent: tuple[bool, ...] = field(default_factory=tuple)

    def step(self, now_s: float) -> bool:
        """Splits the channel where a period is over, or a stream fell silent or came back; whether it did. OSError."""
        self._hear(now_s)
        silent = tuple(member.silent(now_s, self.since_s) for member in self.members)
        if self._split_s is not None and silent == self._silent and 0 <= now_s - self._split_s < PERIOD_S:
            return False
        wants = wanted(self.members, self.rule, now_s, self.since_s)
        self._give(lowered(self.members, wants, self.rule))
        self._hear(now_s)
        self._give(raised(self.members, wants, self.rule))
        self._split_s, self._silent = now_s, silent
        return True

    def _hear(self, now_s: float) -> None:
        self.members = tuple(m.heard(self.contact(m.stream), now_s, self.since_s) for m in self.members)

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
