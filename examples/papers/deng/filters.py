"""What filters of chapter 3 of Deng's thesis do by formula and by count: zeros, gaps, and Bloom filters in turn instead.

The parts ``zeros``, ``gaps`` and ``rotating`` of ``examples.papers.deng.membership``.
"""

from __future__ import annotations

import math

import numpy as np

from examples.papers.deng.streams import NEW, Stream, urls
from examples.papers.figures import draw
from examples.papers.parts import Options, counted, row
from examples.papers.statements import said
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_measures import fn_rate
from streamq.stdlib.sketches.membership_plan import (
    MOST_HASHES,
    StablePlan,
    plan_rotating,
    stable_plan,
    whole_decrements,
)
from streamq.stdlib.sketches.rotating_bloom import RotatingBloom
from streamq.stdlib.sketches.stable_bloom import StableBloom
from streamq.stdlib.sketches.stable_theory import missed, zeros_after

TRIED = (1, 3, 7)
"""What cells are set to."""

ALLOWED = (0.2, 0.1, 0.01, 0.001)

DEVIATIONS = 4


def best_plan(bits: int, fp: float, most: int) -> StablePlan:
    """The filter of cells of 0 .. ``most`` that misses least at small gaps."""
    by_hashes = {hashes: whole_decrements(hashes, fp, most) for hashes in range(1, MOST_HASHES + 1)}
    hashes = min(by_hashes, key=lambda k: math.log(k) + most * math.log(by_hashes[k]))
    return stable_plan(bits // most.bit_length(), hashes, by_hashes[hashes], most)


def zeros(options: Options) -> bool:
    """Figure 3.3: the share of zero cells as new elements come, and the limit it has."""
    lengths, checks, lines = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0), [], {}
    print("\nFigure 3.3: zero cells, %, by elements per cell, K = 2\n" + row("", lengths, "8.2f"))
    sizes = (10_000, 100_000) if options.quick else (10_000, 100_000, 1_000_000)
    for cells, (decrements, most) in counted(
        "zeros", [(cells, of) for of in ((5, 1), (15, 3)) for cells in sizes]
    ):
        plan = stable_plan(cells, 2, decrements, most)
        ends = [round(cells * length) for length in lengths]
        filter_, found = StableBloom(plan, 1), []
        for begin, end in zip([0, *ends], ends, strict=False):
            filter_.observe(np.arange(begin, end, dtype=np.uint64))
            found.append(1 - int(np.count_nonzero(filter_.values)) / cells)
        wanted = zeros_after(plan, np.array(ends))
        lines[f"m = {cells:,}, Max = {most}"] = [100 * share for share in found]
        print(
            row(
                f"m = {cells:,}, P = {decrements}, Max = {most}",
                lines[f"m = {cells:,}, Max = {most}"],
                "8.2f",
            )
        )
        print(
            row("  formula", 100 * wanted, "8.2f")
            + f"  limit {100 * plan.zero_fraction:.2f}, near it after {plan.stable_after:,}"
        )
        # Cells of one run are lowered together, so that no more than cells / P are independent.
        error = np.sqrt(wanted * (1 - wanted) * decrements / cells)
        checks += [
            said(
                bool((np.abs(found - wanted) < DEVIATIONS * error).all()),
                "zeros are as the formula says, within 4 deviations",
            ),
            said(
                bool(
                    (np.diff(found[:5]) < 0).all()
                    and abs(found[-1] - plan.zero_fraction) < DEVIATIONS * error[-1]
                ),
                "they become fewer, and settle at the limit",
            ),
        ]
    # Zeros over elements of each size, not per cell.
    settled = [stable_plan(cells, 2, 5, 1).stable_after or 0 for cells in sizes]
    plan = stable_plan(sizes[-1], 2, 5, 1)
    again = StableBloom(plan, 1)
    again.observe(crawl(2 * sizes[-1], NEW[10_000_000]))
    left = 1 - int(np.count_nonzero(again.values)) / plan.cells
    checks += [
        said(
            settled == sorted(settled),
            f"fewer cells settle sooner: {', '.join(f'{s:,}' for s in settled)} elements",
        ),
        said(
            left > plan.zero_fraction,
            f"with duplicates more cells are 0 than with none: {100 * left:.2f} %",
        ),
    ]
    draw(
        options.figures,
        "zeros",
        "Zero cells, K = 2",
        lengths,
        lines,
        xlabel="elements per cell",
        ylabel="zero cells, %",
    )
    return all(checks)


