"""What the queries of ``sketches`` should answer over bids in Parquet files, and how many of their answers are wrong.

The truth is counted by numpy over the files themselves. An answer is right that lies between its bounds; of bounds that hold
in 95 of 100 windows as many may miss as chance allows once in a thousand runs. Bids are the same in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import comb, sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

Longs = NDArray[np.int64]

SECOND = 1_000_000
DELAY = 4 * SECOND
LEAST_WINDOWS = 3
CHANCE = 1e-3
HELD = 0.95
"""How often bounds hold."""

FP = 0.01
"""The largest share of new rows that APPROX DISTINCT loses."""

HLL_ERROR = 0.05
"""The standard deviation of APPROX_COUNT_DISTINCT, as a share."""

SHARE = 0.005
"""From which HEAVY_HITTERS are told: the hot auctions of a window of ten seconds have up to 0.9 % of its bids."""


@dataclass(frozen=True, slots=True)
class Bids:
    """Columns of all bids, ``[n]``, in order of time; ``at`` in microseconds, ``pair``: auction and bidder in one number."""

    auction: Longs
    bidder: Longs
    channel: Longs
    at: Longs
    pair: Longs

    def window(self, end: int, length: int) -> Bids:
        first, last = np.searchsorted(self.at, [end - length, end])
        part = slice(int(first), int(last))
        return Bids(
            self.auction[part],
            self.bidder[part],
            self.channel[part],
            self.at[part],
            self.pair[part],
        )

    def closed(self, slide: int) -> list[int]:
        """The ends of the windows that the watermark has passed, all of which have rows."""
        first = int(self.at[0])
        return list(range(first - first % slide + slide, self.watermark + 1, slide))

    @property
    def watermark(self) -> int:
        """Where it stands at the end; Spark counts it in milliseconds."""
        return int(self.at[-1]) // 1000 * 1000 - DELAY

    def since(self) -> Longs:
        """Microseconds since the pair came last, ``[n]``; where it did not come before more than the whole stream."""
        order = np.lexsort((np.arange(len(self.at)), self.pair))
        gaps = np.diff(self.at[order], prepend=0)
        gaps[np.diff(self.pair[order], prepend=-1) != 0] = self.at[-1] - self.at[0] + 3600 * SECOND
        found = np.empty_like(gaps)
        found[order] = gaps
        return found


def read_bids(folder: Path) -> Bids:
    table = ds.dataset(folder, format="parquet").to_table(
        columns=["auction", "bidder", "channel", "dateTime"]
    )
    table = table.sort_by("dateTime").combine_chunks()
    channel = np.unique(table["channel"].to_numpy(), return_inverse=True)[1]
    auction, bidder = _longs(table["auction"]), _longs(table["bidder"])
    return Bids(auction, bidder, channel, _micros(table["dateTime"]), _both(auction, bidder))


def numbered(*columns: Longs) -> Longs:
    """A number for each different row of the columns, ``[n]``, from 0 on."""
    found = np.unique(columns[0], return_inverse=True)[1]
    for column in columns[1:]:
        numbers, of = np.unique(column, return_inverse=True)
        found = np.unique(found * len(numbers) + of, return_inverse=True)[1]
    return found


def counts(values: Longs) -> Longs:
    return np.unique(values, return_counts=True)[1]


def f2(values: Longs) -> int:
    return int((counts(values) ** 2).sum())


def join(left: Longs, right: Longs) -> int:
    of_left, of_right = np.unique(left, return_counts=True), np.unique(right, return_counts=True)
    _, i, j = np.intersect1d(of_left[0], of_right[0], assume_unique=True, return_indices=True)
    return int((of_left[1][i] * of_right[1][j]).sum())


def alike(bids: Bids) -> int:
    """Pairs of bids with two or more of auction, bidder and channel in common; those with all three are in each pair's."""
    pairs = [
        (bids.auction, bids.bidder),
        (bids.auction, bids.channel),
        (bids.bidder, bids.channel),
        (bids.auction, bids.bidder, bids.channel),
    ]
    a, b, c, of_all = ((f2(numbered(*columns)) - len(bids.at)) // 2 for columns in pairs)
    return a + b + c - 2 * of_all


def frequency_of_last(bids: Bids) -> int:
    return int((bids.auction == bids.auction.max()).sum())


Truth = Callable[[Bids], int]
Check = Callable[[Bids, pa.Table], list[str]]
"""What is wrong with the answers, a line for each."""

TRUTHS: dict[str, Truth] = {
    "f2": lambda bids: f2(bids.auction),
    "frequency": frequency_of_last,
    "joined": lambda bids: join(bids.auction, bids.bidder),
    "alike": alike,
    "rows": lambda bids: len(bids.at),
    "auctions": lambda bids: len(counts(bids.auction)),
    "about": lambda bids: len(counts(bids.auction)),
}
"""What a column of this name should be."""


def of_windows(length: int, slide: int, *columns: str) -> Check:
    """A check of answers by window, which have these columns and ``until``: each window that is over has one, others none."""

    def check(bids: Bids, found: pa.Table) -> list[str]:
        ends = _micros(found["until"])
        wanted = bids.closed(slide)
        if len(wanted) < LEAST_WINDOWS:
            return [f"{len(wanted)} windows are over, which says little: give it more rows"]
        if sorted(ends.tolist()) != wanted:
            return [f"{len(ends)} windows were told, {len(wanted)} are over"]
        windows = [bids.window(end, length) for end in ends.tolist()]
        return [
            problem
            for name in columns
            for problem in _column(name, windows, found, length // slide)
        ]

    return check


def _column(name: str, windows: list[Bids], found: pa.Table, overlap: int) -> list[str]:
    if name == "busy":
        lists = zip(windows, found[name].to_pylist(), strict=True)
        return [problem for window, items in lists for problem in _busy(window, items)]
    truth = np.array([TRUTHS[name](window) for window in windows], np.float64)
    low, value, high = (
        _floats(found[n]) if n in found.column_names else None
        for n in (f"{name}_lo", name, f"{name}_hi")
    )
    assert value is not None
    if name == "about":
        off = float(np.abs(value / truth - 1).max())
        return [] if off < 5 * HLL_ERROR else [f"{name} is off by {off:.1%}"]
    if low is None or high is None:
        wrong = int((value != truth).sum())
        return [f"{name} is wrong in {wrong} windows of {len(truth)}"] if wrong else []
    outside = int(((truth < low) | (truth > high)).sum())
    # Windows that overlap have most rows in common, and so miss together.
    most = most_of(-(-len(truth) // overlap), 1 - HELD) * overlap
    if outside <= most:
        return []
    return [f"{name} is outside of its bounds in {outside} windows of {len(truth)}; {most} may be"]


def _busy(bids: Bids, items: list[dict[str, int]]) -> list[str]:
    """Bounds of frequent values are no matter of chance, and no value is missing."""
    values, of = np.unique(bids.auction, return_counts=True)
    truth = dict(zip(values.tolist(), of.tolist(), strict=True))
    frequent = {value for value, n in truth.items() if n >= SHARE * len(bids.at)}
    problems = []
    if missing := frequent - {item["item"] for item in items}:
        problems.append(f"busy: auctions {sorted(missing)} are missing")
    for item in items:
        if not item["count_lo"] <= truth.get(item["item"], 0) <= item["count_hi"]:
            problems.append(f"busy: the count of auction {item['item']} is outside of its bounds")
    return problems


def new_pairs(bids: Bids, found: pa.Table) -> list[str]:
    """Of different pairs at most the stated share is lost, and each that is told is one of the stream."""
    told, pairs = _pairs(found), len(counts(bids.pair))
    return _known(bids, told) + _lost(pairs - len(counts(told)), pairs)


def new_pairs_in(length: int, blur: int) -> Check:
    """Pairs that did not come for so long are told, and none that came within ``length``; between that and ``blur`` more either."""

    def check(bids: Bids, found: pa.Table) -> list[str]:
        since, told = bids.since(), _pairs(found)
        certain, possible = int((since > length + blur).sum()), int((since >= length).sum())
        problems = _known(bids, told) + _lost(certain - len(told), certain)
        if len(told) > possible:
            problems.append(f"{len(told)} were told, {possible} are new")
        return problems

    return check


def every_pair_in(length: int) -> Check:
    """Exactly the pairs that did not come within ``length``, up to the watermark: until it has passed, an instant is not told."""

    def check(bids: Bids, found: pa.Table) -> list[str]:
        since = bids.since()
        least = int((since[bids.at < bids.watermark] > length).sum())
        most = int((since[bids.at <= bids.watermark] >= length).sum())
        told = len(_pairs(found))
        return [] if least <= told <= most else [f"{told} were told, {most} are new"]

    return check


def every_row(bids: Bids, found: pa.Table) -> list[str]:
    wanted = len(counts(numbered(bids.pair, bids.at)))
    told = np.stack([_pairs(found), _micros(found["dateTime"])])
    got = np.unique(told, axis=1).shape[1]
    if wanted == got == found.num_rows:
        return []
    return [f"{found.num_rows} were told, {got} different ones; {wanted} are new"]


def _known(bids: Bids, told: Longs) -> list[str]:
    strange = len(np.setdiff1d(told, bids.pair))
    return [f"{strange} pairs were told that never came"] if strange else []


def _lost(lost: int, of: int) -> list[str]:
    most = of * FP + 5 * sqrt(of * FP)
    return [f"{lost} new rows of {of} are lost, {most:.0f} may be"] if lost > most else []


def _pairs(found: pa.Table) -> Longs:
    return _both(_longs(found["auction"]), _longs(found["bidder"]))


def _both(auction: Longs, bidder: Longs) -> Longs:
    """Auction and bidder in one number; both are below 2^31."""
    return auction << 31 | bidder


def most_of(n: int, chance: float) -> int:
    """How many of ``n`` may miss, each with ``chance``, so that more do in one of a thousand runs."""
    left, most = 1.0, -1
    while left > CHANCE:
        most += 1
        left -= comb(n, most) * chance**most * (1 - chance) ** (n - most)
    return most


def _longs(column: pa.ChunkedArray) -> Longs:
    return np.asarray(column.to_numpy(), np.int64)


def _micros(column: pa.ChunkedArray) -> Longs:
    return _longs(column.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()))


def _floats(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(column.to_numpy(), np.float64)
