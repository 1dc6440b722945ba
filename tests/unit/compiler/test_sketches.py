"""Estimates from sketches in the plan: what is shared, what is derived, what is said, and what is counted instead."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import CompileResult
from streamq.compiler.explain import render
from streamq.compiler.explain.words import show_expr
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.rewrite import walk
from tests.support.compiling import compile_text

STREAM = """
CREATE STREAM s (a BIGINT, b BIGINT, c STRING, x DOUBLE, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
  WITH (connector = 'memory');
"""


def plan_of(query: str) -> CompileResult:
    result = compile_text(STREAM + query, prelude=False)
    assert not result.diagnostics, result.diagnostics
    return result


def aggregates(result: CompileResult) -> list[str]:
    assert result.optimized is not None
    return [
        call.function for query in result.optimized.queries for node in walk(query.root)
        if isinstance(node, lg.Aggregate) for _, call in node.aggregates
    ]


def columns(result: CompileResult) -> list[str]:
    return [name for name, _ in result.require().queries[0].columns]


def notices(result: CompileResult) -> list[str]:
    return [f"{n.message}; {n.hint}" for n in result.notices if n.kind == "sketch"]


def test_estimates_of_one_column_share_a_sketch() -> None:
    result = plan_of("""
        SELECT SELF_JOIN_SIZE(a) AS n, APPROX_FREQUENCY(a, MAX_BY(a, x)) AS f, JOIN_SIZE(a, b) AS j FROM s [TUMBLE 1 MINUTE]
        HAVING SELF_JOIN_SIZE(a) > 10;
    """)
    assert sorted(aggregates(result)) == ["COUNT", "COUNT", "COUNT_IF", "FREQUENCY_SKETCH", "FREQUENCY_SKETCH", "MAX_BY"]
    assert columns(result) == ["n", "n_lo", "n_hi", "f", "f_lo", "f_hi", "j", "j_lo", "j_hi"]
    assert [f.name for f in result.require().queries[0].readers] == ["__frequency", "__join", "__self_join"]


def test_sketches_of_other_sizes_are_not_shared() -> None:
    result = plan_of("SELECT SELF_JOIN_SIZE(a) AS n, SELF_JOIN_SIZE(a MEMORY 1 MB) AS m FROM s [TUMBLE 1 MINUTE];")
    assert aggregates(result).count("FREQUENCY_SKETCH") == 2


def test_bounds_stand_only_beside_an_estimate_as_it_is() -> None:
    result = plan_of("SELECT SELF_JOIN_SIZE(a) / COUNT(*) AS r, HEAVY_HITTERS(c, 0.1) AS h FROM s [TUMBLE 1 MINUTE];")
    assert columns(result) == ["r", "h"]


@pytest.mark.parametrize("call", ["APPROX_FREQUENCY(c, 'x')", "SIMILAR_TO((a, c), (1, 'x'), 1)"])
def test_what_is_known_before_is_counted(call: str) -> None:
    result = plan_of(f"SELECT {call} AS n FROM s [TUMBLE 1 MINUTE];")
    assert aggregates(result) == ["COUNT_IF"]
    assert columns(result) == ["n"]
    assert not result.require().queries[0].readers


def test_the_error_says_the_size_and_the_size_the_error() -> None:
    """Rows of a sketch without noise: w - 1 >= 16 / e^2 columns and an odd number >= 2 log2(20) of rows (Deng 2007, 4.6)."""
    (said,) = notices(plan_of("SELECT SELF_JOIN_SIZE(a WITHIN 10 PERCENT) AS n FROM s [TUMBLE 1 MINUTE];"))
    assert "9 rows of 1,601 counters, 112.6 KB" in said
    assert "at most 10.00% of itself in 95% of cases" in said
    (said,) = notices(plan_of("SELECT SELF_JOIN_SIZE(a CONFIDENCE 80 PERCENT MEMORY 64 KB) AS n FROM s [TUMBLE 1 MINUTE];"))
    assert "5 rows of 1,638 counters, 64.0 KB" in said
    (said,) = notices(plan_of("SELECT APPROX_FREQUENCY(a, MAX(a) WITHIN 1 PERCENT METHOD CM) AS n FROM s [TUMBLE 1 MINUTE];"))
    assert "3 rows of 272 counters" in said
    assert "never too low" in said


def test_spark_s_own_sketches_are_named() -> None:
    said = notices(plan_of("""
        SELECT APPROX_COUNT_DISTINCT(a) AS n, HEAVY_HITTERS(a, 0.01) AS h, APPROX_PERCENTILE(x, 0.5) AS p FROM s [TUMBLE 1 MINUTE];
    """))
    assert [any(name in one for one in said) for name in ("HyperLogLog++", "approx_top_k", "quantile summary")] == [True] * 3


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT SIMILAR_PAIRS((a, b, c), 2) AS n", ("4 sets of columns of a row by their values", "it is exact")),
        ("SELECT SIMILAR_PAIRS((a, b, c), 2 MEMORY 1 MB) AS n", ("signed counters, 1,024.0 KB",)),
        ("SELECT SIMILAR_PAIRS((a, b, c), 1 SAMPLE 30 PERCENT) AS n", ("3 sets of columns of a row that are drawn", "no bounds")),
    ],
)
def test_how_pairs_are_counted(query: str, words: tuple[str, ...]) -> None:
    (said,) = notices(plan_of(f"{query} FROM s [TUMBLE 1 MINUTE];"))
    assert all(word in said for word in words), said


def stateful(result: CompileResult) -> ph.Stateful:
    (found,) = (s for q in result.require().queries for s in ph.walk(q.root) if isinstance(s, ph.Stateful))
    return found


def test_filters_of_approx_distinct() -> None:
    """64 KB in eight parts of 65,536 cells; a percent of false positives takes 3 hashes and 11 decrements (table 8.1)."""
    step = stateful(plan_of("SELECT APPROX DISTINCT a, c FROM s WITHIN FP 1 PERCENT MEMORY 64 KB;"))
    assert (step.operator, dict(step.params)["stable"], dict(step.params)["pane_us"]) == ("seen", (65_536, 3, 11, 1), 0)
    step = stateful(plan_of("SELECT APPROX DISTINCT a FROM s [RANGE 10 MINUTES];"))
    assert dict(step.params)["pane_us"] == 75_000_000
    assert "rotating" in dict(step.params)
    step = stateful(plan_of("SELECT APPROX DISTINCT a FROM s METHOD ROTATING;"))
    assert dict(step.params)["pane_us"] == 0


def test_filters_are_read_as_a_stream_whatever_is_said_around_them() -> None:
    plain = plan_of("SELECT APPROX DISTINCT a FROM s;").require().queries[0]
    said = plan_of("ISTREAM(SELECT APPROX DISTINCT a FROM s);").require().queries[0]
    assert (plain.mode, plain.columns, plain.root) == (said.mode, said.columns, said.root) == ("append", (("a", "BIGINT"),), plain.root)


def test_a_test_above_a_filter_stays_above_it() -> None:
    """Below it would change what is remembered."""
    result = plan_of("SELECT a FROM ISTREAM(SELECT APPROX DISTINCT a FROM s) WHERE a > 5;")
    assert result.optimized is not None
    order = [type(node).__name__ for node in walk(result.optimized.queries[0].root)]
    assert order.index("Distinct") < order.index("Filter")


def test_rows_that_the_source_does_not_tell_apart_are_spoken_of() -> None:
    policy = "SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE"
    query = f"SELECT SELF_JOIN_SIZE(a) AS n, HEAVY_HITTERS(a, 0.1) AS h FROM s [TUMBLE 1 MINUTE] {policy};"
    equal = [n for n in plan_of(query).notices if "equal in all columns" in n.message]
    assert len(equal) == 1
    apart = """
        CREATE STREAM n (auction BIGINT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'nexmark', table = 'bid');
    """
    result = compile_text(f"{apart}{query.replace('(a', '(auction').replace('FROM s', 'FROM n')}", prelude=False)
    assert not [n for n in result.notices if "equal in all columns" in n.message]


def test_pairs_of_two_confidences_are_not_shared() -> None:
    """What reads counts is told by its arguments alone, and equal plans are one."""
    result = plan_of("".join(
        f"CREATE QUERY q{level} AS SELECT SIMILAR_PAIRS((a, b), 1 MEMORY 64 KB CONFIDENCE {level} PERCENT) AS n FROM s [TUMBLE 1 MINUTE];"
        for level in (90, 99)
    ))
    texts = [repr(q.root) for q in result.require().queries]
    assert "1.6448" in texts[0]
    assert "2.5758" in texts[1]


def test_a_query_reads_its_estimates_by_its_own_functions_only() -> None:
    result = plan_of("""
        CREATE QUERY p AS SELECT SELF_JOIN_SIZE(a) AS n FROM s [TUMBLE 1 MINUTE];
        CREATE QUERY q AS SELECT COUNT(*) AS n FROM s [TUMBLE 1 MINUTE];
    """)
    assert [[f.name for f in q.readers] for q in result.require().queries] == [["__self_join"], []]
    assert not result.require().functions, "those are what the program declares"


def test_one_notice_for_a_sketch_that_is_read_often() -> None:
    result = plan_of("""
        SELECT c, SELF_JOIN_SIZE(a) AS n FROM s [TUMBLE 1 MINUTE] GROUP BY c HAVING SELF_JOIN_SIZE(a) > 5 ORDER BY SELF_JOIN_SIZE(a) LIMIT 3;
    """)
    assert len(notices(result)) == 1


@pytest.mark.parametrize("call", [
    "SELF_JOIN_SIZE(a)", "APPROX_FREQUENCY(x, 1.5 METHOD CM)", "APPROX_FREQUENCY(x, 0.0 MEMORY 1 MB)", "JOIN_SIZE(a, b)",
    "SELF_JOIN_SIZE(a CONFIDENCE 99 PERCENT)", "SELF_JOIN_SIZE(a WITHIN 0.5 PERCENT)", "SELF_JOIN_SIZE(a MEMORY 900 BYTES CONFIDENCE 50 PERCENT)",
])
def test_what_a_notice_advises_can_be_said(call: str) -> None:
    result = plan_of(f"SELECT {call} AS n FROM s [TUMBLE 1 MINUTE];")
    (notice,) = (n for n in result.notices if n.kind == "sketch")
    confidence = "99" if "99" in call else "50" if "50 P" in call else "95"
    assert f"in {confidence}% of cases" in notice.hint
    if notice.action:
        within, memory = notice.action.removeprefix("say ").removesuffix(" inside to halve that").split(" or ")
        for clause in (within, memory):
            bare = call.split(" WITHIN")[0].split(" MEMORY")[0].removesuffix(")")
            plan_of(f"SELECT {bare} {clause}) AS n FROM s [TUMBLE 1 MINUTE];")


def test_explain_says_that_there_are_estimates_and_names_none_of_their_parts() -> None:
    result = plan_of("SELECT SELF_JOIN_SIZE(a) AS n, HEAVY_HITTERS(b, 0.1) AS h FROM s [TUMBLE 1 MINUTE];")
    text = render(result, "annotated")
    assert "exact but for its estimates" in text
    assert "HEAVY_HITTERS(top_sketch)" in text
    assert "_OF(" not in text
    assert "20070901" not in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT SELF_JOIN_SIZE(a WITHIN 0.00000001 PERCENT) AS n", "GB for each group"),
        ("SELECT SELF_JOIN_SIZE(a CONFIDENCE 99.9999999999 PERCENT) AS n", "40 rows at most"),
        ("SELECT SELF_JOIN_SIZE(a MEMORY 144 BYTES) AS n", "2 KB would do"),
        ("SELECT SELF_JOIN_SIZE(a MEMORY -5 KB) AS n", "MEMORY is above 0"),
        ("SELECT SELF_JOIN_SIZE(a WITHIN FP 5 PERCENT) AS n", "WITHIN without FP"),
        ("SELECT SIMILAR_PAIRS((a, b), 1 SAMPLE 0 PERCENT) AS n", "SAMPLE 50 PERCENT"),
        ("SELECT SELF_JOIN_SIZE(a CONFIDENCE 200 PERCENT) AS n", "CONFIDENCE 95 PERCENT"),
        ("SELECT SIMILAR_PAIRS((a, b, c, x, a + 1, b + 1, x + 1, a + 2, b + 2, x + 2, a + 3, b + 3), 1) AS n", "4,095 sets"),
    ],
)
def test_sketches_that_cannot_be(query: str, words: str) -> None:
    (found,) = compile_text(f"{STREAM}{query} FROM s [TUMBLE 1 MINUTE];", prelude=False).diagnostics
    assert found.code == "SQ0306"
    assert words in f"{found.message} {found.help}"
    assert found.help


@pytest.mark.parametrize("share", ["0.0000000000000000001 PERCENT", "99.99999999999999999 PERCENT", "0 PERCENT"])
def test_filters_that_cannot_be(share: str) -> None:
    (found,) = compile_text(f"{STREAM}SELECT APPROX DISTINCT a FROM s WITHIN FP {share};", prelude=False).diagnostics
    assert found.code == "SQ0306"


@pytest.mark.parametrize("rows", [
    "(SELECT DISTINCT a FROM s [RANGE 20 SECONDS])", "(SELECT a, COUNT(*) AS n FROM s [RANGE 20 SECONDS] GROUP BY a)",
    "s [ROWS 5]", "s [NOW]",
])
def test_filters_of_relations_are_refused(rows: str) -> None:
    """What goes would be taken for what comes."""
    (found,) = compile_text(f"{STREAM}SELECT APPROX DISTINCT a FROM {rows};", prelude=False).diagnostics
    assert (found.code, "ISTREAM" in found.help) == ("SQ0501", True)


SIDES = "FROM s [TUMBLE 1 HOUR] x, r [TUMBLE 1 HOUR] y"


@pytest.mark.parametrize("query", [
    f"SELECT JOIN_SIZE(x.a, y.a) AS n, COUNT(*) AS m {SIDES}", f"SELECT JOIN_SIZE(x.a, y.a) AS n, APPROX_FREQUENCY(x.a, 1) AS m {SIDES}",
    f"SELECT JOIN_SIZE(x.a, y.a) AS n {SIDES} HAVING JOIN_SIZE(x.a, y.a) > 0", f"SELECT JOIN_SIZE(x.a, y.a) FILTER (WHERE x.b < 5) AS n {SIDES}",
    f"SELECT JOIN_SIZE(x.a, y.a) AS n {SIDES} GROUP BY x.b", f"SELECT JOIN_SIZE(x.a, y.a) AS n {SIDES} WHERE x.b = y.b",
    f"SELECT JOIN_SIZE(x.a, y.a) AS n {SIDES} WHERE x.b = 1 OR y.b = 1", f"SELECT JOIN_SIZE(x.a, y.a) / COUNT(x.a) AS n {SIDES}",
    "SELECT JOIN_SIZE(x.a, y.a) AS n FROM s [TUMBLE 1 HOUR] x JOIN r [TUMBLE 1 HOUR] y ON x.a = y.a",
    "SELECT JOIN_SIZE(x.a, y.a) AS n FROM s [TUMBLE 1 HOUR] x, r [TUMBLE 30 MINUTES] y",
    "SELECT JOIN_SIZE(x.a, y.a) AS n FROM s [SESSION 1 HOUR] x, r [SESSION 1 HOUR] y",
    "SELECT JOIN_SIZE(x.a, y.id) AS n FROM s [TUMBLE 1 HOUR] x, t y",
    f"SELECT JOIN_SIZE(x.a, y.a) AS n {SIDES}, s [TUMBLE 1 HOUR] z",
])
def test_a_size_between_streams_stands_alone(query: str) -> None:
    """Else it would be of the pairs of all their rows: too much by as many as there are."""
    declared = STREAM + STREAM.replace("STREAM s", "STREAM r") + "CREATE TABLE t (id BIGINT) WITH (connector = 'memory');"
    found = compile_text(f"{declared}{query};", prelude=False).diagnostics
    assert ("SQ0408", True) in [(d.code, "unite their rows" in d.help) for d in found]


def test_a_size_between_streams_is_that_of_their_rows() -> None:
    declared = STREAM.replace("STREAM s", "STREAM r")
    result = plan_of(f"{declared} SELECT JOIN_SIZE(x.a, y.a) AS n, SELF_JOIN_SIZE(y.a) AS m {SIDES} WHERE x.b > 1 AND y.c = 'u';")
    assert result.optimized is not None
    kinds = {type(node).__name__ for node in walk(result.optimized.queries[0].root)}
    assert "Union" in kinds
    assert "Join" not in kinds


def test_what_a_filter_leaves_out_is_in_no_part_of_an_estimate() -> None:
    result = plan_of("SELECT JOIN_SIZE(a, b) FILTER (WHERE x > 1) AS n FROM s [TUMBLE 1 MINUTE];")
    assert result.logical is not None
    (group,) = (n for n in walk(result.logical.queries[0].root) if isinstance(n, lg.Aggregate))
    for _, call in group.aggregates:
        assert call.filter is not None or "CASE" in show_expr(call), call


def test_shed_rows_are_counted_in() -> None:
    policy = "SHED RANDOM BY 50 PERCENT RECOVER ESTIMATE"
    result = plan_of(f"SELECT SELF_JOIN_SIZE(a) AS m FROM s [TUMBLE 1 MINUTE] {policy};")
    assert {n.kind for n in result.notices if "kept" in n.message} == {"sketch"}, "no notice that it is of the kept rows only"
    assert "SUM" in aggregates(result), "the count beside the sketch is an estimate of all rows"
