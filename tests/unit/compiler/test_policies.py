"""QOS, SHED and RECOVER: values out of range, contradictions, names, and what cannot be run yet."""

from __future__ import annotations

import pytest

from tests.support.compiling import codes, compile_text, found


def of_query(policy: str) -> list[str]:
    return codes(f"SELECT i FROM s {policy};")


@pytest.mark.parametrize(
    "policy",
    [
        "QOS LATENCY 0 SECONDS",
        "QOS LATENCY -5 SECONDS",
        "QOS COMPLETENESS >= 1.5",
        "QOS COMPLETENESS >= 120 PERCENT",
        "QOS SLOPE 2",
        "QOS WEIGHT -1",
        "QOS ERROR <= 150 PERCENT",
        "QOS ERROR <= 5 PERCENT CONFIDENCE 100 PERCENT",
        "QOS FAIRNESS -0.5",
        "QOS CRITICALITY 'somewhat critical'",
        "SHED RANDOM BY 101 PERCENT",
        "SHED RANDOM BY -1 PERCENT",
        "SHED FAIR TO RATE 0 ROWS PER SECOND",
        "SHED FAIR TO CAPACITY -1 KBPS",
        "SHED OLDER THAN 0 SECONDS",
        "SHED SIFTER ON (i) REGIONS 0",
        "SHED SIFTER ON (i) SAMPLE 101 PERCENT",
        "SHED SIFTER ON (i) SAMPLE 0 PERCENT",
        "SHED SIFTER ON (i) REGIONS 5000",
        "SHED SIFTER ON (i, l, tiny, small, f, x, t)",
        "SHED FAIR WINDOW 0 SECONDS",
        "SHED JOIN BASIC WINDOW 0 SECONDS",
        "SHED JOIN SAMPLE -1 PERCENT",
        "RECOVER ESTIMATE CONFIDENCE 0",
        "RECOVER ALL FROM SYNOPSIS ERROR 200 PERCENT",
        "RECOVER ALL FROM SYNOPSIS RETAIN 0 SECONDS",
    ],
)
def test_values_out_of_range(policy: str) -> None:
    """Reported once, and not refused on top of that."""
    assert of_query(policy) == ["SQ0603"]


@pytest.mark.parametrize(
    "policy",
    [
        "QOS COMPLETENESS >= 0.6",
        "QOS SLOPE 0.8",
        "QOS WEIGHT 2",
        "QOS ERROR <= 5 PERCENT CONFIDENCE 95 PERCENT",
        "QOS UTILITY CASE WHEN t = 'security' THEN 1 ELSE 0.25 END",
        "QOS FAIRNESS 0.5",
        "QOS CRITICALITY 'Very Critical'",
        "SHED AUTO",
        "SHED RANDOM",
        "SHED RANDOM BY KEY (i)",
        "SHED RANDOM TO CAPACITY 5 KBPS",
        "SHED AUTO TO RATE 5 ROWS PER SECOND",
        "QOS LATENCY 2 SECONDS WEIGHT 2 SHED RANDOM",
        "QOS LATENCY 2 SECONDS SLOPE 0.5 SHED FAIR",
        "SHED OLDER THAN 30 SECONDS",
        "SHED SIFTER ON (i, x) REGIONS 16 PARTITION QDPART SAMPLE 1 PERCENT",
        "SHED SIFTER ON (i) TO CAPACITY 5 KBPS",
        "SHED FAIR WINDOW 10 SECONDS TO CAPACITY 120 KBPS",
        "SHED FAIR WINDOW 10 SECONDS",
        "SHED WINDOWS",
        "SHED ATTRIBUTES KEEP (i, s.x) TO CAPACITY 5 KBPS",
        "RECOVER (i, x) FROM SYNOPSIS ERROR AUTO CYCLE (t) RETAIN 2 HOURS",
        "RECOVER ALL FROM NEAREST",
        "SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO out",
    ],
)
def test_what_cannot_be_run_yet_is_refused_and_not_ignored(policy: str) -> None:
    result = compile_text(f"SELECT i FROM s {policy};")
    (diagnostic,) = result.diagnostics
    assert diagnostic.code == "SQ0601"
    assert result.plan is None
    assert result.logical is not None
    assert diagnostic.help


