"""The columns of NEXMark events as functions of their numbers; only those asked for are made."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from streamq.stdlib.nexmark.config import ARRIVAL_STEP, NexmarkConfig
from streamq.stdlib.nexmark.draws import Bits, Integers, below, bits, is_hot, unit
from streamq.stdlib.nexmark.ids import (
    FIRST_AUCTION_ID,
    FIRST_PERSON_ID,
    HOT_BIDDER_PLACE,
    HOT_SELLER_PLACE,
    any_auction,
    any_person,
    hot_auction,
    hot_person,
    last_auction,
    last_person,
)
from streamq.stdlib.nexmark.schedule import micros_of
from streamq.stdlib.nexmark.schema import AUCTION, BID, PERSON, TIME, Kind
from streamq.stdlib.nexmark.text import COLD_CHANNELS, HOT_CHANNELS, Coded, Joined, Pool, pools_of
from streamq.stdlib.row_units import GROUP

Column = Integers | Coded | Joined

FIRST_CATEGORY = 10
CATEGORIES = 5
LEAST_PRICE = 100
PRICE_DECADES = 6

_LONGEST_MILLIS = (1 << 31) - 1

# Numbers of the random streams. A stream is never given another meaning: it would change every event.
_S_CITY, _S_STATE, _S_NAME, _S_MAILBOX, _S_DOMAIN, _S_CARD = 1, 2, 3, 4, 5, 6  # card: 6 … 9
_S_ITEM, _S_DESCRIPTION, _S_FIRST_PRICE, _S_RESERVE, _S_LENGTH = 11, 12, 13, 14, 15
_S_HOT_SELLER, _S_SELLER, _S_CATEGORY = 16, 17, 18
_S_HOT_AUCTION, _S_AUCTION, _S_HOT_BIDDER, _S_BIDDER, _S_PRICE, _S_CHANNEL = 21, 22, 23, 24, 25, 26
_S_EXTRA = 31
_S_IS_LATE, _S_DELAY = 32, 33


def arrivals(config: NexmarkConfig, start: int, stop: int) -> Integers:
    """The numbers of the events that arrive in positions [start, stop), in order of arrival.

    Without shuffling the event in position n is event n.
    """
    position = np.arange(start, stop, dtype=np.int64)
    group = config.out_of_order_group
    if group == 1:
        return position
    # The factor is taken modulo the group size, so that the product stays small.
    inside = position % group
    return position - inside + inside * (ARRIVAL_STEP % group) % group


def event_numbers(config: NexmarkConfig, start: int, stop: int, kind: Kind) -> Integers:
    """The events of one kind among those that arrive in positions [start, stop), in order of arrival."""
    if config.out_of_order_group == 1:
        return kind.numbers(start, stop)
    numbers = arrivals(config, start, stop)
    return numbers[kind.holds(numbers)]


def columns(
    config: NexmarkConfig, kind: Kind, numbers: Integers, names: Iterable[str]
) -> dict[str, Column]:
    """The named columns for events ``numbers``, all of one kind; times in microseconds.

    Raises ``KeyError`` for a column that the kind does not have.
    """
    return {name: _column(config, kind, numbers, name) for name in names}


def event_times(config: NexmarkConfig, numbers: Integers) -> Integers:
    """Event times in microseconds: on schedule, but for the share that is stamped too early."""
    times = micros_of(config, numbers)
    if config.delay_probability > 0:
        is_late = unit(bits(config.seed, _S_IS_LATE, numbers)) < config.delay_probability
        delay = unit(bits(config.seed, _S_DELAY, numbers)) * (config.delay * 1e6)
        times -= np.where(is_late, delay.astype(np.int64), 0)
    return times


def _column(config: NexmarkConfig, kind: Kind, numbers: Integers, name: str) -> Column:
    if name == TIME:
        return event_times(config, numbers)
    if name == "extra":
        return pools_of(config.seed).extras[kind.name].pick(bits(config.seed, _S_EXTRA, numbers))
    match kind.name:
        case PERSON.name:
            return _person(config, numbers, name)
        case AUCTION.name:
            return _auction(config, numbers, name)
        case BID.name:
            return _bid(config, numbers, name)
        case _:
            raise ValueError(f"no events of kind {kind.name!r}")


def _person(config: NexmarkConfig, numbers: Integers, name: str) -> Column:
    pools = pools_of(config.seed)

    def pick(pool: Pool, stream: int) -> Coded:
        return pool.pick(bits(config.seed, stream, numbers))

    match name:
        case "id":
            return last_person(numbers) + FIRST_PERSON_ID
        case "name":
            return pick(pools.names, _S_NAME)
        case "emailAddress":
            return Joined((pick(pools.mailboxes, _S_MAILBOX), pick(pools.domains, _S_DOMAIN)), "@")
        case "creditCard":
            groups = tuple(pick(pools.digits, stream) for stream in range(_S_CARD, _S_CARD + 4))
            return Joined(groups, " ")
        case "city":
            return pick(pools.cities, _S_CITY)
        case "state":
            return pick(pools.states, _S_STATE)
        case _:
            raise KeyError(name)


def _auction(config: NexmarkConfig, numbers: Integers, name: str) -> Column:
    pools = pools_of(config.seed)

    def draw(stream: int) -> Bits:
        return bits(config.seed, stream, numbers)

    match name:
        case "id":
            return last_auction(numbers) + FIRST_AUCTION_ID
        case "itemName":
            return pools.items.pick(draw(_S_ITEM))
        case "description":
            return pools.descriptions.pick(draw(_S_DESCRIPTION))
        case "initialBid":
            return prices(draw(_S_FIRST_PRICE))
        case "reserve":
            return prices(draw(_S_FIRST_PRICE)) + prices(draw(_S_RESERVE))
        case "expires":
            return _expires(config, numbers, draw(_S_LENGTH))
        case "seller":
            hot = is_hot(draw(_S_HOT_SELLER), config.hot_seller_ratio)
            other = any_person(config, numbers, draw(_S_SELLER))
            return np.where(hot, hot_person(numbers, HOT_SELLER_PLACE), other) + FIRST_PERSON_ID
        case "category":
            return FIRST_CATEGORY + below(draw(_S_CATEGORY), CATEGORIES)
        case _:
            raise KeyError(name)


def _bid(config: NexmarkConfig, numbers: Integers, name: str) -> Column:
    def draw(stream: int) -> Bits:
        return bits(config.seed, stream, numbers)

    match name:
        case "auction":
            hot = is_hot(draw(_S_HOT_AUCTION), config.hot_auction_ratio)
            other = any_auction(config, numbers, draw(_S_AUCTION))
            return np.where(hot, hot_auction(numbers), other) + FIRST_AUCTION_ID
        case "bidder":
            hot = is_hot(draw(_S_HOT_BIDDER), config.hot_bidder_ratio)
            other = any_person(config, numbers, draw(_S_BIDDER))
            return np.where(hot, hot_person(numbers, HOT_BIDDER_PLACE), other) + FIRST_PERSON_ID
        case "price":
            return prices(draw(_S_PRICE))
        case "channel":
            return Coded(_channel(config, draw(_S_CHANNEL)), pools_of(config.seed).channels)
        case "url":
            return Coded(_channel(config, draw(_S_CHANNEL)), pools_of(config.seed).urls)
        case _:
            raise KeyError(name)


def prices(random: Bits) -> Integers:
    """Log-uniform from 100 to 100,000,000: round(10^(6u) * 100), u uniform in [0, 1)."""
    exponent = unit(random)
    exponent *= PRICE_DECADES * np.log(10.0)
    scaled = np.exp(exponent)
    scaled *= LEAST_PRICE
    scaled += 0.5
    result: Integers = scaled.astype(np.int64)
    return result


def _channel(config: NexmarkConfig, random: Bits) -> Integers:
    """A hot channel, or one of the cold ones; the code of both ``channel`` and ``url``."""
    hot = is_hot(random, config.hot_channel_ratio)
    among = np.where(hot, len(HOT_CHANNELS), COLD_CHANNELS)
    return below(random, among) + np.where(hot, 0, len(HOT_CHANNELS))


def _expires(config: NexmarkConfig, numbers: Integers, random: Bits) -> Integers:
    """Auctions last so long that on average ``in_flight_auctions`` are open.

    Uniform from 1 ms to twice the time in which that many auctions begin.
    """
    opened = micros_of(config, numbers)
    later = micros_of(config, numbers + config.in_flight_auctions * GROUP // AUCTION.share)
    horizon_millis = np.clip((later - opened) * 2 // 1000, 1, _LONGEST_MILLIS)
    return opened + 1000 * (1 + below(random, horizon_millis))
