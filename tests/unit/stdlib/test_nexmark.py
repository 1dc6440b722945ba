"""The NEXMark generator: determinism, ratios, references, distributions and times.

Statistical checks use bounds computed from the sampling distribution under the stated model, for a chance of a
false alarm below one in a million per check (then the seed is fixed, so a check that passes once passes
always). Shares: the normal bound on a binomial share, z * sqrt(p (1 - p) / n) with z = 5.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from streamq.stdlib.nexmark import (
    AUCTION,
    BASE_TIME_MICROS,
    BID,
    KINDS,
    PERSON,
    TABLES,
    Coded,
    Column,
    Joined,
    Kind,
    NexmarkConfig,
    arrivals,
    columns,
    event_numbers,
    events_due,
    micros_of,
)
from streamq.stdlib.nexmark.draws import below, bits, is_hot, unit

CONFIG = NexmarkConfig(seed=7)
MANY = 500_000
Z = 5.0


def make(kind: Kind, names: list[str], start: int = 0, stop: int = MANY) -> dict[str, Column]:
    return columns(CONFIG, kind, event_numbers(CONFIG, start, stop, kind), names)


def numbers(column: Column) -> NDArray[np.int64]:
    assert isinstance(column, np.ndarray)
    return column


def texts(column: Column) -> list[str]:
    match column:
        case Coded():
            return [column.pool.words[code] for code in column.codes]
        case Joined():
            parts = [texts(part) for part in column.parts]
            return [column.separator.join(words) for words in zip(*parts, strict=True)]
        case _:
            raise TypeError("not text")


def values(column: Column) -> list[object]:
    return list(column) if isinstance(column, np.ndarray) else list(texts(column))


def assert_share(hits: int, total: int, expected: float) -> None:
    bound = Z * math.sqrt(expected * (1 - expected) / total)
    assert abs(hits / total - expected) < bound


# --- the draws -----------------------------------------------------------------------------------


def test_splitmix_gives_the_published_first_values() -> None:
    # SplitMix64 seeded with 0 yields these as its first outputs; `bits` adds a start of its own, so
    # the scalar form is held against them and the array form against the scalar one.
    from streamq.stdlib.nexmark.draws import mix

    gamma = 0x9E3779B97F4A7C15
    assert mix(0) == 0xE220A8397B1DCDAF
    assert mix(gamma) == 0x6E789E6AA1B965F4
    start = mix(mix(3) ^ 9)
    drawn = bits(3, 9, np.array([5], dtype=np.int64))
    assert int(drawn[0]) == mix((start + 5 * gamma - gamma) % 2**64)


def test_draws_are_uniform_and_streams_independent() -> None:
    counter = np.arange(MANY, dtype=np.int64)
    first, second = bits(1, 1, counter), bits(1, 2, counter)
    for drawn in (first, second):
        # The mean of n uniforms has standard deviation 1 / sqrt(12 n).
        assert abs(unit(drawn).mean() - 0.5) < Z / math.sqrt(12 * MANY)
    # The correlation of independent uniforms has standard deviation 1 / sqrt(n).
    assert abs(np.corrcoef(unit(first), unit(second))[0, 1]) < Z / math.sqrt(MANY)
    counts = np.bincount(below(first, 50), minlength=50)
    # Chi-square with 49 degrees: mean 49, standard deviation sqrt(98).
    chi = ((counts - MANY / 50) ** 2 / (MANY / 50)).sum()
    assert abs(chi - 49) < Z * math.sqrt(98)
    assert_share(int(is_hot(first, 4).sum()), MANY, 0.75)


# --- determinism ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("group", [1, 7, 1000])
def test_any_split_gives_the_same_events(kind: Kind, group: int) -> None:
    config = replace(CONFIG, out_of_order_group=group, delay_probability=0.1)
    names = [name for name, _ in TABLES[kind.name]]
    whole = columns(config, kind, event_numbers(config, 0, 5_000, kind), names)
    cuts = [0, 1, 3, 50, 51, 997, 2_500, 5_000]
    pieces = [
        columns(config, kind, event_numbers(config, low, high, kind), names)
        for low, high in pairwise(cuts)
    ]
    for name in names:
        assert values(whole[name]) == [v for piece in pieces for v in values(piece[name])]


def test_another_seed_gives_other_events() -> None:
    other = replace(CONFIG, seed=8)
    for kind, name in ((BID, "price"), (BID, "url"), (PERSON, "emailAddress")):
        picked = event_numbers(CONFIG, 0, 5_000, kind)
        mine = values(columns(CONFIG, kind, picked, [name])[name])
        theirs = values(columns(other, kind, picked, [name])[name])
        assert mine != theirs


def test_only_the_wanted_columns_are_made() -> None:
    assert list(make(BID, ["price"], stop=100)) == ["price"]
    with pytest.raises(KeyError):
        make(BID, ["seller"], stop=100)


# --- kinds and order -----------------------------------------------------------------------------


def test_of_fifty_events_one_is_a_person_three_are_auctions_the_rest_bids() -> None:
    for kind, share in ((PERSON, 1), (AUCTION, 3), (BID, 46)):
        assert len(kind.numbers(0, 50)) == share
        assert kind.count_before(5_000_000) == 100_000 * share
    together = np.concatenate([kind.numbers(13, 777) for kind in KINDS])
    assert sorted(together) == list(range(13, 777))
    assert list(event_numbers(CONFIG, 0, 6, AUCTION)) == [1, 2, 3]


def test_out_of_order_groups_are_shuffled_inside_themselves() -> None:
    config = replace(CONFIG, out_of_order_group=100)
    arrived = arrivals(config, 0, 1_000)
    assert not np.array_equal(arrived, np.arange(1_000))
    for low in range(0, 1_000, 100):
        assert sorted(arrived[low : low + 100]) == list(range(low, low + 100))
    assert np.array_equal(arrivals(config, 350, 420), arrived[350:420])


# --- references ----------------------------------------------------------------------------------


def test_ids_count_up_without_gaps() -> None:
    assert list(numbers(make(PERSON, ["id"], stop=5_000)["id"])) == list(range(1000, 1100))
    assert list(numbers(make(AUCTION, ["id"], stop=5_000)["id"])) == list(range(1000, 1300))


def test_hot_auctions_bidders_and_sellers_have_their_shares() -> None:
    start, stop = 1_000_000, 1_000_000 + MANY
    bids = make(BID, ["auction", "bidder"], start, stop)
    event = event_numbers(CONFIG, start, stop, BID)
    newest_auction = event // 50 * 3 + 2
    newest_person = event // 50
    hot_auction = newest_auction // 100 * 100 + 1000
    hot_bidder = newest_person // 100 * 100 + 1 + 1000
    # A cold draw may hit the hot one: one of 111 auctions, and only while it is in flight;
    # one of 1010 people.
    in_flight = (newest_auction - newest_auction // 100 * 100) <= 100
    by_chance = 0.5 * in_flight.mean() / 111
    hits = int((numbers(bids["auction"]) == hot_auction).sum())
    assert_share(hits, len(event), 0.5 + by_chance)
    hits = int((numbers(bids["bidder"]) == hot_bidder).sum())
    assert_share(hits, len(event), 0.75 + 0.25 / 1010)

    auctions = make(AUCTION, ["seller"], start, stop)
    event = event_numbers(CONFIG, start, stop, AUCTION)
    hot_seller = event // 50 // 100 * 100 + 1000
    hits = int((numbers(auctions["seller"]) == hot_seller).sum())
    assert_share(hits, len(event), 0.75 + 0.25 / 1010)


def test_references_stay_in_flight_and_lead_by_at_most_ten() -> None:
    start, stop = 1_000_000, 1_000_000 + MANY
    bids = make(BID, ["auction", "bidder"], start, stop)
    event = event_numbers(CONFIG, start, stop, BID)
    newest_auction, newest_person = event // 50 * 3 + 2, event // 50
    auction = numbers(bids["auction"]) - 1000
    assert (newest_auction - auction).max() <= 100
    assert (auction - newest_auction).max() == 10
    # The first person id is added once: bids refer to people that exist, or are among the next ten.
    bidder = numbers(bids["bidder"]) - 1000
    assert (newest_person - bidder).max() == 999
    assert (bidder - newest_person).max() == 10
    assert (bidder > newest_person).mean() < 0.01
    assert numbers(make(BID, ["auction"], 0, 200)["auction"]).min() >= 1000


# --- distributions -------------------------------------------------------------------------------


def test_prices_are_log_uniform_over_six_decades() -> None:
    price = numbers(make(BID, ["price"])["price"])
    assert price.min() >= 100
    assert price.max() <= 100_000_000
    ordered = np.sort((np.log10(price) - 2) / 6)
    n = len(ordered)
    uniform = np.arange(1, n + 1) / n
    # Kolmogorov-Smirnov: P(D > d) <= 2 exp(-2 n d^2) (Dvoretzky, Kiefer, Wolfowitz, with Massart's
    # constant); one in a million gives d. Rounding to whole units moves a price by at most 0.5 %.
    d = math.sqrt(math.log(2 / 1e-6) / (2 * n)) + math.log10(1.005) / 6
    assert np.abs(ordered - uniform).max() < d


def test_channels_and_urls() -> None:
    bids = make(BID, ["channel", "url"])
    channel, url = bids["channel"], bids["url"]
    assert isinstance(channel, Coded)
    assert isinstance(url, Coded)
    hot = channel.codes < 4
    assert set(channel.pool.words[:4]) == {"Google", "Facebook", "Baidu", "Apple"}
    assert len(channel.pool.words) == 4 + 10_000
    assert_share(int(hot.sum()), len(hot), 0.5)
    # A channel has one url: the codes are the same.
    assert np.array_equal(channel.codes, url.codes)
    cold_urls = url.pool.words[4:]
    assert_share(sum("&channel_id=" in u for u in cold_urls), 10_000, 0.9)
    assert not any("&channel_id=" in u for u in url.pool.words[:4])
    assert all(len(u.split("/")) == 7 and u.startswith("https://") for u in url.pool.words)


@pytest.mark.parametrize(("kind", "size"), [(PERSON, 200), (AUCTION, 500), (BID, 100)])
def test_rows_have_the_stated_average_size(kind: Kind, size: int) -> None:
    """8 bytes for a number or time; a bid's channel and url are not part of the stated size."""
    names = [n for n, _ in TABLES[kind.name] if n not in ("channel", "url")]
    made = make(kind, names, stop=200_000)
    sizes = np.zeros(len(event_numbers(CONFIG, 0, 200_000, kind)))
    for column in made.values():
        sizes += 8 if isinstance(column, np.ndarray) else np.array([len(t) for t in texts(column)])
    # Lengths are rounded per pool, and the padding is one of 4096 words: its mean has a standard
    # deviation of the padding's (a fifth of it, uniform: 0.2 / sqrt(3)) over sqrt(4096).
    bound = 1 + Z * size * 0.2 / math.sqrt(3) * (1 / math.sqrt(4096) + 1 / math.sqrt(len(sizes)))
    assert abs(sizes.mean() - size) < bound


