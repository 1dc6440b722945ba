"""The printer: what it prints parses to the tree it printed."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given, settings
from hypothesis.strategies import SearchStrategy

from streamq.dsl import ast
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.layout import HARD, LINE, SOFT, Group, Indent, Remark, layout
from streamq.dsl.parser import parse_expression, parse_program
from streamq.dsl.printer import from_leaves, print_expr, print_program, print_query
from streamq.dsl.source import SourceFile
from tests.support.strategies import (
    POLICIES,
    PROGRAMS,
    QOS,
    RECOVERS,
    SHEDS,
    STATEMENTS,
    exprs,
    from_items,
    queries,
)

EXAMPLES = settings(max_examples=60, deadline=None)


def parsed(text: str) -> ast.Program:
    sink = DiagnosticSink()
    program = parse_program(SourceFile("f.cql", text), sink)
    assert sink.sorted() == ()
    return program


# --- properties ----------------------------------------------------------------------------------


@EXAMPLES
@given(PROGRAMS)
def test_what_is_printed_parses_to_the_same_program(program: ast.Program) -> None:
    text = print_program(program)
    again = parsed(text)
    assert again == program
    assert print_program(again) == text
    assert not any(line.endswith(" ") for line in text.splitlines() if "'" not in line)


@EXAMPLES
@given(exprs(3))
def test_what_is_printed_parses_to_the_same_expression(expr: ast.Expr) -> None:
    assert parse_expression(print_expr(expr)) == expr


@EXAMPLES
@given(queries(2))
def test_what_is_printed_parses_to_the_same_query(query: ast.Query) -> None:
    (statement,) = parsed(print_query(query)).statements
    assert isinstance(statement, ast.CreateQuery)
    assert statement.query == query


@EXAMPLES
@given(POLICIES)
def test_what_is_printed_parses_to_the_same_policies(policies: tuple[ast.Policy, ...]) -> None:
    body = ast.Select(items=(ast.SelectItem(expr=ast.Number(text="1")),))
    statement = ast.CreateQuery(name=None, sink=None, query=ast.Query(body=body), policies=policies)
    program = ast.Program(statements=(statement,))
    assert parsed(print_program(program)) == program


def node_classes() -> set[type[ast.Node]]:
    """The classes of ast.py that stand for something: those that no other one builds on."""
    found = {
        cls
        for _, cls in inspect.getmembers(ast, inspect.isclass)
        if issubclass(cls, ast.Node) and cls.__module__ == ast.__name__
    }
    bases = {base for cls in found for base in cls.__mro__[1:]}
    # A query is a set expression of its own and the base of none.
    return found - bases


def test_the_strategies_make_every_class_of_node() -> None:
    seen: set[type[ast.Node]] = set()

    def collect(nodes: SearchStrategy[ast.Node], count: int) -> None:
        @settings(max_examples=count, deadline=None, derandomize=True, database=None)
        @given(nodes)
        def note(root: ast.Node) -> None:
            seen.update(type(node) for node in from_leaves(root))

        note()

    # Programs are built of these; drawn one by one, few examples show what they can be.
    collect(exprs(1), 300)
    collect(from_items(1), 100)
    collect(queries(1), 50)
    collect(QOS, 200)
    collect(SHEDS, 500)
    collect(RECOVERS, 200)
    collect(STATEMENTS, 200)
    collect(PROGRAMS, 5)
    assert {cls.__name__ for cls in node_classes() - seen} == set()


# --- examples ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "a + b * c",
        "(a + b) * c",
        "a - (b - c)",
        "a OR b AND NOT c",
        "(a OR b) AND c",
        "NOT (a AND b)",
        "NOT a = b",
        "- -a",
        "-(a + b)",
        "a BETWEEN b + 1 AND c",
        "(a AND b) BETWEEN c AND d",
        "a NOT LIKE 'x' || b",
        "a IS NOT NULL",
        "a @> b",
        "a <@ b || c",
        "a @> (b <@ c)",
        "NOT a <@ b",
        "(NOT a <@ b) = c",
        "a NOT IN (1, 2)",
        "a IN (SELECT b FROM s)",
        "a IN (TABLE s)",
        "EXISTS (s)",
        "a >= ALL (SELECT b FROM s)",
        "CASE WHEN a THEN 1 ELSE 2 END",
        "CASE a WHEN 1 THEN 'x' END",
        "CAST(a AS DECIMAL(10,2))",
        "COUNT(*) FILTER (WHERE a)",
        "COUNT(DISTINCT a, b)",
        "f(a).b[1]",
        "(a).b",
        "(a + b).c",
        "(1, 'it''s')",
        "(SELECT 1)",
        "ts - INTERVAL 5 SECONDS",
        "INTERVAL 1500 MILLISECONDS",
        "TIMESTAMP '2024-01-01 00:00:00'",
        "TRUE AND NOT NULL",
        '"select"."a b".x',
        '"interval" - 1',
        "rate + count",
        "1.50 + 1e3",
    ],
)
def test_expressions_are_printed_as_they_are_best_written(text: str) -> None:
    assert print_expr(parse_expression(text)) == text


def test_layout_of_every_statement() -> None:
    text = """\
