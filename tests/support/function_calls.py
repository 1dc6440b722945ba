"""Sample calls of the declared functions, made from their declarations.

A column per type stands in for each parameter, constants come from a small table, and arguments
are brought to the signature's types as the compiler does it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from streamq.dsl.types import DOUBLE, INT, INTERVAL, STRING, Array, Type
from streamq.stdlib.calls import Arg, call_sql
from streamq.stdlib.fitting import fits
from streamq.stdlib.functions import FUNCTIONS
from streamq.stdlib.notation import parse_parameters, parse_schema
from streamq.stdlib.patterns import (
    ArrayOf,
    Class,
    Either,
    Exact,
    MapOf,
    Parameter,
    Pattern,
    Variable,
)
from streamq.stdlib.registry import FunctionSpec, Kind
from streamq.stdlib.signatures import Signature, match_call

COLUMNS = {
    "i": ("INT", "3", "7"),
    "l": ("BIGINT", "5L", "9L"),
    "d": ("DOUBLE", "0.25D", "0.75D"),
    "dec": ("DECIMAL(10,2)", "CAST(1.25 AS DECIMAL(10,2))", "CAST(2.5 AS DECIMAL(10,2))"),
    "f": ("FLOAT", "0.5F", "1.5F"),
    "i8": ("TINYINT", "1Y", "2Y"),
    "i16": ("SMALLINT", "10S", "20S"),
    "s": ("STRING", "'a,b'", "'c:d'"),
    "bin": ("BINARY", "X'6162'", "X'63'"),
    "b": ("BOOLEAN", "true", "false"),
    "ts": ("TIMESTAMP", "TIMESTAMP'2024-02-29 13:05:07.25'", "TIMESTAMP'1969-12-31 23:59:59'"),
    "day": ("DATE", "DATE'2024-02-29'", "DATE'1969-12-31'"),
    "iv": ("INTERVAL", "INTERVAL '90' SECOND", "INTERVAL '2' SECOND"),
    "ai": ("ARRAY<INT>", "array(3, 1)", "array(2)"),
    "al": ("ARRAY<BIGINT>", "array(3L, 1L)", "array(2L)"),
    "ad": ("ARRAY<DOUBLE>", "array(0.5D, 0.1D)", "array(1.5D)"),
    "astr": ("ARRAY<STRING>", "array('x', 'y')", "array('z')"),
    "aai": ("ARRAY<ARRAY<INT>>", "array(array(3, 1))", "array(array(2))"),
    "m": ("MAP<STRING, INT>", "map('x', 1)", "map('y', 2)"),
    "st": (
        "STRUCT<p: INT, q: STRING>",
        "named_struct('p', 1, 'q', 'a')",
        "named_struct('p', 2, 'q', 'b')",
    ),
}
"""Column to its type and two values."""

TYPES = {name: parse_schema(column[0]) for name, column in COLUMNS.items()}

OF_CLASS = {
    "num": ("i", "l", "d", "dec", "f", "i8", "i16"),
    "int": ("i", "l", "i8", "i16"),
    "str": ("s",),
    "bytes": ("s", "bin"),
    "temporal": ("ts", "day"),
    "bool": ("b",),
    "ord": ("i", "s", "d", "dec", "ts", "st", "ai", "bin", "b", "day"),
    "any": ("i", "s", "d", "dec", "ts", "st", "ai", "m"),
    "key": ("i", "s", "d", "dec", "ts", "st", "ai", "bin", "b", "day"),
    "array": ("ai", "astr"),
    "map": ("m",),
    "struct": ("st",),
}

CONSTANTS: dict[tuple[str, int], object] = {
    ("APPROX_COUNT_DISTINCT", 1): 0.05,
    ("APPROX_TOP_K", 2): 100,
    ("COUNT_MIN_SKETCH", 1): 0.01,
    ("DATE_FORMAT", 1): "yyyy-MM-dd",
    ("DATE_PART", 0): "second",
    ("DECODE", 1): "UTF-8",
    ("ENCODE", 1): "UTF-8",
    ("FORMAT_NUMBER", 1): "#.00",
    ("FROM_CSV", 1): "a STRING, b INT",
    ("FROM_JSON", 1): "a INT, b ARRAY<MAP<STRING, DECIMAL(10,2)>>",
    ("FROM_UNIXTIME", 1): "yyyy",
    ("FROM_UTC_TIMESTAMP", 1): "Europe/Berlin",
    ("HLL_SKETCH_AGG", 1): 10,
    ("HMAC", 2): "SHA-256",
    ("NAMED_STRUCT", 2): "second",
    ("REGEXP_EXTRACT", 1): "(.)",
    ("REGEXP_EXTRACT", 2): 1,
    ("REGEXP_EXTRACT_ALL", 1): "(.)",
    ("REGEXP_EXTRACT_ALL", 2): 1,
    ("STR_TO_MAP", 1): ";",
    ("STR_TO_MAP", 2): "=",
    ("TO_BINARY", 1): "utf-8",
    ("TO_CHAR", 1): "999.99",
    ("TO_DATE", 1): "yyyy-MM-dd",
    ("TO_NUMBER", 1): "999.99",
    ("TO_TIMESTAMP", 1): "yyyy-MM-dd",
    ("TO_UTC_TIMESTAMP", 1): "Europe/Berlin",
    ("UNIX_TIMESTAMP", 1): "yyyy-MM-dd",
}
"""(function, argument) to a constant that means something there."""

SKETCHES = {"HLL_SKETCH_ESTIMATE": "hll", "HLL_UNION_AGG": "hll", "KLL_SKETCH_QUANTILE": "kll"}
"""Functions whose first argument is a sketch, and the column that holds one."""


@dataclass(frozen=True)
class Case:
    """One call: the declaration, its arguments as SQL, and what is declared of it."""

    spec: FunctionSpec
    args: tuple[str, ...]
    free: tuple[int, ...]
    """The arguments that need not be constants."""
    signature: Signature

    @property
    def sql(self) -> str:
        return self.with_args(self.args)

    def with_args(self, args: tuple[str, ...]) -> str:
        return call_sql(self.signature.spec, args, result=self.signature.result, ts="ts")


def columns_for(pattern: Pattern) -> tuple[str, ...]:
    """The sample columns that fit a pattern as they are, or else one that can be brought to it."""
    match pattern:
        case Class(name):
            return OF_CLASS[name]
        case Variable(_, bound):
            return columns_for(bound)
        case Either(options):
            return tuple(c for o in options for c in columns_for(o))
        case ArrayOf(Exact() | ArrayOf()) | Exact():
            exact = [c for c, t in TYPES.items() if t == getattr(pattern, "type", None)]
            return tuple(exact) or tuple(c for c, t in TYPES.items() if fits(pattern, t))
        case ArrayOf():
            return ("ai", "astr", "ad")
        case MapOf():
            return ("m",)
        case _:
            raise TypeError(f"no samples for {pattern}")


def constant_for(spec: FunctionSpec, index: int, parameter: Parameter) -> tuple[str, Arg] | None:
    """A literal for the parameter: its own, or 0.5, 2, 'x', …; None where a column will do."""
    values = [CONSTANTS[spec.name, index]] if (spec.name, index) in CONSTANTS else []
    if parameter.constant:
        values += [2, 0.5, "x", True, [0.25, 0.5], timedelta(seconds=90)]
    for value in values:
        t, sql = literal(value)
        own = isinstance(parameter.pattern, Exact) and parameter.pattern.type == DOUBLE and t == INT
        if fits(parameter.pattern, t) and not own:
            return sql, Arg(t, constant=True, value=value)
    return None


def literal(value: object) -> tuple[Type, str]:
    match value:
        case bool():
            return parse_schema("BOOLEAN"), str(value)
        case int():
            return INT, str(value)
        case float():
            return DOUBLE, f"{value}D"
        case str():
            return STRING, f"'{value}'"
        case timedelta():
            return INTERVAL, f"INTERVAL '{value.total_seconds()}' SECOND"
        case list():
            return Array(DOUBLE), f"array({', '.join(f'{v}D' for v in value)})"
        case _:
            raise TypeError(f"no literal for {value!r}")


def cases_of(spec: FunctionSpec) -> Iterator[Case]:
    """Calls of all overloads, with every number of arguments and several types, some mixed."""
    for overload in (spec, *spec.overloads):
        parameters = parse_parameters(overload.params)
        counts = range(parameters.least, len(parameters.fixed) + 1)
        for count in (*counts, *([counts[-1] + len(parameters.group)] if parameters.group else [])):
            found = 0
            for variant in range(10):
                for shift in (0, 1) if variant < MIXED else (0,):
                    case = case_of(spec, overload, count, variant, shift)
                    if case is not None:
                        found += 1
                        yield case
            assert found, f"no sample call of {spec.name} with {count} arguments fits"


MIXED = 3
"""How many of the samples of a call are also tried with mixed types."""


def case_of(
    spec: FunctionSpec, overload: FunctionSpec, count: int, variant: int, shift: int
) -> Case | None:
    """The call whose n-th argument is sample ``variant + n * shift``; None where none fits."""
    parameters = parse_parameters(overload.params)
    texts: list[str] = []
    args: list[Arg] = []
    free: list[int] = []
    for i in range(count):
        parameter = parameters.at(i)
        constant = constant_for(spec, i, parameter)
        if constant is not None:
            text, arg = constant
        else:
            choice = columns_for(parameter.pattern)
            text = choice[(variant + i * shift) % len(choice)]
            arg = Arg(TYPES[text], constant=False, name=text)
            text = SKETCHES.get(spec.name, text) if i == 0 else text
            free.append(i)
        texts.append(text)
        args.append(arg)
    found = match_call(spec, args)
    if not isinstance(found, Signature):
        return None
    brought = tuple(
        text if want == arg.type or arg.constant else f"CAST({text} AS {want})"
        for text, arg, want in zip(texts, args, found.params, strict=True)
    )
    return Case(spec, brought, tuple(free), found)


def all_cases(kind: Kind) -> list[Case]:
    """One case per SQL text; an alias is the declaration it stands for."""
    own = {(s.sql, s.params): s for s in reversed(FUNCTIONS.values()) if s.kind is kind}
    return list({c.sql: c for spec in reversed(own.values()) for c in cases_of(spec)}.values())


def one_per_signature(kind: Kind) -> list[Case]:
    """The first case of every overload, with the fewest arguments it takes."""
    first: dict[tuple[str, tuple[str, ...]], Case] = {}
    for case in all_cases(kind):
        first.setdefault((case.spec.name, case.signature.spec.params), case)
    return list(first.values())