def test_persons_and_auctions_look_like_the_benchmark() -> None:
    persons = make(PERSON, ["name", "emailAddress", "creditCard", "city", "state"], stop=50_000)
    assert set(texts(persons["state"])) == {"AZ", "CA", "ID", "OR", "WA", "WY"}
    assert len(set(texts(persons["city"]))) == 10
    assert all(len(card.split(" ")) == 4 for card in texts(persons["creditCard"]))
    assert all("@" in mail and mail.endswith(".com") for mail in texts(persons["emailAddress"]))
    auctions = make(AUCTION, ["category", "initialBid", "reserve", "expires", "dateTime"])
    counts = np.bincount(numbers(auctions["category"]), minlength=15)
    assert counts[:10].sum() == 0
    for category in range(10, 15):
        assert_share(int(counts[category]), int(counts.sum()), 0.2)
    assert (numbers(auctions["reserve"]) > numbers(auctions["initialBid"])).all()
    open_for = numbers(auctions["expires"]) - numbers(auctions["dateTime"])
    assert open_for.min() >= 1_000
    # Uniform from 1 ms to twice the time of 100 auctions (1,666 events at 10,000/s: 166.6 ms).
    mean, deviation = 1_000 + 166_500, 333_000 / math.sqrt(12)
    assert abs(open_for.mean() - mean) < 1_000 + Z * deviation / math.sqrt(len(open_for))


