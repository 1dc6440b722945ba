"""What retention remembers as named arrays of plain types, to keep between batches (``numpy.savez``) and to restore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.stdlib.recovery.columns import column
from streamq.stdlib.recovery.keys import Keys, no_keys
from streamq.stdlib.recovery.retaining import Memory, Retained

Arrays = dict[str, NDArray[Any]]


def to_arrays(state: Retained, keys: Keys) -> Arrays:
    """The state of a stream and its keys. No array is of objects."""
    found: Arrays = {"cycle_no": state.cycle_no, "clock": state.clock}
    found |= {f"key.{i}": values for i, values in enumerate(keys.columns())}
    for name, memory in state.memories.items():
        found[f"values.{name}"] = memory.last.values
        found[f"null.{name}"] = memory.last.null
        found[f"stored.{name}"] = memory.cycle_no
    return found


def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> tuple[Retained, Keys]:
    """What ``to_arrays`` made. Raises ``ValueError`` for arrays that it did not make."""
    try:
        attributes = [arrays[f"key.{i}"] for i in range(sum(name.startswith("key.") for name in arrays))]
        keys, _ = no_keys(len(attributes)).grown(attributes)
        memories = {}
        for name in (name.removeprefix("values.") for name in arrays if name.startswith("values.")):
            last = column(arrays[f"values.{name}"], arrays[f"null.{name}"])
            memories[name] = Memory(last, arrays[f"stored.{name}"])
        state = Retained(arrays["cycle_no"], arrays["clock"], memories)
    except KeyError as error:
        raise ValueError(f"what is kept of a stream lacks {error}") from None
    lengths = {len(state.cycle_no), len(state.clock), *(len(m.cycle_no) for m in memories.values())}
    if len(lengths) != 1 or np.any(state.cycle_no < 0):
        raise ValueError("what is kept of a stream has a value for each key")
    return state, keys
