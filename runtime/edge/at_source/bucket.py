"""A token bucket: in no stretch of time of t seconds goes more than capacity · t and one bucket.

Tokens are bytes, and counted exactly, so that nothing is won by rounding. What is larger than a bucket never goes: messages
are made to fit.
"""

from __future__ import annotations

import math
from fractions import Fraction

from streamq.dsl.records import dataclass


class TooLarge(ValueError):
    """A message that does not fit in the bucket."""


@dataclass(slots=True)
class Bucket:
    """``kbps``: what goes in the long run. ``size``: bytes that may go at once, which it holds at first. ``now_s``: the time.

    A clock that goes back gives nothing. ValueError for no capacity.
    """

    kbps: float
    size: int
    now_s: float
    _tokens: Fraction = Fraction(0)
    _at: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Starts full."""
        self._check(self.kbps, self.size)
        self._tokens, self._at = Fraction(self.size), Fraction(self.now_s)

    def changed(self, kbps: float, size: int, now_s: float) -> None:
        """Another capacity from now on; what is more than the new bucket holds is gone."""
        self._check(kbps, size)
        self._fill(now_s)
        self.kbps, self.size = kbps, size
        self._tokens = min(self._tokens, Fraction(size))

    def take(self, count: int, now_s: float) -> bool:
        """Whether so many bytes may go now, and then they count. TooLarge for more than a bucket."""
        self._fits(count)
        self._fill(now_s)
        if count > self._tokens:
            return False
        self._tokens -= count
        return True

    def wait_s(self, count: int, now_s: float) -> float:
        """After how long they may go, 0 for now. TooLarge as before."""
        self._fits(count)
        self._fill(now_s)
        short = max(count - self._tokens, Fraction(0))
        return math.nextafter(float(short / self._per_s()), math.inf) if short else 0.0

    def _fill(self, now_s: float) -> None:
        now = Fraction(now_s)
        if now > self._at:
            self._tokens = min(Fraction(self.size), self._tokens + self._per_s() * (now - self._at))
            self._at = now

    def _per_s(self) -> Fraction:
        """Bytes by the second."""
        return Fraction(self.kbps) * 125

    def _fits(self, count: int) -> None:
        if not 0 <= count <= self.size:
            raise TooLarge(f"{count} bytes do not fit in a bucket of {self.size}")

    @staticmethod
    def _check(kbps: float, size: int) -> None:
        if not (0 < kbps < math.inf and size > 0):
            raise ValueError("a bucket is filled, and holds something")