@pytest.mark.parametrize(
    "policy",
    [
        "SHED NONE", "SHED RANDOM BY 0 PERCENT", "SHED RANDOM BY 100 PERCENT",
        "QOS LATENCY 2 SECONDS", "QOS LATENCY 2 SECONDS SHED AUTO", "QOS LATENCY 2 SECONDS SHED NONE",
        "QOS LATENCY 2 SECONDS COMPLETENESS >= 0.6 SHED RANDOM BY KEY (i)",
        "QOS LATENCY 2 SECONDS WEIGHT 2 SHED FAIR WINDOW 5 SECONDS",
        "QOS LATENCY 2 SECONDS WEIGHT 2 SLOPE 0.5", "QOS LATENCY 2 SECONDS COMPLETENESS >= 0.2 WEIGHT 0 SLOPE 0 SHED AUTO",
        "QOS LATENCY 2 SECONDS UTILITY x SHED BY UTILITY", "QOS LATENCY 2 SECONDS UTILITY x",
        "QOS UTILITY x SHED BY UTILITY BY 20 PERCENT", "QOS LATENCY 2 SECONDS SHED OLDER THAN 5 SECONDS",
        "SHED OLDER THAN 5 SECONDS TO RATE 10 ROWS PER SECOND",
        "SHED RANDOM TO RATE 5 ROWS PER SECOND", "SHED RANDOM BY 5 PERCENT RECOVER ESTIMATE",
        "QOS LATENCY 2 SECONDS SHED SIFTER ON (x)", "SHED SIFTER ON (x, t, d) REGIONS 100 BY 40 PERCENT",
        "QOS LATENCY 2 SECONDS COMPLETENESS >= 0.4 WEIGHT 2 SLOPE 0.5 FAIRNESS 0.3 SHED SIFTER ON (i) PARTITION DATA",
        "SHED SIFTER ON (i) TO RATE 5 ROWS PER SECOND RECOVER ESTIMATE",
    ],
)
def test_what_can_be_run(policy: str) -> None:
    assert of_query(policy) == []


