"""What a channel carries, how many attributes have to be shed for it, and how streams share it.

Run from the root of the repository::

    python -m examples.papers.ahuja.sizes [--only channel attributes shared] [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from examples.papers.figures import draw
from examples.papers.parts import Options, main, row
from examples.papers.statements import said
from streamq.stdlib.attributes.capacity import shannon_kbps
from streamq.stdlib.attributes.coordination import (
    Allocation,
    Candidate,
    Member,
    across_streams,
    proportional,
    weighted,
)
from streamq.stdlib.attributes.intra_stream import Shedding, Window, decided
from streamq.stdlib.attributes.lookalike import Lookalike, internet, stock, weather
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.attributes.sizing import n_shed

RATES, CAPACITIES = (60, 90, 120), (72, 98, 132)
TABLE_4_6 = {9: (2, 4, 0, 2), 7: (2, 3, 0, 2), 6: (2, 3, 0, 2), 5: (1, 2, 0, 1)}
"""By number of attributes: at 90 and 120 kbit/s of a capacity of 72, and of 98; otherwise none, at 132 by its text alone."""

SOURCES = {9: "weather.yahoo", 7: "wunderground, nasdaq, …", 6: "indiamart, miq, watt", 5: "channelnewsasia"}
LOOKALIKES: dict[str, Callable[[], Lookalike]] = {"weather": weather, "stock": stock, "internet": internet}

MEMBERS = tuple(
    Member(f"s{i}", rate, n) for i, (rate, n) in enumerate(zip((64.4, 80.6, 76.6, 72.2), (6, 8, 10, 9), strict=True), 1)
)
SHARED = 256.6
PRINTED_RATES = (8.153, 10.2, 9.69, 9.14)
"""To be shed of each stream, cut off: Example 6."""

MODEM = 56.6
DRAWS = 200


def channel(options: Options) -> bool:
    """Example 2: bandwidth, and signal to noise."""
    noise, widths = range(-10, 41, 5), (2.0, 3.1, 4.0)
    found = {f"{khz:g} kHz": [shannon_kbps(khz, db) for db in noise] for khz in widths}
    print("\nkbit/s by signal to noise, dB\n" + row("", noise, "8.0f"))
    for name, of in found.items():
        print(row(name, of, "8.2f"))
    draw(options.figures, "sizes_channel", "What a channel carries", list(noise), found, xlabel="signal to noise, dB", ylabel="kbit/s")
    needed = 10 * math.log10(2 ** (MODEM / 4) - 1)
    print(f"  {MODEM} kbit/s, of which the thesis says that no modem can have them, take {needed:.1f} dB with 4 kHz")
    return said(round(shannon_kbps(4, 20), 2) == 26.63, "Example 2: 4 kHz and 20 dB carry 26.63 kbit/s")


def attributes(options: Options) -> bool:
    """Example 3, Table 4.6, and what is left of the rate."""
    cases = [(r, c) for c in CAPACITIES for r in RATES]
    print("\nTable 4.6: attributes to shed, ours / thesis\n"
          + f"  {'rate, capacity':26}" + "".join(f"{f'{r}, {c}':>9}" for r, c in cases))
    same = []
    for n, printed in TABLE_4_6.items():
        thesis = [0, *printed[:2], 0, *printed[2:], 0, 0, 0]
        ours = [n_shed(rate, capacity, n) for rate, capacity in cases]
        same.append(ours == thesis)
        texts = [f"{o} / {t if c < CAPACITIES[-1] else '…'}" for o, t, (_, c) in zip(ours, thesis, cases, strict=True)]
        print(f"  {n} {SOURCES[n]:24}" + "".join(f"{text:>9}" for text in texts))
    print("\nkbit/s that are left of streams like these, planned from their first window")
    fits, exact = [], []
    for name, make in LOOKALIKES.items():
        stream = make()
        columns = stream.rows(0, 1)
        left = []
        shedding = Shedding(ranking=Ranking(protect=frozenset({stream.key})))
        for rate, capacity in cases:
            made, _ = decided(Window(columns, 1, rate), capacity, 0, None, shedding)
            one_less = rate * (len(columns) - len(made.plan.attrs) + 1) / len(columns)
            fits.append(made.residual <= capacity and stream.key not in made.plan.attrs)
            exact.append(not made.plan.attrs or one_less > capacity)
            left.append(float(made.residual))
        print(f"  {f'{name}, {len(columns)} attributes':26}" + "".join(f"{kbps:9.1f}" for kbps in left))
    traps = {(50, 22, 25): 14, (50, 36, 25): 7, (100, 44, 25): 14}
    naive = [math.ceil((r - c) / r * n) for r, c, n in traps]
    print(f"  by numbers of a machine instead of exact ones, for {', '.join(map(str, traps))}: {naive}")
    rates = range(60, 241, 5)
    draw(options.figures, "sizes_attributes", "Attributes to shed at a capacity of 72 kbit/s", list(rates),
         {f"{n} attributes": [float(n_shed(r, 72, n)) for r in rates] for n in TABLE_4_6}, xlabel="kbit/s offered", ylabel="attributes")
    return all([
        said(n_shed(160, 120, 7) == 2, "Example 3: 160 kbit/s at a capacity of 120 take 2 of 7 attributes"),
        said(all(same), "Table 4.6, all cells"),
        said(all(fits), "what is left fits, and the key is never shed"),
        said(all(exact), "with one attribute less it would not fit"),
        said([n_shed(*case) for case in traps] == list(traps.values()), "rates that divide exactly are not rounded up"),
    ])


def shared(options: Options) -> bool:
    """Example 6: four streams at a channel, by policies."""
    first = {"s1": 1.0, "s2": 50.0, "s3": 50.0, "s4": 1.0}
    policies: dict[str, Allocation] = {
        "proportional": proportional(MEMBERS, SHARED),
        "weighted, s1 thrice": weighted([Member(m.stream, m.rate, m.n_attrs, weight=3 if m.stream == "s1" else 1) for m in MEMBERS], SHARED),
        "global, s1 and s4 vary least": across_streams(MEMBERS, _candidates(lambda m, k: first[m.stream] + k), SHARED),
    }
    print(f"\nExample 6: {float(sum(m.rate for m in MEMBERS)):.1f} kbit/s at a capacity of {SHARED}\n  {'':30}"
          + "".join(f"{m.stream:>8}" for m in MEMBERS) + f"{'all':>8}{'unused':>9}")
    for name, found in policies.items():
        print(f"  {name}" + "\n" + row("  kbit/s asked", [float(s.shed_rate) for s in found.shares], "8.3f"))
        print(row("  attributes", [s.n_shed for s in found.shares], "8d") + f"{_shed(found):8}")
        print(row("  kbit/s left", [float(s.residual) for s in found.shares], "8.3f")
              + f"{float(found.residual):8.2f}{SHARED - float(found.residual):9.3f}")
    print("  thesis\n" + row("  kbit/s asked", PRINTED_RATES, "8.3f") + "\n" + row("  attributes", (1, 2, 2, 2), "8d"))
    random = np.random.RandomState(6)
    several = [across_streams(MEMBERS, _candidates(lambda _m, _k: float(random.exponential())), SHARED) for _ in range(DRAWS)]
    print(f"  global, {DRAWS} draws of which attributes vary how much: {min(map(_shed, several))} to {max(map(_shed, several))} attributes")
    draw(options.figures, "sizes_shared", "Example 6: kbit/s left of each stream", range(1, 5),
         {name: [float(s.residual) for s in found.shares] for name, found in policies.items()}, xlabel="stream", ylabel="kbit/s")
    even = policies["proportional"]
    asked = [float(s.shed_rate) for s in even.shares]
    return all([
        said(round(100 * float(even.drop_ratio), 2) == 12.66, "Example 6: 12.66 % are too much"),
        said(all(0 <= a - p < 0.01 for a, p in zip(asked, PRINTED_RATES, strict=True)), "the rates to be shed, cut off as they are printed"),
        said([s.n_shed for s in even.shares] == [1, 2, 2, 2], "1, 2, 2 and 2 attributes are shed"),
        said(all(found.residual <= SHARED for found in (*policies.values(), *several)), "what is left fits, by all policies"),
        said(_shed(even) <= min(map(_shed, several)), "no more is shed than has to be"),
        said(_shed(policies["global, s1 and s4 vary least"]) == 4, "4 attributes are enough where it is decided for all streams together"),
    ])


def _candidates(dispersion: Callable[[Member, int], float]) -> dict[str, list[Candidate]]:
    """All attributes of each stream but its key."""
    return {m.stream: [Candidate(f"{m.stream}.a{k}", dispersion(m, k)) for k in range(m.n_attrs - 1)] for m in MEMBERS}


def _shed(found: Allocation) -> int:
    return sum(share.n_shed for share in found.shares)


PARTS = {"channel": channel, "attributes": attributes, "shared": shared}

if __name__ == "__main__":
    sys.exit(main(__doc__, PARTS))
