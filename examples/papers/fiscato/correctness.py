"""E1: whether the source coverage of a result says how right it is.

AVG, COUNT, TOP-5 and COV over windows of a second, from all tuples and from a random share of them, each over four
made data sets and over readings that look like those of PlanetLab. The thesis gives its results in words (section 6.3,
figures 6.1 to 6.4); expectations in closed form stand beside ours where there are any. Run from the root of the
repository::

    python -m examples.papers.fiscato.correctness [--windows 600] [--figures FOLDER]

Ends with 1 where a result is not as the thesis says.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from examples.papers.figures import add_figures, draw
from examples.papers.statements import said
from streamq.stdlib.fairness.errors import covariance_error, ranking_distance, relative_error

Floats = NDArray[np.float64]
COVERAGES = (0.10, 0.25, 0.50, 0.75, 0.90)
TUPLES = 400
"""In a window, of one source: 5 batches of 80."""

NODES, BEST, LEAST_KB = 100, 5, 100_000.0


def gaussian(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.normal(50.0, 10.0, shape)


def uniform(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.uniform(0.0, 100.0, shape)


def exponential(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    return rng.exponential(50.0, shape)


def mixed(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    each = np.stack([gaussian(rng, shape), uniform(rng, shape), exponential(rng, shape)])
    return np.take_along_axis(each, rng.integers(0, 3, (1, *shape)), axis=0)[0]


def planetlab(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """CPU that is free, of each node in each window: walks around a level of each node's own."""
    windows, nodes = shape
    level = 100 * rng.beta(2, 2, nodes)
    cpu = np.empty(shape)
    now = level.copy()
    for window in range(windows):
        now = np.clip(level + 0.95 * (now - level) + rng.normal(0, 5, nodes), 0, 100)
        cpu[window] = now
    return cpu


Make = Callable[[np.random.Generator, tuple[int, int]], Floats]
DATA: dict[str, Make] = {
    "gaussian": gaussian, "uniform": uniform, "exponential": exponential, "mixed": mixed, "PlanetLab-like": planetlab,
}


def one_source(rng: np.random.Generator, make: Make, windows: int) -> Floats:
    """The tuples of each window. A node of PlanetLab sends one a second."""
    return make(rng, (windows, NODES if make is planetlab else TUPLES))


def two_sources(rng: np.random.Generator, make: Make, windows: int) -> tuple[Floats, Floats]:
    """Values of one data set with a correlation of 0.8: that share of them is equal.

    Of PlanetLab it is the CPU of two nodes, with a standard deviation of 10.
    """
    shape = windows, TUPLES
    if make is planetlab:
        both = rng.multivariate_normal([50, 50], [[100, 80], [80, 100]], shape)
        return both[..., 0], both[..., 1]
    a = make(rng, shape)
    return a, np.where(rng.random(shape) < 0.8, a, make(rng, shape))


def average(values: Floats, kept: NDArray[np.bool_]) -> Floats:
    """Of each window; NaN for one without tuples."""
    n = kept.sum(axis=1)
    return np.divide((values * kept).sum(axis=1), n, out=np.full(len(n), np.nan), where=n > 0)


def average_errors(rng: np.random.Generator, make: Make, windows: int) -> list[float]:
    values = one_source(rng, make, windows)
    perfect = values.mean(axis=1)
    return [
        relative_error(perfect, average(values, rng.random(values.shape) < k)).mean for k in COVERAGES
    ]


def count_errors(rng: np.random.Generator, make: Make, windows: int) -> list[float]:
    high = one_source(rng, make, windows) >= 50.0
    perfect = high.sum(axis=1).astype(np.float64)
    return [
        relative_error(perfect, (high & (rng.random(high.shape) < k)).sum(axis=1).astype(float), "zero").mean
        for k in COVERAGES
    ]


