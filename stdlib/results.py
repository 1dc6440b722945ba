"""Result types that no pattern can say: they depend on digits, names or a constant's value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamq.dsl.types import (
    BIGINT,
    DOUBLE,
    INT,
    MAX_PRECISION,
    Array,
    Decimal,
    Struct,
    Type,
    is_integer,
)
from streamq.stdlib.calls import Arg
from streamq.stdlib.notation import parse_schema
from streamq.stdlib.patterns import NotationError


class ResultError(ValueError):
    """The arguments fit one by one, but give no result type: ``argument`` (from 0) is at fault."""

    def __init__(self, argument: int, text: str) -> None:
        self.argument = argument
        super().__init__(text)


def _sum(t: Type, _: Sequence[Arg]) -> Type:
    """Whole numbers add up to BIGINT, decimals gain ten digits, the others are DOUBLE."""
    if isinstance(t, Decimal):
        return _decimal(t.precision + 10, t.scale)
    return BIGINT if is_integer(t) else DOUBLE


def _avg(t: Type, _: Sequence[Arg]) -> Type:
    """DOUBLE, or four more digits before and after the point of a decimal."""
    return _decimal(t.precision + 4, t.scale + 4) if isinstance(t, Decimal) else DOUBLE


def _ceil(t: Type, _: Sequence[Arg]) -> Type:
    """FLOOR and CEIL to a whole number."""
    if not isinstance(t, Decimal):
        return BIGINT
    return t if t.scale == 0 else _decimal(t.precision - t.scale + 1, 0)


def _round(t: Type, args: Sequence[Arg]) -> Type:
    """ROUND keeps the type, but a decimal keeps only the digits that were asked for."""
    if not isinstance(t, Decimal):
        return t
    places = args[1].value if len(args) == 2 else 0
    if not isinstance(places, int):
        raise ResultError(1, "must be a whole number literal where the first is DECIMAL")
    whole = t.precision - t.scale + 1
    if places < 0:
        return _decimal(max(whole, 1 - places), 0)
    scale = min(places, t.scale)
    return _decimal(whole + scale, scale)


def _struct(_: Type, args: Sequence[Arg]) -> Type:
    """STRUCT(a, b): fields named as the columns, ``col1``, ``col2``, … where there is no name."""
    return Struct(tuple((a.name or f"col{i}", a.type) for i, a in enumerate(args, 1)))


def _named_struct(_: Type, args: Sequence[Arg]) -> Type:
    """NAMED_STRUCT('a', x, 'b', y)."""
    fields: list[tuple[str, Type]] = []
    for i in range(0, len(args), 2):
        name = args[i].value
        if not isinstance(name, str):
            raise ResultError(i, "must be the name of a field as a string literal")
        fields.append((name, args[i + 1].type))
    return Struct(tuple(fields))


def _zip(_: Type, args: Sequence[Arg]) -> Type:
    """ARRAYS_ZIP(a, b): an array of structs, fields named as STRUCT names them but from 0."""
    fields = [
        (a.name or str(i), a.type.element) for i, a in enumerate(args) if isinstance(a.type, Array)
    ]
    return Array(Struct(tuple(fields)))


def _schema(_: Type, args: Sequence[Arg]) -> Type:
    """FROM_JSON(text, 'a INT, b STRING'): the type that the second argument spells."""
    text = args[1].value
    if not isinstance(text, str):
        raise ResultError(1, "must be a schema as a string literal: 'a INT, b STRING'")
    try:
        return parse_schema(text)
    except NotationError as wrong:
        raise ResultError(1, f"is not a schema: {wrong}") from None


_PARTS = {
    "year": ("y", "years", "yr", "yrs"),
    "yearofweek": (),
    "quarter": ("qtr",),
    "month": ("mon", "mons", "months"),
    "week": ("w", "weeks"),
    "day": ("d", "days"),
    "dayofweek": ("dow",),
    "dayofweek_iso": ("dow_iso",),
    "doy": (),
    "hour": ("h", "hours", "hr", "hrs"),
    "minute": ("m", "min", "mins", "minutes"),
    "second": ("s", "sec", "seconds", "secs"),
}


def _date_part(_: Type, args: Sequence[Arg]) -> Type:
    """DATE_PART('hour', ts): INT, but seconds carry their fraction."""
    part = args[0].value
    if not isinstance(part, str):
        raise ResultError(0, "must name a part as a string literal: 'hour'")
    fold = part.casefold()
    known = next((p for p, others in _PARTS.items() if fold == p or fold in others), None)
    if known is None:
        raise ResultError(0, f"must be one of {', '.join(_PARTS)}, not `{part}`")
    return Decimal(8, 6) if known == "second" else INT


def _number(_: Type, args: Sequence[Arg]) -> Type:
    """TO_NUMBER(text, '999.99'): as many digits as the format has."""
    layout = args[1].value
    if not isinstance(layout, str):
        raise ResultError(1, "must be a format as a string literal: '999.99'")
    whole, _point, fraction = layout.upper().replace("D", ".").partition(".")
    before, after = (sum(c in "09" for c in part) for part in (whole, fraction))
    if not 1 <= before + after <= MAX_PRECISION:
        raise ResultError(1, f"must be a format of 1 to {MAX_PRECISION} digits, not `{layout}`")
    return Decimal(before + after, after)


def _decimal(precision: int, scale: int) -> Decimal:
    return Decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


RULES: dict[str, Callable[[Type, Sequence[Arg]], Type]] = {
    "sum": _sum,
    "avg": _avg,
    "ceil": _ceil,
    "round": _round,
    "struct": _struct,
    "named_struct": _named_struct,
    "zip": _zip,
    "schema": _schema,
    "date_part": _date_part,
    "number": _number,
}
"""Rule name to (type bound to the rule's variable, arguments brought to their types) -> result.

``sum``, ``avg``, ``ceil`` and ``round`` follow Spark's digits of decimals.
"""
