"""Cycle keys as whole numbers from 0, in the order in which they first come: what arrays with a place per key are read by.

A cycle key is one attribute or several (the cycle identifier, CID, of Ahuja 2006, Algorithm 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamq.dsl.records import dataclass, field
from streamq.stdlib.recovery.columns import Ints, column

UNKNOWN = -1
"""The code of a key that never came."""

MOST_VALUES = 1 << 31
"""Values of one attribute of a key that can be told apart: two codes are one whole number."""


@dataclass(frozen=True, slots=True)
class Codes:
    """The values of one attribute, ``[values]``, rising, each once, and the code of each."""

    values: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    codes: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __len__(self) -> int:
        """The number of values."""
        return len(self.codes)

    def find(self, values: NDArray[Any]) -> Ints:
        """The code of each value, ``UNKNOWN`` where there is none. Raises ``ValueError`` for values of another type."""
        found = np.full(len(values), UNKNOWN)
        if len(self):
            if self.values.dtype.kind != values.dtype.kind:
                raise ValueError(f"a key keeps its type: {self.values.dtype} and {values.dtype}")
            place = np.minimum(np.searchsorted(self.values, values), len(self) - 1)
            there = self.values[place] == values
            found[there] = self.codes[place[there]]
        return found

    def grown(self, values: NDArray[Any]) -> tuple[Codes, Ints]:
        """With the values that are new, and the code of each value."""
        found = self.find(values)
        new = np.flatnonzero(found == UNKNOWN)
        if not len(new):
            return self, found
        different, first, place = np.unique(values[new], return_index=True, return_inverse=True)
        if len(self) + len(different) > MOST_VALUES:
            raise ValueError(f"keys have at most {MOST_VALUES} values of an attribute")
        rank = np.empty(len(different), dtype=np.int64)
        rank[np.argsort(first)] = np.arange(len(different))
        found[new] = len(self) + rank[place]
        both = different if not len(self) else np.concatenate([self.values, different])
        order = np.argsort(both, kind="stable")
        return Codes(both[order], np.concatenate([self.codes, len(self) + rank])[order]), found

    def by_code(self) -> NDArray[Any]:
        """The values in the order of their codes."""
        return self.values[np.argsort(self.codes)]


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys that came.

    ``attributes``: the values of each attribute of the key; ``pairs``: of the code of the attributes up to each but the
    first, and its own code. ``no_keys`` has none yet.
    """

    attributes: tuple[Codes, ...]
    pairs: tuple[Codes, ...]

    def __len__(self) -> int:
        """The number of keys."""
        return len((*self.attributes[:1], *self.pairs)[-1])

    def find(self, key: Sequence[Any]) -> Ints:
        """The code of each key, ``UNKNOWN`` where it never came. ``key``: an array or list for each attribute.

        Raises ``ValueError`` as ``grown`` does.
        """
        values = self._values(key)
        code = self.attributes[0].find(values[0])
        for attribute, pairs, more in zip(self.attributes[1:], self.pairs, values[1:], strict=True):
            code = pairs.find(code * MOST_VALUES + attribute.find(more))
        return code

    def grown(self, key: Sequence[Any]) -> tuple[Keys, Ints]:
        """With the keys that are new, and the code of each. ``key``: an array or list for each attribute, of one length.

        Raises ``ValueError`` for NULL and NaN, for another number of attributes, and for values of another type.
        """
        values = self._values(key)
        first, code = self.attributes[0].grown(values[0])
        attributes, pairs = [first], []
        for attribute, pair, more in zip(self.attributes[1:], self.pairs, values[1:], strict=True):
            grown, own = attribute.grown(more)
            both, code = pair.grown(code * MOST_VALUES + own)
            attributes.append(grown)
            pairs.append(both)
        return Keys(tuple(attributes), tuple(pairs)), code

    def columns(self) -> tuple[NDArray[Any], ...]:
        """The values of each attribute in the order of codes, ``[keys]`` each: ``grown`` makes the same codes of them."""
        code = np.arange(len(self))
        found = []
        for attribute, pairs in zip(self.attributes[:0:-1], self.pairs[::-1], strict=True):
            code, own = np.divmod(pairs.by_code()[code], MOST_VALUES)
            found.append(attribute.by_code()[own])
        return (self.attributes[0].by_code()[code], *found[::-1])

    def _values(self, key: Sequence[Any]) -> list[NDArray[Any]]:
        columns = [column(values) for values in key]
        if len(columns) != len(self.attributes) or len({len(c) for c in columns}) != 1:
            raise ValueError(f"a key has {len(self.attributes)} attributes, each with a value in every row")
        if any(np.any(c.null | (c.values != c.values)) for c in columns):
            raise ValueError("an attribute of a cycle key is NULL or NaN")
        return [c.values for c in columns]


def no_keys(attributes: int = 1) -> Keys:
    """Keys of so many attributes, at least one, of which none came."""
    if attributes < 1:
        raise ValueError("a cycle key has an attribute")
    return Keys((Codes(),) * attributes, (Codes(),) * (attributes - 1))
