"""Whether each recovered value is within its bound, of as many values as one likes.

``python -m tests.unit.stdlib.recovery.bound 10000000`` does it for ten millions.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from streamq.stdlib.recovery.columns import Bools, Column, Floats, Ints, column
from streamq.stdlib.recovery.lookup import recover
from streamq.stdlib.recovery.retaining import Batch, Retained, Rule, retain
from streamq.stdlib.recovery.synopsis import Synopsis

ERRORS = (10.0, 0.1, 4.81)
"""Of three attributes that are shed at once."""

SURE = 1e-12
"""Far more than the rounding of three operations (4e-16): nearer to the bound than this it is looked at in fractions."""


class Checked(NamedTuple):
    values: int
    stored: int
    wrong: int
    fractions: int


def checked(rows: int, keys: int = 500, batch: int = 250_000, seed: int = 26) -> Checked:
    """Retains so many rows of three attributes in batches, recovers each value, and counts those beyond their bound."""
    random = np.random.default_rng(seed)
    rules = {f"a{i}": Rule(e) for i, e in enumerate(ERRORS)}
    state, synopsis, kept = Retained(), Synopsis(), []
    for start in range(0, rows, batch):
        size = min(batch, rows - start)
        codes = random.integers(0, keys, size)
        columns = {name: values(random, codes) for name in rules}
        before = state
        state, entries = retain(state, Batch(codes, columns), rules)
        synopsis = synopsis.after("s", entries, rules, state.cycle_no)
        kept.append((codes, _cycles(codes, before.cycle_no, keys), columns))
    wrong = exact = 0
    for codes, cycle_no, columns in kept:
        for name, rule in rules.items():
            got = recover(synopsis, "s", name, codes, cycle_no)
            assert got.found.all()
            bad, slow = violations(columns[name], got.values, rule.max_rel_error_pct)
            wrong, exact = wrong + bad, exact + slow
    return Checked(rows * len(rules), len(synopsis), wrong, exact)


def values(random: np.random.Generator, codes: Ints) -> Column:
    """A walk per key of steps of some percent, of every magnitude, with what is no plain number now and then."""
    size = len(codes)
    scale = 10.0 ** np.array([0, 1, -2, 6, 100, 290, -290, -305])[codes % 8]
    walk = np.round(np.exp(np.cumsum(random.standard_normal(size)) * 0.001), 4)
    found = walk * scale * np.where(random.random(size) < 0.02, -1.0, 1.0)
    special = np.flatnonzero(random.random(size) < 0.01)
    found[special] = random.choice(np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1.7e308]), len(special))
    return column(found, random.random(size) < 0.005)


def violations(original: Column, recovered: Column, error: float) -> tuple[int, int]:
    """How many values are beyond the bound, and of how many that was found in fractions."""
    v, r = original.values, recovered.values
    equal = (original.null & recovered.null) | (~original.null & ~recovered.null & _equal(v, r))
    with np.errstate(invalid="ignore", over="ignore"):
        plain = (np.abs(v) < 1e290) & (np.abs(v) > 1e-290) & (np.abs(r) < 1e290)
        sure = plain & (np.abs(r - v) * 100 <= error * np.abs(v) * (1 - SURE))
    open_ = np.flatnonzero(~equal & (original.null | recovered.null | ~sure))
    wrong = 0
    for i in open_.tolist():
        if original.null[i] or recovered.null[i] or not (np.isfinite(v[i]) and np.isfinite(r[i])):
            wrong += 1
        else:
            x, y = Fraction(float(v[i])), Fraction(float(r[i]))
            wrong += abs(y - x) * 100 > Fraction(error) * abs(x)
    return wrong, len(open_)


def _equal(a: Floats, b: Floats) -> Bools:
    return (a == b) | (np.isnan(a) & np.isnan(b))


def _cycles(codes: Ints, before: Ints, keys: int) -> Ints:
    """The number of the cycle of each row, counted by another way than retention does."""
    count = np.zeros(keys, dtype=np.int64)
    count[: len(before)] = before
    found = np.empty(len(codes), dtype=np.int64)
    order = np.argsort(codes, kind="stable")
    for part in np.split(order, np.cumsum(np.bincount(codes, minlength=keys))[:-1]):
        if len(part):
            key = codes[part[0]]
            found[part] = count[key] + 1 + np.arange(len(part))
    return found


if __name__ == "__main__":
    print(checked(int(sys.argv[1]) // len(ERRORS)))  # noqa: T201
