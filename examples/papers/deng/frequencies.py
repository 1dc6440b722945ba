"""Chapter 4 of Deng's thesis: frequencies and self-join sizes (F2) by counters, on keys by Zipf's law.

A million rows of a million keys; the thesis's first million URLs are said to be like Zipf 0.8 to 0.9, and ours are of 0.85. Its
figures do not print numbers, so that there are none of its to stand beside ours: what it says of them is held against ours.
CM: Count-Min; CMM: the same counters without noise, by the mean or the median of the row's; MI: minimal increase. Errors are
absolute, means over keys and sketches; those of F2 are parts of it, means over sketches. Of F2 by MI nothing is known: it is
the least row's sum of squares.
Run from the root of the repository::

    python -m examples.papers.deng.frequencies [--seeds 3] [--only domain frequent widths depths selfjoin] [--quick]
        [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from examples.papers.figures import draw
from examples.papers.parts import Options, counted, main, row
from examples.papers.statements import said
from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.choose import f2_chosen, points_chosen
from streamq.stdlib.sketches.conservative import MinimalIncrease
from streamq.stdlib.sketches.count_min import CountMin
from streamq.stdlib.sketches.counters import Floats
from streamq.stdlib.sketches.estimators import (
    f2_agms,
    f2_cm,
    f2_cmm,
    point_agms,
    point_cm,
    point_cmm,
)
from streamq.stdlib.sketches.fast_agms import FastAgms
from streamq.stdlib.sketches.hashing import Keys
from streamq.stdlib.sketches.lookalike import zipf_counts

MILLION = 1_000_000

URLS = 0.85

TOP = 100

POINTS = ("CM", "CMM, mean", "CMM, median", "CMM by choice", "Fast-AGMS", "MI")
SELF_JOINS = ("CM", "CMM", "CMM by choice", "Fast-AGMS", "MI")

SKETCHES = 50
"""Of other hashes, whose F2 errors are averaged; of minimal increase, which goes row by row, as many as there are seeds."""

NEAR = 1.25
"""What is chosen may be off by so much more than the better one."""


@dataclass(frozen=True, slots=True)
class Rows:
    """``keys`` that there are and their frequencies, ``[distinct]``; ``order``: the rows as they come, ``[n]``."""

    keys: Keys
    counts: NDArray[np.int64]
    order: Keys

    @property
    def total(self) -> int:
        return len(self.order)

    @property
    def f2(self) -> float:
        return float(np.square(self.counts.astype(np.float64)).sum())

    def top(self) -> tuple[Keys, NDArray[np.int64]]:
        """The most frequent keys and their frequencies, ``[TOP]``."""
        most = np.argsort(-self.counts, kind="stable")[:TOP]
        return self.keys[most], self.counts[most]


@lru_cache(maxsize=2)
def rows(z: float, n: int) -> Rows:
    """``n`` of the keys 0 .. n - 1."""
    counts = zipf_counts(n, n, z, round(100 * z))
    present = np.flatnonzero(counts)
    keys = present.astype(np.uint64)
    return Rows(keys, counts[present], np.random.default_rng(1).permutation(np.repeat(keys, counts[present])))


def size(options: Options) -> int:
    return MILLION // 5 if options.quick else MILLION


def points(options: Options, *at: int) -> tuple[int, ...]:
    """The first and the last only, where it has to be quick."""
    return (at[0], at[-1]) if options.quick else at


def point_errors(of: Rows, query: Keys, truth: NDArray[np.int64], width: int, depth: int, seeds: int) -> Floats:
    """``[POINTS]``: mean absolute errors of frequencies, ``[n]``."""
    found = []
    for seed in range(seeds):
        plain = CountMin.empty(width, depth, seed).added(of.keys, of.counts)
        signed = FastAgms.empty(width, depth, seed).added(of.keys, of.counts)
        columns, total = plain.columns(query), of.total
        estimates = (
            point_cm(columns),
            point_cmm(columns, plain.counts, total, "mean"),
            point_cmm(columns, plain.counts, total),
            points_chosen(columns, plain.counts, total),
            point_agms(signed.columns(query), signed.signs(query)),
            MinimalIncrease.empty(width, depth, seed).added(of.order).points(query),
        )
        found.append([np.abs(estimate - truth).mean() for estimate in estimates])
    return np.asarray(np.mean(found, axis=0), np.float64)


def f2_errors(of: Rows, width: int, depth: int, seeds: int) -> Floats:
    """``[SELF_JOINS]``: mean errors of F2, by F2."""
    shape = (SKETCHES, depth, width)
    plain, signed = (
        made.empty(width, SKETCHES * depth, 1).added(of.keys, of.counts).counts.reshape(shape) for made in (CountMin, FastAgms)
    )
    least = np.stack([MinimalIncrease.empty(width, depth, seed).added(of.order).counts for seed in range(seeds)])
    estimates = (f2_cm(plain), f2_cmm(plain, of.total), f2_chosen(plain, of.total), f2_agms(signed), f2_cm(least))
    return np.array([np.abs(estimate / of.f2 - 1).mean() for estimate in estimates])


def told(
    options: Options, name: str, title: str, axis: str, at: Sequence[float], names: Sequence[str],
    errors: Callable[[float], Floats], form: str,
) -> dict[str, Floats]:
    """A table of errors over ``at``, and a picture of their logarithms: by name those of each estimate, ``[at]``."""
    found = dict(zip(names, np.array([errors(of) for of in counted(name, at)]).T, strict=True))
    print(f"\n{title}\n" + row(axis, at, "10g"))
    for label, values in found.items():
        print(row(label, values, form))
    # Minimal increase has no error at all on few keys.
    draw(options.figures, name, title, list(range(len(at))), {label: np.log10(np.maximum(of, 1e-3)).tolist() for label, of in found.items()},
         xlabel=f"{axis}: {', '.join(f'{of:g}' for of in at)}", ylabel="log10 of the mean error")
    return found


def near(found: dict[str, Floats], others: Sequence[str]) -> float:
    """What is chosen is off by, in parts of what the better one is, at its worst."""
    return float((found["CMM by choice"] / np.min([found[other] for other in others], axis=0)).max())


def domain(options: Options) -> bool:
    """Figure 4.1: each key of the domain, those too that no row has."""
    n, skews = size(options), (0.0, 0.5, 1.0, 1.5, 2.0)
    every = np.arange(n, dtype=np.uint64)

    def errors(z: float) -> Floats:
        of = rows(z, n)
        truth = np.zeros(n, np.int64)
        truth[of.keys.astype(np.int64)] = of.counts
        return point_errors(of, every, truth, 64, 3, options.seeds)

    found = told(options, "domain", "Figure 4.1: mean errors over the domain, w = 64, d = 3, by skew", "Zipf", skews, POINTS, errors, "10.1f")
    noiseless = np.max([found[name] for name in ("CMM, mean", "CMM, median", "Fast-AGMS")], axis=0)
    off = near(found, ("CM", "CMM, median"))
    checks = [
        said(bool((found["CM"][:2] > 50 * noiseless[:2]).all()), "at Zipf 0 and 0.5 CMM and Fast-AGMS are 50 times better than CM, or more"),
        said(bool((found["MI"] < found["CM"]).all()), "MI is better than CM at each skew"),
        said(bool((found["MI"] > found["CMM, mean"]).all()), "but poor for keys of the whole domain: worse than CMM by the mean, at each skew"),
        said(bool(max(found["CM"][-1], found["MI"][-1]) < found["Fast-AGMS"][-1]), "at Zipf 2 CM and MI overtake Fast-AGMS"),
        said(off <= NEAR, f"what is chosen is near the better of CM and CMM at each skew: {off:.2f} of its error, at most"),
    ]
    return all(checks)


def frequent(options: Options) -> bool:
    """Figure 4.2: the keys that most rows have."""
    n, skews = size(options), (0.0, 0.5, 0.75, 1.0, 1.5, 2.0)
    found = told(
        options, "frequent", "Figure 4.2: mean errors of the 100 most frequent keys, w = 256, d = 5, by skew", "Zipf", skews, POINTS,
        lambda z: point_errors(rows(z, n), *rows(z, n).top(), 256, 5, options.seeds), "10.1f",
    )
    noiseless, off = np.maximum(found["CMM, median"], found["Fast-AGMS"]), near(found, ("CM", "CMM, median"))
    checks = [
        said(bool((found["CM"][:2] > 10 * noiseless[:2]).all()), "at Zipf 0 and 0.5 CMM and Fast-AGMS are better than CM by more than an order of magnitude"),
        said(bool((found["CMM, median"][:3] < 2 * found["Fast-AGMS"][:3]).all()), "CMM is like Fast-AGMS below Zipf 1"),
        said(bool((found["MI"][3:] < noiseless[3:]).all()), "from Zipf 1 on MI is the best for frequent keys"),
        said(bool(found["MI"][-1] < 0.1), "and exact at Zipf 2"),
        said(bool(found["CM"][-1] < found["CMM, median"][-1] and found["CM"][-1] < found["Fast-AGMS"][-1]), "at Zipf 2 CM is ahead of CMM and Fast-AGMS"),
        said(off <= NEAR, f"what is chosen is near the better of CM and CMM at each skew: {off:.2f} of its error, at most"),
    ]
    return all(checks)


def widths(options: Options) -> bool:
    """Figure 4.3: the most frequent URLs by width."""
    of, at = rows(URLS, size(options)), points(options, 64, 256, 1024, 4096)
    found = told(
        options, "widths", "Figure 4.3: mean errors of the 100 most frequent URLs, d = 5, by width", "width", at, POINTS,
        lambda width: point_errors(of, *of.top(), int(width), 5, options.seeds), "10.1f",
    )
    off = near(found, ("CM", "CMM, median"))
    checks = [
        said(all(bool((np.diff(values) < 0).all()) for values in found.values()), "each estimate is better with more columns"),
        said(bool((found["CM"] > 3 * np.maximum(found["CMM, median"], found["Fast-AGMS"])).all()), "CMM and Fast-AGMS are better than CM at each width, 3 times or more"),
        said(bool(found["MI"][0] > found["CMM, median"][0] and found["MI"][-1] < found["Fast-AGMS"][-1]), "MI is worse than they with few columns and best with many"),
        said(off <= NEAR, f"what is chosen is near the better of CM and CMM: {off:.2f} of its error, at most"),
    ]
    return all(checks)


def depths(options: Options) -> bool:
    """Figure 4.4: the same by depth."""
    of, at = rows(URLS, size(options)), points(options, 1, 3, 5, 9)
    found = told(
        options, "depths", "Figure 4.4: mean errors of the 100 most frequent URLs, w = 256, by depth", "depth", at, POINTS,
        lambda depth: point_errors(of, *of.top(), 256, int(depth), options.seeds), "10.1f",
    )
    gain = {name: values[0] / values[-1] for name, values in found.items()}
    off = near(found, ("CM", "CMM, median"))
    checks = [
        said(gain["CM"] < 2, f"CM gains little by nine rows instead of one: {gain['CM']:.1f} times"),
        said(gain["CMM, median"] > 2 and gain["Fast-AGMS"] > 2, f"CMM and Fast-AGMS gain more: {gain['CMM, median']:.1f} and {gain['Fast-AGMS']:.1f} times"),
        said(off <= NEAR, f"what is chosen is near the better of CM and CMM: {off:.2f} of its error, at most"),
    ]
    return all(checks)


def selfjoin(options: Options) -> bool:
    """Figures 4.5 to 4.7: F2 by skew, by width and by depth."""
    n = size(options)
    skew = told(
        options, "selfjoin_skew", "Figure 4.5: mean errors of F2, w = 16, d = 5, by skew", "Zipf", (0.0, 0.5, 1.0, 1.5, 2.0), SELF_JOINS,
        lambda z: f2_errors(rows(z, n), 16, 5, options.seeds), "10.3f",
    )
    of = rows(URLS, n)
    width = told(
        options, "selfjoin_width", "Figure 4.6: mean errors of F2 of URLs, d = 3, by width", "width", points(options, 16, 64, 256, 1024), SELF_JOINS,
        lambda width: f2_errors(of, int(width), 3, options.seeds), "10.3f",
    )
    depth = told(
        options, "selfjoin_depth", "Figure 4.7: mean errors of F2 of URLs, w = 16, by depth", "depth", points(options, 1, 3, 5, 7, 9), SELF_JOINS,
        lambda depth: f2_errors(of, 16, int(depth), options.seeds), "10.3f",
    )
    by_width, by_depth = (of["CMM"][0] / of["CMM"][-1] for of in (width, depth))
    off = max(near(of, ("CM", "CMM")) for of in (skew, width, depth))
    noiseless = np.maximum(skew["CMM"], skew["Fast-AGMS"])
    checks = [
        said(bool((skew["CM"][:2] > 10_000 * noiseless[:2]).all() and skew["CM"][2] > 10 * noiseless[2]),
             "CMM and Fast-AGMS are better than CM by orders of magnitude: four at Zipf 0 and 0.5, one at Zipf 1"),
        said(bool((skew["CMM"][:3] < 2 * skew["Fast-AGMS"][:3]).all()), "up to Zipf 1 CMM is as good as Fast-AGMS, which needs two hashes"),
        said(bool((skew["CMM"][3:] < 2 * skew["Fast-AGMS"][3:]).all()), "and above as well"),
        said(bool(skew["CM"][-1] < skew["CMM"][-1]), "at Zipf 2 CM overtakes CMM"),
        said(bool(min(skew["CM"][-1], skew["MI"][-1]) < skew["Fast-AGMS"][-1]), "at Zipf 2 CM or MI overtakes Fast-AGMS"),
        said(bool((width["CM"] > 10 * np.maximum(width["CMM"], width["Fast-AGMS"])).all()), "of URLs they are better than CM at each width, 10 times or more"),
        said(bool((depth["CM"] > 10 * np.maximum(depth["CMM"], depth["Fast-AGMS"])).all()), "and at each depth"),
        said(by_depth < 3 < by_width / 2, f"depth matters little next to width: {by_depth:.1f} times by 9 rows for 1, {by_width:.1f} by 1024 columns for 16"),
        said(off <= NEAR, f"what is chosen is near the better of CM and CMM everywhere: {off:.2f} of its error, at most"),
    ]
    return all(checks)


PARTS = {"domain": domain, "frequent": frequent, "widths": widths, "depths": depths, "selfjoin": selfjoin}

if __name__ == "__main__":
    sys.exit(main(__doc__, PARTS, seeds=3))
