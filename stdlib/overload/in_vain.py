"""What is kept where a goal for the age of results is out of reach: as much as makes micro-batches hardly longer.

There the time of a micro-batch is mostly one that no shedding saves (its fixed part, other work of the machine, reading), and a
model of costs that was learned at a slow start, from micro-batches of which next to nothing was kept, does not tell how
dear a kept row is. So it is tried: for a few micro-batches several times more is kept, and less again where they take longer.
"""

from __future__ import annotations

import math

from streamq.dsl.records import dataclass, replace

SPELL = 8
"""Micro-batches that are taken together: one alone varies by a third where others work on the machine."""

MOSTLY = 0.75
"""Where results of a larger part of a spell are too old that is no chance."""

STEADY = 1.25
"""Two spells in a row that differ by no more tell how long micro-batches take; while code is being compiled each is shorter."""

STEP, FIRST = 4.0, 0.004
"""So many times more is tried; at first so much."""

LONGER = 1.2
"""A trial may make micro-batches so many times longer than they were before any trial, and no longer."""

NOISE = 1.2
"""A spell that is shorter than usual by a larger part is no chance."""

WORSE = 1.3
"""So many times longer, in two spells without a trial: what is kept costs more than it seemed, or than it did."""

MUCH_LONGER = 1.8
"""Two micro-batches in a row that take so many times longer say it at once."""

AGAIN, SELDOM = 4, 16
"""Spells after a trial that went wrong until the next one; twice as many each time, up to the second."""


@dataclass(frozen=True, slots=True)
class InVain:
    """``share``: what is kept at least where the goal is out of reach. ``usual_ms``: of a micro-batch before any trial, None
    where that is not known. ``tries``: the share is a trial. ``rest``: spells until the next one, of ``pause`` after one that goes wrong.
    ``spell``: the logarithms of the latest micro-batches' milliseconds; ``before``: the mean of the spell before. ``late``: of how many in the
    spell results were too old; ``usually_late``: those of most were before any trial.
    """

    share: float = 0.0
    usual_ms: float | None = None
    tries: bool = False
    rest: int = 0
    pause: int = AGAIN
    spell: tuple[float, ...] = ()
    before: float | None = None
    late: int = 0
    usually_late: bool = True

    def after(self, batch_ms: float, shed: bool, late: bool = True) -> InVain:
        """After a micro-batch. ``shed``: all of it went that may go, and it was too long. ``late``: its results were too old.

        Else nothing is kept in vain, and it tells nothing of the time that shedding does not save.
        """
        if not shed or batch_ms <= 0:
            return replace(self, spell=(), late=0)
        spell, lates = (*self.spell, math.log(batch_ms)), self.late + late
        much = None if self.usual_ms is None or not self.share else math.log(MUCH_LONGER * self.usual_ms)
        if much is not None and len(spell) > 1 and min(spell[-2:]) > much:
            return replace(self._failed(), spell=(), before=None, late=0)
        if len(spell) < SPELL:
            return replace(self, spell=spell, late=lates)
        mean = math.exp(sum(spell) / len(spell))
        # Nothing is shorter for more that is kept: then all has become faster.
        usual = None if self.usual_ms is None else min(self.usual_ms, NOISE * mean)
        return replace(replace(self, usual_ms=usual)._after_spell(mean, lates > MOSTLY * SPELL), spell=(), before=mean, late=0)

    def _after_spell(self, mean: float, late: bool) -> InVain:
        if self.usual_ms is None or not self.share:
            if self.rest > 0:
                return replace(self, rest=self.rest - 1)
            steady = self.before is not None and 1 / STEADY < mean / self.before < STEADY
            return replace(self, usual_ms=mean, share=FIRST, tries=True, usually_late=late) if steady else self
        if late and not self.usually_late:
            return self._failed()
        if self.tries:
            return replace(self._more(), pause=AGAIN) if mean <= LONGER * self.usual_ms else self._failed()
        if self.before is not None and math.sqrt(mean * self.before) > WORSE * self.usual_ms:
            return replace(self._less(), rest=self.pause)
        return self._more() if self.rest <= 0 else replace(self, rest=self.rest - 1)

    def _more(self) -> InVain:
        if self.share >= 1:
            return replace(self, tries=False)
        return replace(self, share=min(1.0, STEP * self.share), tries=True)

    def _failed(self) -> InVain:
        return replace(self._less(), rest=self.pause, pause=min(SELDOM, 2 * self.pause))

    def _less(self) -> InVain:
        """Below the first step nothing is kept in vain, and what micro-batches take then is found out anew."""
        less = self.share / STEP
        return replace(self, share=less, tries=False) if less >= FIRST else InVain(rest=self.rest, pause=self.pause)
