"""What an edge is told where it sheds rows and not columns: by which attributes, and which of them queries want.

Where a stream is wider than its wire all columns are sent of those rows that queries want most. Unlike a run on Spark, which
sees only what came through, an edge looks at rows of all regions, whatever it keeps of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import get_args

from streamq.dsl.records import dataclass
from streamq.runtime.edge.bad_plan import BadPlan
from streamq.runtime.edge.columns import MOST_TEXT, TYPES
from streamq.stdlib.sifters.compact import Wish
from streamq.stdlib.sifters.grid import CELLS
from streamq.stdlib.sifters.plans import Method, Plan
from streamq.stdlib.sifters.predicates import (
    Both,
    Compare,
    Either,
    Everywhere,
    Not,
    Operator,
)

MOST_ATTRIBUTES, MOST_WISHES = 6, 2_000
"""Of a sifter."""

MOST_PARTS, MOST_DEPTH = 10_000, 20
"""Comparisons, and what joins them, of all queries together; and how deep they are nested."""

MOST_WHOLE = 1 << 63
"""A whole number that something is compared with is smaller."""

NUMBERS = frozenset({"int8", "int16", "int32", "int64", "float", "double"}) & TYPES.keys()
TEXT = "string"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiftRule:
    """How rows are sifted.

    ``attributes``: columns of numbers or texts, whose regions have thresholds; ``plan``: of these regions; ``wishes``: the rows
    that each query wants, over the attributes by their place, and what they are worth to it. All rows are looked at and go
    by their count, so ``sampled`` and ``counted`` of the plan, which say how Spark does that, change nothing.

    Raises ``BadPlan`` for what cannot be.
    """

    attributes: tuple[str, ...]
    plan: Plan
    wishes: tuple[Wish, ...]

    def __post_init__(self) -> None:
        """Checks all but what only the columns tell."""
        names, plan = self.attributes, self.plan
        if not 0 < len(names) <= MOST_ATTRIBUTES or len(set(names)) < len(names):
            raise BadPlan(f"rows are sifted by 1 to {MOST_ATTRIBUTES} different attributes")
        if plan.method not in get_args(Method) or plan.lines is not None:
            raise BadPlan(f"regions are made by {', '.join(get_args(Method))}, at the steps of their attributes")
        if not (1 <= plan.regions <= CELLS and 0 <= plan.fairness <= 1 and 0 <= plan.sampled <= 1):
            raise BadPlan(f"a sifter has from 1 to {CELLS} regions, a fairness and a sample from 0 to 1")
        if not 0 < len(self.wishes) <= MOST_WISHES:
            raise BadPlan(f"rows are sifted for 1 to {MOST_WISHES} queries")
        for wish in self.wishes:
            if not (0 <= wish.weight < math.inf and 0 <= wish.slope < math.inf and 0 <= wish.least <= 1):
                raise BadPlan("a query has a weight and a slope from 0, and needs at least a share of its rows")
        self._compared()

    def check(self, columns: Mapping[str, str]) -> None:
        """Checks it against the columns of a stream, names and Arrow types. BadPlan where it is not of these."""
        for name in self.attributes:
            if name not in columns:
                raise BadPlan(f"rows are sifted by {name}, which the stream does not have")
            if columns[name] != TEXT and columns[name] not in NUMBERS:
                raise BadPlan(f"column {name} has type {columns[name]}: rows are sifted by numbers and texts")
        for compare in self._compared():
            name = self.attributes[compare.attribute]
            if isinstance(compare.value, str) != (columns[name] == TEXT):
                raise BadPlan(f"column {name} has type {columns[name]}, and is compared with something else")

    def _compared(self) -> list[Compare]:
        """All comparisons, each of which has been checked."""
        found, parts = [], 0
        todo = [(wish.predicate, 1) for wish in self.wishes]
        while todo:
            predicate, depth = todo.pop()
            parts += 1
            if depth > MOST_DEPTH or parts + len(todo) > MOST_PARTS:
                raise BadPlan(f"what queries want has at most {MOST_PARTS} parts, nested {MOST_DEPTH} deep")
            match predicate:
                case Both(inner) | Either(inner):
                    todo += [(part, depth + 1) for part in inner]
                case Not(part):
                    todo.append((part, depth + 1))
                case Compare():
                    self._check(predicate)
                    found.append(predicate)
                case Everywhere():
                    pass
                case _:
                    raise BadPlan("what queries want is said by comparisons, AND, OR and NOT")
        return found

    def _check(self, compare: Compare) -> None:
        value = compare.value
        if not 0 <= compare.attribute < len(self.attributes) or compare.op not in get_args(Operator):
            raise BadPlan(f"attributes are compared by {' '.join(get_args(Operator))}, and have numbers from 0")
        if isinstance(value, str):
            fine = len(value) <= MOST_TEXT
        else:
            fine = type(value) is float or abs(value) < MOST_WHOLE
        if not fine:
            raise BadPlan(f"attributes are compared with numbers, and texts of at most {MOST_TEXT} characters")
