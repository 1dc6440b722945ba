"""The table of functions: how many there are, and that every line of it can be read."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from streamq.stdlib.functions import (
    FUNCTIONS,
    aggregates,
    collections,
    conditions,
    hashes_json,
    lookup,
    numbers,
    quality,
    sketches,
    strings,
    times,
)
from streamq.stdlib.notation import parse_parameters, parse_result
from streamq.stdlib.patterns import ArrayOf, MapOf, Pattern, Rule, StructOf, Variable
from streamq.stdlib.registry import FunctionSpec, Kind, Merge
from streamq.stdlib.results import RULES

MODULES = (
    strings, numbers, times, conditions, collections, hashes_json, aggregates, quality, sketches,
)  # fmt: skip


def every_declaration() -> Iterator[FunctionSpec]:
    for spec in FUNCTIONS.values():
        yield spec
        yield from spec.overloads


def test_there_are_enough_functions() -> None:
    own = {(s.sql, s.params) for s in FUNCTIONS.values() if s.kind is not Kind.QUALITY}
    assert len(own) >= 200, "different functions, aliases not counted"
    assert sum(s.kind is Kind.AGGREGATE for s in FUNCTIONS.values()) >= 60


def test_a_name_belongs_to_one_category() -> None:
    assert sum(len(m.FUNCTIONS) for m in MODULES) == len(FUNCTIONS)


def test_names_are_upper_case_and_found_in_any() -> None:
    assert all(name == name.upper() == spec.name for name, spec in FUNCTIONS.items())
    assert lookup("coAlesce") is FUNCTIONS["COALESCE"]
    assert lookup("no_such_function") is None


def test_every_declaration_can_be_read() -> None:
    for spec in every_declaration():
        parameters = parse_parameters(spec.params)
        result = parse_result(spec.result)
        if isinstance(result, Rule):
            assert result.name in RULES, spec
            result = result.argument
        given = {v for p in (*parameters.fixed, *parameters.group) for v in variables(p.pattern)}
        assert variables(result) <= given, f"{spec.name} gives a type it was not given"


def test_every_declaration_has_a_line_of_documentation() -> None:
    for spec in every_declaration():
        assert spec.doc.endswith("."), f"{spec.name}: {spec.doc!r}"
        assert "\n" not in spec.doc
        assert spec.category, spec.name


def test_aliases_say_the_same_in_spark() -> None:
    for alias, name in (("MEAN", "AVG"), ("LCASE", "LOWER"), ("SUBSTRING", "SUBSTR")):
        assert FUNCTIONS[alias].sql == FUNCTIONS[name].sql


def test_which_aggregates_scale_and_merge() -> None:
    scalable = {n for n, s in FUNCTIONS.items() if s.scalable}
    assert scalable == {"COUNT", "COUNT_IF", "SUM", "TRY_SUM", "AVG", "MEAN", "REGR_COUNT"}
    merges = {n: s.merge for n, s in FUNCTIONS.items() if s.merge is not Merge.NONE}
    assert merges["COUNT"] is Merge.COUNT
    assert merges["SUM"] is Merge.SUM
    assert merges["BOOL_AND"] is Merge.MIN
    assert all(FUNCTIONS[n].kind is Kind.AGGREGATE for n in merges)


def test_only_first_and_last_ask_for_event_time() -> None:
    asking = {n for n, s in FUNCTIONS.items() if s.event_time}
    assert asking == {"FIRST", "FIRST_VALUE", "LAST", "LAST_VALUE"}
    assert all("{ts}" in FUNCTIONS[n].sql for n in asking)


def test_the_table_is_made_without_heavy_modules() -> None:
    heavy = ("numpy", "pandas", "pyarrow", "pyspark", "lark")
    code = (
        "import sys; from streamq.stdlib import connectors, functions, signatures;"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def variables(pattern: Pattern) -> set[str]:
    match pattern:
        case Variable(name):
            return {name}
        case ArrayOf(element):
            return variables(element)
        case MapOf(key, value):
            return variables(key) | variables(value)
        case StructOf(fields):
            return {v for _, p in fields for v in variables(p)}
        case _:
            return set()
