"""Text columns without a string per row: codes into pools of words, joined where a value has parts.

The reader turns a column into strings in one vectorised step (a dictionary take).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from streamq.stdlib.nexmark.draws import Bits, Integers, below, bits

HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
COLD_CHANNELS = 10_000

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_FIRST_NAMES = ("Ada", "Bruno", "Carla", "Dario", "Edda", "Farid", "Greta", "Hugo", "Ines", "Jonas")
_LAST_NAMES = ("Albrecht", "Brandt", "Castro", "Dumont", "Eriksen", "Fischer", "Garcia", "Holm")

_WORDS = 4096
_LETTERS = 26
_URL_HOST = "https://www.nexmark.com"
_URL_FOLDERS = 3
_URL_FOLDER_LENGTH = (3, 5)
_URL_ID_SHARE = 0.9

# Stream numbers of the pools' draws; those of events are small and positive.
_POOL_STREAM = 1 << 32


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """The distinct words of a column, or of a part of it. Compared by identity: made once per seed."""

    words: tuple[str, ...]

    @property
    def mean_length(self) -> float:
        return sum(map(len, self.words)) / len(self.words)

    def pick(self, random: Bits) -> Coded:
        """A word for each draw, all words equally likely."""
        return Coded(below(random, len(self.words)), self)


@dataclass(frozen=True, slots=True)
class Coded:
    """A text column: row i is ``pool.words[codes[i]]``."""

    codes: Integers
    pool: Pool


@dataclass(frozen=True, slots=True)
class Joined:
    """A text column whose values are parts with a separator between them."""

    parts: tuple[Coded, ...]
    separator: str


@dataclass(frozen=True, slots=True)
class Pools:
    """All pools of one seed.

    ``urls`` runs parallel to ``channels``: a channel always has the same url, drawn from the seed.
    """

    names: Pool
    mailboxes: Pool
    domains: Pool
    digits: Pool
    states: Pool
    cities: Pool
    items: Pool
    descriptions: Pool
    channels: Pool
    urls: Pool
    extras: dict[str, Pool]
    """Padding by kind of event."""


# Bytes of the columns that are not text: 8 for each number and timestamp.
_PERSON_NUMBERS = 8 * 2
_AUCTION_NUMBERS = 8 * 7
_BID_NUMBERS = 8 * 4
_AVERAGE_BYTES = {"person": 200, "auction": 500, "bid": 100}
"""Average size of a row. ``channel`` and ``url`` of a bid come on top: the benchmark set the sizes before
it had those two columns."""


@lru_cache(maxsize=8)
def pools_of(seed: int) -> Pools:
    """The pools of a seed, made at first use."""
    names = Pool(tuple(f"{first} {last}" for first in _FIRST_NAMES for last in _LAST_NAMES))
    mailboxes = Pool(_words(seed, 0, _WORDS, 7, 7))
    domains = Pool(tuple(f"{word}.com" for word in _words(seed, 1, 256, 5, 5)))
    items = Pool(_words(seed, 2, _WORDS, 3, 20))
    descriptions = Pool(_words(seed, 3, _WORDS, 3, 100))
    cities, states = Pool(CITIES), Pool(STATES)
    digits = Pool(tuple(f"{n:04d}" for n in range(10_000)))
    card, mail = 4 * 4 + 3, mailboxes.mean_length + 1 + domains.mean_length
    person_text = names.mean_length + mail + card + cities.mean_length + states.mean_length
    auction_text = items.mean_length + descriptions.mean_length
    used = {
        "person": _PERSON_NUMBERS + person_text,
        "auction": _AUCTION_NUMBERS + auction_text,
        "bid": float(_BID_NUMBERS),
    }
    extras = {
        kind: Pool(_padding(seed, 4 + i, _AVERAGE_BYTES[kind] - size))
        for i, (kind, size) in enumerate(used.items())
    }
    channels = HOT_CHANNELS + tuple(f"channel-{i}" for i in range(COLD_CHANNELS))
    return Pools(
        names=names,
        mailboxes=mailboxes,
        domains=domains,
        digits=digits,
        states=states,
        cities=cities,
        items=items,
        descriptions=descriptions,
        channels=Pool(channels),
        urls=Pool(_urls(seed, 7, len(channels))),
        extras=extras,
    )


def _words(seed: int, pool: int, count: int, shortest: int, longest: int) -> tuple[str, ...]:
    """Random lower-case words with uniform lengths in [shortest, longest]."""
    stream = _POOL_STREAM + 2 * pool
    lengths = shortest + below(
        bits(seed, stream, np.arange(count, dtype=np.int64)), longest - shortest + 1
    )
    stops = np.cumsum(lengths)
    letters = below(bits(seed, stream + 1, np.arange(stops[-1], dtype=np.int64)), _LETTERS)
    text = (letters + ord("a")).astype(np.uint8).tobytes().decode("ascii")
    bounds = zip((stops - lengths).tolist(), stops.tolist(), strict=True)
    return tuple(text[start:stop] for start, stop in bounds)


def _padding(seed: int, pool: int, mean: float) -> tuple[str, ...]:
    """Padding words whose lengths spread 20 % around the mean."""
    spread = round(mean * 0.2)
    return _words(seed, pool, _WORDS, round(mean) - spread, round(mean) + spread)


def _urls(seed: int, pool: int, channels: int) -> tuple[str, ...]:
    """One url per channel: three folders, and for 90 % of the cold channels their id."""
    folders = _words(seed, pool, channels * _URL_FOLDERS, *_URL_FOLDER_LENGTH)
    random = bits(seed, _POOL_STREAM + 2 * (pool + 1), np.arange(channels, dtype=np.int64))
    with_id = below(random, 1000) < round(_URL_ID_SHARE * 1000)
    ids = (random & np.uint64(0x7FFFFFFF)).tolist()
    urls = []
    for channel in range(channels):
        path = "/".join(folders[channel * _URL_FOLDERS : (channel + 1) * _URL_FOLDERS])
        url = f"{_URL_HOST}/{path}/item.htm?query=1"
        if channel >= len(HOT_CHANNELS) and with_id[channel]:
            url += f"&channel_id={ids[channel]}"
        urls.append(url)
    return tuple(urls)
