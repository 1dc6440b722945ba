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

import numpy as np

from examples.papers.deng.errors import (
    POINTS,
    SELF_JOINS,
    f2_errors,
    near,
    point_errors,
    rows,
    told,
)
from examples.papers.parts import Options, main
from examples.papers.statements import said
from streamq.stdlib.sketches.counters import Floats

MILLION = 1_000_000

URLS = 0.85

NEAR = 1.25
"""What is chosen may be off by so much more than the better one."""


def size(options: Options) -> int:
    return MILLION // 5 if options.quick else MILLION


def points(options: Options, *at: int) -> tuple[int, ...]:
    """The first and the last only, where it has to be quick."""
    return (at[0], at[-1]) if options.quick else at


def domain(options: Options) -> bool:
    """Figure 4.1: each key of the domain, those too that no row has."""
    n, skews = size(options), (0.0, 0.5, 1.0, 1.5, 2.0)
    every = np.arange(n, dtype=np.uint64)

    def errors(z: float) -> Floats:
        of = rows(z, n)
        truth = np.zeros(n, np.int64)
        truth[of.keys.astype(np.int64)] = of.counts
        return point_errors(of, every, truth, 64, 3, options.seeds)

    found = told(
        options,
        "domain",
        "Figure 4.1: mean errors over the domain, w = 64, d = 3, by skew",
        "Zipf",
        skews,
        POINTS,
        errors,
        "10.1f",
    )
    noiseless = np.max([found[name] for name in ("CMM, mean", "CMM, median", "Fast-AGMS")], axis=0)
    off = near(found, ("CM", "CMM, median"))
    checks = [
        said(
            bool((found["CM"][:2] > 50 * noiseless[:2]).all()),
            "at Zipf 0 and 0.5 CMM and Fast-AGMS are 50 times better than CM, or more",
        ),
        said(bool((found["MI"] < found["CM"]).all()), "MI is better than CM at each skew"),
        said(
            bool((found["MI"] > found["CMM, mean"]).all()),
            "but poor for keys of the whole domain: worse than CMM by the mean, at each skew",
        ),
        said(
            bool(max(found["CM"][-1], found["MI"][-1]) < found["Fast-AGMS"][-1]),
            "at Zipf 2 CM and MI overtake Fast-AGMS",
        ),
        said(
            off <= NEAR,
            f"what is chosen is near the better of CM and CMM at each skew: {off:.2f} of its error, at most",
        ),
    ]
    return all(checks)


def frequent(options: Options) -> bool:
    """Figure 4.2: the keys that most rows have."""
    n, skews = size(options), (0.0, 0.5, 0.75, 1.0, 1.5, 2.0)
    found = told(
        options,
        "frequent",
        "Figure 4.2: mean errors of the 100 most frequent keys, w = 256, d = 5, by skew",
        "Zipf",
        skews,
        POINTS,
        lambda z: point_errors(rows(z, n), *rows(z, n).top(), 256, 5, options.seeds),
        "10.1f",
    )
    noiseless, off = (
        np.maximum(found["CMM, median"], found["Fast-AGMS"]),
        near(found, ("CM", "CMM, median")),
    )
    checks = [
        said(
            bool((found["CM"][:2] > 10 * noiseless[:2]).all()),
            "at Zipf 0 and 0.5 CMM and Fast-AGMS are better than CM by more than an order of magnitude",
        ),
        said(
            bool((found["CMM, median"][:3] < 2 * found["Fast-AGMS"][:3]).all()),
            "CMM is like Fast-AGMS below Zipf 1",
        ),
        said(
            bool((found["MI"][3:] < noiseless[3:]).all()),
            "from Zipf 1 on MI is the best for frequent keys",
        ),
        said(bool(found["MI"][-1] < 0.1), "and exact at Zipf 2"),
        said(
            bool(
                found["CM"][-1] < found["CMM, median"][-1]
                and found["CM"][-1] < found["Fast-AGMS"][-1]
            ),
            "at Zipf 2 CM is ahead of CMM and Fast-AGMS",
        ),
        said(
            off <= NEAR,
            f"what is chosen is near the better of CM and CMM at each skew: {off:.2f} of its error, at most",
        ),
    ]
    return all(checks)


def widths(options: Options) -> bool:
    """Figure 4.3: the most frequent URLs by width."""
    of, at = rows(URLS, size(options)), points(options, 64, 256, 1024, 4096)
    found = told(
        options,
        "widths",
        "Figure 4.3: mean errors of the 100 most frequent URLs, d = 5, by width",
        "width",
        at,
        POINTS,
        lambda width: point_errors(of, *of.top(), int(width), 5, options.seeds),
        "10.1f",
    )
    off = near(found, ("CM", "CMM, median"))
    checks = [
        said(
            all(bool((np.diff(values) < 0).all()) for values in found.values()),
            "each estimate is better with more columns",
        ),
        said(
            bool((found["CM"] > 3 * np.maximum(found["CMM, median"], found["Fast-AGMS"])).all()),
            "CMM and Fast-AGMS are better than CM at each width, 3 times or more",
        ),
        said(
            bool(
                found["MI"][0] > found["CMM, median"][0]
                and found["MI"][-1] < found["Fast-AGMS"][-1]
            ),
            "MI is worse than they with few columns and best with many",
        ),
        said(
            off <= NEAR,
            f"what is chosen is near the better of CM and CMM: {off:.2f} of its error, at most",
        ),
    ]
    return all(checks)