def missed_at(plan: StablePlan, gap: int, elements: int) -> float:
    """Of keys that come twice with so many others in between: blocks of new keys, each block twice."""
    blocks = max(1, elements // (2 * (gap + 1)))
    twice = np.repeat(
        np.arange(blocks * (gap + 1), dtype=np.uint64).reshape(blocks, 1, gap + 1), 2, axis=1
    )
    duplicate = np.zeros(twice.shape, np.bool_)
    duplicate[:, 1] = True
    return fn_rate(StableBloom(plan, 1).observe(twice.ravel()), duplicate.ravel())


def gaps(options: Options) -> bool:
    """Figure 3.2: what is missed at each gap, with cells of one, two and three bits in the same memory."""
    bits, elements = 1 << 16, 200_000 if options.quick else 1_000_000
    at = [round(bits * part) for part in (0.002, 0.005, 0.01, 0.02, 0.04, 0.06, 0.1, 0.2, 0.5)]
    print(
        f"\nFigure 3.2: missed, %, by gap, {bits} bits, 10 % false positives\n"
        + row("gap", at, "9d")
    )
    found, checks = {}, []
    for most in counted("gaps", TRIED):
        plan = best_plan(bits, 0.1, most)
        found[most] = np.array([missed_at(plan, gap, elements) for gap in at])
        wanted = missed(plan, np.array(at))
        print(
            row(f"Max = {most}, K = {plan.hashes}, P = {plan.decrements}", 100 * found[most])
            + "\n"
            + row("  formula", 100 * wanted)
        )
        off = float(np.abs(found[most] - wanted).max())
        checks.append(
            said(
                off < 0.01,
                f"Max = {most}: what is missed is as the formula says, within {100 * off:.2f} points",
            )
        )
    small, large = found[1][:4], found[3][:4]
    checks += [
        said(
            bool((large < small).all() and (found[7][:3] < found[3][:3]).all()),
            "cells of more bits miss less at small gaps",
        ),
        said(
            bool((found[1][6:8] < found[3][6:8]).all() and (found[3][6:8] < found[7][6:8]).all()),
            "and more at large ones",
        ),
        said(
            max(of[-1] for of in found.values()) - min(of[-1] for of in found.values()) < 0.02,
            "and as much at the largest",
        ),
    ]
    memory = 1 << 20
    every = np.unique(np.geomspace(16, memory // 4, 2000).astype(np.int64))
    turns: dict[str, list[float]] = {"Max 3 and 1": [], "Max 7 and 3": []}
    for fp in ALLOWED:
        one, three, seven = (missed(best_plan(memory, fp, most), every) for most in TRIED)
        for name, wide, narrow in (("Max 3 and 1", three, one), ("Max 7 and 3", seven, three)):
            turns[name].append(float(every[np.flatnonzero(wide < narrow)[-1]] / memory))
    print(
        "  gap by bits up to which cells of more bits miss less, by false positives\n"
        + row("", ALLOWED, "9.3f")
    )
    for name, parts in turns.items():
        print(row(name, parts, "9.3f"))
    checks.append(
        said(
            all(parts == sorted(parts, reverse=True) for parts in turns.values()),
            "the fewer false positives, the smaller that gap",
        )
    )
    draw(
        options.figures,
        "gaps",
        f"{bits} bits, 10 % false positives",
        np.log2(at).tolist(),
        {f"Max = {most}": (100 * of).tolist() for most, of in found.items()},
        xlabel="log2 of gap",
        ylabel="missed, %",
    )
    return all(checks)


def in_turn(found: Stream, bits: int, most_fp: float) -> tuple[float, float]:
    """The rates of two Bloom filters in turn that miss least with at most these false positives."""
    low, high, best = most_fp / 2, min(4 * most_fp, 0.9), (0.0, 1.0)
    for _ in range(7):
        middle = (low + high) / 2
        rates = found.rates(RotatingBloom(plan_rotating(bits, middle), 1).observe(found.keys))
        if rates[0] <= most_fp:
            low, best = middle, rates
        else:
            high = middle
    return best


def rotating(options: Options) -> bool:
    """Bloom filters in turn against the best Stable Bloom filter for 10 %, at its bits and no more false positives."""
    sizes = {
        100_000: (1 << 14, 1 << 16, 1 << 18),
        **({} if options.quick else {10_000_000: (1 << 18, 1 << 22)}),
    }
    checks = []
    print(
        "\nBloom filters in turn at the bits and the false positives of the best SBF with Max = 1, %"
    )
    print(
        "  elements       bits   SBF: K, P, false positives, missed   in turn: false positives, missed"
    )
    for n, memories in sizes.items():
        found = urls(n, 0)
        for bits in counted(f"rotating, {n:,}", memories):
            plans = [
                stable_plan(bits, hashes, whole_decrements(hashes, 0.1, 1), 1)
                for hashes in (1, 2, 3)
            ]
            (fp, lost), plan = min(
                ((found.stable(plan, 1), plan) for plan in plans), key=lambda of: of[0][1]
            )
            turn_fp, turn_lost = in_turn(found, bits, fp)
            print(
                f"  {n:10,} {bits:9}  {plan.hashes:6}{plan.decrements:4}{100 * fp:12.1f}{100 * lost:14.1f}{100 * turn_fp:22.1f}{100 * turn_lost:14.1f}"
            )
            checks.append(
                said(
                    turn_fp <= fp and turn_lost < lost,
                    f"{n:,}, {bits} bits: filters in turn miss less, by {100 * (lost - turn_lost):.1f} points",
                )
            )
    return all(checks)
