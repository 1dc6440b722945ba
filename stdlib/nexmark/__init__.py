"""The NEXMark stream of auctions, persons and bids: a seeded generator in pure numpy.

Follows the benchmark's generator (https://github.com/nexmark/nexmark) in ratios, distributions and ids, with
two differences: a bid's ``bidder`` adds the first person id once, not twice, and urls depend on the seed.
"""

from __future__ import annotations

from streamq.stdlib.nexmark.config import BASE_TIME_MICROS, SHAPES, NexmarkConfig
from streamq.stdlib.nexmark.events import Column, arrivals, columns, event_numbers, event_times
from streamq.stdlib.nexmark.schedule import events_due, micros_of
from streamq.stdlib.nexmark.schema import (
    AUCTION,
    BID,
    EVENT_TABLE,
    EVENT_TYPE,
    KINDS,
    PERSON,
    TABLES,
    TIME,
    TIME_ALIAS,
    Kind,
)
from streamq.stdlib.nexmark.text import Coded, Joined, Pool
from streamq.stdlib.row_units import GROUP

__all__ = [
    "AUCTION",
    "BASE_TIME_MICROS",
    "BID",
    "EVENT_TABLE",
    "EVENT_TYPE",
    "GROUP",
    "KINDS",
    "PERSON",
    "SHAPES",
    "TABLES",
    "TIME",
    "TIME_ALIAS",
    "Coded",
    "Column",
    "Joined",
    "Kind",
    "NexmarkConfig",
    "Pool",
    "arrivals",
    "columns",
    "event_numbers",
    "event_times",
    "events_due",
    "micros_of",
]
