"""Reads the notation of ``FunctionSpec``: one small pattern tree per parameter and per result.

A parameter is ``pattern[!][?|*]``: ``!`` asks for a constant, ``?`` marks it optional, ``*`` lets
it repeat (all trailing ``*`` parameters repeat together, as the pairs of ``MAP(k, v, …)`` do).

======================  =========================================================================
``num int str bytes``   any number / whole number / string / string or BINARY
``temporal bool``       DATE or TIMESTAMP / BOOLEAN
``ord key``             whatever can be sorted / compared for being equal: both without a MAP in it
``any array map struct``  every type / every ARRAY, MAP, STRUCT
``T``, ``T:num``        a variable: all its places share one type, here one that is a number
``INT``, ``DOUBLE``, …  a type; the argument is brought to it (``INT`` takes every whole number)
``ARRAY<…>``            an ARRAY whose elements match; likewise ``MAP<…,…>``
``a|b``                 one or the other
======================  =========================================================================

A result is a type with the variables in it (``ARRAY<T>``, ``STRUCT<key: K, n: BIGINT>``) or a rule
of ``results.py`` in lower case: ``sum(T)``.
"""

from __future__ import annotations

import re
from functools import cache

from streamq.dsl.types import ATOMIC_NAMES, INTERVAL, NULL, TIMESTAMP, Chars, Decimal, Type
from streamq.stdlib.patterns import (
    CLASS_WORDS,
    ArrayOf,
    Class,
    Either,
    Exact,
    MapOf,
    NotationError,
    Parameter,
    Parameters,
    Pattern,
    Rule,
    StructOf,
    Variable,
    type_of,
)


@cache
def parse_parameters(params: tuple[str, ...]) -> Parameters:
    """The parameters of a declaration. Raises NotationError where the order makes no sense."""
    parsed = tuple(_parse_parameter(p) for p in params)
    fixed = tuple(p for p in parsed if not p.repeated)
    group = parsed[len(fixed) :]
    if not all(p.repeated for p in group):
        raise NotationError(f"a parameter follows a repeated one in {params}")
    optional = [p.optional for p in fixed]
    if optional != sorted(optional):
        raise NotationError(f"a required parameter follows an optional one in {params}")
    return Parameters(fixed, group)


@cache
def parse_result(text: str) -> Pattern:
    """The pattern of a result notation, ``Rule`` for the likes of ``sum(T)``."""
    return _Reader(text).whole()


def parse_schema(text: str) -> Type:
    """The type that a schema string names: ``a INT, b ARRAY<STRING>`` or a type by itself.

    Raises NotationError. Struct fields may be written ``a INT`` or ``a: INT``.
    """
    try:
        pattern = _Reader(text, classes=False).whole()
    except NotationError:
        pattern = _Reader(f"STRUCT<{text}>", classes=False).whole()
    return type_of(pattern, {})


def _parse_parameter(text: str) -> Parameter:
    body = text.rstrip("?*!")
    marks = text[len(body) :]
    if marks not in ("", "!", "?", "*", "!?", "!*"):
        raise NotationError(f"marks `{marks}` of `{text}` are not in order")
    pattern = _Reader(body).whole()
    return Parameter(pattern, "!" in marks, "?" in marks, "*" in marks)


_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|\d+|`(?:[^`]|``)+`|[<>(),:|])")
_VARIABLE = re.compile(r"[A-Z]\Z")
_MOST_NESTED = 60


class _Reader:
    """A recursive reader of one notation text.

    ``classes`` False reads a schema: then ``int`` is the type INT and ``T`` is nothing.
    """

    def __init__(self, text: str, *, classes: bool = True) -> None:
        self.text = text
        self.classes = classes
        self.depth = 0
        self.tokens: list[str] = []
        at = 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotationError(f"cannot read `{text[at:].strip()}` in `{text}`")
            self.tokens.append(found[1])
            at = found.end()
        self.tokens.reverse()

    def whole(self) -> Pattern:
        """The pattern that takes up the whole text."""
        pattern = self._rule() or self._either()
        if self.tokens:
            raise self._wrong()
        return pattern

    def _rule(self) -> Rule | None:
        """``name(T)`` or ``name()``; None where something else stands."""
        start = self.tokens[-2:][::-1]
        if not (self.classes and len(start) == 2 and start[0].islower() and start[1] == "("):
            return None
        del self.tokens[-2:]
        argument: Pattern = Exact(NULL) if self._peek() == ")" else self._single()
        self._expect(")")
        return Rule(start[0], argument)

    def _either(self) -> Pattern:
        options = [self._single()]
        while self._peek() == "|":
            self._next()
            options.append(self._single())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _single(self) -> Pattern:
        name = self._next()
        if self.classes and name in CLASS_WORDS:
            return Class(name)
        if self.classes and _VARIABLE.match(name):
            if self._peek() != ":":
                return Variable(name)
            self._next()
            return Variable(name, self._either())
        match name.upper():
            case "ARRAY":
                return ArrayOf(self._nested(1)[0])
            case "MAP":
                key, value = self._nested(2)
                return MapOf(key, value)
            case "STRUCT":
                return self._struct()
            case "DECIMAL" | "NUMERIC" | "VARCHAR" | "CHAR" | "TIMESTAMP" if self._peek() == "(":
                return Exact(self._sized(name.upper()))
            case "INTERVAL" | "VOID":
                return Exact(INTERVAL if name.upper() == "INTERVAL" else NULL)
            case upper if upper in ATOMIC_NAMES:
                return Exact(ATOMIC_NAMES[upper])
            case _:
                raise NotationError(f"`{name}` in `{self.text}` is not a type")

    def _nested(self, count: int) -> list[Pattern]:
        """The ``count`` patterns between ``<`` and ``>``."""
        self._open()
        inner = [self._either()]
        while len(inner) < count:
            self._expect(",")
            inner.append(self._either())
        self._close()
        return inner

    def _struct(self) -> Pattern:
        self._open()
        fields: list[tuple[str, Pattern]] = []
        while True:
            name = self._next()
            if name.startswith("`"):
                name = name[1:-1].replace("``", "`")
            if self._peek() == ":":
                self._next()
            fields.append((name, self._single()))
            if self._peek() != ",":
                break
            self._next()
        self._close()
        return StructOf(tuple(fields))

    def _sized(self, name: str) -> Type:
        self._expect("(")
        sizes = [self._number()]
        if self._peek() == ",":
            self._next()
            sizes.append(self._number())
        self._expect(")")
        match name:
            case "VARCHAR" | "CHAR":
                return Chars(name, sizes[0])
            case "TIMESTAMP":
                return TIMESTAMP
            case _:
                return Decimal(sizes[0], sizes[1] if len(sizes) == 2 else 0)

    def _number(self) -> int:
        token = self._next()
        if not token.isdigit():
            raise NotationError(f"`{token}` in `{self.text}` is not a number")
        return int(token)

    def _open(self) -> None:
        self.depth += 1
        if self.depth > _MOST_NESTED:
            raise NotationError(f"types are nested more than {_MOST_NESTED} deep")
        self._expect("<")

    def _close(self) -> None:
        self.depth -= 1
        self._expect(">")

    def _peek(self) -> str:
        return self.tokens[-1] if self.tokens else ""

    def _next(self) -> str:
        if not self.tokens:
            raise self._wrong()
        return self.tokens.pop()

    def _expect(self, token: str) -> None:
        if self._next() != token:
            raise NotationError(f"`{token}` is missing in `{self.text}`")

    def _wrong(self) -> NotationError:
        return NotationError(f"`{self.text}` is not a type")
