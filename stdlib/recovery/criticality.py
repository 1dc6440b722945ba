"""How critical errors in a stream are: the category of the domain that its attributes are named like.

Categories, domains and the lists of their names are those of Ahuja 2006; which domain is of which
category is as in its section 4, from which the caps were derived. Section 3 has weather and Internet traffic the other way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from streamq.dsl.records import dataclass
from streamq.stdlib.recovery.columns import Bools, Floats, Ints
from streamq.stdlib.recovery.names import MAX_ASYM, MIN_SIM, TermCorr, same_word, similarity, tokens

Category = Literal[
    "extremely critical", "very critical", "moderately critical", "low critical", "not critical", "others"
]


@dataclass(frozen=True, slots=True)
class Domain:
    """A domain of streams: its category, and the names that attributes have in it."""

    name: str
    category: Category
    names: tuple[str, ...]


DOMAINS = (
    Domain("weather", "moderately critical", ("location", "temperature", "humidity", "wind", "barometer")),
    Domain("stock exchange", "very critical", ("company", "change", "volume", "percentage", "high", "low")),
    Domain("Internet traffic", "low critical", ("router", "packet", "loss", "delay", "average")),
)
"""The domains of which the thesis gives a list of names."""

CATEGORIES: dict[str, Category] = {
    "medical": "extremely critical",
    "emergency response": "extremely critical",
    **{domain.name: domain.category for domain in DOMAINS},
    "population": "not critical",
}
"""The category of each domain of the thesis."""

OFTEN = 0.8
"""The share of a domain's lists above which a word is one of the domain."""


def domain_of(
    names: Sequence[str],
    domains: Iterable[Domain] = DOMAINS,
    min_sim: float = MIN_SIM,
    max_asym: float = MAX_ASYM,
    corr: TermCorr = same_word,
) -> Domain | None:
    """The domain whose names match those of a stream, of several the most alike, the first of equal ones; None of none."""
    found, best = None, -1.0
    for domain in domains:
        sim = similarity(names, domain.names, corr)
        if sim.holds(min_sim, max_asym) and sim.least > best:
            found, best = domain, sim.least
    return found


def category(
    names: Sequence[str],
    domains: Iterable[Domain] = DOMAINS,
    min_sim: float = MIN_SIM,
    max_asym: float = MAX_ASYM,
    corr: TermCorr = same_word,
) -> Category:
    """The category of that domain, else ``others``."""
    domain = domain_of(names, domains, min_sim, max_asym, corr)
    return "others" if domain is None else domain.category


def common_words(lists: Sequence[Sequence[str]], share: float = OFTEN) -> tuple[str, ...]:
    """The words that are in more than such a share of the lists of a domain, in the order in which they first come."""
    if not lists or not 0 <= share < 1:
        raise ValueError("words are in a share below 1 of some lists")
    found: Counter[str] = Counter()
    for names in lists:
        found.update(dict.fromkeys(tokens(names), 1))
    # In whole numbers of lists: 4 of 5 are not above 0.8.
    return tuple(word for word, n in found.items() if n > share * len(lists) + 1e-9)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Similarities of lists of streams and of domains, ``[pairs]`` each, and whether they are of the same domain."""

    forth: Floats
    back: Floats
    same: Bools


def pairs(
    streams: Sequence[tuple[str, Sequence[str]]], domains: Iterable[Domain] = DOMAINS, corr: TermCorr = same_word
) -> Pairs:
    """All streams, by domain and names, with all domains."""
    found = [
        (similarity(names, domain.names, corr), own == domain.name) for domain in domains for own, names in streams
    ]
    forth, back = (np.array([getattr(sim, way) for sim, _ in found], dtype=np.float64) for way in ("forth", "back"))
    return Pairs(forth, back, np.array([same for _, same in found], dtype=bool))


def sweep(
    given: Pairs, min_sims: Sequence[float] = (MIN_SIM,), max_asyms: Sequence[float] = (MAX_ASYM,)
) -> tuple[Ints, Ints]:
    """Pairs that are wrongly taken for the same, and those that are wrongly not: ``[min_sims, max_asyms]`` both.

    The thesis takes the thresholds with the smallest sum.
    """
    least, apart = np.minimum(given.forth, given.back), np.abs(given.forth - given.back)
    like = (least >= np.reshape(min_sims, (-1, 1, 1))) & (apart <= np.reshape(max_asyms, (1, -1, 1)))
    return (like & ~given.same).sum(axis=2), (~like & given.same).sum(axis=2)
