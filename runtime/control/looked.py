"""What a micro-batch showed of its rows and results, where somebody steers by that."""

from __future__ import annotations

from streamq.dsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Looked:
    """``ranks``: of a few rows, chosen by their hash; ``newest``: the latest event time, in microseconds since 1970.

    ``error``: the relative error of estimates that nine results in ten stay below; None where no result came.
    """

    ranks: tuple[float, ...] = ()
    newest: int | None = None
    error: float | None = None


NOTHING = Looked()
