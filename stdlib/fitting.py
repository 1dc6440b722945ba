"""Whether a type fits a pattern, and what it is brought to there."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.dsl.types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    Array,
    Chars,
    Map,
    Struct,
    Type,
    converts_silently,
    is_integer,
    is_numeric,
    is_string,
    is_temporal,
)
from streamq.stdlib.patterns import ArrayOf, Class, Either, Exact, MapOf, Pattern, Variable


def fits(pattern: Pattern, actual: Type) -> bool:
    """Whether an argument of type ``actual`` can be brought to the pattern, variables left open."""
    if actual == NULL:
        return True
    match pattern:
        case Class(name):
            return _belongs(name, actual)
        case Exact(t):
            return converts_silently(actual, t) or (t == INT and is_integer(actual))
        case Variable(_, bound):
            return holds(bound, actual)
        case ArrayOf(element):
            return isinstance(actual, Array) and fits(element, actual.element)
        case MapOf(key, value):
            return isinstance(actual, Map) and fits(key, actual.key) and fits(value, actual.value)
        case Either(options):
            return any(fits(o, actual) for o in options)
        case _:
            raise TypeError(f"{type(pattern).__name__} stands in no parameter")


def holds(bound: Pattern, actual: Type) -> bool:
    """Whether a variable's bound holds for a type as it is, without a conversion."""
    match bound:
        case Exact(t):
            return actual == t
        case Either(options):
            return any(holds(o, actual) for o in options)
        case _:
            return fits(bound, actual)


def _belongs(name: str, t: Type) -> bool:
    match name:
        case "any":
            return True
        case "num":
            return is_numeric(t)
        case "int":
            return is_integer(t)
        case "str":
            return is_string(t)
        case "bytes":
            return is_string(t) or t == BINARY
        case "temporal":
            return is_temporal(t)
        case "bool":
            return t == BOOLEAN
        case "ord" | "key":
            return _sorts(t)
        case "array":
            return isinstance(t, Array)
        case "map":
            return isinstance(t, Map)
        case "struct":
            return isinstance(t, Struct)
        case _:
            raise TypeError(f"`{name}` is not a class of types")


def _sorts(t: Type) -> bool:
    """Everything can be sorted, and compared, but maps and what holds one."""
    match t:
        case Map():
            return False
        case Array(element):
            return _sorts(element)
        case Struct(fields):
            return all(_sorts(f) for _, f in fields)
        case _:
            return True


def places(pattern: Pattern, actual: Type) -> Iterable[tuple[str, Type]]:
    """What each variable of the pattern stands for in ``actual``."""
    match pattern:
        case Variable(name):
            yield name, _decay(actual)
        case ArrayOf(element):
            yield from places(element, actual.element if isinstance(actual, Array) else NULL)
        case MapOf(key, value):
            yield from places(key, actual.key if isinstance(actual, Map) else NULL)
            yield from places(value, actual.value if isinstance(actual, Map) else NULL)
        case _:
            pass


def variables(pattern: Pattern) -> Iterable[Variable]:
    match pattern:
        case Variable():
            yield pattern
        case ArrayOf(element):
            yield from variables(element)
        case MapOf(key, value):
            yield from variables(key)
            yield from variables(value)
        case _:
            pass


def coerce(pattern: Pattern, actual: Type, bound: dict[str, Type]) -> Type:
    """The type that a fitting argument is brought to."""
    match pattern:
        case Exact(t):
            return t
        case Variable(name):
            return bound[name]
        case ArrayOf(element):
            return Array(
                coerce(element, actual.element if isinstance(actual, Array) else NULL, bound)
            )
        case MapOf(key, value):
            inner = (actual.key, actual.value) if isinstance(actual, Map) else (NULL, NULL)
            return Map(coerce(key, inner[0], bound), coerce(value, inner[1], bound))
        case Either(options):
            chosen = next((o for o in options if holds(o, actual)), None)
            chosen = chosen or next(o for o in options if fits(o, actual))
            return coerce(chosen, actual, bound)
        case _:
            return default(pattern) if actual == NULL else _decay(actual)


def default(pattern: Pattern) -> Type:
    """The type of a bare NULL where the pattern stands."""
    match pattern:
        case Exact(t):
            return t
        case Class(name):
            return _DEFAULTS.get(name, NULL)
        case Either(options):
            return default(options[0])
        case ArrayOf(element):
            return Array(default(element))
        case _:
            return NULL


_DEFAULTS: dict[str, Type] = {
    "num": DOUBLE,
    "int": INT,
    "str": STRING,
    "bytes": STRING,
    "temporal": TIMESTAMP,
    "bool": BOOLEAN,
}


def _decay(t: Type) -> Type:
    """VARCHAR and CHAR are strings to every function."""
    match t:
        case Chars():
            return STRING
        case Array(element):
            return Array(_decay(element))
        case Map(key, value):
            return Map(_decay(key), _decay(value))
        case Struct(fields):
            return Struct(tuple((n, _decay(f)) for n, f in fields))
        case _:
            return t
