"""How many attributes have to be shed: the share of the load that is too much, of all attributes (Ahuja 2006, section 3.1.3).

Numbers are taken as they are written in decimal, and counted exactly: in binary, (50 - 22) · 25 / 50 comes out above 14, and
would shed 15. The rate is that which is offered, before anything is shed, or plans would swing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex

from streamq.stdlib.attributes.kinds import Unsheddable

Exact = int | float | Fraction | Decimal


def exact(number: Exact) -> Fraction:
    """A number as it is written. ValueError for negative and infinite ones, and what is none."""
    if isinstance(number, Fraction):
        found = number
    elif isinstance(number, SupportsIndex):
        found = Fraction(int(number))
    else:
        decimal = number if isinstance(number, Decimal) else Decimal(repr(float(number)))
        found = Fraction(decimal) if decimal.is_finite() else Fraction(-1)
    if found < 0:
        raise ValueError(f"rates, capacities and widths are numbers from 0: {number}")
    return found


def drop_ratio(rate: Exact, capacity: Exact, utilisation: Exact = 1) -> Fraction:
    """The share of the load that is above the capacity, (R - C) / R, 0 to 1. ``utilisation``: the part of C to fill."""
    r, c = exact(rate), exact(capacity) * _part(utilisation)
    return (r - c) / r if r > c else Fraction(0)


def n_shed(
    rate: Exact, capacity: Exact, n_attrs: int, utilisation: Exact = 1, protected: int = 0
) -> int:
    """Attributes to shed (n') of ``n_attrs``, all those of the stream, of which ``protected`` are not to be shed.

    They count as equally wide. ``Unsheddable`` where too few are left; ValueError for counts that cannot be.
    """
    if not 0 <= protected <= n_attrs or n_attrs < 1:
        raise ValueError(f"{protected} of {n_attrs} attributes cannot be protected")
    wanted = math.ceil(drop_ratio(rate, capacity, utilisation) * n_attrs)
    if wanted > n_attrs - protected:
        raise Unsheddable(wanted, n_attrs - protected)
    return wanted


def n_shed_by_bytes(
    rate: Exact, capacity: Exact, order: Sequence[str], attr_bytes: Mapping[str, Exact], utilisation: Exact = 1
) -> int:
    """How many of the first attributes in ``order`` are wide enough together: the least for Σ bytes ≥ (R - C) / R of a row.

    ``attr_bytes``: of all attributes of the stream. Where none has a width, none is wide enough. ``Unsheddable`` where all of
    them are not, ValueError where one has no width given.
    """
    unknown = [a for a in order if a not in attr_bytes]
    if unknown:
        raise ValueError(f"no width is given of {', '.join(unknown)}")
    width = {a: exact(w) for a, w in attr_bytes.items()}
    ratio = drop_ratio(rate, capacity, utilisation)
    wanted = ratio * sum(width.values(), Fraction(0))
    if ratio == 0:
        return 0
    gone = Fraction(0)
    for count, attr in enumerate(order, 1):
        gone += width[attr]
        if gone >= wanted and gone > 0:
            return count
    raise Unsheddable(len(attr_bytes), len(order))


def residual_rate(rate: Exact, shed: Exact, of: Exact) -> Fraction:
    """What is left of a rate (R') when ``shed`` attributes, or bytes, of ``of`` are shed. ValueError for more than all."""
    part, whole = exact(shed), exact(of)
    if part > whole or whole == 0:
        raise ValueError(f"{shed} of {of} cannot be shed")
    return exact(rate) * (1 - part / whole)


def _part(utilisation: Exact) -> Fraction:
    part = exact(utilisation)
    if not 0 < part <= 1:
        raise ValueError(f"a part of the capacity is used, or all of it: {utilisation}")
    return part