def depths(options: Options) -> bool:
    """Figure 4.4: the same by depth."""
    of, at = rows(URLS, size(options)), points(options, 1, 3, 5, 9)
    found = told(
        options,
        "depths",
        "Figure 4.4: mean errors of the 100 most frequent URLs, w = 256, by depth",
        "depth",
        at,
        POINTS,
        lambda depth: point_errors(of, *of.top(), 256, int(depth), options.seeds),
        "10.1f",
    )
    gain = {name: values[0] / values[-1] for name, values in found.items()}
    off = near(found, ("CM", "CMM, median"))
    checks = [
        said(
            gain["CM"] < 2, f"CM gains little by nine rows instead of one: {gain['CM']:.1f} times"
        ),
        said(
            gain["CMM, median"] > 2 and gain["Fast-AGMS"] > 2,
            f"CMM and Fast-AGMS gain more: {gain['CMM, median']:.1f} and {gain['Fast-AGMS']:.1f} times",
        ),
        said(
            off <= NEAR,
            f"what is chosen is near the better of CM and CMM: {off:.2f} of its error, at most",
        ),
    ]
    return all(checks)


def selfjoin(options: Options) -> bool:
    """Figures 4.5 to 4.7: F2 by skew, by width and by depth."""
    n = size(options)
    skew = told(
        options,
        "selfjoin_skew",
        "Figure 4.5: mean errors of F2, w = 16, d = 5, by skew",
        "Zipf",
        (0.0, 0.5, 1.0, 1.5, 2.0),
        SELF_JOINS,
        lambda z: f2_errors(rows(z, n), 16, 5, options.seeds),
        "10.3f",
    )
    of = rows(URLS, n)
    width = told(
        options,
        "selfjoin_width",
        "Figure 4.6: mean errors of F2 of URLs, d = 3, by width",
        "width",
        points(options, 16, 64, 256, 1024),
        SELF_JOINS,
        lambda width: f2_errors(of, int(width), 3, options.seeds),
        "10.3f",
    )
    depth = told(
        options,
        "selfjoin_depth",
        "Figure 4.7: mean errors of F2 of URLs, w = 16, by depth",
        "depth",
        points(options, 1, 3, 5, 7, 9),
        SELF_JOINS,
        lambda depth: f2_errors(of, 16, int(depth), options.seeds),
        "10.3f",
    )
    by_width, by_depth = (of["CMM"][0] / of["CMM"][-1] for of in (width, depth))
    off = max(near(of, ("CM", "CMM")) for of in (skew, width, depth))
    noiseless = np.maximum(skew["CMM"], skew["Fast-AGMS"])
    checks = [
        said(
            bool(
                (skew["CM"][:2] > 10_000 * noiseless[:2]).all()
                and skew["CM"][2] > 10 * noiseless[2]
            ),
            "CMM and Fast-AGMS are better than CM by orders of magnitude: four at Zipf 0 and 0.5, one at Zipf 1",
        ),
        said(
            bool((skew["CMM"][:3] < 2 * skew["Fast-AGMS"][:3]).all()),
            "up to Zipf 1 CMM is as good as Fast-AGMS, which needs two hashes",
        ),
        said(bool((skew["CMM"][3:] < 2 * skew["Fast-AGMS"][3:]).all()), "and above as well"),
        said(bool(skew["CM"][-1] < skew["CMM"][-1]), "at Zipf 2 CM overtakes CMM"),
        said(
            bool(min(skew["CM"][-1], skew["MI"][-1]) < skew["Fast-AGMS"][-1]),
            "at Zipf 2 CM or MI overtakes Fast-AGMS",
        ),
        said(
            bool((width["CM"] > 10 * np.maximum(width["CMM"], width["Fast-AGMS"])).all()),
            "of URLs they are better than CM at each width, 10 times or more",
        ),
        said(
            bool((depth["CM"] > 10 * np.maximum(depth["CMM"], depth["Fast-AGMS"])).all()),
            "and at each depth",
        ),
        said(
            by_depth < 3 < by_width / 2,
            f"depth matters little next to width: {by_depth:.1f} times by 9 rows for 1, {by_width:.1f} by 1024 columns for 16",
        ),
        said(
            off <= NEAR,
            f"what is chosen is near the better of CM and CMM everywhere: {off:.2f} of its error, at most",
        ),
    ]
    return all(checks)


PARTS = {
    "domain": domain,
    "frequent": frequent,
    "widths": widths,
    "depths": depths,
    "selfjoin": selfjoin,
}

if __name__ == "__main__":
    sys.exit(main(__doc__, PARTS, seeds=3))
