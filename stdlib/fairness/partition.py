"""A chain of operators cut into parts, so that the busiest node has least to do (Fiscato 2012, load-aware partitioning).

It is the first placement, from loads that are estimated before anything runs.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.fairness.batches import Floats, Ints


def contiguous_parts(loads: Floats, parts: int) -> Ints:
    """Where each part begins, for the cut whose largest load of a part is least (linear partition).

    ``loads``: of the operators, each after those that it reads; so no stream leaves a part and comes
    back into it. No part is empty. Of several such cuts it is one whose last part has most operators.
    Takes O(parts · operators²) time. Raises ValueError for more parts than operators, for no part,
    and for a load that is negative or not finite.
    """
    load = np.asarray(loads, dtype=np.float64)
    if not np.all((load >= 0) & (load < np.inf)):
        raise ValueError("a load is finite and not negative")
    if not 1 <= parts <= len(load):
        raise ValueError(f"{len(load)} operators make no {parts} parts")
    before = np.concatenate(([0.0], np.cumsum(load)))
    # Row i, column j: the load of the operators from i up to j, which are one part if there are any.
    between = np.where(np.tri(len(before), dtype=bool), np.inf, before - before[:, None])
    largest = between[0]
    begins = [np.zeros(len(before), dtype=np.int64)]
    for _ in range(1, parts):
        candidates = np.maximum(largest[:, None], between)
        begins.append(np.argmin(candidates, axis=0))
        largest = candidates.min(axis=0)
    found, end = [], len(load)
    for begin in reversed(begins):
        end = int(begin[end])
        found.append(end)
    return np.array(found[::-1], dtype=np.int64)
