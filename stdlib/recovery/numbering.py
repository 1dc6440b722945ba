"""The numbers by which source and receiver name a row without sending one: the stream, the key, and the cycle.

The source counts the rows of each key from 1, whether or not anything is stored (Algorithm 3 of Ahuja 2006). The receiver
numbers the rows of each stream from 0: where rows come in order and none is lost both are the same. Otherwise the number
of the cycle has to come with the row.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.recovery.columns import Ints
from streamq.stdlib.recovery.grouping import Groups, grouped


def cycles(seq: Ints, cycle_length: int) -> tuple[Ints, Ints]:
    """The number of the cycle of each row, from 1, and its position in it, from 0.

    ``seq``: ``[rows]``, numbers of rows of a stream from 0; ``cycle_length``: rows of a full cycle, L. Raises
    ``ValueError`` for negative numbers and a length below 1.
    """
    if cycle_length < 1 or np.any(np.asarray(seq) < 0):
        raise ValueError("rows are numbered from 0, and a cycle has a row")
    cycle, position = np.divmod(np.asarray(seq, dtype=np.int64), cycle_length)
    return cycle + 1, position


def sequences(streams: NDArray[np.str_], counts: Mapping[str, int]) -> tuple[Ints, dict[str, int]]:
    """The number of each row in its stream, ``[rows]``, and how many rows of each stream there are after them.

    ``streams``: ``[rows]``, the id of the source of each row; ``counts``: rows of each stream that came before.
    """
    names, codes = np.unique(np.asarray(streams, dtype=np.str_), return_inverse=True)
    groups = grouped(codes)
    before = np.array([counts.get(name, 0) for name in names.tolist()], dtype=np.int64)
    seq = np.empty(len(codes), dtype=np.int64)
    seq[groups.order] = np.repeat(before, groups.sizes) + groups.rank
    after = dict(zip(names.tolist(), (before + groups.sizes).tolist(), strict=True))
    return seq, {**counts, **after}


def counted(groups: Groups, last: Ints) -> Ints:
    """The number of the cycle of each row by key: one more than that of the row of its key before.

    ``last``: ``[keys]``, the number of the row of each key that came last, 0 where none did.
    """
    return np.repeat(last[groups.keys] + 1, groups.sizes) + groups.rank


def checked(groups: Groups, cycle_no: Ints, last: Ints) -> Ints:
    """Numbers of cycles that came with rows by key.

    Raises ``ValueError`` where a key is twice in a cycle, or comes with a cycle that is not after its last one.
    """
    again = np.flatnonzero((np.diff(cycle_no) == 0) & (np.diff(groups.owner) == 0))
    if len(again):
        key = groups.keys[groups.owner[again[0]]]
        raise ValueError(f"key {key} is twice in cycle {cycle_no[again[0]]}")
    late = np.flatnonzero(cycle_no[groups.starts] <= last[groups.keys])
    if len(late):
        key, cycle = groups.keys[late[0]], cycle_no[groups.starts[late[0]]]
        raise ValueError(f"key {key} comes with cycle {cycle} after cycle {last[key]}")
    return cycle_no
