"""The tables of the NEXMark stream: columns, kinds of events, and which event numbers are of which kind.

Events come in groups of 50 numbers: the first is a person, the next 3 are auctions, the last 46 bids.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from streamq.stdlib.nexmark.draws import Integers
from streamq.stdlib.row_units import GROUP, SHARES

TIME = "dateTime"
"""The event-time column of every table."""

TIME_ALIAS = "ts"
"""A name that users may give to ``dateTime``."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of event: numbers ``first`` … ``first + share - 1`` of each group of 50."""

    name: str
    first: int
    share: int

    def count_before(self, number: int) -> int:
        """How many events of this kind have a number below ``number``."""
        groups, position = divmod(number, GROUP)
        return groups * self.share + min(max(position - self.first, 0), self.share)

    def numbers(self, start: int, stop: int) -> Integers:
        """The numbers in [start, stop) that are of this kind, ascending."""
        ordinal = np.arange(self.count_before(start), self.count_before(stop), dtype=np.int64)
        return ordinal // self.share * GROUP + self.first + ordinal % self.share

    def holds(self, numbers: Integers) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Which of the event numbers are of this kind."""
        position = numbers % GROUP
        return (position >= self.first) & (position < self.first + self.share)


PERSON = Kind("person", 0, SHARES["person"])
AUCTION = Kind("auction", 1, SHARES["auction"])
BID = Kind("bid", 4, SHARES["bid"])
KINDS = (PERSON, AUCTION, BID)

TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "person": (
        ("id", "BIGINT"),
        ("name", "STRING"),
        ("emailAddress", "STRING"),
        ("creditCard", "STRING"),
        ("city", "STRING"),
        ("state", "STRING"),
        (TIME, "TIMESTAMP"),
        ("extra", "STRING"),
    ),
    "auction": (
        ("id", "BIGINT"),
        ("itemName", "STRING"),
        ("description", "STRING"),
        ("initialBid", "BIGINT"),
        ("reserve", "BIGINT"),
        (TIME, "TIMESTAMP"),
        ("expires", "TIMESTAMP"),
        ("seller", "BIGINT"),
        ("category", "BIGINT"),
        ("extra", "STRING"),
    ),
    "bid": (
        ("auction", "BIGINT"),
        ("bidder", "BIGINT"),
        ("price", "BIGINT"),
        ("channel", "STRING"),
        ("url", "STRING"),
        (TIME, "TIMESTAMP"),
        ("extra", "STRING"),
    ),
}
"""Columns of the table of each kind as (name, SQL type)."""

EVENT_TABLE = "event"
EVENT_TYPE = "event_type"
"""The table of all events has this INT column, 0 for a person, 1 for an auction, 2 for a bid; a struct for each
kind under its name, NULL for events of another kind; and the event time."""
