"""Attributes that the cycle key determines: they are shed first, and a dictionary gives them back without any error.

An attribute that takes its values one to one with one of the key tells nothing that the key does not tell (Ahuja 2006,
Algorithm 1, forms these sets to take the narrowest attribute of each for the key; that the others need not be sent at all
is ours).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.attributes.columns import Array, Columns, array_of, codes
from streamq.stdlib.attributes.cycle import Cycle


@dataclass(frozen=True, slots=True)
class Dictionary:
    """The values of ``attr`` by those of ``by``, an attribute of the key."""

    attr: str
    by: str
    values: Mapping[Any, Any]

    def agrees(self, columns: Columns) -> bool:
        """Whether these rows have no other values: else it is to be made again, or the attribute not to be shed."""
        return bool(np.all(_texts(self.recovered(columns)) == _texts(array_of(columns[self.attr]))))

    def recovered(self, columns: Columns) -> Array:
        """The attribute of rows that come without it, None for a key that was not seen."""
        by = array_of(columns[self.by])
        _, first, inverse = np.unique(codes(by), return_index=True, return_inverse=True)
        found = np.empty(len(first), dtype=object)
        found[:] = [self.values.get(value) for value in by[first].tolist()]
        return found[inverse]


def dictionaries(cycle: Cycle, columns: Columns) -> tuple[Dictionary, ...]:
    """Of every determined attribute, from training rows. ValueError where a value of the key has two of it."""
    return tuple(_dictionary(attr, by, columns) for attr, by in cycle.determined.items())


def _dictionary(attr: str, by: str, columns: Columns) -> Dictionary:
    keys, values = codes(columns[by]), codes(columns[attr])
    first = np.unique(keys, return_index=True)[1]
    if len(np.unique(np.stack([keys, values]), axis=1).T) != len(first):
        raise ValueError(f"{by} does not determine {attr}")
    at = zip(array_of(columns[by])[first].tolist(), array_of(columns[attr])[first].tolist(), strict=True)
    return Dictionary(attr, by, dict(at))


def _texts(array: Array) -> Array:
    """The values as texts, as those of a dictionary have no type."""
    return np.asarray(array.astype(object).astype(str))
