"""How rows are sifted as a JSON object, in the plan of an edge.

What a query wants is ``["<", attribute, value]``, with ``true`` behind it where the attribute has whole numbers only, or
``["and", ...]``, ``["or", ...]``, ``["not", ...]``; ``["all"]`` where nothing is known.
"""

from __future__ import annotations

from typing import Any, get_args

from streamq.runtime.edge.bad_plan import BadPlan
from streamq.runtime.edge.sift_rule import MOST_DEPTH, SiftRule
from streamq.stdlib.sifters.compact import Wish
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import (
    Both,
    Compare,
    Either,
    Everywhere,
    Not,
    Operator,
    Predicate,
)

_RULE = {"attributes", "plan", "wishes"}
_PLAN: dict[str, type] = {"regions": int, "method": str, "fairness": float, "sampled": float, "counted": bool}
_WISH = ("weight", "slope", "least")


def sift_to_json(rule: SiftRule) -> dict[str, Any]:
    """The rule as a JSON object."""
    return {
        "attributes": list(rule.attributes), "plan": {name: getattr(rule.plan, name) for name in _PLAN},
        "wishes": [
            {"wants": _to_json(wish.predicate)} | {name: getattr(wish, name) for name in _WISH} for wish in rule.wishes
        ],
    }


def sift_of(found: Any) -> SiftRule:
    """The rule of a JSON object; what is left out is as in ``Plan`` and ``Wish``. BadPlan for what cannot be."""
    match found:
        case {"attributes": list(attributes), "plan": dict(plan), "wishes": list(wishes)} if len(found) == len(_RULE):
            if not all(isinstance(name, str) for name in attributes):
                raise BadPlan("the attributes of a sifter are a list of columns")
            return SiftRule(attributes=tuple(attributes), plan=_plan(plan), wishes=tuple(map(_wish, wishes)))
    raise BadPlan(f"a sifter has {', '.join(sorted(_RULE))}, and nothing else")


def _plan(given: dict[str, Any]) -> Plan:
    if set(given) - set(_PLAN) or not all(_is(value, _PLAN[name]) for name, value in given.items()):
        raise BadPlan(f"the plan of a sifter has only {', '.join(_PLAN)}, as numbers, a word and true or false")
    return Plan(**given)


def _wish(found: Any) -> Wish:
    if isinstance(found, dict) and "wants" in found:
        given: dict[str, Any] = {name: value for name, value in found.items() if name != "wants"}
        if not set(given) - set(_WISH) and all(_is(value, float) for value in given.values()):
            return Wish(_predicate(found["wants"], MOST_DEPTH), **given)
    raise BadPlan(f"a query says what it wants, and in numbers only its {', '.join(_WISH)}")


def _is(value: object, kind: type) -> bool:
    """Whether a value of JSON is one of a kind; whole numbers are numbers too, and truth values are none."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind


def _to_json(predicate: Predicate) -> list[Any]:
    match predicate:
        case Compare(attribute, op, value, whole):
            return [op, attribute, value, True] if whole else [op, attribute, value]
        case Both(parts):
            return ["and", *map(_to_json, parts)]
        case Either(parts):
            return ["or", *map(_to_json, parts)]
        case Not(part):
            return ["not", _to_json(part)]
        case _:
            return ["all"]


def _predicate(found: Any, depth: int) -> Predicate:
    """``depth``: how many more may be nested in one another."""
    if depth < 1:
        raise BadPlan(f"what queries want is nested at most {MOST_DEPTH} deep")
    match found:
        case ["and", *parts]:
            return Both(tuple(_predicate(part, depth - 1) for part in parts))
        case ["or", *parts]:
            return Either(tuple(_predicate(part, depth - 1) for part in parts))
        case ["not", part]:
            return Not(_predicate(part, depth - 1))
        case ["all"]:
            return Everywhere()
        case [op, attribute, value, *whole] if op in get_args(Operator) and whole in ([], [True]):
            if _is(attribute, int) and (_is(value, float) or isinstance(value, str)):
                return Compare(attribute, op, value, bool(whole))
    raise BadPlan("what a query wants is a comparison of an attribute by its number, or several joined by and, or, not")
