"""What answers take of the wire, by the attribute that they are of: who decides how many are shed has to know what each costs.

The first answers about an attribute have a value of each key, and later ones those that changed. So rates are over
a fixed time, and not over that since the first one: it would look as if each attribute that is shed asked for another.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamq.dsl.records import dataclass

SPAN_S = 6.0
"""Over how long a rate is taken: answers come some by the second."""

MESSAGES = ""
"""What stands for an attribute where messages themselves are counted, beside the answers in them."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What went lately: ``(at, attribute, bytes)`` each time, in seconds of any clock."""

    went: tuple[tuple[float, str, int], ...] = ()

    def after(self, now_s: float, sizes: Mapping[str, int]) -> Taken:
        """Answers of so many bytes by attribute went."""
        lately = (one for one in self.went if now_s - SPAN_S < one[0] <= now_s)
        return Taken((*lately, *((now_s, name, size) for name, size in sizes.items())))

    def kbps_at(self, now_s: float) -> dict[str, float]:
        """Kbit/s by attribute; those of which nothing went for ``SPAN_S`` are left out."""
        found: dict[str, float] = {}
        for at, name, size in self.went:
            if now_s - SPAN_S < at <= now_s:
                found[name] = found.get(name, 0.0) + size * 8 / 1000 / SPAN_S
        return found
