"""How alike two lists of attribute names are, by which a stream is found to be of a domain (EQ, example 5 of Ahuja 2006).

The thesis cites a fuzzy-set model of information retrieval: a word belongs to a list as far as it is correlated with any of
the list's words, and a list is like another as far as its words belong to it on average. That is not symmetric. Words are
correlated only with themselves unless it is said otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from math import prod

from streamq.dsl.records import dataclass

MIN_SIM = 0.29
"""The permission threshold: how alike lists have to be, in both directions."""

MAX_ASYM = 0.65
"""The variation threshold: how far both directions may be apart."""

TermCorr = Callable[[str, str], float]
"""How far one word stands for another, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """How alike the first of two lists is to the second, and the second to the first, 0 to 1."""

    forth: float
    back: float

    @property
    def least(self) -> float:
        """The smaller one of both."""
        return min(self.forth, self.back)

    def holds(self, min_sim: float = MIN_SIM, max_asym: float = MAX_ASYM) -> bool:
        """Whether the lists are taken for the same (EQ)."""
        return self.least >= min_sim and abs(self.forth - self.back) <= max_asym


def tokens(names: Iterable[str]) -> tuple[str, ...]:
    """The words of names, in lower case; ``DewPoint`` is one word, and words that come again are kept."""
    return tuple(word for name in names for word in re.findall(r"[^\W_]+", name.lower()))


def same_word(a: str, b: str) -> float:
    """A word is correlated with itself alone."""
    return float(a == b)


def synonyms(pairs: Mapping[tuple[str, str], float]) -> TermCorr:
    """Correlations of pairs of words, in lower case, in both directions. Raises ``ValueError`` where one is not 0 to 1."""
    if any(not 0 <= corr <= 1 for corr in pairs.values()):
        raise ValueError("correlations of words are from 0 to 1")
    both = {**{(b, a): corr for (a, b), corr in pairs.items()}, **pairs}
    return lambda a, b: 1.0 if a == b else both.get((a, b), 0.0)


def co_occurrence(documents: Iterable[Sequence[str]]) -> TermCorr:
    """Words by how often they are in a document together: n_ab / (n_a + n_b - n_ab), of numbers of documents."""
    alone: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for document in documents:
        words = sorted(set(tokens(document)))
        alone.update(words)
        together.update(combinations(words, 2))
    return synonyms({(a, b): n / (alone[a] + alone[b] - n) for (a, b), n in together.items()})


def name_sim(a: Iterable[str], b: Iterable[str], corr: TermCorr = same_word) -> float:
    """How far the words of ``a`` belong to ``b`` on average, 0 to 1; 0 where one has no word: O(words of a * words of b)."""
    words, others = tokens(a), tuple(dict.fromkeys(tokens(b)))
    if not words:
        return 0.0
    belongs = {w: 1 - prod(1 - corr(w, u) for u in others) for w in dict.fromkeys(words)}
    return sum(belongs[w] for w in words) / len(words)


def similarity(a: Iterable[str], b: Iterable[str], corr: TermCorr = same_word) -> Similarity:
    """Both directions."""
    a, b = tuple(a), tuple(b)
    return Similarity(name_sim(a, b, corr), name_sim(b, a, corr))


def names_match(
    a: Iterable[str], b: Iterable[str], min_sim: float = MIN_SIM, max_asym: float = MAX_ASYM, corr: TermCorr = same_word
) -> bool:
    """Whether two lists of names are taken for the same (EQ)."""
    return similarity(a, b, corr).holds(min_sim, max_asym)
