"""The Stable Bloom filter one element after the other, as it is defined: what the kernel is held against."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.stdlib.sketches.membership_plan import StablePlan

BITS = 0xFFFFFFFFFFFFFFFF


def mix64(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & BITS
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & BITS
    return x ^ (x >> 31)


def probed(key: int, plan: StablePlan, seed: int) -> list[int]:
    first = mix64(key ^ seed)
    step = mix64(first ^ 0xABCDEF12345) | 1
    return [mix64((first + i * step) & BITS) % plan.cells for i in range(plan.hashes)]


def run_start(t: int, plan: StablePlan, seed: int) -> int:
    return mix64(t ^ mix64(seed + 1)) % plan.cells


def step(
    values: list[int], cells: Sequence[int], start: int, decrements: int, max_value: int
) -> bool:
    """Probe, lower, set; changes ``values``."""
    duplicate = all(values[cell] > 0 for cell in cells)
    for j in range(decrements):
        lowered = (start + j) % len(values)
        values[lowered] = max(0, values[lowered] - 1)
    for cell in cells:
        values[cell] = max_value
    return duplicate


class PlainStable:
    def __init__(self, plan: StablePlan, seed: int) -> None:
        self.plan = plan
        self.seed = seed
        self.seen = 0
        self.values = [0] * plan.cells

    def observe(self, keys: Sequence[int]) -> list[bool]:
        found = []
        for key in keys:
            cells = probed(key, self.plan, self.seed)
            start = run_start(self.seen, self.plan, self.seed)
            found.append(step(self.values, cells, start, self.plan.decrements, self.plan.max_value))
            self.seen += 1
        return found
