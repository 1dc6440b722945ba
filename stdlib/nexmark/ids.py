"""Which persons and auctions exist at an event, and which of them an event refers to.

All ids here count from 0; a table's column adds ``FIRST_PERSON_ID`` or ``FIRST_AUCTION_ID`` once.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.nexmark.config import NexmarkConfig
from streamq.stdlib.nexmark.draws import Bits, Integers, below
from streamq.stdlib.nexmark.schema import AUCTION, PERSON
from streamq.stdlib.row_units import GROUP

FIRST_PERSON_ID = 1000
FIRST_AUCTION_ID = 1000

HOT_EVERY = 100
"""Of each 100 ids one is hot."""

HOT_SELLER_PLACE = 0
HOT_BIDDER_PLACE = 1
"""The hot bidder is not the hot seller: the second person of the last hundred, not the first."""


def last_person(numbers: Integers) -> Integers:
    """The newest person at each event, which is the event itself where it is a person."""
    return numbers // GROUP * PERSON.share


def last_auction(numbers: Integers) -> Integers:
    """The newest auction at each event; -1 before the first."""
    groups = numbers // GROUP
    inside = np.clip(numbers % GROUP - AUCTION.first, -1, AUCTION.share - 1)
    return groups * AUCTION.share + inside


def hot_person(numbers: Integers, place: int) -> Integers:
    """The person in position ``place`` of the last hundred."""
    return last_person(numbers) // HOT_EVERY * HOT_EVERY + place


def hot_auction(numbers: Integers) -> Integers:
    """The first auction of the last hundred."""
    return last_auction(numbers) // HOT_EVERY * HOT_EVERY


def any_person(config: NexmarkConfig, numbers: Integers, random: Bits) -> Integers:
    """One of the newest ``active_people``, or of the ``id_lead`` that come next."""
    people = last_person(numbers) + 1
    active = np.minimum(people, config.active_people)
    return people - active + below(random, active + config.id_lead)


def any_auction(config: NexmarkConfig, numbers: Integers, random: Bits) -> Integers:
    """One of the auctions in flight, or of the ``id_lead`` that come next."""
    newest = last_auction(numbers)
    oldest = np.maximum(newest - config.in_flight_auctions, 0)
    return oldest + below(random, newest - oldest + 1 + config.id_lead)
