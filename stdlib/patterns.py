"""The pattern trees that declarations are read into, and the words that messages use for them."""

from __future__ import annotations

from streamq.dsl.records import dataclass
from streamq.dsl.types import Array, Map, Struct, Type

CLASS_WORDS = {
    "num": "a number",
    "int": "a whole number",
    "str": "a string",
    "bytes": "a string or BINARY",
    "temporal": "a DATE or TIMESTAMP",
    "ord": "a type that can be sorted",
    "bool": "BOOLEAN",
    "key": "a type without a MAP in it",
    "any": "a value",
    "array": "an ARRAY",
    "map": "a MAP",
    "struct": "a STRUCT",
}
"""The classes of types, with what a message calls a member."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Base of the patterns."""


@dataclass(frozen=True, slots=True)
class Class(Pattern):
    name: str


@dataclass(frozen=True, slots=True)
class Exact(Pattern):
    type: Type


@dataclass(frozen=True, slots=True)
class Variable(Pattern):
    name: str
    bound: Pattern = Class("any")


@dataclass(frozen=True, slots=True)
class ArrayOf(Pattern):
    element: Pattern


@dataclass(frozen=True, slots=True)
class MapOf(Pattern):
    key: Pattern
    value: Pattern


@dataclass(frozen=True, slots=True)
class StructOf(Pattern):
    """Only in results."""

    fields: tuple[tuple[str, Pattern], ...]


@dataclass(frozen=True, slots=True)
class Either(Pattern):
    """Only in parameters."""

    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Rule(Pattern):
    """Only as a whole result: a function of ``results.RULES`` over the variable ``argument``."""

    name: str
    argument: Pattern


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; ``optional`` and ``repeated`` exclude each other."""

    pattern: Pattern
    constant: bool = False
    optional: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Parameters:
    """All parameters: ``fixed`` ones (required, then optional), then the group that repeats."""

    fixed: tuple[Parameter, ...]
    group: tuple[Parameter, ...]

    @property
    def least(self) -> int:
        return sum(not p.optional for p in self.fixed)

    def takes(self, count: int) -> bool:
        """Whether a call with ``count`` arguments is possible."""
        extra = count - len(self.fixed)
        if extra <= 0:
            return count >= self.least
        return bool(self.group) and extra % len(self.group) == 0

    def at(self, index: int) -> Parameter:
        """The parameter that argument ``index`` (from 0) belongs to."""
        if index < len(self.fixed):
            return self.fixed[index]
        return self.group[(index - len(self.fixed)) % len(self.group)]


class NotationError(ValueError):
    """The text of a declaration or of a schema cannot be read."""


def type_of(pattern: Pattern, bound: dict[str, Type]) -> Type:
    """The type of a pattern once its variables are known."""
    match pattern:
        case Exact(t):
            return t
        case Variable(name):
            if name not in bound:
                raise NotationError(f"`{name}` is not a type")
            return bound[name]
        case ArrayOf(element):
            return Array(type_of(element, bound))
        case MapOf(key, value):
            return Map(type_of(key, bound), type_of(value, bound))
        case StructOf(fields):
            return Struct(tuple((name, type_of(p, bound)) for name, p in fields))
        case _:
            raise NotationError(f"{type(pattern).__name__} does not name one type")


def words(pattern: Pattern) -> str:
    """What a message calls an argument that fits: ``a whole number``, ``an ARRAY of numbers``."""
    match pattern:
        case Class(name):
            return CLASS_WORDS[name]
        case Exact(t):
            return _TYPE_WORDS.get(str(t), str(t))
        case Variable(_, bound):
            return words(bound)
        case ArrayOf(Variable(_, Class("any"))):
            return "an ARRAY"
        case ArrayOf(Variable(_, Class("ord"))):
            return "an ARRAY of values that can be sorted"
        case ArrayOf(element):
            return f"an ARRAY of {words(element).removeprefix('a ')} values"
        case MapOf(_, Class("num")):
            return "a MAP to numbers"
        case MapOf():
            return "a MAP"
        case Either(options):
            return " or ".join(dict.fromkeys(words(o) for o in options))
        case _:
            raise NotationError(f"{type(pattern).__name__} stands in no parameter")


_TYPE_WORDS = {"INT": "a whole number", "BIGINT": "a whole number", "DOUBLE": "a number"}
