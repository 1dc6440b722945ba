"""Which attributes are shed, from which cycle on; the receiver is told, so that it can tell shed from NULL.

A plan is a set, of which the order tells nothing (Ahuja 2006, section 3.1.3; how the receiver learns of it, the thesis does
not say). It goes along with rows as a number, and with it a mask of the attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from streamq.dsl.records import dataclass

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShedPlan:
    """``attrs``: what is shed, the least informative first. ``plan_id`` counts changes, from 0, the plan that sheds nothing.

    ``effective_from_cycle``: the first cycle that is sent by it.
    """

    plan_id: int = 0
    effective_from_cycle: int = 1
    attrs: tuple[str, ...] = ()

    def sheds_same(self, attrs: Iterable[str]) -> bool:
        """Whether those are shed, in whatever order."""
        return set(self.attrs) == set(attrs)

    def changed_to(self, attrs: Iterable[str], cycle_no: int) -> ShedPlan:
        """The next plan; this one where it sheds the same."""
        attrs = tuple(attrs)
        return self if self.sheds_same(attrs) else ShedPlan(self.plan_id + 1, cycle_no, attrs)

    def kept(self, columns: Mapping[str, T]) -> dict[str, T]:
        """The attributes that are sent."""
        return {name: values for name, values in columns.items() if name not in self.attrs}

    def mask(self, attributes: Sequence[str]) -> int:
        """The bits of what is shed, that of the first attribute of the stream is 1. ValueError where one is not there."""
        return sum(1 << attributes.index(name) for name in self.attrs)


def shed_by(mask: int, attributes: Sequence[str]) -> tuple[str, ...]:
    """What a mask says is shed, in the order of the stream. ValueError for bits without attribute."""
    if not 0 <= mask < 1 << len(attributes):
        raise ValueError(f"a mask of {len(attributes)} attributes has as many bits")
    return tuple(name for i, name in enumerate(attributes) if mask >> i & 1)
