"""Utility: what is gained where the join knows what pairs are worth, with three types of rows, and with more.

Gains are of utility over all adaptations that take all pairs as equal, in percent, with the standard deviation over seeds.
Run from the root of the repository::

    python -m examples.papers.gedik_joins.worth [--seeds 2] [--only skew types] [--quick] [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys

import numpy as np

from examples.papers.figures import draw
from examples.papers.gedik_joins.trial import Case, gain, run, spread_row, steady, worth_per_s
from examples.papers.parts import Options, counted, main, row
from examples.papers.statements import said
from streamq.dsl.records import replace

FREQUENCIES = {"equal": 0.0, "inverse to value": -1.0, "as the value": 1.0}
"""How often types come: by which power of their value."""


def gained(value: np.ndarray, power: float, zipf: float, options: Options) -> tuple[float, float]:
    """By how much more utility a second there is where types are known, in percent, and its spread."""
    case = Case(steady(500.0), zipf=zipf, types=tuple((value**power).tolist()), value=tuple(value.tolist()))
    each = np.array([
        [worth_per_s(case, run(replace(case, told=told), "AUTO", seed), seed) for told in (False, True)]
        for seed in range(options.seeds)
    ])
    return gain(each[:, 1], each[:, 0])


def skew(options: Options) -> bool:
    """Three types of values 1, 2^-k, 3^-k."""
    skews = (1.0, 3.0) if options.quick else (0.0, 1.0, 2.0, 3.0)
    checks = []
    for zipf in (0.6,) if options.quick else (0.6, 0.8):
        found = {
            name: [gained(np.array([1.0, 2.0, 3.0]) ** -k, power, zipf, options) for k in skews]
            for name, power in counted(f"utility by skew, κ = {zipf}", FREQUENCIES.items())
        }
        print(f"\n500 rows/s, lag 5/8, κ = {zipf}: gain of utility, %, by skew k of the values")
        print(row("types come", skews, "14.0f"))
        for name, gains in found.items():
            print(spread_row(name, gains))
        draw(options.figures, f"utility_skew_{zipf}", f"Gain of utility, three types, κ = {zipf}", skews,
             {name: [g for g, _ in gains] for name, gains in found.items()}, xlabel="skew of values k", ylabel="gain, %",
             errors={name: [s for _, s in gains] for name, gains in found.items()})
        even, inverse, direct = ([g for g, _ in found[name]] for name in FREQUENCIES)
        checks += [
            said(even[-1] > even[0] and inverse[-1] > inverse[0], "where types come equally or inversely it rises with k"),
            said(inverse[-1] > max(even[-1], direct[-1]), "it is largest where dear types are rare"),
            said(max(map(abs, direct)) < 10, "it hardly changes where dear types are frequent"),
        ]
    return all(checks)


def types(options: Options) -> bool:
    """More types, of values from 1 down to 1/x, each as frequent as it is cheap."""
    counts = (2, 16) if options.quick else (2, 4, 8, 16, 32)
    ratios = (4.0,) if options.quick else (2.0, 4.0, 8.0)
    found = {
        x: [
            gained(np.arange(1, n + 1) ** -(np.log(x) / np.log(n)), -1.0, 0.6, options)
            for n in counted(f"utility by types, x = {x:.0f}", counts)
        ]
        for x in ratios
    }
    print("\n500 rows/s, lag 5/8, κ = 0.6, types as frequent as cheap: gain of utility, %, by types")
    print(row("", counts, "14.0f"))
    for x, gains in found.items():
        print(spread_row(f"values 1 to 1/{x:.0f}", gains))
    draw(options.figures, "utility_types", "Gain of utility by types", counts,
         {f"x = {x:.0f}": [g for g, _ in gains] for x, gains in found.items()}, xlabel="types", ylabel="gain, %",
         errors={f"x = {x:.0f}": [s for _, s in gains] for x, gains in found.items()})
    means = [[mean for mean, _ in gains] for gains in found.values()]
    falls = all(of[0] > of[-1] for of in means)
    flattens = all(abs(of[-1] - of[-2]) < max(5.0, abs(of[1] - of[0])) for of in means)
    checks = [said(falls, "the gain falls with the number of types")]
    if not options.quick:
        checks.append(said(flattens, "and less and less"))
    return all(checks)


if __name__ == "__main__":
    sys.exit(main(__doc__, {"skew": skew, "types": types}))
