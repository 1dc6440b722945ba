"""The parts of the language reference that are made from declarations: functions, options, settings."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.ir.durations import show_ms
from streamq.compiler.options import SETTINGS
from streamq.dsl.words import RESERVED
from streamq.stdlib.connector_specs import CONNECTORS
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.notation import parse_parameters, parse_result
from streamq.stdlib.patterns import (
    ArrayOf,
    Class,
    Either,
    Exact,
    MapOf,
    NotationError,
    Parameter,
    Pattern,
    Rule,
    Variable,
)
from streamq.stdlib.registry import ConnectorSpec, FunctionSpec, OptionSpec, OptionType

ROLES = {"stream": "Stream", "table": "Table", "sink": "Sink"}

RULES = {
    "sum": "`BIGINT` of whole numbers, `DECIMAL` with ten more digits, else `DOUBLE`",
    "avg": "`DECIMAL` of decimals, else `DOUBLE`",
    "ceil": "a whole number: `BIGINT`, or `DECIMAL` of decimals",
    "round": "the argument's type; a `DECIMAL` of as many places",
    "struct": "a `STRUCT` of the arguments",
    "named_struct": "a `STRUCT` with the fields that are named",
    "zip": "an `ARRAY` of `STRUCT`s",
    "schema": "the type that the schema spells",
    "date_part": "`INT`; seconds are `DECIMAL(8,6)`",
    "number": "a `DECIMAL` with the digits of the format",
}
"""What a rule of ``stdlib/results.py`` gives, in words; one without words fails the test."""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table; ``|`` inside a cell is escaped."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(c.replace("|", "\\|") for c in line) + " |" for line in lines)


def reserved_words() -> str:
    return ", ".join(f"`{word}`" for word in sorted(RESERVED)) + "."


def functions() -> str:
    """One table per category: signature, result, meaning; aliases stand beside the first name."""
    shown: dict[str, dict[tuple[object, ...], list[str]]] = {}
    specs: dict[tuple[object, ...], FunctionSpec] = {}
    for name, spec in FUNCTIONS.items():
        for one in (spec, *spec.overloads):
            key = (one.category, one.params, one.result, one.doc)
            specs.setdefault(key, one)
            names = shown.setdefault(one.category, {}).setdefault(key, [])
            if name not in names:
                names.append(name)
    parts: list[str] = []
    for category, entries in shown.items():
        rows = [
            (_signature(specs[key], names), _result(specs[key]), specs[key].doc)
            for key, names in entries.items()
        ]
        parts.append(f"## {category.capitalize()}\n\n{table(('function', 'result', 'what it gives'), rows)}")
    return f"There are {len(FUNCTIONS)} names.\n\n" + "\n\n".join(parts)


def _signature(spec: FunctionSpec, names: list[str]) -> str:
    parameters = parse_parameters(spec.params)
    seen: set[str] = set()
    fixed = [_parameter(p, spec, seen) for p in parameters.fixed]
    text = ", ".join(fixed[: parameters.least])
    for extra in fixed[parameters.least :]:
        text += f"[, {extra}" if text else f"[{extra}"
    text += "]" * (len(fixed) - parameters.least)
    if parameters.group:
        again = ", ".join(_parameter(p, spec, seen) for p in parameters.group)
        text += f", {again}, ..." if text else f"{again}, ..."
    others = "".join(f", `{n}`" for n in names[1:])
    return f"`{names[0]}({text})`{others}"


def _parameter(parameter: Parameter, spec: FunctionSpec, seen: set[str]) -> str:
    """A variable is shown where something else speaks of it too, with its bound the first time."""
    pattern: Pattern = parameter.pattern
    if not isinstance(pattern, Variable):
        return _label(pattern)
    uses = sum(_mentions(p, pattern.name) for p in (*spec.params, spec.result))
    if uses < 2:
        return _label(pattern.bound)
    first = pattern.name not in seen
    seen.add(pattern.name)
    bound = pattern.bound
    plain = isinstance(bound, Class) and bound.name == "any"
    return f"{pattern.name}: {_label(bound)}" if first and not plain else pattern.name


def _label(pattern: Pattern) -> str:
    """The pattern as a signature of the reference shows it: ``int``, ``ARRAY<T>``, ``num``."""
    match pattern:
        case Class(name):
            return name
        case Exact(t):
            return {"INT": "int", "BIGINT": "int", "STRING": "str"}.get(str(t), str(t))
        case Variable(name):
            return name
        case ArrayOf(element):
            return f"ARRAY<{_label(element)}>"
        case MapOf(key, value):
            return f"MAP<{_label(key)}, {_label(value)}>"
        case Either(options):
            return "|".join(_label(o) for o in options)
        case _:
            raise NotationError(f"{type(pattern).__name__} stands in no parameter")


def _mentions(notation: str, variable: str) -> bool:
    words = "".join(c if c.isalnum() else " " for c in notation).split()
    return variable in words and not notation[0].islower()


def _result(spec: FunctionSpec) -> str:
    pattern = parse_result(spec.result)
    return RULES[pattern.name] if isinstance(pattern, Rule) else f"`{spec.result}`"


def connectors() -> str:
    """One section per connector and role."""
    return "\n\n".join(_connector(spec) for spec in CONNECTORS)


def _connector(spec: ConnectorSpec) -> str:
    roles = " and ".join(ROLES[r].lower() for r in spec.roles).capitalize()
    parts = [f"### {roles}: `{spec.name}`", spec.doc]
    if "sink" in spec.roles:
        takes = "streams and changing relations" if "update" in spec.modes else "streams only"
        parts.append(f"Takes {takes}. Across a restart: {spec.guarantee}.")
    if spec.options:
        parts.append(options(spec.options))
    else:
        parts.append("It has no options.")
    for kind, columns in spec.columns.items():
        listed = ", ".join(f"`{n} {t}`" for n, t in columns)
        parts.append(f"Columns{f' of `{kind}`' if kind else ''}: {listed}")
    return "\n\n".join(parts)


def options(specs: Iterable[OptionSpec]) -> str:
    rows = [(f"`{o.name}`", _option_type(o), _default(o), o.doc) for o in specs]
    return table(("option", "value", "default", "meaning"), rows)


def _option_type(option: OptionSpec) -> str:
    if option.type is OptionType.CHOICE:
        return ", ".join(f"`'{c}'`" for c in option.choices)
    text = {OptionType.STRING: "text"}.get(option.type, option.type.value)
    limits = [f"from {option.least:g}" if option.least is not None else "",
              f"to {option.most:g}" if option.most is not None else ""]
    unit = " ms" if option.type is OptionType.DURATION and any(limits) else ""
    return " ".join([text, *(part for part in limits if part)]) + unit


def _default(option: OptionSpec) -> str:
    if option.required:
        return "**required**"
    match option.default:
        case None:
            return ""
        case bool() as value:
            return f"`{str(value).lower()}`"
        case str() as value:
            return f"`'{value}'`"
        case value if option.type is OptionType.DURATION:
            return show_ms(int(value))
        case value:
            return f"{value:,}"


def settings() -> str:
    return options(SETTINGS.values())
