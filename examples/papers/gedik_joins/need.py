"""How soon rows have to be dropped, and what basic windows can reach: the settings of all that follows.

Run from the root of the repository::

    python -m examples.papers.gedik_joins.need [--seeds 2] [--only need ages] [--quick] [--figures FOLDER]

Ends with 1 where a statement does not come out.
"""

from __future__ import annotations

import sys

import numpy as np

from examples.papers.figures import draw
from examples.papers.gedik_joins.trial import LAG, RANDOM, Case, run
from examples.papers.parts import Options, counted, main, row
from examples.papers.statements import said
from streamq.stdlib.joins.age_based import age_based, found_best, found_newest
from streamq.stdlib.joins.basic_window import ages, optimality
from streamq.stdlib.joins.columns import Sets
from streamq.stdlib.joins.processor import Processor
from streamq.stdlib.joins.workload import Settings, draw_sets

INDEXED = Processor(per_read=1 / 13, per_lookup=0.1, step_s=0.5)
"""A posting costs a thirteenth of a comparison of two sets: so that about a quarter is dropped where the paper says so."""

LOADS = (0.05, 0.1, 0.25, 0.5, 1.0)
LENGTHS = (0.0125, 0.025, 0.05, 0.1, 0.25, 0.5)
SLICES = 20


def dropped(case: Case, seeds: int) -> float:
    """The percentage of rows that a full join has to drop after its windows have filled."""
    late = [
        p for seed in range(seeds) for p in run(case, RANDOM, seed).periods if p.end_s > case.warm_s
    ]
    return 100 * sum(p.lost for p in late) / sum(p.arrived for p in late)


def need(options: Options) -> bool:
    """What a full join drops, by the length of its windows: by scans at 50 rows a second, with an index at 100."""
    found = {}
    for name, rate, processor, longest, seeds in (
        ("scan, 50 rows/s", 50.0, Processor(step_s=0.5), 125.0, options.seeds),
        ("indexed, 100 rows/s", 100.0, INDEXED, 625.0, 1),
    ):
        lengths = [longest * part for part in ((0.2, 1.0) if options.quick else (0.2, 0.4, 0.6, 0.8, 1.0))]
        found[name] = [
            dropped(Case(
                ((w + 40, rate),), (w, w), w / 20, lag=0.0, indexed=processor is INDEXED, warm_s=w + 5, processor=processor
            ), seeds)
            for w in counted(f"need, {name}", lengths)
        ]
        print(f"\nrows dropped by a full join, %; {name}\n" + row("window, s", lengths, "9.0f"))
        print(row("", found[name], "9.1f"))
        draw(options.figures, f"need_{name.split(',')[0]}", f"Full join, {name}", lengths, {name: found[name]},
             xlabel="window, s", ylabel="rows dropped, %")
    checks = [
        said(45 <= found["scan, 50 rows/s"][-1] <= 55, "a scan of windows of 125 s drops half of 50 rows a second"),
        said(15 <= found["indexed, 100 rows/s"][-1] <= 35, "an index on windows of 625 s drops a quarter of 100"),
    ]
    return all(checks)


def _matrix(sets: Sets) -> np.ndarray:
    held = np.zeros((len(sets), 100), dtype=np.float32)
    held[sets.owner, sets.items] = 1
    return held


def histogram(zipf: float, scanned_lag: float, probing_lag: float, rows: int, seed: int) -> np.ndarray:
    """Pairs that share three items, by age in parts of a window of 20 s, per pair that was compared."""
    random = np.random.default_rng(seed)
    found, probes = np.zeros(SLICES), 300
    times = 2 * np.arange(20) + np.arange(20) * 0.618 % 1
    for at in times:
        mine = draw_sets(np.full(probes, at), Settings(zipf=zipf, shift_s=probing_lag), random)
        stored = draw_sets(at - (np.arange(rows) + 0.5) / rows * 20, Settings(zipf=zipf, shift_s=scanned_lag), random)
        found += (_matrix(mine) @ _matrix(stored).T >= 3).sum(axis=0).reshape(SLICES, -1).sum(axis=1)
    return found / (len(times) * probes * rows / SLICES)


def profiles(options: Options) -> bool:
    """How old partners are where S1 lags by 5/8 of a cycle of 40 s, and what can be made of it."""
    rows, age = (2000 if options.quick else 10_000), (np.arange(SLICES) + 0.5)
    checks = []
    for zipf in counted("ages", (0.6, 0.8)):
        first, second = (
            np.mean([histogram(zipf, *lags, rows, seed) for seed in range(options.seeds)], axis=0)
            for lags in ((LAG * 40, 0.0), (0.0, LAG * 40))
        )
        of = ages(20.0, first)
        mean = f"mean {1000 * first.mean():.2f} and {1000 * second.mean():.2f}"
        print(f"\nκ = {zipf}: matches per 1000 comparisons by age, s; {mean}")
        print(row("age", age[::2], "7.1f") + "\n" + row("window of S1, which lags", 1000 * first[::2], "7.2f"))
        print(row("window of S2", 1000 * second[::2], "7.2f"))
        draw(options.figures, f"ages_{zipf}", f"Ages of partners, κ = {zipf}", age.tolist(),
             {"window of S1": 1000 * first, "window of S2": 1000 * second},
             xlabel="age, s", ylabel="matches per 1000 comparisons")
        share = {load: (found_newest(of, load), load, found_best(of, load)) for load in LOADS}
        kept_s, kept = age_based(of)
        print("  found in it at a load, newest / random / best: "
              + ", ".join(f"{load}: " + "/".join(f"{s:.2f}" for s in share[load]) for load in LOADS))
        print(f"  by age rows would be kept for {kept_s:.0f} of 20 s, and {100 * kept:.0f} % of the pairs found")
        phi = {load: [optimality(of, part * 20, load) for part in LENGTHS] for load in LOADS}
        print(row("φ by basic windows per window", LENGTHS, "9.4f"))
        for load in LOADS:
            print(row(f"load {load}", phi[load], "9.3f"))
        draw(options.figures, f"phi_{zipf}", f"Optimality of basic windows, κ = {zipf}", LENGTHS,
             {f"load {load}": phi[load] for load in LOADS}, xlabel="basic window by window", ylabel="φ")
        checks += [
            said(int(np.argmax(first)) in (14, 15), f"κ = {zipf}: partners in the late stream's window are 3/4 of it old"),
            said(first.mean() > second.mean(), "that window is the more useful one"),
            said(all(phi[load][1] >= phi[load][-1] for load in LOADS), "φ is better for short basic windows, at all loads"),
            said(phi[1.0][-1] >= phi[0.05][-1], "and worse for heavier loads"),
        ]
    return all(checks)


if __name__ == "__main__":
    sys.exit(main(__doc__, {"need": need, "ages": profiles}))
