"""The watermark of a query: which instants its streams have passed, by the batches that arrived."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.dsl.records import dataclass
from streamq.runtime.reference.facts import BEGINNING, FOREVER
from streamq.runtime.reference.values import Instant


@dataclass(frozen=True, slots=True)
class Clock:
    """``streams``: for each watermark its delay in microseconds, and the batch and stamp of each row."""

    streams: tuple[tuple[int, Sequence[tuple[int, Instant]]], ...]

    def before(self, batch: int) -> Instant:
        """The watermark at the start of a batch: the slowest stream's latest stamp so far, less its delay."""
        return min((_reached(delay, rows, batch) for delay, rows in self.streams), default=BEGINNING)

    @property
    def end(self) -> Instant:
        """The watermark after all batches."""
        return self.before(FOREVER)


def _reached(delay: int, rows: Sequence[tuple[int, Instant]], batch: int) -> Instant:
    stamps = [stamp for number, stamp in rows if number < batch]
    return max(stamps) - delay if stamps else BEGINNING
