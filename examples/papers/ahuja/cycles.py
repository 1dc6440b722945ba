"""By what rows are told apart that come again and again: the cycle key (CID), learned from the first rows of a stream.

Run from the root of the repository::

    python -m examples.papers.ahuja.cycles [--seeds 3] [--only table streams errors] [--quick]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations

import numpy as np

from examples.papers.ahuja.streams import countries, four_stocks, new_york, printed
from examples.papers.parts import Options, counted, main
from examples.papers.statements import said
from streamq.stdlib.attributes.columns import Columns
from streamq.stdlib.attributes.cycle import NoCycle, discover
from streamq.stdlib.attributes.cycle_window import window_count
from streamq.stdlib.attributes.hamming import STATES, Bits, Hamming
from streamq.stdlib.attributes.kinds import CycleMode
from streamq.stdlib.attributes.lookalike import SEED, Lookalike, internet, stock, weather

WIDTHS = {"A1": 4, "A2": 8, "A3": 2, "A4": 8}

SOURCES: dict[str, tuple[Callable[..., Lookalike], int, int, int]] = {
    "weather.yahoo.com": (weather, 75, 28036790, 373823),
    "wunderground.com": (weather, 500, 37063068, 74126),
    "weather.com": (weather, 250, 32819280, 131277),
    "quotes.nasdaq.com": (stock, 100, 52516326, 525163),
    "finance.indiamart.com": (stock, 488, 64860370, 132910),
    "channelnewsasia.com": (stock, 1235, 33288126, 26953),
    "internettrafficreport.com": (internet, 96, 16332958, 170134),
    "average.miq.net": (internet, 50, 11689810, 233796),
    "watt.nlanr.net": (internet, 86, 10866072, 126349),
}
"""What looks like each source of Table 4.1, and its rows of a cycle, rows, and windows."""

PACKAGED: tuple[tuple[str, Callable[[], Lookalike | None], int, str], ...] = (
    ("weather of New York", new_york, 1000, "origin"),
    ("four stocks", four_stocks, 1000, "Ticker"),
    ("countries", countries, 6, "country"),
)
"""Data of packages, the cycles of training, and their key."""

TRAINING = 12
"""Cycles."""

MODES: tuple[CycleMode, CycleMode] = ("RESOLVED", "FAITHFUL")


def table(_options: Options) -> bool:
    """Table 3.1, Example 1, and sequences on which Algorithm 1 fails by its letter."""
    rows = printed("g1_training")
    columns = {name: [row[name] for row in rows] for name in WIDTHS}
    found, letter = discover(columns, WIDTHS), discover(columns, WIDTHS, mode="FAITHFUL")
    print("\nTable 3.1, 15 rows\n  attribute" + "".join(f"{name:>6}" for name in WIDTHS) + f"{'key':>12}{'cycle':>8}")
    for label, cycle in (("ours", found), ("Algorithm 1", letter), ("thesis", None)):
        periods = [3, 3, 4, None] if cycle is None else [cycle.periods[name] for name in WIDTHS]
        key, length = ("A1 A3", 12) if cycle is None else (" ".join(sorted(cycle.key)), cycle.length)
        print(f"  {label:9}" + "".join(f"{p or '-':>6}" for p in periods) + f"{key:>12}{length:8}")
    print("\nrows after which a sequence repeats\n  " + f"{'':14}{'is':>6}{'ours':>6}{'Algorithm 1':>13}")
    lengths = {}
    for text, truth in (("aab", 3), ("abcd, uvwxyz", 12)):
        of = {part: list((part * 48)[:48]) for part in text.split(", ")}
        lengths[text] = [_length(of, mode) for mode in MODES]
        print(f"  {text:14}{truth:6}{lengths[text][0] or '-':>6}{lengths[text][1] or '-':>13}")
    checks = [
        said(found.periods == letter.periods == {"A1": 3, "A2": 3, "A3": 4, "A4": None},
             "Table 3.1: A1 and A2 repeat after 3 rows, A3 after 4, A4 does not"),
        said(set(found.key) == set(letter.key) == {"A1", "A3"}, "the key is A1, narrower than A2 that it determines, and A3"),
        said(found.length == letter.length == 12, "a cycle has 12 rows"),
        said(lengths["aab"][0] == 3 and lengths["abcd, uvwxyz"][0] == 12, "ours: aab repeats after 3 rows; 4 and 6 after 12"),
        said(lengths["aab"][1] == 3, "Algorithm 1 finds the period of aab"),
        said(lengths["abcd, uvwxyz"][1] == 12, "Algorithm 1: a cycle is as long as the product of the periods, 4 and 6"),
    ]
    return all(checks)


def streams(options: Options) -> bool:
    """Figure 4.1 and Table 4.2: learned from some cycles, looked at in others that come later."""
    test = 24 if options.quick else 96
    print(f"\n{options.seeds} streams like each source, {TRAINING} cycles of training, {test} later ones\n"
          f"  {'':28}{'key':>10}{'cycle':>7}{'L':>7}{'same key later, %':>19}{'windows':>10}{'thesis':>9}")
    outcomes, windows = [], []
    for name, (like, length, rows, expected) in counted("streams", SOURCES.items()):
        found = []
        for seed in range(options.seeds):
            stream = like(cycles=TRAINING + test, keys=length, seed=SEED + seed)
            cycle = discover(stream.rows(0, TRAINING))
            found.append((cycle.key == (stream.key,) and cycle.length == length, cycle.repeats(stream.rows(TRAINING))))
        outcomes += found
        windows.append(window_count(rows, length) == expected)
        print(f"  {name:28}{' '.join(cycle.key):>10}{cycle.length:7}{length:7}{100 * np.mean([r for _, r in found]):19.1f}"
              f"{window_count(rows, length):10}{expected:9}")
    checks = [
        said(all(right and repeats == 1 for right, repeats in outcomes),
             "Figure 4.1: the key and the cycle are right, and the same in 100 % of the later windows"),
        said(all(windows), "Table 4.1: there are as many windows as whole cycles, so they do not overlap"),
    ]
    stocks = {name: np.tile([row[name] for row in printed("g8_stock")], 3) for name in ("company", "symbol", "last_sale")}
    key = discover(stocks).key
    print(f"  of the companies in Table 3.5 the key is: {' '.join(key)}")
    checks.append(said(key == ("company",), "Table 4.2: the key of NASDAQ is the company's name"))
    for label, make, begin, key in PACKAGED:
        given = make()
        if given is None:
            continue
        cycle, length = discover(given.rows(0, begin)), len(given.keys)
        later = cycle.repeats(given.rows(begin))
        print(f"  {label}, {begin} cycles of training: {' '.join(cycle.key)}, {cycle.length} rows, "
              f"{100 * later:.1f} % of {len(given.codes) // length - begin} later ones the same")
        checks.append(said((cycle.key, cycle.length, later) == ((key,), length, 1), f"the same for the {label}"))
    return all(checks)


def errors(_options: Options) -> bool:
    """Appendix A: the code that finds errors in training rows."""
    word = _bits("0110101")
    print("\nAppendix A, the word 0110101")
    received = {}
    for text in ("10001100100", "11001100101"):
        got = Hamming(secded=False).decode(_bits(text))
        received[text] = (int(got.position[0]), "".join(map(str, got.data[0])))
        print(f"  received {text}: position {received[text][0]} is wrong, data {received[text][1]}")
    wrongly = {}
    for secded in (False, True):
        sent = Hamming(secded).encode(word)
        twice = np.concatenate([_flipped(sent, pair) for pair in combinations(range(sent.shape[1]), 2)])
        state = Hamming(secded).decode(twice).state
        wrongly[secded] = int(np.count_nonzero(state != STATES.index("UNCORRECTABLE")))
        print(f"  two wrong bits, {sent.shape[1]} bits a word: {len(twice)} ways, {wrongly[secded]} of them corrected wrongly")
    checks = [
        said(received == {"10001100100": (11, "0110101"), "11001100101": (2, "0110101")}, "one wrong bit is corrected"),
        said(wrongly[False] == 0, "two wrong bits are detected"),
        said(wrongly[True] == 0, "with one more parity bit (SECDED) they are"),
    ]
    return all(checks)


def _length(of: Columns, mode: CycleMode) -> int | None:
    try:
        return discover(of, mode=mode).length
    except NoCycle:
        return None


def _bits(text: str) -> Bits:
    return np.array([list(map(int, text))], dtype=np.uint8)


def _flipped(word: Bits, places: tuple[int, ...]) -> Bits:
    found = word.copy()
    found[0, list(places)] ^= 1
    return found


PARTS = {"table": table, "streams": streams, "errors": errors}

if __name__ == "__main__":
    sys.exit(main(__doc__, PARTS, seeds=3))
