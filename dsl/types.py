"""SQL types as frozen values, their names, and how they convert into each other."""

from __future__ import annotations

from enum import IntEnum

from streamq.dsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """Base of all types; ``str(t)`` is the canonical spelling in CQL and in Spark SQL."""

    def __str__(self) -> str:
        raise NotImplementedError


class Rank(IntEnum):
    """Order of the numeric types; a wider one holds all values of a narrower integer one."""

    TINYINT = 1
    SMALLINT = 2
    INT = 3
    BIGINT = 4
    DECIMAL = 5
    FLOAT = 6
    DOUBLE = 7


@dataclass(frozen=True, slots=True)
class Atomic(Type):
    """A type without parameters, known by its name."""

    name: str

    def __str__(self) -> str:
        return self.name


BOOLEAN = Atomic("BOOLEAN")
TINYINT = Atomic("TINYINT")
SMALLINT = Atomic("SMALLINT")
INT = Atomic("INT")
BIGINT = Atomic("BIGINT")
FLOAT = Atomic("FLOAT")
DOUBLE = Atomic("DOUBLE")
STRING = Atomic("STRING")
BINARY = Atomic("BINARY")
DATE = Atomic("DATE")
TIMESTAMP = Atomic("TIMESTAMP")
INTERVAL = Atomic("INTERVAL")
NULL = Atomic("VOID")
"""The type of a bare NULL; it converts to every type."""


