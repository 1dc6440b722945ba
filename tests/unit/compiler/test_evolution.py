"""Shapes of queries, and what is said of two that differ; ``tests/spark/test_evolution.py`` holds the verdicts against Spark."""

from __future__ import annotations

import json
from itertools import permutations

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.evolution import (
    Shape,
    Verdict,
    compare,
    is_named,
    shape_from,
    shape_of,
    source_name,
    states_of,
)
from streamq.compiler.evolution.lineage import resolve
from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.records import replace

PRELUDE = """\
CREATE STREAM s (k INT, x INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'file', path = 's', format = 'json');
CREATE STREAM r (k INT, y INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'file', path = 'r', format = 'json');
CREATE SINK out WITH (connector = 'file', path = 'out', format = 'json');
"""
COUNTS = "SELECT k, WINDOW_END, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] GROUP BY k"
SUMS = "SELECT k, WINDOW_END, COUNT(*) AS n, SUM(x) AS total, AVG(x) AS mean, MAX(x) AS most FROM s [TUMBLE 10 SECONDS] GROUP BY k"
PAIRS = "SELECT ISTREAM(a.k, b.k AS m) FROM s [RANGE 60 SECONDS] a JOIN s [RANGE 60 SECONDS] b ON ABS(a.k - b.k) <= 3"
SELF = "SELECT ISTREAM(a.k, b.x) FROM s [RANGE 60 SECONDS] a JOIN s [RANGE 60 SECONDS] b ON a.k = b.x"


def query(text: str, into: str = "") -> PhysicalQuery:
    result = compile_program(f"{PRELUDE}CREATE QUERY q {into} AS {text};")
    (found,) = result.require().queries
    return found


def verdict(old: str, new: str) -> Verdict:
    return compare(shape_of(query(old)), shape_of(query(new)))


def test_a_shape_is_the_same_when_it_was_written_and_read() -> None:
    for text in (COUNTS, SUMS, PAIRS, SELF):
        shape = shape_of(query(text))
        assert shape_from(json.loads(json.dumps(shape.to_dict()))) == shape


@pytest.mark.parametrize("data", [None, [], {}, {"query": "q"}, {"query": "q", "names": 1, "sources": 3}])
def test_what_is_no_shape_gives_none(data: object) -> None:
    assert shape_from(data) is None


def test_names_inside_a_plan_do_not_matter() -> None:
    view = "(SELECT k AS key, x AS worth, ts FROM s) [TUMBLE 10 SECONDS] GROUP BY key"
    inlined = f"SELECT key AS k, WINDOW_END, COUNT(*) AS n FROM {view}"
    assert verdict(COUNTS, inlined).reasons == ()


def test_strings_and_names_that_look_alike_are_told_apart() -> None:
    assert resolve("`a` = '`a`' AND `b``c` > 1", {"a": "`s.x INT`", "b`c": "`s.y INT` + 1"}) == (
        "`s.x INT` = '`a`' AND (`s.y INT` + 1) > 1"
    )
    assert resolve("if(unix_micros(`ts`) = -9223372036854775807L, TRUE, (`a` > f(1, '),')))", {"a": "b"}) == "(b > f(1, '),'))"


def test_long_expressions_that_differ_at_their_end_are_told_apart() -> None:
    long = " + ".join(["`a`"] * 400)
    first, second = (resolve(f"{long} + {n}", {"a": "`s.a INT`"}) for n in (1, 2))
    assert first != second
    assert len(first) < 500


def test_sides_of_a_join_of_a_stream_with_itself_are_told_apart() -> None:
    (old,), (new,) = (shape_of(query(t)).states for t in (SELF, SELF.replace("a.k = b.x", "a.x = b.k")))
    assert old.fact("condition") != new.fact("condition")


def test_a_stream_that_is_read_twice_is_two_sources() -> None:
    assert [s.id for s in shape_of(query(SELF)).sources] == ["s", "s"]


