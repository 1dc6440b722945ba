"""Windows of whole cycles: as many rows as a cycle has, one after the other (Ahuja 2006, sections 3.1.2 and 4.1).

The thesis calls them sliding; by the counts of its Table 4.1 they do not overlap. A window of time has as many rows only as
long as the rate of rows stays, and is to be made longer or shorter with it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.attributes.columns import Array, Columns, array_of, row_count


def window_rows(duration_s: float, row_rate: float) -> int:
    """Rows that come in a window of time, at so many a second; halves are rounded up. ValueError for negative numbers."""
    if not (0 <= duration_s < math.inf and 0 <= row_rate < math.inf):
        raise ValueError("durations and rates are not negative")
    return math.floor(duration_s * row_rate + 0.5)


def window_duration_s(length: int, row_rate: float) -> float:
    """How long a cycle lasts, in seconds. To be asked again when the rate changes. ValueError where nothing comes."""
    if length < 1 or not 0 < row_rate < math.inf:
        raise ValueError("a cycle has rows, and lasts as long as they take to come")
    return length / row_rate


def window_count(rows: int, length: int) -> int:
    """Whole windows among so many rows. ValueError for cycles without rows."""
    if rows < 0 or length < 1:
        raise ValueError("a cycle has at least one row")
    return rows // length


@dataclass(frozen=True, slots=True)
class CountWindow:
    """Rows that are not a whole cycle yet; ``after`` gives the windows that other ones complete."""

    length: int
    carried: Columns | None = None

    def after(self, columns: Columns) -> tuple[tuple[dict[str, Array], ...], CountWindow]:
        """The windows that are complete with these rows, in order, and what is carried over.

        ValueError where attributes are others than those carried, or differ in length.
        """
        if self.carried is not None and list(self.carried) != list(columns):
            raise ValueError(f"the attributes are {', '.join(self.carried)}")
        row_count(columns)
        of = {name: self._joined(name, values) for name, values in columns.items()}
        whole = window_count(row_count(of), self.length)
        windows = tuple(
            {name: array[w * self.length : (w + 1) * self.length] for name, array in of.items()} for w in range(whole)
        )
        return windows, CountWindow(self.length, {name: array[whole * self.length :] for name, array in of.items()})

    def _joined(self, name: str, values: object) -> Array:
        """What is carried and what comes, as objects where one is text and the other is not."""
        new = array_of(values)
        if self.carried is None or len(self.carried[name]) == 0:
            return new
        old = array_of(self.carried[name])
        if len(new) == 0:
            return old
        alike = (old.dtype.kind in "biuf" and new.dtype.kind in "biuf") or old.dtype.kind == new.dtype.kind
        return np.concatenate([old, new] if alike else [old.astype(object), new.astype(object)])


@dataclass(frozen=True, slots=True)
class Defects:
    """How a window differs from a cycle: keys that did not come, that came again, and that are new, in order."""

    missing: tuple[Hashable, ...]
    repeated: tuple[Hashable, ...]
    unknown: tuple[Hashable, ...]

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.missing or self.repeated or self.unknown)


def defects(keys: Sequence[Hashable], cycle_keys: Sequence[Hashable]) -> Defects:
    """Of the keys of the rows in a window, where ``cycle_keys`` are those of a cycle; in whatever order they come."""
    seen: dict[Hashable, int] = {}
    for key in keys:
        seen[key] = seen.get(key, 0) + 1
    known = dict.fromkeys(cycle_keys)
    return Defects(
        tuple(key for key in known if key not in seen),
        tuple(key for key, count in seen.items() if count > 1 and key in known),
        tuple(key for key in seen if key not in known),
    )