@dataclass(frozen=True, slots=True)
class Decimal(Type):
    """Exact numbers of ``precision`` digits, ``scale`` of them after the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Chars(Type):
    """``VARCHAR(n)`` and ``CHAR(n)``: strings with a declared length."""

    name: str
    length: int

    def __str__(self) -> str:
        return f"{self.name}({self.length})"


@dataclass(frozen=True, slots=True)
class Array(Type):
    element: Type

    def __str__(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map(Type):
    key: Type
    value: Type

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class Struct(Type):
    """Named fields in order."""

    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        inner = ", ".join(f"{quote_name(name)}: {t}" for name, t in self.fields)
        return f"STRUCT<{inner}>"

    def field(self, name: str) -> Type | None:
        """The type of a field (names are case-insensitive), or None."""
        fold = name.casefold()
        return next((t for n, t in self.fields if n.casefold() == fold), None)


ATOMIC_NAMES: dict[str, Type] = {
    **{
        t.name: t
        for t in (BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, STRING, BINARY)
    },
    **{t.name: t for t in (DATE, TIMESTAMP)},
    "INTEGER": INT,
    "BYTE": TINYINT,
    "SHORT": SMALLINT,
    "LONG": BIGINT,
    "BOOL": BOOLEAN,
    "TEXT": STRING,
    "VARCHAR": STRING,
    "CHAR": STRING,
    "REAL": FLOAT,
    "NUMERIC": Decimal(10, 0),
    "DECIMAL": Decimal(10, 0),
}
"""Type names a user may write, upper case, with what they stand for."""

_NUMERIC_RANK: dict[Type, Rank] = {
    TINYINT: Rank.TINYINT,
    SMALLINT: Rank.SMALLINT,
    INT: Rank.INT,
    BIGINT: Rank.BIGINT,
    FLOAT: Rank.FLOAT,
    DOUBLE: Rank.DOUBLE,
}
_INTEGER_DIGITS: dict[Type, int] = {TINYINT: 3, SMALLINT: 5, INT: 10, BIGINT: 20}
MAX_PRECISION = 38


def quote_name(name: str) -> str:
    """A field name as Spark and CQL accept it inside a type: plain or in backticks."""
    plain = name.isidentifier() and name.isascii()
    return name if plain else "`" + name.replace("`", "``") + "`"


def is_integer(t: Type) -> bool:
    return t in _INTEGER_DIGITS


def is_numeric(t: Type) -> bool:
    return t in _NUMERIC_RANK or isinstance(t, Decimal)


def is_string(t: Type) -> bool:
    return t == STRING or isinstance(t, Chars)


def is_temporal(t: Type) -> bool:
    return t in (DATE, TIMESTAMP)


def holds_map(t: Type) -> bool:
    """True for a MAP and for what has one inside: such values cannot be compared or hashed."""
    match t:
        case Map():
            return True
        case Array(element=element):
            return holds_map(element)
        case Struct(fields=fields):
            return any(holds_map(f) for _, f in fields)
        case _:
            return False


def with_article(t: Type) -> str:
    """``a BIGINT``, ``an INT``."""
    return f"an {t}" if isinstance(t, Array) or t in (INT, INTERVAL) else f"a {t}"


def decimal_of(t: Type) -> Decimal:
    """The decimal that holds every value of an integer or decimal type."""
    return t if isinstance(t, Decimal) else Decimal(_INTEGER_DIGITS[t], 0)


def common_type(a: Type, b: Type) -> Type | None:
    """The type both sides of a comparison, CASE or UNION are brought to, or None.

    Numbers widen, NULL takes the other type, dates become timestamps; strings and numbers do not
    mix: the user writes a CAST.
    """
    if a == b:
        return a
    if a == NULL:
        return b
    if b == NULL:
        return a
    if is_string(a) and is_string(b):
        return STRING
    if is_numeric(a) and is_numeric(b):
        return _common_numeric(a, b)
    if is_temporal(a) and is_temporal(b):
        return TIMESTAMP
    return _common_nested(a, b)


def _common_numeric(a: Type, b: Type) -> Type:
    if isinstance(a, Decimal) or isinstance(b, Decimal):
        if FLOAT in (a, b) or DOUBLE in (a, b):
            return DOUBLE
        da, db = decimal_of(a), decimal_of(b)
        scale = max(da.scale, db.scale)
        whole = max(da.precision - da.scale, db.precision - db.scale)
        return Decimal(min(whole + scale, MAX_PRECISION), scale)
    return a if _NUMERIC_RANK[a] >= _NUMERIC_RANK[b] else b


def _common_nested(a: Type, b: Type) -> Type | None:
    if isinstance(a, Array) and isinstance(b, Array):
        element = common_type(a.element, b.element)
        return None if element is None else Array(element)
    if isinstance(a, Map) and isinstance(b, Map):
        key, value = common_type(a.key, b.key), common_type(a.value, b.value)
        return None if key is None or value is None else Map(key, value)
    if isinstance(a, Struct) and isinstance(b, Struct) and len(a.fields) == len(b.fields):
        types = [common_type(x, y) for (_, x), (_, y) in zip(a.fields, b.fields, strict=True)]
        named = zip((n for n, _ in a.fields), types, strict=True)
        merged = tuple((n, t) for n, t in named if t is not None)
        return Struct(merged) if len(merged) == len(a.fields) else None
    return None


def converts_silently(a: Type, b: Type) -> bool:
    """True where a value of ``a`` may stand where ``b`` is expected without a CAST."""
    if isinstance(b, Chars):
        return is_string(a) or a == NULL
    if is_numeric(a) and is_numeric(b):
        if b in (FLOAT, DOUBLE):
            return True
        if isinstance(b, Decimal):
            return a not in (FLOAT, DOUBLE)
        return a in _NUMERIC_RANK and _NUMERIC_RANK[a] <= _NUMERIC_RANK[b]
    common = common_type(a, b)
    return common is not None and common == b


def can_cast(a: Type, b: Type) -> bool:
    """True where ``CAST(a AS b)`` has a meaning; a value that does not fit becomes NULL."""
    if a in (b, NULL) or is_string(b):
        return True
    if is_string(a):
        return isinstance(b, Atomic | Decimal | Chars) and b != NULL
    if is_numeric(a):
        return is_numeric(b) or b in (BOOLEAN, TIMESTAMP) or (is_integer(a) and b == BINARY)
    if a == BOOLEAN:
        return is_numeric(b)
    if is_temporal(a):
        return is_temporal(b) or (a == TIMESTAMP and is_numeric(b))
    if isinstance(a, Array) and isinstance(b, Array):
        return can_cast(a.element, b.element)
    if isinstance(a, Map) and isinstance(b, Map):
        return can_cast(a.key, b.key) and can_cast(a.value, b.value)
    if isinstance(a, Struct) and isinstance(b, Struct) and len(a.fields) == len(b.fields):
        return all(can_cast(x, y) for (_, x), (_, y) in zip(a.fields, b.fields, strict=True))
    return False
