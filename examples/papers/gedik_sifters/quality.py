"""Figures 4 to 10 of the paper: overall quality by partitioning, skew, regions, load, fairness and size of queries.

The gain is that over dropping as many rows at random ("equal load"), in percent. Run from the root of the repository::

    python -m examples.papers.gedik_sifters.quality [--seeds 20] [--only table skew regions load fairness side] [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from examples.papers.figures import add_figures, draw
from examples.papers.gedik_sifters.trial import FAIRNESS, METHODS, PAIRS, by_method, trials
from examples.papers.statements import said
from streamq.dsl.records import replace
from streamq.stdlib.sifters.plans import Method, Plan
from streamq.stdlib.sifters.workload import Kind, Settings

PLAN = Plan(fairness=FAIRNESS)
SKEWS = (1, 2, 4, 7, 10)
REGIONS = (4, 16, 36, 64, 100)
KEPT = (0.1, 0.3, 0.5, 0.7, 0.9)
FAIRNESSES = (0.1, 0.3, 0.5, 0.7, 0.9)
SIDES = (0.01, 0.02, 0.03, 0.04, 0.05)
TWO: tuple[Method, ...] = ("DATA", "QDPART")


def row(label: str, values: Sequence[float], form: str = "7.1f") -> str:
    return f"  {label:26}" + "".join(f"{v:{form}}" for v in values)


def table(seeds: int, _figures: Path | None) -> bool:
    """The defaults of Table I, for each pair of distributions."""
    print("\nTable I: 16 regions, half of the load, skews 4\n" + row("gain %", [], "") + "".join(f"{m:>9}" for m in METHODS)
          + f"{'passed':>9}{'queries with rows':>19}")
    gains: dict[tuple[Kind, Kind], dict[Method, float]] = {}
    for rows, queries in PAIRS:
        found = dict(by_method(Settings(rows, queries), PLAN, 0.5, seeds))
        gains[rows, queries] = {m: o.gain for m, o in found.items()}
        last = found["QDPART"]
        print(row(f"rows {rows[:4]}, queries {queries[:4]}", [o.gain for o in found.values()], "9.1f")
              + f"{last.passed:9.3f}{last.seen:19.2f}")
        print(row("  only queries with rows", [o.seen_gain for o in found.values()], "9.1f"))
    even, rows_even = gains["UNIFORM", "UNIFORM"], gains["UNIFORM", "SKEWED"]
    skewed, both = gains["SKEWED", "UNIFORM"], gains["SKEWED", "SKEWED"]
    checks = [
        said(all(1 <= g <= 7 for g in even.values()), "R4: where both are uniform all gain about 6 % (of which half is load)"),
        said(max(rows_even, key=rows_even.__getitem__) == "QDPART", "R1: with uniform rows and skewed queries QDPART is best"),
        said(skewed["DATA"] > skewed["UNIFORM"], "R2: with skewed rows and uniform queries DATA is better than UNIFORM"),
        said(max(both.values()) > max(skewed.values()), "R3: where both are skewed gains are larger than with skewed rows alone"),
        said(all(g["QUERY"] <= min(g["DATA"], g["QDPART"]) for g in (rows_even, both)),
             "R5: QUERY is the worst of the three that adapt, where queries are skewed"),
    ]
    return all(checks)


def skew(seeds: int, figures: Path | None) -> bool:
    """Figures 4 and 5: local and global skew."""
    gains: dict[tuple[Kind, Kind, str, Method], list[float]] = {}
    for rows, queries in PAIRS:
        for name in ("global_skew", "local_skew"):
            print(f"\nrows {rows}, queries {queries}: gain % over {name.replace('_', ' ')}\n" + row("", SKEWS, "7.0f"))
            for method in METHODS:
                found = [
                    trials(replace(Settings(rows, queries), **{name: float(s)}), replace(PLAN, method=method), 0.5, seeds).gain
                    for s in SKEWS
                ]
                gains[rows, queries, name, method] = found
                print(row(method, found))
            draw(
                figures, f"{name}_{rows.lower()}_{queries.lower()}", f"rows {rows}, queries {queries}", SKEWS,
                {m: gains[rows, queries, name, m] for m in METHODS}, xlabel=name.replace("_", " "), ylabel="gain, %",
            )
    rise = gains["UNIFORM", "SKEWED", "local_skew", "DATA"]
    fall = gains["SKEWED", "UNIFORM", "local_skew", "DATA"]
    grid = gains["UNIFORM", "SKEWED", "global_skew", "UNIFORM"]
    flat = gains["UNIFORM", "SKEWED", "global_skew", "QDPART"]
    checks = [
        said(rise[-1] > 35 and rise == sorted(rise), "R1: gains rise with the local skew of the queries, to more than 35 %"),
        said(fall[0] > 35 and fall[-1] < 15 and fall == sorted(fall, reverse=True),
             "R2: gains fall with the local skew of the rows, from about 40 % to few"),
        said(grid[-1] < grid[0] / 2, "R5: an even grid loses its gain as the global skew rises"),
        said(max(flat) <= 60 and min(flat) >= 50, "R1: with the global skew the best falls from 60 to 50 %"),
    ]
    return all(checks)


def regions(seeds: int, figures: Path | None) -> bool:
    """Figure 6: the number of regions; as many sampled rows for each."""
    found: dict[tuple[Method, float], list[float]] = {}
    for method in TWO:
        print(f"\nrows SKEWED, queries UNIFORM, {method}: gain % over regions\n" + row("rows kept", REGIONS, "7.0f"))
        for keep in KEPT:
            found[method, keep] = [
                trials(Settings(), replace(PLAN, method=method, regions=count), keep, seeds).gain for count in REGIONS
            ]
            print(row(f"{keep:g}", found[method, keep]))
        draw(
            figures, f"regions_{method.lower()}", f"{method}: gain by regions", REGIONS,
            {f"z = {k:g}": found[method, k] for k in KEPT}, xlabel="regions", ylabel="gain, %",
        )
    tenth = found["DATA", 0.1]
    checks = [
        said(tenth[1] >= 25 and tenth[-1] >= 1.5 * tenth[1], "R6: at z = 0.1 16 regions gain 25 % and more, 100 half as much again"),
        said(found["DATA", 0.9][-1] < 15, "R6: little is gained where nine tenths are kept"),
        said(tenth[-1] - tenth[-2] < tenth[1] - tenth[0], "R6: it flattens towards 100 regions"),
    ]
    return all(checks)


def load(seeds: int, figures: Path | None) -> bool:
    """Figure 8: the share of rows that is kept."""
    print("\nDATA: quality (V*) over the share that is kept\n" + row("", KEPT, "7.1f"))
    curves = {}
    for rows, queries in PAIRS:
        label = f"rows {rows[:4]}, queries {queries[:4]}"
        curves[rows, queries] = [trials(Settings(rows, queries), replace(PLAN, method="DATA"), k, seeds).quality for k in KEPT]
        print(row(label, curves[rows, queries], "7.3f"))
    draw(figures, "load", "Quality by load", KEPT, {f"{r} / {q}": v for (r, q), v in curves.items()},
         xlabel="share of rows kept (z)", ylabel="quality (V*)")
    straight = all(abs(v - k) < 0.06 for v, k in zip(curves["UNIFORM", "UNIFORM"], KEPT, strict=True))
    bent = all(
        steps == sorted(steps, reverse=True)
        for pair, v in curves.items() if pair != ("UNIFORM", "UNIFORM")
        for steps in [[b - a for a, b in pairwise(v)]]
    )
    checks = [
        said(straight, "R9: with both uniform quality is about the share that is kept"),
        said(bent, "R9: else it is concave: the first rows that go cost least"),
    ]
    return all(checks)


def fairness(seeds: int, figures: Path | None) -> bool:
    """Figure 9: how far thresholds may lie apart."""
    print("\nrows SKEWED, queries UNIFORM, DATA: gain % over fairness\n" + row("rows kept", FAIRNESSES))
    found = {
        k: [trials(Settings(), replace(PLAN, method="DATA", fairness=f), k, seeds).gain for f in FAIRNESSES] for k in KEPT
    }
    for keep, gains in found.items():
        print(row(f"{keep:g}", gains))
    draw(figures, "fairness", "Gain by fairness", FAIRNESSES, {f"z = {k:g}": g for k, g in found.items()},
         xlabel="fairness threshold", ylabel="gain, %")
    checks = [
        said(found[0.3][0] < 15 and found[0.3][-1] > 35, "R10: at z = 0.3 the gain rises from few to about 40 % and more"),
        said(max(found[0.9]) - min(found[0.9]) < 6, "R10: at z = 0.9 fairness does not matter"),
        said(found[0.1][-1] - found[0.1][-2] < found[0.1][1] - found[0.1][0], "R10: at z = 0.1 it saturates"),
    ]
    return all(checks)


def side(seeds: int, figures: Path | None) -> bool:
    """Figure 10: the size of queries."""
    print("\nrows SKEWED, queries UNIFORM, DATA: gain % over the sides of queries\n" + row("rows kept", SIDES, "7.2f"))
    found = {
        k: [trials(Settings(side=(s / 2, s)), replace(PLAN, method="DATA"), k, seeds).gain for s in SIDES] for k in KEPT
    }
    for keep, gains in found.items():
        print(row(f"{keep:g}", gains))
    draw(figures, "side", "Gain by size of queries", SIDES, {f"z = {k:g}": g for k, g in found.items()},
         xlabel="side of queries", ylabel="gain, %")
    return said(found[0.1][-1] > found[0.1][0], "R11: the gain rises with the size of queries, most where little is kept")


PARTS: dict[str, Callable[[int, Path | None], bool]] = {
    "table": table, "skew": skew, "regions": regions, "load": load, "fairness": fairness, "side": side,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    add_figures(parser)
    args = parser.parse_args()
    outcomes = [PARTS[name](args.seeds, args.figures) for name in args.only]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