def test_delays_hit_their_share_of_events_and_their_length() -> None:
    config = replace(CONFIG, delay_probability=0.1, delay=3.0)
    picked = event_numbers(config, 0, MANY, BID)
    late = micros_of(config, picked) - numbers(
        columns(config, BID, picked, ["dateTime"])["dateTime"]
    )
    assert_share(int((late > 0).sum()), len(late), 0.1)
    assert late.min() == 0
    assert 2_900_000 < late.max() < 3_000_000


# --- times ---------------------------------------------------------------------------------------


def test_a_constant_rate_spaces_events_evenly() -> None:
    times = micros_of(NexmarkConfig(rate=30_000), np.arange(3_000_001, dtype=np.int64))
    assert times[0] == BASE_TIME_MICROS
    assert times[30_000] - BASE_TIME_MICROS in (999_999, 1_000_000)
    assert set(np.diff(times)) <= {32, 33, 34}


@pytest.mark.parametrize("shape", ["square", "sine"])
def test_shaped_rates_integrate_to_the_events(shape: str) -> None:
    config = NexmarkConfig(rate=1_000, peak_rate=9_000, period=10, shape=shape)
    # One period holds its mean rate times its length: 50,000 events in 10 s.
    picked = np.arange(200_001, dtype=np.int64)
    seconds = (micros_of(config, picked) - config.start_micros) / 1e6
    assert (np.diff(seconds) >= 0).all()
    for period in range(5):
        assert seconds[50_000 * period] == pytest.approx(10 * period, abs=1e-5)
    # The counts of each half second follow the rate curve, to within the one event at each edge.
    counts, edges = np.histogram(seconds, bins=np.arange(0, 40.001, 0.5))
    middle = (edges[:-1] + 0.25) % 10
    if shape == "square":
        expected = np.where(middle < 5, 1_000, 9_000) * 0.5
    else:
        omega = 2 * math.pi / 10
        low, high = edges[:-1], edges[1:]
        wave = (np.sin(omega * high) - np.sin(omega * low)) / omega
        expected = 5_000 * 0.5 - 4_000 * wave
    # The last bin also holds the event at its right edge.
    assert np.abs(counts - expected)[:-1].max() <= 1.5


@pytest.mark.parametrize("shape", ["constant", "square", "sine"])
def test_events_due_is_the_inverse_of_event_times(shape: str) -> None:
    config = NexmarkConfig(rate=1_000, peak_rate=9_000, period=10, shape=shape)
    for elapsed in (0.5, 3.3, 5.0, 7.7, 10.0, 123.4):
        due = events_due(config, elapsed)
        around = (micros_of(config, np.array([due - 1, due + 1])) - config.start_micros) / 1e6
        assert around[0] <= elapsed + 1e-6
        assert around[1] >= elapsed - 1e-6
    assert events_due(config, -1.0) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"shape": "saw"},
        {"rate": 0.0},
        {"rate": math.nan},
        {"peak_rate": -1.0},
        {"period": 0.0},
        {"out_of_order_group": 953},
        {"out_of_order_group": 0},
        {"delay_probability": 1.5},
        {"delay": 0.0},
    ],
)
def test_settings_without_a_meaning_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        NexmarkConfig(**wrong)  # type: ignore[arg-type]