def best(cpu: Floats, here: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The numbers of the five nodes with most free CPU, of those that are there; -1 in places that stay free."""
    worth = np.where(here, cpu, -np.inf)
    order = np.argsort(-worth, axis=1, kind="stable")[:, :BEST]
    return np.where(np.isfinite(np.take_along_axis(worth, order, axis=1)), order, -1)


def ranking_errors(rng: np.random.Generator, make: Make, windows: int) -> list[float]:
    cpu = make(rng, (windows, NODES))
    enough = rng.lognormal(np.log(300_000), 1.0, cpu.shape) >= LEAST_KB
    perfect = best(cpu, enough)
    return [
        float(ranking_distance(
            perfect, best(cpu, enough & (rng.random(cpu.shape) < k) & (rng.random(cpu.shape) < k))
        ).mean())
        for k in COVERAGES
    ]


def covariance(a: Floats, b: Floats, here: NDArray[np.bool_]) -> Floats:
    """Of the pairs of each window that are there; NaN for fewer than two."""
    n = here.sum(axis=1)
    few = np.maximum(n, 1)
    x = np.where(here, a - ((a * here).sum(axis=1) / few)[:, None], 0.0)
    y = np.where(here, b - ((b * here).sum(axis=1) / few)[:, None], 0.0)
    return np.divide((x * y).sum(axis=1), n - 1, out=np.full(len(n), np.nan), where=n > 1)


def covariance_ratios(rng: np.random.Generator, make: Make, windows: int) -> list[float]:
    a, b = two_sources(rng, make, windows)
    perfect = covariance(a, b, np.ones(a.shape, bool))
    # A pair is joined by time, so it is there where both of its tuples are.
    kept = [(rng.random(a.shape) < k) & (rng.random(a.shape) < k) for k in COVERAGES]
    return [covariance_error(perfect, covariance(a, b, here)).ratio for here in kept]


def show(name: str, values: list[float], expected: list[float] | None = None) -> None:
    print(f"{name:26}" + "".join(f"{v:9.4f}" for v in values))
    if expected is not None:
        print(f"{'  closed form':26}" + "".join(f"{v:9.4f}" for v in expected))


def follows(errors: list[float]) -> float:
    """The correlation of coverage with correctness."""
    return float(np.corrcoef(COVERAGES, [-e for e in errors])[0, 1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--windows", type=int, default=600)
    add_figures(parser)
    args = parser.parse_args()
    rng = np.random.default_rng(2012)
    print(f"{'coverage':26}" + "".join(f"{k:9.2f}" for k in COVERAGES))
    averages, counts, rankings, ratios = {}, {}, {}, {}
    spreads = {"gaussian": 0.2, "uniform": 1 / np.sqrt(3), "exponential": 1.0}
    for name, make in DATA.items():
        averages[name] = average_errors(rng, make, args.windows)
        cv = spreads.get(name)
        expected = None if cv is None else [
            0.798 * cv * float(np.sqrt((1 - k) / (TUPLES * k))) for k in COVERAGES
        ]
        show(f"AVG, {name}", averages[name], expected)
    for name, make in DATA.items():
        counts[name] = count_errors(rng, make, args.windows)
        show(f"COUNT, {name}", counts[name], [1 - k for k in COVERAGES])
    for name, make in DATA.items():
        rankings[name] = ranking_errors(rng, make, args.windows)
        show(f"TOP-5, {name}", rankings[name])
    for name, make in DATA.items():
        ratios[name] = covariance_ratios(rng, make, args.windows)
        show(f"COV, {name}", ratios[name], [1 / k for k in COVERAGES])
    of = {"xlabel": "source coverage (SCR)"}
    draw(args.figures, "e1_avg", "E1: error of AVG", COVERAGES, averages, ylabel="mean relative error", **of)
    draw(args.figures, "e1_count", "E1: error of COUNT", COVERAGES, counts, ylabel="mean relative error", **of)
    draw(args.figures, "e1_top_5", "E1: distance of TOP-5", COVERAGES, rankings, ylabel="Kendall distance", **of)
    draw(args.figures, "e1_cov", "E1: spread of COV", COVERAGES, ratios, ylabel="spread to that of all tuples", **of)
    least = min(follows(e) for e in rankings.values())
    results = (
        said(all(np.all(np.diff(e) < 0) for e in averages.values()) and averages["gaussian"][0] < 0.05,
             "the error of AVG is small, and shrinks as coverage grows"),
        said(min(follows(e) for e in counts.values()) > 0.99, "the error of COUNT is linear in what is shed"),
        said(least > 0.9, f"the distance of TOP-5 falls almost linearly (correlation at least {least:.3f})"),
        said(all(np.all(np.diff(e) < 0) for e in ratios.values()), "the spread of COV falls as coverage grows"),
    )
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
