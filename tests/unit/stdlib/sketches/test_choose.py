"""Count-Min is taken where keys are skewed, CMM where they are not, and what is taken is never much worse than the other."""

from __future__ import annotations

import numpy as np
import pytest

from streamq.stdlib.sketches.choose import (
    cm_error,
    cmm_error,
    f2_chosen,
    f2_takes_cm,
    points_chosen,
    points_take_cm,
)
from streamq.stdlib.sketches.counter_sketch import CounterSketch, empty_count_min
from streamq.stdlib.sketches.counters import Numbers
from streamq.stdlib.sketches.estimators import f2_cm, f2_cmm, point_cm, point_cmm
from streamq.stdlib.sketches.lookalike import zipf_counts
from tests.unit.stdlib.sketches.plain_counts import self_join

SKETCHES, DEPTH, N = 300, 5, 20_000
SKEWS = [0.0, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]
MUCH = 1.5
"""A choice by a standard error of F2 that is an upper one takes CM a little early; it comes to this much at most."""


def sketches(z: float, width: int) -> tuple[Numbers, CounterSketch, Numbers]:
    """Frequencies, and sketches of them of other hashes: as one, and ``[sketches, d, w]``."""
    f = zipf_counts(N, 2_000, z, 41)
    sketch = empty_count_min(width, DEPTH * SKETCHES, 4).added(np.arange(2_000, dtype=np.uint64), f)
    return f, sketch, sketch.counts.reshape(SKETCHES, DEPTH, width)


@pytest.mark.parametrize("width", [16, 64, 256, 1024])
@pytest.mark.parametrize("z", SKEWS)
def test_self_joins(z: float, width: int) -> None:
    f, _, counts = sketches(z, width)
    truth = self_join(f)
    cm, cmm, chosen = (
        np.abs(of - truth).mean() / truth
        for of in (f2_cm(counts), f2_cmm(counts, N), f2_chosen(counts, N))
    )
    assert chosen <= MUCH * min(cm, cmm)
    takes = f2_takes_cm(counts, N)
    assert takes.shape == (SKETCHES,)
    if z <= 1 and width <= 256:
        assert not takes.any()
    if z == 2 or (z >= 1.5 and width >= 64):
        assert takes.all()
    if z <= 0.5 and width <= 64:
        assert cm > 100 * cmm


@pytest.mark.parametrize("width", [16, 64, 256, 1024])
@pytest.mark.parametrize("z", SKEWS)
def test_points(z: float, width: int) -> None:
    """Of the 30 most frequent keys."""
    f, sketch, counts = sketches(z, width)
    columns = sketch.columns(np.arange(30, dtype=np.uint64)).reshape(30, SKETCHES, DEPTH)
    cm, cmm, chosen = (
        np.abs(of - f[:30, None]).mean()
        for of in (
            point_cm(columns),
            point_cmm(columns, counts, N),
            points_chosen(columns, counts, N),
        )
    )
    assert chosen <= MUCH * min(cm, cmm)
    takes = points_take_cm(counts)
    if z <= 1 and width <= 256:
        assert not takes.any()
    if z == 2 and width >= 64:
        assert takes.mean() > 0.95


@pytest.mark.parametrize("z", [0.0, 1.0, 2.0])
def test_errors_are_read_off_the_counters(z: float) -> None:
    """Of a key that no row had, so that the whole row is its noise: within 3 standard errors of 300 sketches."""
    _, sketch, counts = sketches(z, 64)
    columns = sketch.columns(np.array([10**6], np.uint64)).reshape(SKETCHES, DEPTH)
    off = point_cm(columns)
    assert abs(cm_error(counts).mean() - off.mean()) < 3 * off.std() / np.sqrt(SKETCHES)
    # As if the key was there a million times: the clip at 0 does not count.
    there = columns + 10**6
    off = np.abs(point_cmm(there, counts, N) - 10**6)
    assert abs(cmm_error(counts).mean() - off.mean()) < 3 * off.std() / np.sqrt(SKETCHES)
