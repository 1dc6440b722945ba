"""Generated programs give the same bags on the reference evaluator and on Spark."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from tests.contract.programs import LAST_KEY, LAST_SECOND, PRELUDE, Sample, samples
from tests.support.streams import at, run_once, seconds, write_batches

START = datetime(2024, 1, 1)
EXAMPLES = int(os.environ.get("STREAMQ_GENERATED_PROGRAMS", "60"))
"""How many programs one run compares: ``STREAMQ_GENERATED_PROGRAMS=1000`` for a long one."""


def moment(second: int) -> datetime:
    return START + timedelta(seconds=second)


def closed(sample: Sample) -> tuple[list[list[Any]], list[list[Any]]]:
    """The batches of both streams, with a last one that closes every window."""
    s = [*map(list, sample.s), [(LAST_KEY, 0, 0.0, LAST_SECOND)]]
    r = [*map(list, sample.r), [(LAST_KEY, 0, LAST_SECOND)]]
    return s, r


def by_definition(sample: Sample) -> Counter[tuple[Any, ...]]:
    s, r = closed(sample)
    result = compile_program(f"{PRELUDE}{sample.query};")
    assert result.ok, result.diagnostics
    assert result.logical is not None
    inputs = {
        "s": [[(k, v, x, moment(t)) for k, v, x, t in batch] for batch in s],
        "r": [[(k, w, moment(t)) for k, w, t in batch] for batch in r],
        "t": [sample.t],
    }
    answer = evaluate(result.logical, inputs, EvaluateOptions(watermark=True, closed=False, behind=1))["query"]
    assert answer.is_stream
    return _within({tuple(_plain(v) for v in row): n for row, n in answer.rows().items()})


def on_spark(spark: SparkSession, sample: Sample, base: Path) -> Counter[tuple[Any, ...]]:
    s, r = closed(sample)
    write_batches(base / "s", [[{"k": k, "v": v, "x": x, "ts": at(t)} for k, v, x, t in b] for b in s])
    write_batches(base / "r", [[{"k": k, "w": w, "ts": at(t)} for k, w, t in b] for b in r])
    write_batches(base / "t", [[{"k": k, "n": n} for k, n in sample.t]])
    rows = run_once(spark, f"{PRELUDE}{sample.query};", base)["query"].rows
    return _within(Counter(tuple(_plain(v) for v in row) for row in rows))


def _within(rows: Mapping[tuple[Any, ...], int]) -> Counter[tuple[Any, ...]]:
    """Without what the last batch adds: whether its own windows give rows depends on the engine."""
    last = (LAST_KEY, LAST_SECOND - 100)
    return Counter({row: n for row, n in rows.items() if not any(_is_last(v, *last) for v in row)})


def _is_last(value: Any, key: str, second: int) -> bool:
    return value == key or (isinstance(value, int) and value >= second)


def _plain(value: Any) -> Any:
    """Timestamps as seconds; averages of few small numbers to nine digits: engines add in any order."""
    value = seconds(value)
    return round(value, 9) if isinstance(value, float) else value


@pytest.mark.spark
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sample=samples)
def test_engines_agree(spark: SparkSession, sample: Sample) -> None:
    expected = by_definition(sample)
    with TemporaryDirectory() as base:
        found = on_spark(spark, sample, Path(base))
    assert found == expected, f"{sample.query}: Spark {found - expected}, by definition {expected - found}"
