"""Programs in which every name and every text is one that somebody chose to do harm, and the same ones with harmless names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from streamq.compiler.ir import physical as ph

NAMES = (
    "a`b", "a``b", "`", "a'b", 'a"b', "a\\b", "\\", "a\\'b", "a--b", "a;b", "'); DROP TABLE x; --", "a/*b*/", "${spark.app.name}", "$1", "%s{0}{x}", "a.b", ".", "a b", " ",
    "аbс", "ａｂ", "\u202eabc", "\u2066a\u2069", "a\u200bb", "a\nb", "a\r\nb", "a\tb", "\x1b[31mred", "\x07", "\x9b31m", "a\u2028b", "*", "#{x}", "select", "AS",
    "NULL", "<script>alert(1)</script>", "&lt;b&gt;", "</script>", "a,b", "a(b", "a)b", "a[0]", "a:b", "a/../b", "-rf", "x" * 120, "\U0001f511", "ß", "İ", "__gone", "value",
)  # fmt: skip

PROGRAM = """
CREATE STREAM {s} (
  {a} INT, {b} STRING NOT NULL, {t} TIMESTAMP, {o} STRUCT<{f} INT, {g}: STRING>, {c} AS {a} + 1, WATERMARK FOR {t} AS {t} - INTERVAL 5 SECONDS
) WITH (connector = 'file', format = 'json', path = 'in', glob = {text});
CREATE STREAM {r} ({a} INT, {d} DOUBLE, {t} TIMESTAMP, WATERMARK FOR {t}) WITH (connector = 'file', format = 'csv', path = {text}, comment = '#', null_value = {text});
CREATE TABLE {i} ({a} INT, {n} STRING) WITH (connector = 'file', format = 'csv', path = {text});
CREATE FUNCTION {fn}({p} STRING) RETURNS STRING AS 'module:f';
CREATE SINK {k} WITH (connector = 'file', format = 'json', path = {text});
CREATE VIEW {v} AS SELECT {a}, {b}, {t}, {o}.{f} AS {e} FROM {s} WHERE {b} LIKE {text} AND {b} NOT IN ({text}, 'b') AND {b} || {text} <> REPLACE({b}, {text}, 'c');
CREATE QUERY {q1} INTO {k} AS SELECT {b} AS {x}, COUNT(*) AS {y}, SUM({e}) AS {z} FROM {v} [TUMBLE 1 MINUTE] GROUP BY {b} HAVING MAX({b}) <> {text}
  SHED RANDOM BY 10 PERCENT RECOVER ESTIMATE;
CREATE QUERY {q2} AS SELECT {l}.{a}, {h}.{n}, {fn}({l}.{b}) AS {x} FROM {s} {l} JOIN {i} {h} ON {l}.{a} = {h}.{a} WHERE {h}.{n} = {text};
CREATE QUERY {q3} AS SELECT {l}.{b}, {h}.{d} FROM {s} [RANGE 1 MINUTE] {l}, {r} [RANGE 1 MINUTE] {h} WHERE {l}.{a} = {h}.{a} AND {l}.{b} <> {text};
CREATE QUERY {q4} AS ISTREAM (SELECT {b}, COUNT(*) AS {y} FROM {s} [RANGE 1 MINUTE] GROUP BY {b});
CREATE QUERY {q5} AS SELECT {b}, CASE WHEN {b} = {text} THEN MAP({text}, 1) ELSE NULL END AS {x}, NAMED_STRUCT({text}, 1) AS {y} FROM {s};
CREATE QUERY {q6} AS SELECT {b}, COUNT(DISTINCT {a}) AS {y}, WINDOW_END AS {z} FROM {s} [SESSION 10 SECONDS PARTITION BY {b}] GROUP BY {b};
CREATE QUERY {q7} AS SELECT {a}, {d} FROM {r} WHERE {d} > 1 QOS LATENCY 5 SECONDS UTILITY {a} + 1 SHED BY UTILITY;
"""
_HOLES = re.compile(r"\{(\w+)\}")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def named(name: str, texts: str | None = None, program: str = PROGRAM) -> str:
    """The program with names that begin with this one; ``texts``: what stands in its texts, the name unless said."""
    value = name if texts is None else texts
    return _HOLES.sub(lambda hole: text(value) if hole[1] == "text" else quoted(f"{name}{hole[1]}"), program)


def sql_texts(plan: ph.PhysicalPlan) -> Iterator[tuple[str, str]]:
    """All that the plan hands to Spark as SQL, each with its kind: an expression, a type, or a condition."""
    for query in plan.queries:
        for step in ph.walk(query.root):
            for field in ("items", "metrics", "keys", "aggregates"):
                for item in getattr(step, field, ()):
                    yield "expression", item[1]
            condition = getattr(step, "condition", None)
            if isinstance(condition, str):
                yield "expression", condition
            for _, sql_type in getattr(step, "schema", ()):
                yield "type", sql_type


def shape(sql: str) -> str:
    """The text without its names and string literals; raises where one of them is not closed."""
    bare = re.sub(r"`(?:[^`]|``)*`|(?<![\w`])'(?:[^'\\]|\\.)*'", lambda found: "N" if found[0][0] == "`" else "S", sql, flags=re.DOTALL)
    assert "`" not in bare, sql
    assert "'" not in bare, sql
    return bare
