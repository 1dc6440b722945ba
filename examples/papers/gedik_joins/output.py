"""Output rates: adapting to rates, to time correlation and to directions, against dropping rows at random at the same cost.

Gains are in percent, with the standard deviation over seeds. Run from the root of the repository::

    python -m examples.papers.gedik_joins.output [--seeds 2] [--only curve windows lag skew load basic] [--quick]
        [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from examples.papers.figures import draw
from examples.papers.gedik_joins.need import INDEXED
from examples.papers.gedik_joins.trial import (
    RANDOM,
    Case,
    gain,
    per_s,
    rates,
    run,
    spread_row,
    steady,
)
from examples.papers.parts import Options, counted, main, row
from examples.papers.statements import said
from streamq.dsl.records import replace
from streamq.stdlib.joins.adapting import Policy
from streamq.stdlib.joins.processor import Run
from streamq.stdlib.joins.selection import Floats
from streamq.stdlib.joins.workload import CURVE

STEPS: tuple[Policy, ...] = ("NEWEST", "CORRELATION", "DIRECTION", "KNAPSACK", "AUTO")
NAMES = {
    RANDOM: "random dropping", "NEWEST": "rates only, newest first", "CORRELATION": "+ time correlation",
    "DIRECTION": "+ direction", "KNAPSACK": "+ knapsack instead", "AUTO": "+ DIRECTION AUTO instead",
}
PARTS_OF_CURVE = {100: (30.0, 60.0), 500: (65.0, 75.0), 300: (85.0, 105.0)}
"""Rows per second, and when the curve has that rate and the fraction has settled."""

INDEXED_CASE = Case(
    steady(500, warm_s=70), (50.0, 50.0), 0.5, warm_s=70.0, indexed=True,
    processor=replace(INDEXED, comparisons_per_s=4e4, per_row=2.5, step_s=0.25),
)
"""Windows of 50 s on a processor a quarter as fast: as much too slow as with the 200 s of the paper."""


TIMES = list(range(5, 170, 5))
"""Ends of the parts of a run on the curve that are drawn."""


def over_time(found: Run) -> list[float]:
    return [found.per_s(end - 5, end) for end in TIMES]


def on_curve(found: Run) -> Floats:
    return np.array([found.per_s(*when) for when in PARTS_OF_CURVE.values()])


def curve(options: Options) -> bool:
    """The rate curve, streams that do not lag: the newest rows of a fraction against random dropping."""
    zipfs = (0.4, 0.6) if options.quick else (0.2, 0.4, 0.6, 0.8)
    gains: dict[tuple[float, float], list[tuple[float, float]]] = {}
    print("\nno lag: gain of newest first over random dropping, %, at rows per second\n"
          + row("", PARTS_OF_CURVE, "14.0f"))
    fractions: dict[float, list[tuple[float, float]]] = {}
    for second in (20.0, 0.0):
        for zipf in counted("curve", zipfs):
            case = Case(CURVE, (20.0, second), zipf=zipf, lag=0.0)
            runs = [[run(case, policy, seed) for policy in (RANDOM, "NEWEST")] for seed in range(options.seeds)]
            each = np.array([[on_curve(one) for one in pair] for pair in runs])
            gains[second, zipf] = [gain(each[:, 1, at], each[:, 0, at]) for at in range(len(PARTS_OF_CURVE))]
            print(spread_row(f"windows 20 and {second:.0f} s, κ = {zipf}", gains[second, zipf]))
            if zipf == 0.6:
                fractions[second] = [(p.end_s, p.selected.frac) for p in runs[0][1].periods]
                draw(options.figures, f"curve_{second:.0f}", f"Rate curve, windows 20 and {second:.0f} s, κ = 0.6", TIMES,
                     {NAMES[p]: over_time(one) for p, one in zip((RANDOM, "NEWEST"), runs[0], strict=True)},
                     xlabel="seconds", ylabel="pairs per second")
    draw(options.figures, "curve_fraction", "The fraction r on the rate curve", [t for t, _ in fractions[20.0]],
         {f"windows 20 and {w:.0f} s": [f for _, f in of] for w, of in fractions.items()},
         xlabel="seconds", ylabel="fraction compared")
    slow = Case(steady(50.0), lag=0.0)
    same = [per_s(slow, run(slow, policy, 0)) for policy in (RANDOM, "NEWEST")]
    of = dict(fractions[20.0])
    some = (60.0, 75.0, 90.0, 105.0, 135.0, 165.0)
    print("  the fraction, κ = 0.6, at seconds: " + ", ".join(f"{t:.0f}: {of[t]:.3f}" for t in some))
    usual = gains[20.0, 0.6]
    near = gains[20.0, 0.4]
    checks = [
        said(usual[1][0] >= 100 and usual[2][0] >= 50, "κ = 0.6: at least +100 % at 500 rows a second, +50 % at 300"),
        said(50 <= near[1][0] <= 150 and 25 <= near[2][0] <= 90, "κ = 0.4: about +100 % at 500 rows a second, +50 % at 300"),
        said(usual[0][0] < usual[2][0] < usual[1][0], "the gain grows with the overload"),
        said(abs(same[1] / same[0] - 1) < 0.02, "nothing is lost or gained where there is no overload (50 rows a second)"),
        said(min(of[60.0], of[165.0]) > 4 * of[105.0], "the fraction follows the rates, down and up"),
    ]
    return all(checks)


def windows(options: Options) -> bool:
    """The gain over the whole rate curve, by skew and by windows."""
    zipfs = (0.2, 0.6, 1.0) if options.quick else (0.2, 0.4, 0.6, 0.8, 1.0)
    lengths = (10.0, 20.0) if options.quick else (5.0, 10.0, 20.0, 40.0)
    print("\nno lag, over the rate curve: gain of newest first over random dropping, %\n" + row("κ", zipfs, "14.1f"))
    found: dict[float, list[tuple[float, float]]] = {}
    todo = counted("windows", [(w, z) for w in lengths for z in zipfs])
    for w, z in todo:
        case = Case(CURVE, (w, w), w / 20, zipf=z, lag=0.0, warm_s=45.0)
        found.setdefault(w, []).append(gain(rates(case, "NEWEST", options.seeds), rates(case, RANDOM, options.seeds)))
    for w in lengths:
        print(spread_row(f"windows of {w:.0f} s", found[w]))
    draw(options.figures, "windows", "Gain of newest first over the rate curve", zipfs,
         {f"windows of {w:.0f} s": [g for g, _ in found[w]] for w in lengths}, xlabel="κ", ylabel="gain, %",
         errors={f"windows of {w:.0f} s": [s for _, s in found[w]] for w in lengths})
    checks = [
        said(all(_rises([g for g, _ in found[w]], 5) for w in lengths), "the gain grows with the skew"),
        said(all(_rises([found[w][i][0] for w in lengths], 5) for i in range(len(zipfs))), "and with the windows"),
    ]
    return all(checks)


def lag(options: Options) -> bool:
    """S1 lags by 5/8 of a cycle, rate curve: what time correlation and directions add."""
    checks = []
    for zipf in counted("lag", (0.6,) if options.quick else (0.4, 0.6, 0.8)):
        case = Case(CURVE, zipf=zipf, warm_s=45.0)
        policies = (RANDOM, *STEPS)
        runs = {p: [run(case, p, seed) for seed in range(options.seeds)] for p in policies}
        each = {p: np.array([on_curve(one) for one in runs[p]]) for p in policies}
        whole = {p: np.array([per_s(case, one) for one in runs[p]]) for p in policies}
        print(f"\nlag 5/8, κ = {zipf}: pairs per second by rows per second\n"
              + row("", PARTS_OF_CURVE, "9.0f") + f"{'all, with its spread':>26}")
        for p in policies:
            print(row(NAMES[p], each[p].mean(axis=0), "9.1f") + f"{whole[p].mean():16.1f} ± {whole[p].std():.1f}")
        draw(options.figures, f"lag_{zipf}", f"Rate curve, lag 5/8, κ = {zipf}", TIMES,
             {NAMES[p]: over_time(runs[p][0]) for p in (RANDOM, *STEPS[:3])}, xlabel="seconds", ylabel="pairs per second")
        chosen = runs["DIRECTION"][0].periods
        draw(options.figures, f"lag_fractions_{zipf}", f"Fractions, lag 5/8, κ = {zipf}", [p.end_s for p in chosen],
             {"r": [p.selected.frac for p in chosen], "r1, window of S1": [p.selected.frac_dir[0] for p in chosen],
              "r2, window of S2": [p.selected.frac_dir[1] for p in chosen]}, xlabel="seconds", ylabel="fraction compared")
        over = [p.selected for p in chosen if p.selected.frac < 0.9 and p.end_s > 20]
        learned, directed = gain(whole["CORRELATION"], whole["NEWEST"])[0], gain(whole["DIRECTION"], whole["CORRELATION"])[0]
        checks += [
            said(learned >= 40, f"κ = {zipf}: time correlation adds about 50 % to rates alone: {learned:+.0f} %"),
            said(directed >= 25, f"directions add about another 40 %: {directed:+.0f} %"),
            said(all(s.frac_dir[1] < s.frac_dir[0] for s in over), "less is compared of the window of S2, in all periods"),
        ]
    return all(checks)


def skew(options: Options) -> bool:
    """By skew, pairs that share four items, S1 lags."""
    zipfs = (0.4, 0.8) if options.quick else (0.4, 0.6, 0.8, 1.0)
    found: dict[Policy | None, list[tuple[float, float]]] = {p: [] for p in STEPS}
    added: dict[str, list[float]] = {"time correlation": [], "directions": []}
    for zipf in counted("skew", zipfs):
        case = Case(CURVE, zipf=zipf, least=4, warm_s=45.0)
        base = rates(case, RANDOM, options.seeds)
        each = {p: rates(case, p, options.seeds) for p in STEPS}
        for p in STEPS:
            found[p].append(gain(each[p], base))
        added["time correlation"].append(gain(each["CORRELATION"], each["NEWEST"])[0])
        added["directions"].append(gain(each["DIRECTION"], each["CORRELATION"])[0])
    print("\nlag 5/8, four items shared, over the rate curve: gain over random dropping, %\n" + row("κ", zipfs, "14.1f"))
    for p in STEPS:
        print(spread_row(NAMES[p], found[p]))
    for name, gains in added.items():
        print(row(f"added by {name}", gains, "+14.0f"))
    draw(options.figures, "skew", "Gain by skew, lag 5/8, four items shared", zipfs,
         {NAMES[p]: [g for g, _ in found[p]] for p in STEPS}, xlabel="κ", ylabel="gain over random dropping, %",
         errors={NAMES[p]: [s for _, s in found[p]] for p in STEPS})
    checks = [
        said(_rises(added["time correlation"], 5), "what time correlation adds grows with the skew"),
        said(_rises(added["directions"], 5), "and so does what directions add"),
        said(found["NEWEST"][-1][0] <= found["NEWEST"][0][0] + 5, "rates alone do not get better with it"),
    ]
    return all(checks)


def load(options: Options) -> bool:
    """All adaptations against random dropping by rate: sets and single values, by scans and with an index."""
    by_rate = (100.0, 500.0) if options.quick else (100.0, 200.0, 300.0, 400.0, 500.0)
    found: dict[str, list[tuple[float, float]]] = {}
    for zipf in (0.8,) if options.quick else (0.6, 0.8):
        for name, case in (
            ("overlap, scan", Case()), ("equality, scan", Case(equal=True)),
            ("overlap, indexed", INDEXED_CASE), ("equality, indexed", replace(INDEXED_CASE, equal=True)),
        ):
            gains = []
            for rate in counted(f"load, {name}, κ = {zipf}", by_rate):
                one = replace(case, curve=steady(rate, warm_s=case.warm_s), zipf=zipf)
                gains.append(gain(rates(one, "AUTO", options.seeds), rates(one, RANDOM, options.seeds)))
            found[f"{name}, κ = {zipf}"] = gains
    print("\nlag 5/8: gain of all adaptations over random dropping, %, by rows per second\n" + row("", by_rate, "14.0f"))
    for label, gains in found.items():
        print(spread_row(label, gains))
    draw(options.figures, "load", "Gain of all adaptations over random dropping", by_rate,
         {label: [g for g, _ in gains] for label, gains in found.items()}, xlabel="rows per second", ylabel="gain, %",
         errors={label: [s for _, s in gains] for label, gains in found.items()})
    best, equal = found["overlap, scan, κ = 0.8"], found["equality, scan, κ = 0.8"]
    index, hashed = found["overlap, indexed, κ = 0.8"], found["equality, indexed, κ = 0.8"]
    checks = [
        said(best[-1][0] >= 400, f"sets by scans: up to +500 % ({best[-1][0]:+.0f} % at 500 rows a second)"),
        said(best[-1][0] > equal[-1][0] > 0, "more for sets than for single values"),
        said(abs(index[0][0]) < 10, "with an index on sets nothing is gained at low rates"),
        said(index[-1][0] >= 50 and index[-1][0] > index[0][0], "and about +100 % at 500 rows a second, rising"),
        said(all(abs(g) < 5 for g, _ in hashed), "with a hash index on single values nothing is gained or lost"),
    ]
    return all(checks)


def basic(options: Options) -> bool:
    """The length of basic windows, 500 rows a second."""
    found: dict[str, tuple[Sequence[float], list[Floats], Floats]] = {}
    for zipf in (0.8,) if options.quick else (0.6, 0.8):
        for name, case, parts in (
            ("scan", Case(zipf=zipf), (0.0125, 0.025, 0.05, 0.1, 0.25, 1.0)),
            ("indexed", replace(INDEXED_CASE, zipf=zipf), (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25)),
        ):
            some = parts[::2] if options.quick else parts
            each = [rates(replace(case, bw_s=part * case.windows[0]), "AUTO", options.seeds)
                    for part in counted(f"basic, {name}, κ = {zipf}", some)]
            none = rates(case, "NEWEST", options.seeds)
            found[f"{name}, κ = {zipf}"] = some, each, none
            print(f"\n{name}, κ = {zipf}, 500 rows/s, lag 5/8: pairs per second by basic window per window")
            print(row("", some, "9.4f") + f"{'newest':>10}")
            print(row("", [e.mean() for e in each], "9.1f") + f"{none.mean():10.1f}")
            print(row("spread", [e.std() for e in each], "9.1f") + f"{none.std():10.1f}")
            draw(options.figures, f"basic_{name}_{zipf}", f"Basic windows, {name}, κ = {zipf}", some,
                 {"all adaptations": [float(e.mean()) for e in each], "newest first": [float(none.mean())] * len(some)},
                 xlabel="basic window by window", ylabel="pairs per second",
                 errors={"all adaptations": [float(e.std()) for e in each]})
    checks = []
    for label, (_, each, none) in found.items():
        means = [float(e.mean()) for e in each]
        if label.startswith("scan"):
            better = means[0] > means[-1] and _rises(means[::-1], 15)
            checks.append(said(better, f"{label}: the shorter the better, within 15 %"))
        else:
            checks.append(said(0 < int(np.argmax(means)) < len(means) - 1, f"{label}: very short ones are worse again"))
        checks.append(said(max(means) > none.mean(), f"{label}: all are better than no basic windows at their best"))
    return all(checks)


def _rises(values: Sequence[float], within: float) -> bool:
    """Whether none is lower than the one before by more than so many percent of it, or points where it is less than 100."""
    return all(b >= a - within / 100 * max(100.0, abs(a)) for a, b in pairwise(values))


if __name__ == "__main__":
    sys.exit(main(__doc__, {"curve": curve, "windows": windows, "lag": lag, "skew": skew, "load": load, "basic": basic}))
