"""Tables 5.1 to 5.7 of Deng's thesis: how many pairs of titles have k of their min-hashes in common.

The thesis counts ordered pairs, and with k = d each record as a pair with itself; so do the tables here. Its titles are 467,468 of
computer science; ours are drawn at random (``stdlib/sketches/titles.py``), and similar pairs are of the same order. Errors are
those of the number of pairs with exactly k in common, in percent; of ours the mean of their sizes over seeds is given.
Run from the root of the repository::

    python -m examples.papers.deng.similarity [--seeds 10] [--only likeness records rates attributes sample] [--quick]
        [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from examples.papers.figures import draw
from examples.papers.parts import Options, counted, main, row
from examples.papers.statements import said
from streamq.stdlib.sketches.counters import Floats
from streamq.stdlib.sketches.pair_count import PairCounts, self_join_offline
from streamq.stdlib.sketches.pair_exact import sampled_pairs
from streamq.stdlib.sketches.pair_sketch import empty_pair_sketch
from streamq.stdlib.sketches.similarity_plan import plan_similarity
from streamq.stdlib.sketches.super_values import Records
from streamq.stdlib.sketches.titles import titles

DATA = 2
"""The seed of the titles: of the first ten the one with numbers of similar pairs that are nearest to those of the thesis."""

WIDTH, DEPTH, SAMPLE = 1000, 3, 750
"""Three sketches of 3·1000 counters of 32 bits for k = 4 to 6, and as much memory as six hashes of 64 bits of 750 records."""

# Of k = 6 .. 0: pairs of 200,000 titles, and errors of estimates offline and online.
PAIRS = (219_356, 191_310, 1_690_036, 14_706_402, 87_385_874, 417_430_350, 39_478_376_672)
OFFLINE = (0, -1.35, 0.68, 0.79, 0.14, -0.08, 0.0002)
ONLINE = (0.69, 16.89, -16.86, 11.89, -6.55, -6.62, 0.08)

# Of k = 4: by records, and errors.
BY_RECORDS = {25_000: 8.76, 50_000: 5.11, 100_000: 1.3, 200_000: 0.68, 400_000: -1.15}
ONLINE_BY_RECORDS = {100_000: 47.77, 200_000: -16.86, 300_000: -27.56, 400_000: -2.94}

# Of 100,000 titles: by rate, of k = 5, 4, 3; and by attributes, of k nearest to 0.8 of these.
BY_RATE = {0.25: (6.97, 3.93, -2.20), 0.5: (-2.6, 1.3, 1.3), 0.75: (-3.89, 2.47, -1.08)}
BY_ATTRS = {4: 1.08, 5: 0.53, 6: -2.60, 7: 4.07, 8: 6.06}

# Of k = 6, 5, 4: a random sample of 750 records, and sketches of as much memory.
SAMPLED = {
    200_000: ((56.00, -25.47, -66.25), (0.69, 16.89, -16.86)),
    300_000: ((-10.89, 68.28, 63.14), (1.28, 34.06, -27.56)),
    400_000: ((-12.56, 83.87, -53.56), (1.59, 2.91, -2.94)),
}


@lru_cache(maxsize=2)
def all_titles(n_attrs: int) -> Records:
    return titles(max(BY_RECORDS), n_attrs=n_attrs, seed=DATA)


def some(n: int, n_attrs: int = 6) -> Records:
    return all_titles(n_attrs).take(slice(0, n))


def with_themselves(found: PairCounts, n: int) -> Floats:
    """``[d + 1]``: pairs as the thesis counts them, those of k = 0 too where the others are known."""
    pairs = found.pairs.copy()
    pairs[-1] += n
    if found.min_common == 1:
        pairs[0] = float(n) ** 2 - pairs[1:].sum()
    return pairs


@lru_cache(maxsize=32)
def exact(n: int, n_attrs: int = 6) -> Floats:
    return with_themselves(self_join_offline(some(n, n_attrs), plan_similarity(n_attrs, 1, 1.0)), n)


def offline(n: int, min_common: int, rate: float, n_attrs: int = 6) -> Callable[[int], Floats]:
    """Of a seed estimated pairs, ``[d + 1]``."""
    of, plan = some(n, n_attrs), plan_similarity(n_attrs, min_common, rate)
    return lambda seed: with_themselves(self_join_offline(of, plan, seed), n)


def online(n: int, min_common: int, rate: float = 0.5) -> Callable[[int], Floats]:
    of, plan = some(n), plan_similarity(6, min_common, rate)
    return lambda seed: with_themselves(empty_pair_sketch(plan, WIDTH, DEPTH, seed).added(of).estimate(), n)


def sampled(n: int, min_common: int) -> Callable[[int], Floats]:
    return lambda seed: with_themselves(sampled_pairs(some(n), min_common, SAMPLE, seed), n)


def errors(estimate: Callable[[int], Floats], true: Floats, seeds: int) -> Floats:
    """``[seeds, d + 1]``, percent."""
    return np.array([100 * (estimate(seed) / true - 1) for seed in range(seeds)])


def mean_size(found: Floats, k: int) -> float:
    return float(np.abs(found[:, k]).mean())


def likeness(options: Options) -> bool:
    """Tables 5.1 and 5.5: 200,000 titles, half of the sets drawn, by k."""
    n, down = 200_000, slice(None, None, -1)
    true = exact(n)
    off, on = (errors(made(n, 1, 0.5), true, options.seeds) for made in (offline, online))
    print("\nTables 5.1 and 5.5: 200,000 titles, rate 0.5, by k\n" + row("", range(6, -1, -1), "15d"))
    print(row("thesis: pairs", PAIRS, "15,d") + "\n" + row("ours", true[down], "15,.0f"))
    print(row("offline, error %; thesis", OFFLINE, "15.4f") + "\n" + row("  ours", np.abs(off).mean(axis=0)[down], "15.4f"))
    print(row("online, error %; thesis", ONLINE, "15.4f") + "\n" + row("  ours", np.abs(on).mean(axis=0)[down], "15.4f"))
    draw(options.figures, "likeness", "200,000 titles, rate 0.5", range(1, 7),
         {"offline": np.abs(off).mean(axis=0)[1:], "online": np.abs(on).mean(axis=0)[1:]}, xlabel="k", ylabel="error, %")
    bias = np.abs(off.mean(axis=0))[1:6] / (off.std(axis=0, ddof=1)[1:6] / np.sqrt(options.seeds))
    checks = [
        said(bool((off[:, 6] == 0).all()), "offline, the number of equal records is exact"),
        said(bool((bias < 3).all()), "offline, estimates are right on average, within 3 standard errors"),
        said(max(mean_size(off, k) for k in range(1, 5)) < 5, "offline, errors of k = 1 to 4 are a few percent"),
        said(all(mean_size(on, k) > mean_size(off, k) for k in range(1, 7)), "online, errors are larger, for all k"),
        said(mean_size(on, 6) < mean_size(on, 5), "online, each record's pair with itself makes k = 6 look the best"),
    ]
    return all(checks)


def records(options: Options) -> bool:
    """Tables 5.2 and 5.6: pairs with k = 4 by the number of titles."""
    print("\nTables 5.2 and 5.6: k = 4, rate 0.5, error % by titles")
    found: dict[str, list[float]] = {}
    for name, made, thesis in (("offline", offline, BY_RECORDS), ("online", online, ONLINE_BY_RECORDS)):
        sizes = list(thesis)[:: 2 if options.quick else 1]
        found[name] = [
            mean_size(errors(made(n, 4, 0.5), exact(n), options.seeds), 4) for n in counted(f"records, {name}", sizes)
        ]
        print(row(name, sizes, "9d") + "\n" + row("  thesis", [thesis[n] for n in sizes]) + "\n" + row("  ours", found[name]))
        draw(options.figures, f"records_{name}", f"k = 4, {name}", sizes, {"ours": found[name], "thesis": [abs(thesis[n]) for n in sizes]},
             xlabel="titles", ylabel="error, %")
    checks = [
        said(found["offline"][-1] < found["offline"][0], "offline, errors are smaller with 400,000 titles than with 25,000"),
        said(found["online"][-1] < found["online"][0], "online, they are smaller with the most titles than with 100,000"),
    ]
    return all(checks)


def rates(options: Options) -> bool:
    """Table 5.3: 100,000 titles by rate."""
    n, ks = 100_000, (5, 4, 3)
    found = [errors(offline(n, 3, rate), exact(n), options.seeds) for rate in counted("rates", BY_RATE)]
    print("\nTable 5.3: 100,000 titles, offline, error % by rate\n" + row("", BY_RATE))
    for i, k in enumerate(ks):
        print(row(f"k = {k}; thesis", [errs[i] for errs in BY_RATE.values()]) + "\n" + row("  ours", [mean_size(f, k) for f in found]))
    draw(options.figures, "rates", "100,000 titles, offline", list(BY_RATE), {f"k = {k}": [mean_size(f, k) for f in found] for k in ks},
         xlabel="rate", ylabel="error, %")
    ends = [(mean_size(found[0], k), mean_size(found[-1], k)) for k in ks]
    return said(all(last < first for first, last in ends), "errors are smaller where 0.75 is drawn than where 0.25 is, for each k")


def attributes(options: Options) -> bool:
    """Table 5.4: 100,000 titles by the number of min-hashes."""
    n, sizes, ours = 100_000, list(BY_ATTRS), []
    for d in counted("attributes", sizes):
        k = round(0.8 * d)
        ours.append(mean_size(errors(offline(n, k, 0.5, d), exact(n, d), options.seeds), k))
    print("\nTable 5.4: 100,000 titles, offline, rate 0.5, k about 0.8 d, error % by d\n" + row("", sizes, "9d"))
    print(row("thesis", BY_ATTRS.values()) + "\n" + row("ours", ours))
    draw(options.figures, "attributes", "100,000 titles, offline, k about 0.8 d", sizes, {"ours": ours, "thesis": [abs(e) for e in BY_ATTRS.values()]},
         xlabel="d", ylabel="error, %")
    return said(np.mean(ours[3:]) > np.mean(ours[:2]), "errors with 7 and 8 attributes are above those with 4 and 5")


def sample(options: Options) -> bool:
    """Table 5.7: sketches against a random sample of the same memory."""
    print("\nTable 5.7: random sample of 750 records, and sketches of its memory, error % of k = 6, 5, 4")
    better = []
    for n in counted("sample", list(SAMPLED)[:1] if options.quick else SAMPLED):
        found = [errors(made(n, 4), exact(n), options.seeds) for made in (sampled, online)]
        for name, thesis, errs in zip(("sample", "sketches"), SAMPLED[n], found, strict=True):
            print(row(f"{n} titles, {name}; thesis", thesis) + "\n" + row("  ours", [mean_size(errs, k) for k in (6, 5, 4)]))
        better.append([mean_size(found[1], k) < mean_size(found[0], k) for k in (6, 5, 4)])
    checks = [
        said(all(b[0] for b in better), "sketches are better for k = 6"),
        said(all(b[1] for b in better), "sketches are better for k = 5"),
        said(all(b[2] for b in better), "sketches are better for k = 4"),
    ]
    return all(checks)


PARTS = {"likeness": likeness, "records": records, "rates": rates, "attributes": attributes, "sample": sample}

if __name__ == "__main__":
    sys.exit(main(__doc__, PARTS, seeds=10))
