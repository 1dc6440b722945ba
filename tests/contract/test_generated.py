"""Generated programs give the same bags on the reference evaluator and on Spark."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalQuery
from streamq.compiler.options import CompileOptions
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from tests.contract.answers import Changes, changes_until, difference, moment, net_of_rows, plain
from tests.contract.moving_programs import FEATURES, MOVING, all_queries, chosen
from tests.contract.programs import LAST_KEY, LAST_SECOND, PRELUDE, Sample, samples_of
from tests.support.streams import Rows, at, run_all, write_batches

EXAMPLES = int(os.environ.get("STREAMQ_GENERATED_PROGRAMS", "100"))
"""How many programs one run compares: ``STREAMQ_GENERATED_PROGRAMS=1000`` for a long one."""

PART = 10
"""Programs of one test; each test draws its own, always the same."""

AT_ONCE = 4
"""Programs that run side by side on Spark."""

MIXED = 10
"""One of so many parts draws from all kinds of queries; those that run on changes take several times as long."""

CLOSED = LAST_SECOND - 5
"""The watermark after the last batch."""


def samples(part: int) -> st.SearchStrategy[Sample]:
    """What a part draws from: some from all kinds of queries, the others from those that are asked for."""
    kinds = tuple(FEATURES) if part % MIXED == MIXED - 1 else MOVING
    return samples_of(all_queries(kinds), least=3 if kinds else 0)


def closed(sample: Sample) -> tuple[list[list[Any]], list[list[Any]]]:
    """The batches of both streams, with a last one that closes every window."""
    s = [*map(list, sample.s), [(LAST_KEY, 0, 0.0, LAST_SECOND)]]
    r = [*map(list, sample.r), [(LAST_KEY, 0, LAST_SECOND)]]
    return s, r


def by_definition(sample: Sample) -> tuple[bool, Changes]:
    """Whether the answer is a stream, and the changes: those of a stream without their instants."""
    s, r = closed(sample)
    result = compile_program(f"{PRELUDE}{sample.query};")
    assert result.ok, result.diagnostics
    assert result.logical is not None
    inputs = {
        "s": [[(k, v, x, moment(t)) for k, v, x, t in batch] for batch in s],
        "r": [[(k, w, moment(t)) for k, w, t in batch] for batch in r],
        "t": [sample.t],
    }
    options = EvaluateOptions(watermark=True, closed=False, behind=1)
    answer = evaluate(result.logical, inputs, options)["query"]
    found = rounded(changes_until(answer, CLOSED))
    return answer.is_stream, without_instants(found) if answer.is_stream else found


def prepared(sample: Sample, base: Path) -> tuple[PhysicalQuery, Path, Path]:
    """The query of a program, with its input written where it reads it."""
    s, r = closed(sample)
    write_batches(base / "s", [[{"k": k, "v": v, "x": x, "ts": at(t)} for k, v, x, t in b] for b in s])
    write_batches(base / "r", [[{"k": k, "w": w, "ts": at(t)} for k, w, t in b] for b in r])
    write_batches(base / "t", [[{"k": k, "n": n} for k, n in sample.t]])
    options = CompileOptions(base_dir=str(base), verify=True)
    (query,) = compile_program(f"{PRELUDE}{sample.query};", options).require().queries
    return query, base, base / "checkpoint"


def of_spark(rows: Rows, is_stream: bool) -> Changes:
    """The same of what Spark gives; a relation comes as rows that end with a sign and an instant."""
    if is_stream:
        return without_instants(rounded(Counter((0.0, row) for row in rows)))
    return rounded(net_of_rows(row for row in rows if row[-1] <= CLOSED))


def rounded(changes: Changes) -> Changes:
    """Fractions to nine digits: engines add in any order."""
    found: Changes = Counter()
    for (instant, row), count in changes.items():
        values = (plain(value) for value in row)
        found[instant, tuple(round(v, 9) if isinstance(v, float) else v for v in values)] += count
    return Counter({change: count for change, count in found.items() if count})


def without_instants(changes: Changes) -> Changes:
    """The rows of a stream as a bag, without what the last batch adds: that depends on the engine."""
    found: Changes = Counter()
    for (_, row), count in changes.items():
        if not any(is_last(value) for value in row):
            found[0.0, row] += count
    return found


def is_last(value: Any) -> bool:
    """True for values that only the last row of the input has."""
    return value == LAST_KEY or (isinstance(value, int) and value >= LAST_SECOND - 100)


def drawn(part: int) -> list[Sample]:
    """The programs of a part."""
    found: list[Sample] = []

    @seed(part)
    @settings(
        max_examples=min(PART, EXAMPLES - part * PART), deadline=None, database=None,
        phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow],
    )
    @given(sample=samples(part))
    def draw(sample: Sample) -> None:
        found.append(sample)

    draw()
    return found


@pytest.mark.parametrize("part", range(-(-EXAMPLES // PART)))
def test_engines_agree(spark: SparkSession, tmp_path: Path, part: int) -> None:
    programs = drawn(part)
    assert len(programs) == min(PART, EXAMPLES - part * PART)
    queries = [prepared(sample, tmp_path / str(number)) for number, sample in enumerate(programs)]
    for sample, outcome in zip(programs, run_all(spark, queries, AT_ONCE), strict=True):
        is_stream, expected = by_definition(sample)
        found = of_spark(outcome.rows, is_stream)
        assert found == expected, f"{difference(found, expected)}\n{sample}"


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(sample=samples_of(all_queries(tuple(FEATURES))))
def test_every_kind_of_program_has_a_plan(sample: Sample) -> None:
    assert compile_program(f"{PRELUDE}{sample.query};").logical is not None, sample.query


def test_kinds_are_named() -> None:
    assert chosen("") == ()
    assert chosen("rows,sets") == ("rows", "sets")
    assert chosen("all") == tuple(FEATURES)
    with pytest.raises(ValueError, match="unknown features"):
        chosen("rows,colours")
