"""What a micro-batch showed of its rows and results, where somebody steers by that."""

from __future__ import annotations

from collections.abc import Mapping

from streamq.dsl.records import dataclass

Sampled = tuple[Mapping[str, float | str], ...]
"""Rows with their attributes, ``a0`` and so on; those that are NULL are not there."""


@dataclass(frozen=True, slots=True)
class Looked:
    """``ranks``: of a few rows, chosen by their hash; ``newest``: the latest event time, in microseconds since 1970.

    ``error``: the relative error of estimates that nine results in ten stay below; None where no result came. ``rows``: the
    attributes that a sifter goes by, of rows chosen in the same way. ``spared``: rows of streams of which none goes.
    ``joined``: what buckets of a join that selects told, as JSON. ``read_until``: the time of the newest record, in milliseconds
    since 1970, where records say when they came.
    """

    ranks: tuple[float, ...] = ()
    newest: int | None = None
    error: float | None = None
    rows: Sampled = ()
    spared: int = 0
    joined: tuple[str, ...] = ()
    read_until: float | None = None


NOTHING = Looked()
