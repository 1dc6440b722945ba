"""What a selective join is told to compare next, from what it has seen: the three adaptations, one after the other.

How much follows from what was processed (``rates``), which basic windows first from what full probes found
(``correlation``), and how that is divided between directions and types from both (``direction``, ``utility``). A state is a
value, so that a driver can keep one for each join, or an operator one for each of its partitions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass, field, replace
from streamq.stdlib.joins.correlation import DECAY, Correlation, unknown
from streamq.stdlib.joins.direction import directions
from streamq.stdlib.joins.kinds import SAMPLE_P, Combine
from streamq.stdlib.joins.plan import WindowJoin
from streamq.stdlib.joins.probe import Counters
from streamq.stdlib.joins.rates import Rate
from streamq.stdlib.joins.selection import Floats, Ints, Selection, newest_first
from streamq.stdlib.joins.utility import Gains, expected, fractions, frequencies, knapsack

Policy = Literal["NEWEST", "CORRELATION", "DIRECTION", "KNAPSACK", "AUTO"]
"""NEWEST: rates only, the newest rows; CORRELATION: and the learned order; DIRECTION: and directions; KNAPSACK, AUTO: these
by basic windows and types."""


@dataclass(frozen=True, slots=True)
class Adapting:
    """What is known, and how it is used; what there is two of is of the window of S1, then of S2.

    ``win``: lengths, in any unit. ``value``: utilities of types, ``[types]``. ``came``: rows of each type in each stream,
    decayed, ``[types]``. ``start`` makes the first.
    """

    policy: Policy
    win: tuple[float, float]
    value: Floats
    combine: Combine
    learned: tuple[Correlation, Correlation]
    gains: tuple[Gains, Gains]
    came: tuple[Floats, Floats]
    rate: Rate = field(default_factory=Rate)
    sample_p: float = SAMPLE_P
    decay: float = DECAY

    def rated(self, arrived: float, fetched: float, busy: float = 0.0) -> Adapting:
        """After a period of the rate (T_r): see ``Rate.after``."""
        return replace(self, rate=self.rate.after(arrived, fetched, busy))

    def informed(self, counters: Sequence[Counters], came: Sequence[Ints]) -> Adapting:
        """After a period of the correlation (T_c): what full probes of each window found, rows by type of each stream."""
        of = list(zip(self.learned, self.gains, counters, strict=True))
        learned = [one.after(c.matches, c.compared, self.decay) for one, _, c in of]
        gains = [gain.after(c.utility, c.utility_compared, self.decay) for _, gain, c in of]
        seen = [self.decay * before + now for before, now in zip(self.came, came, strict=True)]
        return replace(self, learned=(learned[0], learned[1]), gains=(gains[0], gains[1]), came=(seen[0], seen[1]))

    @property
    def matches(self) -> tuple[float, float]:
        """Sampled matches of each window, decayed."""
        return self.learned[0].matches, self.learned[1].matches

    @property
    def selection(self) -> Selection:
        """What to compare until the next adaptation."""
        frac, (first, second) = self.rate.frac, self.learned
        if self.policy == "NEWEST":
            return newest_first(frac, (len(first.order), len(second.order)))
        order = first.order, second.order
        if self.policy == "CORRELATION":
            return Selection(frac, np.full(2, frac), None, order, self.sample_p)
        if self.policy == "DIRECTION":
            of = directions(frac, self.win, [first.average, second.average])
            return Selection(frac, of, None, order, self.sample_p)
        frequency = [frequencies(c) for c in self.came]
        gains = [
            expected(gain, one.average, f, self.value, self.combine)
            for gain, one, f in zip(self.gains, self.learned, frequency, strict=True)
        ]
        divide = knapsack if self.policy == "KNAPSACK" else fractions
        by_type = divide(frac, self.win, self.learned, gains, frequency)
        of = np.clip([frequency[1] @ by_type[0], frequency[0] @ by_type[1]], 0.0, 1.0)
        return Selection(frac, of, by_type, order, self.sample_p)


def start(plan: WindowJoin, policy: Policy = "AUTO", decay: float = DECAY, sample_p: float = SAMPLE_P) -> Adapting:
    """Nothing is known, and all is compared."""
    none = np.zeros(len(plan.utility))
    first, second = plan.grids
    return Adapting(
        policy, (first.length, second.length), plan.utility, plan.combine, (unknown(first.n_bw), unknown(second.n_bw)),
        (Gains(none, none), Gains(none, none)), (none, none), sample_p=sample_p, decay=decay,
    )
