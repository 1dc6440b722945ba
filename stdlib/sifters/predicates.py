"""What is known of the rows that a query may want: comparisons of attributes, by their number, with constants."""

from __future__ import annotations

from typing import Literal

from streamq.dsl.records import dataclass

Operator = Literal["<", "<=", ">", ">=", "=", "!="]

NEGATED: dict[Operator, Operator] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class Predicate:
    """What is known of a row. One of the classes below."""


@dataclass(frozen=True, slots=True)
class Everywhere(Predicate):
    """Nothing is known: it may hold for any row."""


@dataclass(frozen=True, slots=True)
class Compare(Predicate):
    """``whole``: the attribute has whole numbers only, so that a box goes from half to half."""

    attribute: int
    op: Operator
    value: float | str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Both(Predicate):
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Either(Predicate):
    parts: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not(Predicate):
    part: Predicate
