"""G2, F5: rows with wrong bits are corrected, or found to be wrong."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from streamq.stdlib.attributes.hamming import STATES, Bits, Hamming, parity_count

PLAIN = Hamming(secded=False)


def bits(text: str) -> Bits:
    return np.array([[int(c) for c in text]], dtype=np.uint8)


def text(words: Bits) -> str:
    return "".join(map(str, words[0].tolist()))


def test_g2_hamming_encodes() -> None:
    assert text(PLAIN.encode(bits("0110101"))) == "10001100101"
    assert text(Hamming().encode(bits("0110101"))) == "100011001011"


@pytest.mark.parametrize(
    ("received", "calculated", "flags", "position"),
    [("10001100100", "0101", "1101", 11), ("11001100101", "1000", "0100", 2)],
)
def test_g2_hamming_corrects(received: str, calculated: str, flags: str, position: int) -> None:
    """Appendix A: a wrong D7, and a wrong P2. The flags, reversed, are the position."""
    data = "".join(received[p - 1] for p in (3, 5, 6, 7, 9, 10, 11))
    again = text(PLAIN.encode(bits(data)))
    parity = [again[p - 1] for p in (1, 2, 4, 8)]
    assert "".join(parity) == calculated
    assert "".join(str(int(again[p - 1] != received[p - 1])) for p in (1, 2, 4, 8)) == flags
    assert int(flags[::-1], 2) == position
    found = PLAIN.decode(bits(received))
    assert found.position.tolist() == [position]
    assert text(found.words) == "10001100101"
    assert text(found.data) == "0110101"
    assert STATES[found.state[0]] == "CORRECTED"


def flipped(word: Bits, pairs: list[tuple[int, int]]) -> Bits:
    words = np.repeat(word, len(pairs), axis=0)
    for i, pair in enumerate(pairs):
        words[i, list(pair)] ^= 1
    return words


def test_g2_double_errors_need_one_more_parity_bit() -> None:
    """Of the 55 pairs of bits, Hamming's code takes 39 for another single one, and says so of 16; SECDED of all 66."""
    word = PLAIN.encode(bits("0110101"))
    plain = PLAIN.decode(flipped(word, list(combinations(range(11), 2))))
    assert np.bincount(plain.state, minlength=3).tolist() == [0, 39, 16]
    assert not np.any(np.all(plain.words == word, axis=1))
    both = Hamming().decode(flipped(Hamming().encode(bits("0110101")), list(combinations(range(12), 2))))
    assert both.state.tolist() == [2] * 66
    assert not both.usable


@pytest.mark.parametrize(("m", "q"), [(1, 2), (4, 3), (7, 4), (8, 4), (11, 4), (12, 5), (64, 7), (568, 10)])
def test_parity_bits(m: int, q: int) -> None:
    assert parity_count(m) == q
    assert 2**q >= m + q + 1
    assert 2 ** (q - 1) < m + q


@pytest.mark.parametrize("m", [1, 7, 8, 64, 568])
@pytest.mark.parametrize("secded", [False, True])
def test_every_single_error_is_corrected(m: int, secded: bool) -> None:
    code = Hamming(secded)
    data = np.random.default_rng(m).integers(0, 2, (1, m)).astype(np.uint8)
    word = code.encode(data)
    n = word.shape[1]
    found = code.decode(np.repeat(word, n, axis=0) ^ np.eye(n, dtype=np.uint8))
    assert np.all(found.data == data)
    assert np.all(found.words == word)
    assert found.position.tolist() == list(range(1, n + 1))
    assert found.usable
    clean = code.decode(word)
    assert clean.state.tolist() == [0]
    assert clean.position.tolist() == [0]


@pytest.mark.parametrize("m", [4, 11, 64])
def test_f5_every_double_error_is_found(m: int) -> None:
    """Also of words that leave no number over, where the plain code never finds one."""
    data = np.random.default_rng(m).integers(0, 2, (1, m)).astype(np.uint8)
    word = Hamming().encode(data)
    found = Hamming().decode(flipped(word, list(combinations(range(word.shape[1]), 2))))
    assert np.all(found.state == 2)


def test_what_are_no_words() -> None:
    with pytest.raises(ValueError, match="zeros and ones"):
        PLAIN.encode(np.array([[2, 0]], dtype=np.uint8))
    with pytest.raises(ValueError, match="no word has"):
        PLAIN.decode(bits("10"))
    with pytest.raises(ValueError, match="no word has"):
        PLAIN.decode(bits("1" * 8))  # 4 parity bits and 4 of data, which need 3
    with pytest.raises(ValueError, match="data bit"):
        PLAIN.encode(np.zeros((1, 0), dtype=np.uint8))
