"""The answers that were worked out by hand: of the reference evaluator, and of Spark where it runs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import CompileResult, compile_program
from streamq.dsl.diagnostics import Severity
from tests.contract.answers import (
    by_definition,
    changes_until,
    difference,
    expected_of,
    net_of_rows,
)
from tests.contract.by_hand import BY_HAND, MEANINGLESS
from tests.contract.case import CLOSED, DIFFERS, MAIN, REFUSED, UNBOUND, Input
from tests.contract.cases import PRELUDE
from tests.contract.hand_input import NULLS_LAST, ODD, TWICE
from tests.support.streams import Rows, at, run_once, write_batches

INPUTS = {"main": MAIN, "odd": ODD, "twice": TWICE, "nulls": NULLS_LAST}
TOGETHER = 12
"""Cases that are one program on Spark."""

NOT_YET = {"SQ0501", "SQ0502", "SQ0503"}


def compiled(query: str) -> CompileResult:
    return compile_program(f"{PRELUDE}{query};")


def errors(result: CompileResult) -> set[str]:
    return {d.code for d in result.diagnostics if d.severity is Severity.ERROR}


def named(*waits: str) -> list[str]:
    return [name for name, case in BY_HAND.items() if case.waits in waits]


@pytest.mark.parametrize("name", BY_HAND)
def test_no_answer_lies_beyond_the_watermark(name: str) -> None:
    assert all(at < CLOSED - 5 for at, *_ in BY_HAND[name].rows)


@pytest.mark.parametrize("name", named("", REFUSED, DIFFERS))
def test_reference(name: str) -> None:
    case = BY_HAND[name]
    answer = by_definition(case.query, case.input)
    found = changes_until(answer, CLOSED)
    assert answer.is_stream == case.is_stream
    assert found == expected_of(case), difference(found, expected_of(case))
    assert sum(count for _, count in answer.late) == case.late


@pytest.mark.parametrize("name", named(REFUSED))
def test_what_waits_for_spark_is_refused(name: str) -> None:
    result = compiled(BY_HAND[name].query)
    assert result.plan is None, "it compiles: take REFUSED from the case"
    assert errors(result) <= NOT_YET
    assert result.logical is not None


@pytest.mark.parametrize("name", named(UNBOUND))
def test_what_waits_for_the_compiler_is_refused(name: str) -> None:
    result = compiled(BY_HAND[name].query)
    assert result.logical is None, "it has a plan: write REFUSED in place of UNBOUND, or nothing"
    assert errors(result) <= NOT_YET


@pytest.mark.parametrize("name", MEANINGLESS)
def test_what_has_no_meaning_is_refused(name: str) -> None:
    query, code = MEANINGLESS[name]
    assert errors(compiled(query)) == {code}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The inputs as files, by name."""
    return {name: written(data, tmp_path_factory.mktemp(name)) for name, data in INPUTS.items()}


def written(data: Input, folder: Path) -> Path:
    s = [[{"k": k, "v": v, "x": x, "ts": at(t)} for k, v, x, t in batch] for batch in data.s]
    r = [[{"k": k, "w": w, "ts": at(t)} for k, w, t in batch] for batch in data.r]
    if data is MAIN:
        # No row of it is late however it is cut, and each micro-batch takes Spark a while. The other inputs have
        # several, and so have all generated programs.
        s, r = ([[row for batch in batches for row in batch]] for batches in (s, r))
    write_batches(folder / "s", s)
    write_batches(folder / "r", r)
    write_batches(folder / "t", [[{"k": k, "name": name} for k, name in data.t]])
    return folder


@pytest.fixture(scope="module")
def on_spark(spark: SparkSession, folders: dict[str, Path]) -> Callable[[str], Rows]:
    """The rows that Spark gives for a case, which runs in a program with its neighbours."""
    found: dict[str, Rows] = {}

    def rows(name: str) -> Rows:
        if name not in found:
            data = BY_HAND[name].input
            folder = next(folders[of] for of, other in INPUTS.items() if other is data)
            left = [
                n for n in named("", DIFFERS) if BY_HAND[n].input is data and n not in found
            ]
            together = left[left.index(name) :][:TOGETHER]
            queries = [f"CREATE QUERY q{i} AS {BY_HAND[n].query};\n" for i, n in enumerate(together)]
            outcomes = run_once(spark, PRELUDE + "".join(queries), folder, at_once=4)
            found.update((n, outcomes[f"q{i}"].rows) for i, n in enumerate(together))
        return found[name]

    return rows


KNOWN_FAULT = pytest.mark.xfail(
    reason="a known fault of the lowering; see the case", strict=True, raises=AssertionError
)


@pytest.mark.parametrize(
    "name", [*named(""), *(pytest.param(name, marks=KNOWN_FAULT) for name in named(DIFFERS))]
)
def test_spark(name: str, on_spark: Callable[[str], Rows]) -> None:
    case, rows = BY_HAND[name], on_spark(name)
    if case.is_stream:
        assert Counter(rows) == Counter(tuple(row) for _, *row in case.rows)
    else:
        found = net_of_rows(rows)
        assert found == expected_of(case), difference(found, expected_of(case))