def test_only_queries_without_state_have_named_sources() -> None:
    assert is_named(query("SELECT k FROM s UNION ALL SELECT y FROM r"))
    assert not is_named(query("SELECT k FROM s UNION ALL SELECT x FROM s"))
    assert not is_named(query(COUNTS))
    assert source_name("a b") == "a_20_b"
    assert source_name("a_b") != source_name("a b")
    assert source_name("0") == "_0"


def test_operators_with_state_are_numbered_from_the_output_on() -> None:
    text = f"SELECT a.k, a.n, b.m FROM ({COUNTS}) a, (SELECT k, WINDOW_END, SUM(y) AS m FROM r [TUMBLE 10 SECONDS] GROUP BY k) b " \
        "WHERE a.k = b.k AND a.WINDOW_END = b.WINDOW_END"
    assert [step.id for step in states_of(query(text))] == ["q.join", "q.aggregate", "q.aggregate_2"]
    assert [step.id for step in states_of(query(COUNTS.replace("SELECT", "SELECT DISTINCT")))] == ["q.aggregate"]


POLICIES = (
    "QOS LATENCY 2 SECONDS", "QOS LATENCY 9 SECONDS SHED RANDOM", "SHED RANDOM BY 5 PERCENT", "SHED RANDOM BY 90 PERCENT RECOVER ESTIMATE",
    "SHED RANDOM TO RATE 5 ROWS PER SECOND RECOVER ESTIMATE CONFIDENCE 0.8", "SHED RANDOM BY KEY (k) BY 5 PERCENT RECOVER ESTIMATE",
    "SHED SIFTER ON (x) BY 5 PERCENT", "SHED SIFTER ON (x, k) REGIONS 16 BY 20 PERCENT RECOVER ESTIMATE", "SHED OLDER THAN 5 SECONDS BY 5 PERCENT",
    "SHED OLDER THAN 9 SECONDS BY 5 PERCENT", "QOS LATENCY 2 SECONDS UTILITY x SHED BY UTILITY", "QOS LATENCY 2 SECONDS SHED WINDOWS",
)


def test_no_change_of_policies_needs_a_new_checkpoint() -> None:
    shapes = {policy: shape_of(query(f"{SUMS} {policy}")) for policy in POLICIES}
    for old, new in permutations(POLICIES, 2):
        found = compare(shapes[old], shapes[new])
        assert found.ok, f"{old} -> {new}: {[r.what for r in found.blocking]}"


@pytest.mark.parametrize(("old", "new", "words"), [
    ("SHED RANDOM BY 5 PERCENT", "SHED RANDOM BY 90 PERCENT", "now 90 % of the rows, no longer 5 % of the rows"),
    ("SHED RANDOM BY 5 PERCENT", "SHED SIFTER ON (x) BY 5 PERCENT", "now 5 % of the rows, by a sifter, no longer 5 % of the rows"),
    ("QOS LATENCY 2 SECONDS COMPLETENESS >= 0.5", "QOS LATENCY 2 SECONDS COMPLETENESS >= 0.9",
     "now as many rows as results no older than 2 seconds need, at most 10%, no longer as many rows as results no older than 2 seconds need, at most 50%"),
])
def test_a_query_that_sheds_by_another_rule_goes_on_and_says_so(old: str, new: str, words: str) -> None:
    found = verdict(f"{COUNTS} {old}", f"{COUNTS} {new}")
    assert found.kind == "compatible"
    assert f"sheds by another rule ({words}), from the next micro-batch on" in [r.what for r in found.reasons]


def test_of_a_checkpoint_that_does_not_know_its_rule_nothing_is_told() -> None:
    now = shape_of(query(f"{COUNTS} SHED RANDOM BY 5 PERCENT"))
    *others, result = now.between
    old = replace(now, between=(*others, replace(result, facts=tuple(f for f in result.facts if f[0] != "sheds"))))
    assert compare(old, now).reasons == ()


@pytest.mark.parametrize("policy", ["SHED JOIN BY 30 PERCENT", "SHED JOIN BY 60 PERCENT", "QOS LATENCY 2 SECONDS SHED JOIN"])
def test_how_much_of_a_join_is_shed_may_change(policy: str) -> None:
    assert verdict(f"{PAIRS} SHED JOIN BY 50 PERCENT", f"{PAIRS} {policy}").ok


