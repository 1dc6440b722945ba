"""Matches a call against a declaration: the types its arguments are brought to, and its result.

``match_call(spec, args)`` is all the binder needs; a ``Mismatch`` carries the words to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from streamq.dsl.records import dataclass, replace
from streamq.dsl.types import NULL, Type, common_type
from streamq.stdlib.calls import Arg
from streamq.stdlib.fitting import coerce, default, fits, places, variables
from streamq.stdlib.notation import parse_parameters, parse_result
from streamq.stdlib.patterns import Parameters, Pattern, Rule, type_of, words
from streamq.stdlib.registry import FunctionSpec
from streamq.stdlib.results import RULES, ResultError


@dataclass(frozen=True, slots=True)
class Signature:
    """A call that fits: ``spec`` is the declaration or the overload of it that matched.

    ``params``: one type per argument; where it differs from the argument's, a CAST belongs there
    (a bare NULL of an open type stays as it is).
    """

    spec: FunctionSpec
    params: tuple[Type, ...]
    result: Type


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A call that does not fit. ``argument`` counts from 0; None where their number is wrong."""

    message: str
    usage: tuple[str, ...]
    argument: int | None = None

    @property
    def help(self) -> str:
        """The way out for the help line."""
        return "it is used as " + " or ".join(self.usage)


@dataclass(frozen=True, slots=True)
class _Misfit:
    """Why one overload did not match: its message, or the words of the parameter that failed."""

    argument: int
    message: str = ""
    expected: tuple[str, ...] = ()


def match_call(spec: FunctionSpec, args: Sequence[Type | Arg]) -> Signature | Mismatch:
    """The signature of ``spec``, or of the first of its overloads, that the arguments fit.

    Bare types stand for arguments of which nothing else is known. Never raises for a wrong call.
    """
    known = [a if isinstance(a, Arg) else Arg(a) for a in args]
    candidates = (spec, *spec.overloads)
    misfits: list[_Misfit] = []
    for candidate in candidates:
        parameters = parse_parameters(candidate.params)
        if parameters.takes(len(known)):
            found = _match(candidate, parameters, known)
            if isinstance(found, Signature):
                return found
            misfits.append(found)
    if not misfits:
        message = f"{spec.name} takes {_counts(candidates)}, not {len(known)}"
        return Mismatch(message, usages(spec))
    furthest = max(m.argument for m in misfits)
    nearest = [m for m in misfits if m.argument == furthest]
    message = next((m.message for m in nearest if m.message), "")
    if not message:
        expected = " or ".join(_unique(e for m in nearest for e in m.expected))
        place = f"argument {furthest + 1} of {spec.name}"
        message = f"{place} must be {expected}, not {known[furthest].type}"
    return Mismatch(message, usages(spec), furthest)


def usages(spec: FunctionSpec) -> tuple[str, ...]:
    """The signatures in words: ``ROUND(a number[, a whole number])``; one per overload, without repeats."""
    return _unique(_usage(spec.name, parse_parameters(s.params)) for s in (spec, *spec.overloads))


def _match(spec: FunctionSpec, parameters: Parameters, args: Sequence[Arg]) -> Signature | _Misfit:
    """One overload, of which the number of arguments is known to be right."""
    seen: dict[str, list[tuple[int, Type]]] = {}
    patterns = [parameters.at(i).pattern for i in range(len(args))]
    for i, (pattern, arg) in enumerate(zip(patterns, args, strict=True)):
        if not fits(pattern, arg.type):
            return _Misfit(i, expected=tuple(words(pattern).split(" or ")))
        if parameters.at(i).constant and arg.constant is False:
            return _Misfit(i, f"argument {i + 1} of {spec.name} must be a constant")
        for name, t in places(pattern, arg.type):
            seen.setdefault(name, []).append((i, t))
    bound: dict[str, Type] = {}
    for name, uses in seen.items():
        unified = _unify(spec.name, uses)
        if isinstance(unified, _Misfit):
            return unified
        bound[name] = unified
    for parameter in (*parameters.fixed, *parameters.group):
        for variable in variables(parameter.pattern):
            if bound.get(variable.name, NULL) == NULL:
                bound[variable.name] = default(variable.bound)
    coerced = [coerce(p, a.type, bound) for p, a in zip(patterns, args, strict=True)]
    brought = [replace(a, type=t) for a, t in zip(args, coerced, strict=True)]
    try:
        result = _result(parse_result(spec.result), bound, brought)
    except ResultError as wrong:
        place = f"argument {wrong.argument + 1} of {spec.name}"
        return _Misfit(wrong.argument, f"{place} {wrong}")
    return Signature(spec, tuple(coerced), result)


def _result(pattern: Pattern, bound: dict[str, Type], args: Sequence[Arg]) -> Type:
    if isinstance(pattern, Rule):
        return RULES[pattern.name](type_of(pattern.argument, bound), args)
    return type_of(pattern, bound)


def _unify(name: str, uses: Sequence[tuple[int, Type]]) -> Type | _Misfit:
    """The common type of a variable's uses, given as (argument, type)."""
    first, unified = uses[0]
    for i, t in uses[1:]:
        common = common_type(unified, t)
        if common is None:
            pair = f"arguments {first + 1} and {i + 1} of {name}"
            return _Misfit(i, f"{pair} do not fit together: {unified} and {t}")
        unified = common
    return unified


def _usage(name: str, parameters: Parameters) -> str:
    shown = [words(p.pattern) for p in parameters.fixed]
    required = ", ".join(shown[: parameters.least])
    text = required
    for extra in shown[parameters.least :]:
        text += f"[, {extra}" if text else f"[{extra}"
    if parameters.group:
        again = ", ".join(words(p.pattern) for p in parameters.group)
        text += f", {again}, ..." if text else f"{again}, ..."
    return f"{name}({text}{']' * (len(shown) - parameters.least)})"


def _counts(candidates: Sequence[FunctionSpec]) -> str:
    """``2 or 3 arguments``, ``at least 1 argument``, ``no arguments``."""
    every = [parse_parameters(c.params) for c in candidates]
    if any(p.group for p in every):
        least = min(p.least for p in every)
        pairs = all(len(p.group) == 2 for p in every)
        return (
            f"at least {_plural(least)}" if not pairs else f"arguments in pairs ({least} or more)"
        )
    counts = sorted({n for p in every for n in range(p.least, len(p.fixed) + 1)})
    if len(counts) > 2 and counts == list(range(counts[0], counts[-1] + 1)):
        return f"{counts[0]} to {_plural(counts[-1])}"
    *head, last = [str(n) if n else "no" for n in counts]
    return f"{' or '.join([*head, last])} argument{'' if counts[-1] == 1 else 's'}"


def _plural(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
