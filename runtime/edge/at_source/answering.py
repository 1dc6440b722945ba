"""Answers to requests for shed values, from the store: a segment at a time, the newest first, all values at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamq.runtime.edge.answers import Answer
from streamq.runtime.edge.at_source.progress import Progress
from streamq.runtime.edge.at_source.store import Store
from streamq.runtime.edge.columns import to_array
from streamq.runtime.edge.keying import found_keys, key_columns
from streamq.runtime.edge.messages import Request
from streamq.stdlib.recovery.keys import UNKNOWN
from streamq.stdlib.recovery.lookup import Status, recover
from streamq.stdlib.recovery.synopsis import Series, Synopsis


def answered(request: Request, store: Store, progress: Progress) -> Answer:
    """The values asked for; NOT_RETAINED of keys that never came, cycles that did not yet, and what is forgotten.

    So is all that another store was asked for: its numbers of cycles mean something else. O(log stored) for each value and
    segment, with one segment in memory.
    """
    asked = len(request.cycle_no)
    type_ = store.segments.types[request.attribute]
    status = np.full(asked, int(Status.NOT_RETAINED), dtype=np.int64)
    stored_in = np.zeros(asked, dtype=np.int64)
    error = np.full(asked, np.nan)
    values, place = [pa.nulls(1, type_)], np.zeros(asked, dtype=np.int64)
    known = progress.keys if request.origin == store.origin else None
    keys = np.full(asked, UNKNOWN) if known is None else found_keys(
        known, key_columns(request.keys, request.keys.schema.names, asked)
    )
    until = {request.stream: progress.retained.cycle_no}
    rule = store.rule(request.attribute)
    left = np.flatnonzero(keys >= 0)
    count = 1
    for number in store.segments.numbers(request.attribute):
        if not len(left):
            break
        series = Series((store.segments.read(request.attribute, number),), rule)
        synopsis = Synopsis({(request.stream, request.attribute): series}, until)
        found = recover(synopsis, request.stream, request.attribute, keys[left], request.cycle_no[left])
        here = found.status != Status.NOT_RETAINED
        rows = left[here]
        status[rows], stored_in[rows] = found.status[here], found.cycle_no[here]
        error[rows] = found.max_rel_error_pct[here]
        place[rows] = count + np.arange(len(rows))
        values.append(to_array(found.values.take(here), type_))
        count += len(rows)
        left = left[~here]
    return Answer(
        request.id, request.stream, 0, asked, pa.concat_arrays(values).take(pa.array(place)), status, stored_in, error
    )
