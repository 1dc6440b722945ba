"""Where shedders stand over records of Kafka, what is read of them, and SQL of keys and headers."""

from __future__ import annotations

import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.lowering.kafka import OLDEST
from streamq.compiler.lowering.values import headers_sql, key_sql, shape_of, value_sql
from tests.support.compiling import compile_text

STREAM = """
CREATE STREAM s (k STRING, n INT, t STRING NOT NULL, at TIMESTAMP, ts TIMESTAMP, WATERMARK FOR {time})
WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 'a', key = 'k', timestamp = 'at'{more});
"""


def plan_of(query: str, time: str = "ts", more: str = "") -> tuple[lg.Logical, ph.PhysicalQuery]:
    result = compile_text(STREAM.format(time=time, more=more) + query, prelude=False)
    assert result.optimized is not None
    assert result.plan is not None, [d.message for d in result.diagnostics]
    return result.optimized.queries[-1].root, result.plan.queries[-1]


def steps(query: ph.PhysicalQuery) -> list[str]:
    return [type(step).__name__ for step in ph.walk(query.root)]


@pytest.mark.parametrize(
    ("shed", "unread"),
    [
        ("SHED RANDOM BY 10 PERCENT", True),
        ("QOS LATENCY 2 SECONDS SHED RANDOM", True),
        ("SHED RANDOM TO RATE 5 ROWS PER SECOND", True),
        ("SHED RANDOM BY KEY (k) BY 10 PERCENT", True),
        ("SHED RANDOM BY KEY (k, at) BY 10 PERCENT", True),
        ("SHED RANDOM BY KEY (n) BY 10 PERCENT", False),
        ("SHED RANDOM BY KEY (k, n) BY 10 PERCENT", False),
        ("QOS LATENCY 2 SECONDS UTILITY n SHED BY UTILITY", False),
    ],
)
def test_shedders_that_need_nothing_of_values_stand_below_them(shed: str, unread: bool) -> None:
    root, query = plan_of(f"SELECT k, n FROM s {shed};")
    (shedder,) = (n for n in walk(root) if isinstance(n, lg.Shed))
    assert shedder.unread == unread
    order = ph.walk(query.root)
    parse = next(i for i, step in enumerate(order) if isinstance(step, ph.Parse))
    shedding = max(i for i, step in enumerate(order) if step.id == "query.shed")
    assert (shedding < parse) == unread
    names = {name for step in order if isinstance(step, ph.Observe) for name, _ in step.metrics}
    assert ("drawn" in names, "unreadable" in names) == (unread, unread)


def test_a_watermark_on_the_records_time_sees_what_is_shed() -> None:
    """One on a column of the value cannot: nobody has read that of what goes."""
    for time, first in (("at", "WithWatermark"), ("ts", "Where")):
        _, query = plan_of("SELECT COUNT(*) AS n FROM s [TUMBLE 1 MINUTE] SHED RANDOM BY 10 PERCENT;", time)
        assert steps(query)[1] == first
        assert steps(query).count("WithWatermark") == 1


def test_only_what_is_needed_of_a_record_is_read() -> None:
    _, query = plan_of("SELECT n FROM s;")
    scan = next(s for s in ph.walk(query.root) if isinstance(s, ph.ScanStream))
    parse = next(s for s in ph.walk(query.root) if isinstance(s, ph.Parse))
    assert [name for name, _ in scan.schema] == ["__value", "__at"]
    assert [name for name, _ in parse.fields] == ["n", "t", "ts"]


def test_values_that_nobody_wants_are_not_read() -> None:
    result = compile_text("""
        CREATE STREAM s (k STRING, n INT) WITH (connector = 'kafka', bootstrap_servers = 'h:1', topic = 'a', key = 'k');
        SELECT k FROM s;
    """, prelude=False)
    assert result.plan is not None
    (query,) = result.plan.queries
    assert "Parse" not in steps(query)


def test_times_of_records_are_observed_unless_said_otherwise() -> None:
    for more, expected in (("", True), (", age_by_timestamp = false", False)):
        _, query = plan_of("SELECT n FROM s;", more=more)
        seen = [n for step in ph.walk(query.root) if isinstance(step, ph.Observe) for n, _ in step.metrics]
        assert (OLDEST in seen) == expected


COLUMNS = (("who", "STRING"), ("n", "INT"), ("b", "BINARY"), ("h", "MAP<STRING, STRING>"))


def test_shapes_of_records() -> None:
    relation = shape_of(COLUMNS, ("who",), {"format": "json", "headers": "H"})
    assert (relation.key, relation.headers, relation.value) == (("who",), "h", ("who", "n", "b"))
    asked = shape_of(COLUMNS[:2], ("who",), {"format": "raw", "key": "N"})
    assert (asked.key, asked.value) == (("n",), ("who",))
    assert '"who"' in shape_of(COLUMNS[:2], (), {"format": "avro"}).schema
    assert shape_of(COLUMNS[:2], (), {"format": "avro", "schema_file": "a.avsc"}).schema == ""


def test_keys_are_bytes_as_they_are_else_text_else_json() -> None:
    def key(names: str) -> str:
        return key_sql(shape_of(COLUMNS, (), {"format": "json", "key": names}), COLUMNS)

    assert key("b") == "`b`"
    assert key("n") == "CAST(CAST(`n` AS STRING) AS BINARY)"
    several = key("n, who")
    assert several.startswith("CAST(to_json(struct(`n`, `who`), map(")
    assert several.endswith(") AS BINARY)")
    # Keys that differ in microseconds, or in which column is NULL, are different keys.
    assert "SSSSSS" in several
    assert "'ignoreNullFields', 'false'" in several


def test_names_cannot_leave_their_place() -> None:
    odd = (("a`) --", "STRING"), ("k'`", "STRING"))
    options = {"format": "csv", "key": "k'`", "delimiter": "'"}
    shape = shape_of(odd, (), options)
    assert "`a``) --`" in value_sql(shape, options)
    assert "'sep', '\\''" in value_sql(shape, options)
    assert "`k'```" in key_sql(shape, odd)
    assert "CAST('q\\' OR 1' AS BINARY)" in headers_sql(shape, "q' OR 1")
