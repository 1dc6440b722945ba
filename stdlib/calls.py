"""A call of a declared function: what is known of its arguments, and its text in Spark SQL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from streamq.dsl.diagnostics import InternalError
from streamq.dsl.records import dataclass
from streamq.dsl.types import Struct, Type
from streamq.stdlib.registry import FunctionSpec


@dataclass(frozen=True, slots=True)
class Arg:
    """An argument of a call.

    ``constant`` None: not known, so the declaration's ``!`` is not checked. ``value``: the Python
    value of a literal, None where there is none. ``name``: the column or alias, for ``STRUCT``.
    """

    type: Type
    constant: bool | None = None
    value: object = None
    name: str = ""


_PLACEHOLDER = re.compile(r"\{(\d+|args|ts|named|type)\}")


def call_sql(
    spec: FunctionSpec,
    args: Sequence[str],
    *,
    result: Type | None = None,
    ts: str = "",
    distinct: bool = False,
    where: str = "",
) -> str:
    """The call as Spark SQL text; ``args`` are SQL texts already brought to the signature's types.

    ``spec`` is the one that matched (``Signature.spec``), since overloads have templates of their
    own. ``result`` is needed for ``{type}`` and ``{named}`` (``'a', x, 'b', y`` after the fields
    of the result), ``ts`` for ``{ts}``. ``where``: the condition of an aggregate's FILTER or empty.
    """
    template = spec.sql or f"{spec.name.lower()}({{args}})"
    if distinct and "{args}" not in template:
        raise InternalError(f"DISTINCT has no meaning in {spec.name}")

    def fill(found: re.Match[str]) -> str:
        match found[1]:
            case "args":
                return ("DISTINCT " if distinct else "") + ", ".join(args)
            case "ts":
                if not ts:
                    raise InternalError(f"{spec.name} needs an event-time column")
                return ts
            case "type":
                return str(result)
            case "named":
                return ", ".join(
                    f"{_text(n)}, {a}" for n, a in zip(_names(result), args, strict=True)
                )
            case index:
                return args[int(index)]

    text = _PLACEHOLDER.sub(fill, template)
    return f"{text} FILTER (WHERE {where})" if where else text


def _names(result: Type | None) -> list[str]:
    if not isinstance(result, Struct):
        raise InternalError("a call with named fields needs the STRUCT it makes")
    return [name for name, _ in result.fields]


def _text(value: str) -> str:
    """A string literal of Spark SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