CREATE STREAM s (
  a INT NOT NULL,
  b DOUBLE AS a * 2,
  "order" STRING,
  ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS
)
SHED RANDOM BY KEY (a) BY 30 PERCENT
WITH (connector = 'file', path = 'it''s', rate = 5, x = 0.5, y = 1.0, kafka.group.id = TRUE);

CREATE TABLE t (
  a INT,
  PRIMARY KEY (a)
)
WITH (path = 't.csv');

CREATE VIEW v (x, y) AS
  SELECT a, b
  FROM s;

CREATE SINK out
WITH (connector = 'noop');

CREATE FUNCTION f(x DOUBLE, y ARRAY<INT>) RETURNS STRUCT<a: INT, `b c`: STRING> AS 'm:f';

CREATE QUERY q INTO out AS
  WITH c AS (SELECT 1 AS n)
  ISTREAM(SELECT DISTINCT a FROM s [NOW])
  UNION ALL
  SELECT t.*
  FROM t
    LEFT JOIN c AS d ON t.a = d.n
  ORDER BY a DESC NULLS LAST
  LIMIT 10
  QOS LATENCY 2 SECONDS ERROR <= 5 PERCENT CONFIDENCE 95 PERCENT
  SHED SIFTER ON (a, b) REGIONS 16 PARTITION QDPART SAMPLE 1 PERCENT DROP HASH
  RECOVER ALL FROM SYNOPSIS ERROR AUTO CYCLE (a) RETAIN 2 HOURS;

INSERT INTO out
  SELECT *
  FROM s [PARTITION BY a ROWS 10 RANGE 1 DAY];

SELECT a
FROM s [TUMBLE 1 HOUR], t
WHERE a > 1;

SET x.y = 'z';

INCLUDE 'other.cql';
"""
    assert print_program(parsed(text)) == text


def test_deep_trees_are_printed() -> None:
    text = print_expr(parse_expression("f(" * 990 + "a" + ")" * 990))
    assert text.count("f(") == 990
    assert print_expr(parse_expression(text)) == text


def test_empty_program() -> None:
    assert print_program(ast.Program(statements=())) == ""


# --- layout --------------------------------------------------------------------------------------


def test_a_group_breaks_as_a_whole() -> None:
    doc = Group(("[", Indent((SOFT, "aaaa,", LINE, "bbbb")), SOFT, "]"))
    assert layout(doc, width=12) == "[aaaa, bbbb]"
    assert layout(doc, width=11) == "[\n  aaaa,\n  bbbb\n]"
    assert layout((doc, ";"), width=12) == "[\n  aaaa,\n  bbbb\n];"


def test_hard_lines_and_remarks_break_every_group_around_them() -> None:
    assert layout(Group(("a", LINE, "b", HARD, "c"))) == "a\nb\nc"
    assert layout(Group(("a", " ", Remark("-- x"), LINE, "b"))) == "a -- x\nb"


def test_nothing_is_printed_behind_a_remark() -> None:
    assert layout(("a ", Remark("-- x"), " b", Remark("-- y"))) == "a -- x\nb-- y"