@pytest.mark.parametrize("policy", ["", "SHED JOIN BASIC WINDOW 4 SECONDS BY 50 PERCENT"])
def test_how_a_join_keeps_its_windows_may_not(policy: str) -> None:
    assert verdict(f"{PAIRS} SHED JOIN BY 50 PERCENT", f"{PAIRS} {policy}").kind == "needs a new checkpoint"


def test_a_first_policy_and_the_last_one_are_told_in_words() -> None:
    first, last = verdict(COUNTS, f"{COUNTS} SHED RANDOM BY 5 PERCENT"), verdict(f"{COUNTS} SHED RANDOM BY 5 PERCENT", COUNTS)
    assert [r.what for r in first.blocking] == ["now keeps what estimates and measures of shed rows are made of, and did not before"]
    assert [r.what for r in last.blocking] == ["no longer keeps what estimates and measures of shed rows are made of, and did before"]
    assert "SHED RANDOM BY 0 PERCENT keeps the state" in last.blocking[0].help


def test_an_output_may_move_and_says_what_that_means() -> None:
    old, new = shape_of(query(COUNTS)), shape_of(query(COUNTS, "INTO out"))
    (reason,) = compare(old, new).reasons
    assert reason.what == (
        "goes to 'file' (path = out) and no longer to 'console': results from now on go there, and earlier ones stay where they are"
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (COUNTS, COUNTS.replace("AS n", "AS m"), "has other columns (`m` was `n`), from the next results on"),
        (COUNTS, COUNTS.replace("GROUP", "WHERE x > 1 GROUP"),
         "rows are chosen by something else (now (s.x > 1)), from now on; windows that are open keep what they have"),
        (COUNTS, COUNTS.replace("COUNT(*)", "SUM(x)"),
         "has other aggregates (now sum(s.x), no longer count(1)): for windows that are open there is nothing of them"),
        (SELF, SELF.replace("a.k = b.x", "a.k = b.k"), "pairs rows by something else"),
        ("SELECT k FROM s", COUNTS, "an aggregate is new, and knows nothing of the rows that were read"),
        (COUNTS, "SELECT k FROM s", "an aggregate is not there any more: its state would be dropped"),
    ],
)
def test_what_differs_is_told_in_the_words_of_the_program(old: str, new: str, words: str) -> None:
    assert any(reason.what.startswith(words) for reason in verdict(old, new).reasons), verdict(old, new).reasons


def test_another_type_is_shown_where_nothing_else_differs() -> None:
    old, new = (
        shape_of(compile_program(f"{PRELUDE.replace('s (k INT', f's (k {kind}')}CREATE QUERY q AS {COUNTS};").require().queries[0])
        for kind in ("INT", "BIGINT")
    )
    assert any("now s.k BIGINT, no longer s.k INT" in r.what for r in compare(old, new).blocking)


def test_other_buckets_are_another_form_of_state() -> None:
    shape = shape_of(query("SELECT k, COUNT(*) AS n FROM s [RANGE 10 SECONDS] GROUP BY k"))
    (part,) = shape.states
    fewer = replace(part, facts=tuple((k, 4 if k == "buckets" else v) for k, v in part.facts))
    assert compare(replace(shape, states=(fewer,)), shape).kind == "needs a new checkpoint"


def test_where_a_topic_begins_is_for_new_checkpoints() -> None:
    def shape(more: str) -> Shape:
        where = f"WITH (connector = 'kafka', bootstrap_servers = 'h:9092', topic = 't'{more})"
        (found,) = compile_program(f"CREATE STREAM s (n INT) {where}; CREATE QUERY q AS SELECT n FROM s;").require().queries
        return shape_of(found)

    first = shape("")
    assert [r.what for r in compare(first, shape(", starting = 'latest'")).reasons] == [
        "says otherwise where a new checkpoint begins: this one goes on where it was"
    ]
    told = compare(first, shape(", starting = 'latest', fail_on_data_loss = false")).reasons
    assert [r.what for r in told] == ["is read with fail_on_data_loss = False (was True), from the next rows on"]
