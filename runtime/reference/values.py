"""How values of each SQL type stand in rows of the reference evaluator: all hashable, NULL is None.

BOOLEAN bool · integers int · FLOAT, DOUBLE float · DECIMAL decimal.Decimal · STRING, VARCHAR, CHAR str ·
BINARY bytes · DATE date · TIMESTAMP naive datetime in UTC · INTERVAL timedelta · ARRAY tuple ·
MAP tuple of (key, value) pairs · STRUCT tuple of the fields' values in order.
"""

from __future__ import annotations

from datetime import datetime, timedelta

Row = tuple[object, ...]
"""The values of one row, in the order of its relation's columns."""

Instant = int
"""A point in event time: microseconds since 1970-01-01 00:00 UTC."""

EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def to_instant(stamp: datetime) -> Instant:
    """The instant of a naive UTC timestamp."""
    return (stamp - EPOCH) // _MICROSECOND


def to_datetime(instant: Instant) -> datetime:
    """The naive UTC timestamp of an instant; raises OverflowError outside the years 1 to 9999."""
    return EPOCH + instant * _MICROSECOND
