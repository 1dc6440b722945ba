"""Codes that correct one wrong bit of a row, for the rows from which the cycle is learned (Ahuja 2006, Appendix A).

A word of data bits gets parity bits at the positions that are powers of two; the parity bit at position 2^k makes the
number of ones even at the positions whose number has the bit k. Read as a number, the parities that are wrong then name
the position of the wrong bit. The thesis has it that two wrong bits are detected as well; a code of distance three corrects
some third bit instead, in most cases. So there is one more parity bit here, over all of the word (SECDED), unless left out.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from streamq.dsl.records import dataclass
from streamq.stdlib.attributes.columns import Ints

Bits = npt.NDArray[np.uint8]
"""Zeros and ones, ``[words, bits]``."""

State = Literal["CLEAN", "CORRECTED", "UNCORRECTABLE"]
STATES: tuple[State, ...] = ("CLEAN", "CORRECTED", "UNCORRECTABLE")


@dataclass(frozen=True, slots=True)
class Decoded:
    """``data``: of each word. ``state``: of each word, a position in ``STATES``.

    ``position``: of the bit that was corrected, from 1; 0 where none was. ``words``: as they were sent, if correctable.
    """

    data: Bits
    state: Ints
    position: Ints
    words: Bits

    @property
    def usable(self) -> bool:
        """No word is uncorrectable."""
        return bool(np.all(self.state < STATES.index("UNCORRECTABLE")))


class Codec(Protocol):
    """A code that corrects errors; Hamming's is what there is, others can be given instead."""

    def encode(self, data: Bits) -> Bits:
        """The words to send, ``[words, code bits]``."""

    def decode(self, words: Bits) -> Decoded:
        """What was sent, as far as that can be told."""


def parity_count(m: int) -> int:
    """The parity bits (q) that ``m`` data bits need: the least for 2^q >= m + q + 1. ValueError for no data."""
    if m < 1:
        raise ValueError("there is at least one data bit")
    q = 2
    while 2**q < m + q + 1:
        q += 1
    return q


@dataclass(frozen=True, slots=True)
class Hamming:
    """Hamming's code. ``secded``: with the parity of the word at its end, so that two wrong bits are never corrected."""

    secded: bool = True

    def encode(self, data: Bits) -> Bits:
        """The words to send. ValueError for what is no bits."""
        data = _bits(data)
        m = data.shape[1]
        q = parity_count(m)
        words = np.zeros((len(data), m + q), dtype=np.uint8)
        words[:, _data_positions(m, q) - 1] = data
        words[:, 2 ** np.arange(q) - 1] = _syndrome(words, q)
        return _with_parity(words) if self.secded else words

    def decode(self, words: Bits) -> Decoded:
        """What was sent, where at most one bit of a word is wrong; it can be a parity bit. ValueError for no words of it."""
        words = _bits(words)
        n = words.shape[1] - self.secded
        q = max(n, 0).bit_length()
        m = n - q
        if m < 1 or parity_count(m) != q:
            raise ValueError(f"no word has {words.shape[1]} bits")
        position = _syndrome(words[:, :n], q) @ (1 << np.arange(q))
        wrong = position > 0
        bad = position > n
        if self.secded:
            odd = words.sum(axis=1) % 2 == 1
            bad |= wrong & ~odd
            position = np.where(odd & ~wrong, n + 1, position)
        position = np.where(bad, 0, position)
        found = words.copy()
        at = np.flatnonzero(position)
        found[at, position[at] - 1] ^= 1
        state = np.where(bad, 2, position > 0).astype(np.int64)
        return Decoded(found[:, _data_positions(m, q) - 1], state, position, found)


def _bits(given: Bits) -> Bits:
    found = np.atleast_2d(np.asarray(given, dtype=np.uint8))
    if found.ndim != 2 or np.any(found > 1):
        raise ValueError("words are rows of zeros and ones")
    return found


def _data_positions(m: int, q: int) -> Ints:
    """The positions, from 1, that are no powers of two."""
    position = np.arange(1, m + q + 1)
    return position[(position & (position - 1)) > 0]


def _syndrome(words: Bits, q: int) -> Ints:
    """The parities over the positions with each bit, ``[words, q]``."""
    covers = (np.arange(1, words.shape[1] + 1)[:, None] >> np.arange(q)) & 1
    return words.astype(np.int64) @ covers % 2


def _with_parity(words: Bits) -> Bits:
    parity = (words.sum(axis=1, keepdims=True) % 2).astype(np.uint8)
    return np.concatenate([words, parity], axis=1)
