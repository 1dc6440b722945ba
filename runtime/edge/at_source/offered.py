"""How fast a stream is offered to an edge, before anything is shed: rows, and bytes of their attributes, by the second.

Time in which nothing is read, as what was read before waits for the wire, does not count: it is the stream that is
measured, not the wire.
"""

from __future__ import annotations

from streamq.dsl.records import dataclass

SPAN_S = 4.0
"""Over how long a rate is taken, where windows come more often."""

LEAST_S = 1.0
"""A rate is not taken over less: what was there before the edge began did not come in that moment."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What came lately: ``(until, rows, bytes)`` each time, from ``since`` on, in seconds of the clock less ``blocked_s``."""

    since: float
    came: tuple[tuple[float, int, int], ...] = ()
    blocked_s: float = 0.0

    def blocked(self, seconds: float) -> Offered:
        """So long nothing was read."""
        return Offered(self.since, self.came, self.blocked_s + max(seconds, 0.0))

    def after(self, now_s: float, rows: int, size: int) -> Offered:
        """Rows of so many bytes came. A clock that is put back begins anew."""
        until = now_s - self.blocked_s
        if until < self.since or (self.came and until < self.came[-1][0]):
            return Offered(until - LEAST_S, ((until, rows, size),), self.blocked_s)
        since, came = self.since, (*self.came, (until, rows, size))
        while len(came) > 1 and came[0][0] <= until - SPAN_S:
            since, came = came[0][0], came[1:]
        return Offered(since, came, self.blocked_s)

    def kbps_at(self, now_s: float) -> float:
        """Kbit/s as of now: what came lately over the time since, 0 where nothing came for ``SPAN_S``.

        A silence that is not longer than usual between blocks is none.
        """
        return self.at(now_s).kbps

    def at(self, now_s: float) -> Offered:
        """The same as of now."""
        until = now_s - self.blocked_s
        silent = until - self.came[-1][0] if self.came else 0.0
        if silent >= SPAN_S:
            return Offered(until, (), self.blocked_s)
        if not self.came or silent <= (self.came[-1][0] - self.since) / len(self.came):
            return self
        return self.after(now_s, 0, 0)

    def resumed(self, now_s: float) -> Offered:
        """As measured by a process that ended: what came while there was none did not come in that moment, nor slowly."""
        silent = now_s - self.blocked_s - self.came[-1][0] if self.came else 0.0
        return self.blocked(silent - SPAN_S)

    @property
    def duration_s(self) -> float:
        """The time that rates are taken over."""
        return max(self.came[-1][0] - self.since, LEAST_S) if self.came else LEAST_S

    @property
    def kbps(self) -> float:
        """Kbit/s of attributes."""
        return sum(size for _, _, size in self.came) * 8 / 1000 / self.duration_s

    @property
    def rows_per_s(self) -> float:
        """Rows by the second."""
        return sum(rows for _, rows, _ in self.came) / self.duration_s
