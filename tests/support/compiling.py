"""Short ways to compile in tests: a prelude of streams, codes of what is found, types of expressions."""

from __future__ import annotations

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Expr
from streamq.compiler.options import CompileOptions
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.types import Type

PRELUDE = """
CREATE STREAM s (
  i INT, l BIGINT, tiny TINYINT, small SMALLINT, f FLOAT, x DOUBLE, d DECIMAL(10,2), e DECIMAL(38,10),
  t STRING, v VARCHAR(5), b BOOLEAN, bin BINARY, day DATE, ts TIMESTAMP, tags ARRAY<STRING>, m MAP<STRING, INT>,
  o STRUCT<a INT, p STRUCT<q DECIMAL(5,2)>>, n INT NOT NULL,
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS
) WITH (connector = 'memory');
CREATE STREAM r (i INT, y DOUBLE, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');
CREATE STREAM plain (k INT, w DOUBLE) WITH (connector = 'memory');
CREATE TABLE item (id BIGINT, name STRING) WITH (connector = 'memory');
CREATE SINK out WITH (connector = 'memory');
CREATE FUNCTION own (a DOUBLE, b STRING) RETURNS DECIMAL(7,3) AS 'mod:own';
"""
USED = """
CREATE QUERY used_r AS SELECT i FROM r;
CREATE QUERY used_plain AS SELECT k FROM plain;
CREATE QUERY used_item INTO out AS SELECT name, own(x, t) AS z FROM s JOIN item ON l = id;
"""
"""Uses all of the prelude, so that nothing in it is reported as unused."""


def compile_text(text: str, *, prelude: bool = True) -> CompileResult:
    """Compiles with every invariant checked, after the prelude unless said otherwise."""
    return compile_program((PRELUDE + USED + text) if prelude else text, CompileOptions(verify=True))


def found(text: str, *, prelude: bool = True) -> list[Diagnostic]:
    """All that is reported of a program."""
    return list(compile_text(text, prelude=prelude).diagnostics)


def codes(text: str, *, prelude: bool = True) -> list[str]:
    """The codes of all that is reported, in order of place."""
    return [d.code for d in found(text, prelude=prelude)]


def logical_query(text: str, *, prelude: bool = True) -> lg.LogicalQuery:
    """The last query of the program as it is bound."""
    result = compile_text(text, prelude=prelude)
    assert result.logical is not None, [d.message for d in result.diagnostics]
    return result.logical.queries[-1]


def expression(text: str, *, source: str = "s") -> Expr:
    """The typed form of an expression over a stream, as it stands in a select list."""
    query = f"{PRELUDE}SELECT {text} AS result FROM {source};"
    root = logical_query(query, prelude=False).root
    while not isinstance(root, lg.Project):
        (root,) = root.inputs
    return root.items[0][1]


def type_of(text: str, *, source: str = "s") -> Type:
    return expression(text, source=source).type
