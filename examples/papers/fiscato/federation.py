"""E2 to E5: fair against random shedding over many nodes, more nodes, more queries, and what more queries are worth.

A simulation on the policy code that runs also use (``stdlib/fairness``). The thesis gives most of its results in words;
they stand beside ours. Run from the root of the repository::

    python -m examples.papers.fiscato.federation [--seeds 3] [--only E2] [--figures FOLDER]

Ends with 1 where a result is not as the thesis says.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np

from examples.papers.figures import add_figures, draw
from examples.papers.statements import said
from streamq.stdlib.fairness.federation import Policy, Trial, reference_federation, simulate
from streamq.stdlib.fairness.measures import Spread, spread
from streamq.stdlib.fairness.tradeoff import tipping_point, trade_off

PARTITIONS = {
    "2": (167, (2,)), "3": (110, (3,)), "4": (85, (4,)), "5": (67, (5,)), "6": (56, (6,)),
    "2-6": (95, (2, 3, 4, 5, 6)),
}
NODES = (9, 12, 15, 18, 21, 24)
QUERIES = (180, 240, 300, 420, 540, 660, 780, 900, 1020, 1200)
POLICIES: tuple[Policy, ...] = ("random", "fair")


def over_seeds(seeds: int, run: Callable[[int], Spread]) -> Spread:
    """The mean of each measure over some seeds."""
    found = [run(seed) for seed in range(seeds)]
    return Spread(**{name: float(np.mean([getattr(s, name) for s in found])) for name in Spread.__slots__})


def partitions(seeds: int, figures: Path | None) -> bool:
    """E2 (figures 6.5 to 6.8): queries cut into 2 to 6 parts, at about the same load."""
    print("\nE2  fair against random\nparts  policy    mean    std    IQR  Q95-Q05  Jain    CV")
    better = even = True
    means: dict[str, list[float]] = defaultdict(list)
    spreads: dict[str, list[float]] = defaultdict(list)
    for name, (queries, parts) in PARTITIONS.items():
        found: dict[Policy, Spread] = {}
        for policy in POLICIES:
            one = found[policy] = over_seeds(seeds, lambda seed, p=policy, q=queries, f=parts: spread(
                simulate(reference_federation(q, f, seed), Trial(policy=p, seed=seed)).mean(axis=0)
            ))
            print(
                f"{name:>5}  {policy:7}{one.mean:7.3f}{one.deviation:7.3f}{one.middle_half:7.3f}{one.middle_90:9.3f}"
                f"{one.jain:6.3f}{one.variation:6.2f}"
            )
            means[policy].append(one.mean)
            spreads[policy].append(one.deviation)
        fair, random = found["fair"], found["random"]
        better = better and fair.mean > random.mean and fair.deviation < random.deviation and (
            fair.middle_half < random.middle_half and fair.middle_90 < random.middle_90
        )
        even = even and fair.jain > 0.9 and random.jain < 0.7
    draw(
        figures, "e2", "E2: coverage of queries by policy, with its standard deviation",
        [np.mean(parts) for _, parts in PARTITIONS.values()][:-1], {p: of[:-1] for p, of in means.items()},
        xlabel="parts of a query", ylabel="mean coverage (SCR)", errors={p: of[:-1] for p, of in spreads.items()},
    )
    one = said(better, "in all runs fair has a higher mean coverage, and a lower IQR, standard deviation and Q95-Q05")
    two = said(even, "Jain's index of fair is above 0.9, that of random below 0.7")
    return one and two


def nodes(seeds: int, figures: Path | None) -> bool:
    """E3 (figure 6.9): 120 queries on 9 to 24 nodes."""
    print("\nE3  more nodes, fair\nnodes    mean    std    CV   Jain")
    means, variations, deviations = [], [], []
    for count in NODES:
        one = over_seeds(seeds, lambda seed, n=count: spread(
            simulate(reference_federation(120, (3,), seed, n, 2000.0), Trial(seed=seed)).mean(axis=0)
        ))
        means.append(one.mean)
        variations.append(one.variation)
        deviations.append(one.deviation)
        print(f"{count:5}{one.mean:8.3f}{one.deviation:7.3f}{one.variation:6.2f}{one.jain:7.3f}")
    draw(
        figures, "e3", "E3: 120 queries on more nodes, with the standard deviation", NODES, {"fair": means},
        xlabel="nodes", ylabel="mean coverage (SCR)", errors={"fair": deviations},
    )
    fit = float(np.corrcoef(NODES, means)[0, 1] ** 2)
    one = said(fit > 0.97, f"the mean grows in proportion to the nodes (R² of a line {fit:.3f})")
    two = said(variations[-1] <= variations[0], "the spread grows with the mean, and not faster")
    return one and two


def queries(seeds: int, figures: Path | None) -> bool:
    """E4 and E5 (figures 6.10, 6.11): 180 to 1,200 queries on the same nodes, and whether more of them pay."""
    print("\nE4, E5  more queries, fair\nqueries    mean   cost -%  quality -%  advantage")
    means = [
        over_seeds(min(seeds, 2), lambda seed, q=count: spread(simulate(
            reference_federation(q, (2,), seed, capacity=10_000.0, overhead=3.0), Trial(seed=seed, measured=120)
        ).mean(axis=0))).mean
        for count in QUERIES
    ]
    table = trade_off(np.array(QUERIES, float), np.array(means))
    for n, mean, cost, quality, advantage in zip(
        QUERIES, means, table.cost, table.quality, table.advantage, strict=True
    ):
        print(f"{n:7}{mean:8.3f}{100 * cost:9.1f}{100 * quality:11.1f}{100 * advantage:+11.1f}")
    draw(figures, "e4", "E4: coverage of more queries", QUERIES, {"fair": means}, xlabel="queries", ylabel="mean coverage (SCR)")
    draw(
        figures, "e5", "E5: what more queries are worth", QUERIES,
        {"cost saved": table.cost, "quality lost": table.quality, "advantage": table.advantage},
        xlabel="queries", ylabel="share",
    )
    hump = [a for n, a in zip(QUERIES, table.advantage, strict=True) if 240 <= n <= 600]
    late = [a for n, a in zip(QUERIES, table.advantage, strict=True) if n >= 900]
    tip = tipping_point(table, 0.015)
    results = (
        said(bool(np.all(np.diff(means) < 0)), "mean coverage falls with the number of queries"),
        said(max(hump) >= 0.03, f"more queries pay: {100 * max(hump):.1f} points at best (thesis: about 8 at 300)"),
        said(max(late) <= 0.015, f"from about {tip or 0:.0f} queries on they hardly do (thesis: 900)"),
    )
    return all(results)


EXPERIMENTS = {"E2": partitions, "E3": nodes, "E4": queries}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=EXPERIMENTS)
    add_figures(parser)
    args = parser.parse_args()
    chosen = [args.only] if args.only else list(EXPERIMENTS)
    results = [EXPERIMENTS[name](args.seeds, args.figures) for name in chosen]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