def test_contradictions() -> None:
    assert of_query("SHED NONE BY 5 PERCENT") == ["SQ0602"]
    assert of_query("SHED BY UTILITY") == ["SQ0602"]
    assert of_query("QOS LATENCY 2 SECONDS SHED RANDOM BY 5 PERCENT") == ["SQ0602"]
    assert of_query("QOS LATENCY 2 SECONDS SHED RANDOM TO RATE 5 ROWS PER SECOND") == ["SQ0602"]
    assert of_query("QOS UTILITY x SHED BY UTILITY") == ["SQ0601"]
    assert of_query("QOS UTILITY x SHED BY UTILITY BY 5 PERCENT RECOVER ESTIMATE") == ["SQ0602"]
    assert of_query("SHED OLDER THAN 5 SECONDS BY 5 PERCENT RECOVER ESTIMATE") == ["SQ0602"]
    assert of_query("QOS LATENCY 2 SECONDS UTILITY x RECOVER ESTIMATE") == ["SQ0601"]
    assert of_query("QOS LATENCY 2 SECONDS ERROR <= 5 PERCENT") == ["SQ0601"]
    windows = "SELECT COUNT(*) AS n, WINDOW_END FROM s [TUMBLE 1 MINUTE] SHED WINDOWS"
    assert codes(f"{windows} BY 20 PERCENT;") == []
    late = windows.replace(" SHED", " QOS LATENCY 2 SECONDS SHED")
    assert codes(f"{late} BY 20 PERCENT;") == ["SQ0602"]
    counted = "SELECT COUNT(*) AS n, MAX(x) AS most, WINDOW_END FROM s [TUMBLE 1 MINUTE]"
    bounded = "QOS LATENCY 2 SECONDS ERROR <= 5 PERCENT RECOVER ESTIMATE;"
    assert codes(f"{counted} {bounded}") == []
    assert codes(f"SELECT i FROM s {bounded}") == ["SQ0601"]
    assert codes("SELECT i FROM s QOS LATENCY 2 SECONDS UTILITY KEPT() SHED BY UTILITY;") == ["SQ0601"]
    assert codes(f"{windows} BY 20 PERCENT RECOVER ESTIMATE;") == ["SQ0602"]
    assert codes(f"{windows} TO RATE 5 ROWS PER SECOND;") == []
    assert codes(f"{windows} TO CAPACITY 5 KBPS;") == ["SQ0601"]
    assert of_query("SHED WINDOWS BY 20 PERCENT") == ["SQ0601"]
    both = "SELECT ISTREAM(s.x) FROM s [RANGE 1 MINUTE] JOIN r [RANGE 1 MINUTE] ON s.i = r.i SHED SIFTER ON"
    assert codes(f"{both} (x, y) BY 5 PERCENT;") == ["SQ0602"]
    assert codes(f"{both} (x) BY 5 PERCENT;") == []
    assert codes("SELECT i FROM s SHED SIFTER ON (i) DROP COUNTER BY 5 PERCENT;") == ["SQ0602"]
    timeless = "CREATE STREAM e (a INT) WITH (connector = 'memory');"
    assert codes(f"{timeless} SELECT a FROM e SHED OLDER THAN 5 SECONDS BY 5 PERCENT;") == ["SQ0602"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("SHED RANDOM BY KEY (nothing) BY 5 PERCENT", ["SQ0202"]),
        ("SHED RANDOM BY KEY (s.i) BY 5 PERCENT", ["SQ0202"]),
        ("SHED RANDOM BY KEY (o.a) BY 5 PERCENT", ["SQ0202"]),
        ("SHED RANDOM BY KEY (m) BY 5 PERCENT", ["SQ0301"]),
        ("SHED RANDOM BY KEY (tags, o, I) BY 5 PERCENT", []),
        ("SHED SIFTER ON (nothing)", ["SQ0601", "SQ0202"]),
        ("SHED SIFTER ON (i, tags) BY 5 PERCENT", ["SQ0301"]),
        ("SHED SIFTER ON (ts) BY 5 PERCENT", ["SQ0301"]),
        ("SHED SIFTER ON (i, I) BY 5 PERCENT", ["SQ0602"]),
        ("SHED ATTRIBUTES KEEP (nothing)", ["SQ0601", "SQ0202"]),
        ("RECOVER (nothing) FROM NEAREST", ["SQ0601", "SQ0202"]),
        ("RECOVER ALL FROM SYNOPSIS CYCLE (nothing)", ["SQ0601", "SQ0202"]),
        ("SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO nothing", ["SQ0206"]),
        ("QOS UTILITY nothing", ["SQ0601", "SQ0202"]),
        ("QOS UTILITY t", ["SQ0601", "SQ0301"]),
        ("QOS UTILITY SUM(x)", ["SQ0601", "SQ0404"]),
    ],
)
def test_names(policy: str, expected: list[str]) -> None:
    assert of_query(policy) == expected


GONE = "CREATE SINK gone WITH (connector = 'file', format = 'parquet', path = 'gone');"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT i FROM s SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO gone;", []),
        ("SELECT i FROM s QOS LATENCY 2 SECONDS RECOVER ESTIMATE RECOVER DROPPED INTO GONE;", []),
        ("SELECT i FROM s RECOVER DROPPED INTO gone;", ["SQ0602"]),
        ("SELECT i FROM s QOS LATENCY 2 SECONDS SHED NONE RECOVER DROPPED INTO gone;", ["SQ0602"]),
        ("INSERT INTO gone SELECT i FROM s SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO gone;", ["SQ0602"]),
        ("SELECT value FROM tick SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO gone;", ["SQ0601"]),
    ],
)
def test_where_rows_that_go_may_be_kept(query: str, expected: list[str]) -> None:
    tick = "CREATE STREAM tick (value BIGINT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'rate');"
    assert codes(f"{GONE}{tick if 'tick' in query else ''}{query}") == expected


def test_a_sink_that_only_a_backfill_may_write_to_is_not_unused() -> None:
    answers = "CREATE SINK answers WITH (connector = 'console');"
    kept = "SELECT i FROM s SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO gone;"
    assert codes(f"{GONE}{answers}{kept}") == []
    assert codes(f"{answers}SELECT i FROM s SHED RANDOM BY 5 PERCENT;") == ["SQ0902"]


def test_an_unknown_sink_of_dropped_rows_is_to_be_one_of_files() -> None:
    (unknown,) = found("SELECT i FROM s SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO nowhere;")
    assert (unknown.code, unknown.help) == (
        "SQ0206", "declare it: CREATE SINK nowhere WITH (connector = 'file', path = 'nowhere')"
    )


