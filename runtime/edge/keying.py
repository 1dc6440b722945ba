"""The cycle key of rows as whole numbers, the same for the same key in all batches of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streamq.runtime.edge.columns import to_column
from streamq.stdlib.recovery.columns import Ints
from streamq.stdlib.recovery.grouping import grouped
from streamq.stdlib.recovery.keys import UNKNOWN, Keys, no_keys
from streamq.stdlib.recovery.numbering import counted
from streamq.stdlib.recovery.synopsis import MOST_KEYS


def key_columns(rows: pa.RecordBatch, key: Sequence[str], count: int | None = None) -> list[pa.Array]:
    """The columns of the key of rows. Without a key all rows, of which there are ``count``, are of one."""
    return [rows.column(name) for name in key] or [pa.repeat(0, rows.num_rows if count is None else count)]


def keys_of(key: Sequence[str]) -> Keys:
    """None yet, of as many columns as ``key_columns`` gives."""
    return no_keys(max(len(key), 1))


def coded_keys(keys: Keys, columns: list[pa.Array], most: int = MOST_KEYS) -> tuple[Keys, Ints]:
    """With the keys that are new, and the code of each row. ``columns``: of the key, at least one, without NULL.

    Only different keys are looked at one by one: there are few of them, and each comes in every cycle. Beyond ``most`` keys
    new ones are ``UNKNOWN``, so that a source that makes up keys does not fill the memory.
    """
    distinct, index = _distinct(columns)
    values = [to_column(array).values for array in distinct]
    codes = keys.find(values)
    new = np.flatnonzero(codes == UNKNOWN)[: max(most - len(keys), 0)]
    if len(new):
        keys, codes[new] = keys.grown([some[new] for some in values])
    return keys, codes[index]


def found_keys(keys: Keys, columns: list[pa.Array]) -> Ints:
    """The code of each row, ``UNKNOWN`` for a key that never came."""
    distinct, index = _distinct(columns)
    return keys.find([to_column(array).values for array in distinct])[index]


def numbered(codes: Ints, last: Ints, keys: int, base: int = 0) -> Ints:
    """The number of each row among those of its key, ``[rows]``. ``last``: ``[keys so far]``, that of the last one.

    Those of a new key begin after ``base``.

    A row that is missing takes none, and one that comes late, or twice, has its own: whatever a key tells a row by
    stays the same at the source and at the receiver.
    """
    before = np.full(keys, base, dtype=np.int64)
    before[: len(last)] = last
    groups = grouped(codes)
    found = np.empty(len(codes), dtype=np.int64)
    found[groups.order] = counted(groups, before)
    return found


def _distinct(columns: list[pa.Array]) -> tuple[list[pa.Array], Ints]:
    """Each combination of values once, and which one each row has."""
    encoded = [array.dictionary_encode() for array in columns]
    if len(encoded) == 1:
        return [encoded[0].dictionary], encoded[0].indices.to_numpy().astype(np.int64)
    code = np.zeros(len(columns[0]), dtype=np.int64)
    for one in encoded:
        code = code * max(len(one.dictionary), 1) + one.indices.to_numpy()
        code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    _, first, index = np.unique(code, return_index=True, return_inverse=True)
    rows = pa.array(first)
    return [array.take(rows) for array in columns], index.astype(np.int64)
