"""What can be set about a NEXMark stream."""

from __future__ import annotations

from dataclasses import dataclass

SHAPES = ("constant", "square", "sine")

BASE_TIME_MICROS = 1_436_918_400_000_000
"""2015-07-15 00:00:00 UTC: event time 0 unless another start is given, so that runs can be repeated."""

LEAST_RATE = 1e-3

ARRIVAL_STEP = 953
"""The order inside a group that arrives out of order: a prime, so that multiplying by it permutes every
group whose size is not a multiple of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NexmarkConfig:
    """A stream of events: the same configuration always gives the same events.

    ``rate``: events (not rows of one table) per second; ``shape``: ``constant``, or ``square`` or ``sine``
    between ``rate`` and ``peak_rate`` with a period of ``period`` seconds. ``start_micros``: event time of event
    0 in microseconds since 1970. ``out_of_order_group``: events are shuffled inside groups of this size.
    ``delay_probability``: share of events whose time lies up to ``delay`` seconds in the past.
    """

    seed: int = 0
    rate: float = 10_000.0
    peak_rate: float | None = None
    period: float = 600.0
    shape: str = "constant"
    start_micros: int = BASE_TIME_MICROS
    out_of_order_group: int = 1
    delay_probability: float = 0.0
    delay: float = 3.0
    hot_auction_ratio: int = 2
    hot_bidder_ratio: int = 4
    hot_seller_ratio: int = 4
    hot_channel_ratio: int = 2
    in_flight_auctions: int = 100
    active_people: int = 1000
    id_lead: int = 10

    def __post_init__(self) -> None:
        if self.shape not in SHAPES:
            raise ValueError(f"shape {self.shape!r} is not one of {', '.join(SHAPES)}")
        for name, value in (("rate", self.rate), ("peak_rate", self.top_rate)):
            if not LEAST_RATE <= value <= 1e12:
                raise ValueError(f"{name} {value} is not between {LEAST_RATE} and 1e12 events/s")
        if self.period <= 0:
            raise ValueError("period is not positive")
        if not 0 <= self.delay_probability <= 1:
            raise ValueError("delay_probability is not between 0 and 1")
        if self.delay <= 0:
            raise ValueError("delay is not positive")
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is less than 1")
        if self.out_of_order_group % ARRIVAL_STEP == 0:
            raise ValueError(f"out_of_order_group is a multiple of {ARRIVAL_STEP}")

    @property
    def top_rate(self) -> float:
        """The other end of a shape; ten times ``rate`` unless given."""
        return self.rate * 10 if self.peak_rate is None else self.peak_rate


_COUNTS = (
    "out_of_order_group",
    "hot_auction_ratio",
    "hot_bidder_ratio",
    "hot_seller_ratio",
    "hot_channel_ratio",
    "in_flight_auctions",
    "active_people",
    "id_lead",
)
