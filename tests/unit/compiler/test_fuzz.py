"""No text makes the compiler raise: random programs, damaged programs, random syntax trees.

``STREAMQ_FUZZ=20000 pytest tests/unit/compiler/test_fuzz.py`` looks longer.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings

from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.program import bind_program
from streamq.compiler.driver import CompileResult
from streamq.compiler.explain import render
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.verify import verify
from streamq.dsl import ast
from streamq.dsl.diagnostics import DiagnosticSink, Severity
from streamq.dsl.parser import parse_program
from streamq.dsl.source import SourceFile
from tests.support.cases import CASES, compile_case, load_error_cases, load_mappings
from tests.support.compiling import PRELUDE
from tests.support.random_programs import damaged, programs
from tests.support.strategies import PROGRAMS

EXAMPLES = int(os.environ.get("STREAMQ_FUZZ", "150"))
search = settings(
    max_examples=EXAMPLES, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)  # fmt: skip

WRITTEN = [
    case["program"] for path in sorted((CASES / "plans").glob("*.yaml")) for case in load_mappings(path)
] + [case.text for case in load_error_cases()]


def check(result: CompileResult, text: str) -> None:
    """What holds of every result: a plan or a reason, places in the text, plans that can be shown."""
    errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
    assert (result.plan is None) == bool(errors)
    for d in result.diagnostics:
        assert 0 <= d.span.start <= d.span.end <= len(text)
        assert result.sources.locate(d.span)[1] >= 1
        assert d.message
        assert not d.message.endswith(".")
        assert "UNKNOWN" not in d.message, "an expression that was reported already is reported again"
    if result.logical is not None:
        render(result, "logical")
        render(result, "annotated")
    if result.plan is not None:
        render(result, "physical")
        render(result, "spark")


@search
@given(programs())
def test_programs(text: str) -> None:
    check(compile_case(PRELUDE + text), PRELUDE + text)


TEXT_FILES = PRELUDE.replace(
    "connector = 'memory'", "connector = 'file', format = 'json', path = 'in'"
)


@search
@given(programs())
def test_malformed_rows_are_the_rest_only_where_one_scan_is_all(text: str) -> None:
    result = compile_case(TEXT_FILES + text)
    for query in result.plan.queries if result.plan is not None else ():
        steps = ph.walk(query.root)
        counts = [name for s in steps if isinstance(s, ph.Observe) for name, _ in s.metrics]
        scans = [s for s in steps if isinstance(s, ph.ScanStream | ph.ScanTable)]
        rest = counts.count("well_formed")
        assert rest == (len(scans) == 1)
        assert rest + counts.count("malformed") == sum(isinstance(s, ph.ScanStream) for s in scans)


@search
@given(damaged(WRITTEN))
def test_damaged_programs(text: str) -> None:
    check(compile_case(text), text)


# The names that random trees use most, so that some of them mean something.
NAMED = """
CREATE STREAM a (
  a INT, b STRING, price DOUBLE, ts TIMESTAMP, key ARRAY<INT>, rate MAP<STRING, INT>, "window" STRUCT<a INT, b DATE>,
  value DECIMAL(10,2), x1 BOOLEAN, "Größe" BINARY, WATERMARK FOR ts
) WITH (connector = 'memory');
CREATE STREAM b (a BIGINT, b DATE, price FLOAT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');
CREATE TABLE price (a INT, value STRING, "x1" INT) WITH (connector = 'memory');
CREATE VIEW key AS SELECT a, COUNT(*) AS value, WINDOW_END AS ts FROM a [TUMBLE 1 MINUTE] GROUP BY a;
CREATE SINK ts WITH (connector = 'memory');
"""
NAMED_STATEMENTS = parse_program(SourceFile("", NAMED), DiagnosticSink()).statements


@search
@given(PROGRAMS)
def test_any_syntax_tree_can_be_bound(program: ast.Program) -> None:
    sink = DiagnosticSink()
    plan = bind_program((*NAMED_STATEMENTS, *program.statements), BindContext(sink))
    if not sink.has_errors:
        verify(plan, "binding")