def test_what_goes_is_all_columns_of_the_stream() -> None:
    result = compile_text(f"{GONE}SELECT i FROM s SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO gone;")
    query = result.require().queries[-1]
    (dropped,) = query.dropped
    assert query.dropped_sink is not None
    assert (dropped.stream, query.dropped_sink.name) == ("s", "gone")
    names = [name for name, _ in dropped.root.items]  # type: ignore[attr-defined]
    assert {"i", "x", "t"} < set(names)


def test_a_key_must_be_in_every_stream_of_the_query() -> None:
    join = "SELECT ISTREAM(s.x) FROM s [RANGE 1 MINUTE] JOIN r [RANGE 1 MINUTE] ON s.i = r.i"
    assert codes(f"{join} SHED RANDOM BY KEY (i) BY 5 PERCENT;") == []
    (diagnostic,) = found(f"{join} SHED RANDOM BY KEY (x) BY 5 PERCENT;")
    assert diagnostic.message == "`r` has no column `x`"


def test_tables_need_no_key() -> None:
    join = "SELECT s.x FROM s JOIN item ON s.l = item.id"
    assert codes(f"{join} SHED RANDOM BY KEY (x) BY 5 PERCENT;") == []
    assert codes(f"{join} SHED RANDOM BY KEY (name) BY 5 PERCENT;") == ["SQ0202"]


def test_a_key_may_be_a_computed_column() -> None:
    for time in ("", ", ts TIMESTAMP, WATERMARK FOR ts"):
        stream = f"CREATE STREAM z (a INT, k AS a % 10{time}) WITH (connector = 'memory');"
        assert codes(stream + "SELECT a FROM z SHED RANDOM BY KEY (k) BY 5 PERCENT;") == []


def test_policies_of_a_stream_are_refused_with_their_values_checked() -> None:
    stream = "CREATE STREAM z (a INT) {} WITH (connector = 'memory'); SELECT a FROM z;"
    assert codes(stream.format("SHED RANDOM BY 5 PERCENT")) == ["SQ0601"]
    assert codes(stream.format("SHED RANDOM BY 500 PERCENT")) == ["SQ0603"]
    assert codes(stream.format("SHED RANDOM BY KEY (b) BY 5 PERCENT")) == ["SQ0601", "SQ0202"]
    assert codes(stream.format("RECOVER (a) FROM NEAREST")) == ["SQ0601"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [("QOS LATENCY 2 SECONDS SHED NONE", ["unmet"]), ("SHED NONE", []), ("QOS LATENCY 2 SECONDS", ["shedder"])],
)
def test_a_goal_that_nothing_serves_is_told(policy: str, expected: list[str]) -> None:
    notices = compile_text(f"CREATE QUERY q AS SELECT i FROM s {policy};").notices
    assert [n.kind for n in notices if n.query == "q"] == expected


def of_program(*policies: str) -> list[tuple[str, str, str]]:
    """Kind, query and message of the notices of a program with a query for each."""
    text = "".join(f"CREATE QUERY q{i} AS SELECT i FROM s {policy};" for i, policy in enumerate(policies))
    return [(n.kind, n.query, n.message) for n in compile_text(text).notices]


def test_queries_that_leave_to_the_planner_what_goes_shed_by_worth() -> None:
    dear, cheap, own = of_program(
        "QOS LATENCY 2 SECONDS WEIGHT 3 SLOPE 0.5", "QOS LATENCY 2 SECONDS SHED AUTO", "QOS LATENCY 2 SECONDS SHED RANDOM"
    )
    assert "worth less for their work shed first" in dear[2]
    assert "worth less for their work shed first" in cheap[2]
    assert "worth" not in own[2]


def test_a_weight_against_no_other_query_is_told() -> None:
    alone = [n[:2] for n in of_program("QOS LATENCY 2 SECONDS WEIGHT 3", "QOS LATENCY 2 SECONDS SHED FAIR")]
    assert alone == [("alone", "q0"), ("shedder", "q0"), ("shedder", "q1")]
    assert [n[0] for n in of_program("QOS LATENCY 2 SECONDS")] == ["shedder"]
