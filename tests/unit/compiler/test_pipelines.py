"""What can be part of a Spark Declarative Pipelines project, and what is written of it."""

from __future__ import annotations

import ast

import pytest
import yaml

from streamq.compiler.driver import compile_program
from streamq.compiler.explain.pipelines_source import SPEC, refusals, to_pipelines

STREAM = """
CREATE STREAM s (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 's', format = 'json');
CREATE SINK out WITH (connector = 'file', path = 'out', format = 'json');
CREATE SINK parts WITH (connector = 'file', path = 'out', format = 'json', partition_by = 'k');
CREATE SINK nowhere WITH (connector = 'noop');
CREATE STREAM n (n BIGINT) WITH (connector = 'memory');
CREATE FUNCTION own (x INT) RETURNS INT AS 'beside:own';
"""


def refused(query: str) -> list[str]:
    """Why the queries are refused; each with the code and a way out."""
    result = compile_program(STREAM + query)
    found = refusals(result.require())
    assert all(d.code == "SQ0504" and d.help for d in found)
    assert all(result.sources.locate(d.span)[1] > 8 for d in found)
    return [str(d.label) for d in found]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT k FROM s QOS LATENCY 2 SECONDS SHED RANDOM;", "nobody steers"),
        ("SELECT ISTREAM(k, AVG(v)) FROM s [ROWS 3] GROUP BY k;", "an operator of StreamQ's"),
        ("SELECT COUNT(*) AS n FROM s;", "its rows replace each other"),
        ("SELECT own(v) AS o FROM s;", "no functions of Python"),
        ("SELECT SELF_JOIN_SIZE(k) AS f2 FROM s [TUMBLE 1 MINUTE];", "no functions of Python"),
        ("SELECT n FROM n;", "by connector 'memory'"),
        ("INSERT INTO nowhere SELECT k FROM s;", "by connector 'noop'"),
        ("INSERT INTO parts SELECT k, v FROM s;", "no folders by column"),
        ('CREATE QUERY "a`b" AS SELECT k FROM s;', "plain names"),
    ],
)
def test_what_a_pipeline_does_not_have_is_refused(query: str, reason: str) -> None:
    (found,) = refused(query)
    assert reason in found


def test_what_it_has_is_not_refused() -> None:
    assert refused("CREATE QUERY q AS SELECT k, COUNT(*) AS n FROM s [TUMBLE 1 MINUTE] GROUP BY k SHED RANDOM BY 5 PERCENT;") == []
    assert refused("INSERT INTO out SELECT k FROM s;") == []


NASTY = 'a"b\'c\\d\n$`'


def test_no_text_of_a_program_can_end_its_literal() -> None:
    quoted, name = NASTY.replace("'", "''"), NASTY.replace('"', '""')
    program = f"""
CREATE STREAM "{name}" ("{name}" STRING) WITH (connector = 'file', path = '{quoted}', format = 'json');
CREATE SINK "{name}_out" WITH (connector = 'file', path = '{quoted}', format = 'json');
CREATE QUERY q INTO "{name}_out" AS SELECT "{name}" FROM "{name}" WHERE "{name}" = '{quoted}' SHED RANDOM BY 5 PERCENT;
"""
    plan = compile_program(program).require()
    assert refusals(plan) == ()
    files = to_pipelines(plan, NASTY, f"/{NASTY}", f"file:///{NASTY}")
    script = ast.parse(files["transformations/queries.py"])
    literals = {node.value for node in ast.walk(script) if isinstance(node, ast.Constant)}
    assert {NASTY, f"/{NASTY}"} <= literals
    spec = yaml.safe_load(files[SPEC])
    assert (spec["name"], spec["storage"]) == (NASTY, f"file:///{NASTY}")
    assert all(isinstance(value, str) for value in spec["configuration"].values())


def test_secrets_are_not_written() -> None:
    program = "SET spark.hadoop.fs.s3a.secret.key = 'env:KEY';" + STREAM + "CREATE QUERY q AS SELECT k FROM s;"
    text = to_pipelines(compile_program(program).require(), "p", "/", "file:///x")[SPEC]
    assert "spark.hadoop.fs.s3a.secret.key" not in yaml.safe_load(text)["configuration"]
    assert 'with --conf: "spark.hadoop.fs.s3a.secret.key"' in text
    assert "env:KEY" not in text
