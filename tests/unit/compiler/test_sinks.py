"""What is said of sinks before anything runs: their promises, and what a PySpark program can do for them."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.explain.model import logical_model
from streamq.compiler.explain.pyspark_source import refusals, to_pyspark
from streamq.stdlib.connectors import find_connector
from streamq.stdlib.sink_options import LAKES, OWN_WRITERS

STREAM = "CREATE STREAM s (k STRING, n BIGINT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'file', path = 'in', format = 'json');\n"
OPTIONS = {
    "postgres": "database = 'd', table = 't', password = 'env:PG_PASSWORD'",
    "duckdb": "path = 'x.duckdb', table = 't'",
    "webhook": "url = 'https://example.org/rows', token = 'env:HOOK_TOKEN'",
    "delta": "path = 'lake', partition_by = 'k'",
    "iceberg": "table = 'lake.db.t'",
}


def program(connector: str, select: str) -> str:
    return f"{STREAM}CREATE SINK o WITH (connector = '{connector}', {OPTIONS[connector]});\nINSERT INTO o {select};"


@pytest.mark.parametrize("connector", OPTIONS)
def test_explain_says_what_a_sink_promises(connector: str) -> None:
    spec = find_connector(connector, "sink")
    assert spec is not None
    wanted = {"SELECT k, n FROM s": spec.guarantee}
    if "update" in spec.modes:
        wanted["SELECT k, COUNT(*) AS n FROM s GROUP BY k"] = spec.update_guarantee
    assert len(set(wanted.values())) == len(wanted)
    for select, promise in wanted.items():
        model = logical_model(compile_program(program(connector, select)), "annotated")
        assert f"sink promises {promise}" in model.queries[0].facts


@pytest.mark.parametrize("connector", OPTIONS)
def test_a_pyspark_program_writes_what_spark_can_write(connector: str) -> None:
    plan = compile_program(program(connector, "SELECT k, n FROM s")).require()
    assert [d.code for d in refusals(plan)] == (["SQ0501"] if connector in OWN_WRITERS else [])
    if connector in LAKES:
        text = to_pyspark(plan)
        compile(text, "program.py", "exec")
        assert f'writer.format("{connector}")' in text
        assert ('writer.toTable("lake.db.t")' if connector == "iceberg" else 'writer.partitionBy("k")') in text
