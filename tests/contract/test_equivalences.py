"""What CQL's definitions say must be equal is equal, for any input: properties of the reference evaluator.

Sources: Arasu, Babu, Widom, The CQL continuous query language (2006), sections 4 and 6; the last ones follow
from the definitions alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.logical import LogicalPlan
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from tests.contract.answers import Changes, by_definition, changes_until, difference, rows_of
from tests.contract.case import Input, Row
from tests.contract.cases import PRELUDE

WHOLE = EvaluateOptions(closed=True)
"""All input is there and none of it is late."""

END = 10_000.0

keys = st.sampled_from(("a", "b", "c", None))
numbers = st.one_of(st.none(), st.integers(-3, 9))
seconds = st.integers(0, 40)
s_rows = st.tuples(keys, numbers, st.sampled_from((None, 0.5, 1.0, 2.25)), seconds)
r_rows = st.tuples(keys, numbers, seconds)
inputs = st.builds(
    lambda s, r, t: Input([s], [r], t),
    st.lists(s_rows, max_size=12), st.lists(r_rows, max_size=8),
    st.lists(st.tuples(keys, st.sampled_from(("Anna", "Bert"))), max_size=3),
)
lengths = st.sampled_from((1, 3, 10, 25))
tests = st.sampled_from((
    "v > 2", "k = 'a'", "v IS NULL", "k <> 'b' OR v < 4", "x > 1.0 AND v > 0", "NOT (v > 2)",
))
windows = st.sampled_from((
    "[NOW]", "[RANGE 3 SECONDS]", "[RANGE 10 SECONDS]", "[ROWS 1]", "[ROWS 3]", "[ROWS 3 SLIDE 2]",
    "[PARTITION BY k ROWS 2]", "[PARTITION BY k ROWS 2 RANGE 5 SECONDS]", "[UNBOUNDED]",
))
time_windows = st.sampled_from((
    "[NOW]", "[RANGE 3 SECONDS]", "[RANGE 10 SECONDS]", "[UNBOUNDED]", "[TUMBLE 10 SECONDS]",
    "[RANGE 9 SECONDS SLIDE 3 SECONDS]",
))

Test = Callable[..., None]


def equivalence(**drawn: st.SearchStrategy[Any]) -> Callable[[Test], Test]:
    """A property of any input, and of what else is drawn; the same draws on every run."""
    def decorate(test: Test) -> Test:
        fixed = settings(max_examples=25, deadline=None, derandomize=True, database=None)
        return fixed(given(data=inputs, **drawn)(test))

    return decorate


@cache
def plan_of(query: str) -> LogicalPlan:
    result = compile_program(f"{PRELUDE}{query};")
    assert result.logical is not None, (query, result.diagnostics)
    return result.logical


def answer(query: str, data: Input) -> Changes:
    """What comes and goes, until long after the last row."""
    return changes_until(evaluate(plan_of(query), rows_of(data), WHOLE)["query"], END)


def assert_equal(one: str, other: str, data: Input) -> None:
    first, second = answer(one, data), answer(other, data)
    assert first == second, f"{one}\n{other}\n{difference(first, second)}"


def stamped(rows: list[Row]) -> Changes:
    """Rows that end with their second, as a stream."""
    return Counter((row[-1], tuple(row[:-1])) for row in rows)


@equivalence(test=tests)
def test_all_of_an_instant_is_a_filter(data: Input, test: str) -> None:
    """RSTREAM over [NOW] is the filter of a stream, which the default is too."""
    assert_equal(
        f"RSTREAM(SELECT k, v + 1 AS w FROM s [NOW] WHERE {test})",
        f"SELECT k, v + 1 AS w FROM s WHERE {test}", data,
    )


@equivalence()
def test_all_rows_so_far_appear_once(data: Input) -> None:
    """ISTREAM over [UNBOUNDED] is the stream itself."""
    given_rows = [(k, v, at) for k, v, _, at in data.s[0]]
    assert answer("ISTREAM(SELECT k, v FROM s [UNBOUNDED])", data) == stamped(given_rows)


@equivalence()
def test_nothing_leaves_all_rows_so_far(data: Input) -> None:
    assert answer("DSTREAM(SELECT k, v FROM s)", data) == Counter()


@equivalence(window=time_windows, test=tests)
def test_selections_commute_with_time_windows(data: Input, window: str, test: str) -> None:
    assert_equal(
        f"SELECT k, v FROM s {window} WHERE {test}",
        f"SELECT k, v FROM (SELECT k, v, ts FROM s WHERE {test}) {window} q", data,
    )


def test_selections_do_not_commute_with_row_windows() -> None:
    """The last row, if it is of a, is not the last row of a."""
    data = Input([[("a", 1, None, 1), ("b", 2, None, 2)]], [[]], [])
    after = answer("SELECT k FROM s [ROWS 1] WHERE k = 'a'", data)
    before = answer("SELECT k FROM (SELECT k, ts FROM s WHERE k = 'a') [ROWS 1] q", data)
    assert after == Counter({(1, ("a",)): 1, (2, ("a",)): -1})
    assert before == Counter({(1, ("a",)): 1})


@equivalence(rows=st.integers(1, 3), key=st.sampled_from(("a", "b")))
def test_selections_of_keys_commute_with_windows_of_each_key(
    data: Input, rows: int, key: str
) -> None:
    window = f"[PARTITION BY k ROWS {rows}]"
    assert_equal(
        f"SELECT k, v FROM s {window} WHERE k = '{key}'",
        f"SELECT k, v FROM (SELECT k, v, x, ts FROM s WHERE k = '{key}') {window} q", data,
    )


@equivalence(length=lengths)
def test_what_leaves_a_range_is_the_stream_delayed(data: Input, length: int) -> None:
    """An element of DSTREAM comes the length of the range after its row, unless an equal row takes its place."""
    later = [(k, v, at + length) for k, v, _, at in data.s[0]]
    comes = stamped([(k, v, at) for k, v, _, at in data.s[0]])
    delayed = stamped(later)
    found = answer(f"DSTREAM(SELECT k, v FROM s [RANGE {length} SECONDS])", data)
    assert found == delayed - comes
    assert answer(f"ISTREAM(SELECT k, v FROM s [RANGE {length} SECONDS])", data) == comes - delayed


@equivalence(test=tests)
def test_now_is_the_shortest_range(data: Input, test: str) -> None:
    """Rows are stamped with whole seconds: within less than one, [RANGE] and [NOW] see the same come."""
    assert_equal(
        f"ISTREAM(SELECT k, v FROM s [NOW] WHERE {test})",
        f"ISTREAM(SELECT k, v FROM s [RANGE 999 MILLISECONDS] WHERE {test})", data,
    )


@equivalence(window=windows)
def test_what_comes_less_what_leaves_is_the_relation(data: Input, window: str) -> None:
    relation = f"SELECT k, COUNT(*) AS n, MAX(v) AS m FROM s {window} GROUP BY k"
    comes, leaves = answer(f"ISTREAM({relation})", data), answer(f"DSTREAM({relation})", data)
    comes.subtract(leaves)
    assert Counter({change: n for change, n in comes.items() if n}) == answer(relation, data)


@equivalence(one=windows, other=windows)
def test_union_commutes(data: Input, one: str, other: str) -> None:
    s, r = f"SELECT k, v FROM s {one}", f"SELECT k, w AS v FROM r {other}"
    for operator in ("UNION ALL", "UNION"):
        assert_equal(f"ISTREAM({s} {operator} {r})", f"ISTREAM({r} {operator} {s})", data)
        assert_equal(f"DSTREAM({s} {operator} {r})", f"DSTREAM({r} {operator} {s})", data)


@equivalence(window=windows)
def test_a_relation_united_with_itself_is_its_different_rows(data: Input, window: str) -> None:
    rows = f"SELECT k, v FROM s {window}"
    assert_equal(
        f"ISTREAM({rows} UNION {rows})", f"ISTREAM(SELECT DISTINCT k, v FROM s {window})", data
    )


@equivalence()
def test_the_last_row_of_each_key(data: Input) -> None:
    """[PARTITION BY k ROWS 1] holds at each instant the last row of each key, ties by the rows' values."""
    changes = answer("SELECT k, v, x FROM s [PARTITION BY k ROWS 1]", data)
    for instant in {at for *_, at in data.s[0]}:
        last: dict[str | None, Row] = {}
        for k, v, x, at in sorted(data.s[0], key=_in_order):
            if at <= instant:
                last[k] = (k, v, x)
        held: Counter[Row] = Counter()
        for (at, row), n in changes.items():
            held[row] += n if at <= instant else 0
        assert +held == Counter(last.values())


def _in_order(row: Row) -> tuple[object, ...]:
    """By time; then by value, NULL first."""
    *values, at = row
    return at, *((value is not None, value or 0 if value is None else value) for value in values)


@equivalence(one=windows, other=windows)
def test_joins_commute(data: Input, one: str, other: str) -> None:
    assert_equal(
        f"ISTREAM(SELECT a.k AS k, v, w FROM s {one} a JOIN r {other} b ON a.k = b.k)",
        f"ISTREAM(SELECT a.k AS k, v, w FROM r {other} b JOIN s {one} a ON a.k = b.k)", data,
    )
    assert_equal(
        f"DSTREAM(SELECT a.k AS k, v, w FROM s {one} a LEFT JOIN r {other} b ON v < w)",
        f"DSTREAM(SELECT a.k AS k, v, w FROM r {other} b RIGHT JOIN s {one} a ON v < w)", data,
    )


@equivalence(window=windows)
def test_joins_are_associative(data: Input, window: str) -> None:
    columns = "a.k AS k, a.v AS v, w, c.v AS u"
    conditions = "a.k = b.k", "b.k = c.k"
    assert_equal(
        f"ISTREAM(SELECT {columns} FROM s {window} a JOIN r {window} b ON {conditions[0]} "
        f"JOIN s {window} c ON {conditions[1]})",
        f"ISTREAM(SELECT {columns} FROM s {window} c JOIN r {window} b ON {conditions[1]} "
        f"JOIN s {window} a ON {conditions[0]})", data,
    )


@equivalence(window=windows, test=st.sampled_from(("v > 2", "v IS NULL", "v < 4 OR v > 7")))
def test_selections_commute_with_joins(data: Input, window: str, test: str) -> None:
    join = "JOIN r [RANGE 10 SECONDS] b ON a.k = b.k"
    assert_equal(
        f"DSTREAM(SELECT a.k AS k, v, w FROM s {window} a {join} WHERE {test})",
        f"DSTREAM(SELECT a.k AS k, v, w FROM (SELECT k, v FROM s {window} WHERE {test}) a {join})",
        data,
    )


@equivalence(one=lengths, other=lengths)
def test_pairs_of_ranges_are_those_near_in_time(data: Input, one: int, other: int) -> None:
    """A pair is there from the later of its rows until the first of them leaves."""
    pairs: Changes = Counter()
    for k, v, _, at in data.s[0]:
        for key, w, then in data.r[0]:
            start, end = max(at, then), min(at + one, then + other)
            if k is not None and k == key and start < end:
                pairs[start, (k, v, w)] += 1
                pairs[end, (k, v, w)] -= 1
    found = answer(
        f"SELECT s.k AS k, v, w FROM s [RANGE {one} SECONDS], r [RANGE {other} SECONDS] "
        "WHERE s.k = r.k", data,
    )
    assert found == Counter({change: n for change, n in pairs.items() if n})


@equivalence(length=lengths)
def test_a_tumbling_window_slides_by_its_length(data: Input, length: int) -> None:
    query = "SELECT k, COUNT(*) AS n, SUM(v) AS sv, WINDOW_END FROM s {} GROUP BY k"
    assert_equal(
        query.format(f"[TUMBLE {length} SECONDS]"),
        query.format(f"[RANGE {length} SECONDS SLIDE {length} SECONDS]"), data,
    )


@equivalence(slides=st.integers(1, 4))
def test_the_sum_of_a_window_is_that_of_its_slides(data: Input, slides: int) -> None:
    """COUNT over RANGE = n * SLIDE is the sum of the counts of the n tumbling windows in it."""
    found = answer(
        f"SELECT COUNT(*) AS n, WINDOW_END FROM s [RANGE {slides * 5} SECONDS SLIDE 5 SECONDS]",
        data,
    )
    pieces = answer("SELECT COUNT(*) AS n, WINDOW_END FROM s [TUMBLE 5 SECONDS]", data)
    sums: Counter[float] = Counter()
    for (end, (n, _)), _ in pieces.items():
        for step in range(slides):
            sums[end + 5 * step] += n
    assert found == Counter((end, (n, end)) for end, n in sums.items())


@equivalence(rows=st.integers(1, 4))
def test_a_window_of_rows_holds_so_many(data: Input, rows: int) -> None:
    """At most n rows, and n from the n-th row on."""
    held = 0
    changes = answer(f"SELECT COUNT(*) AS n FROM s [ROWS {rows}]", data)
    for (at, (n,)), count in sorted(changes.items(), key=lambda change: change[0][0]):
        if count > 0:
            so_far = sum(then <= at for *_, then in data.s[0])
            assert n == min(rows, so_far)
            held = n
    assert held == min(rows, len(data.s[0]))


@equivalence(window=windows, test=tests)
def test_a_count_with_filter_counts_the_rows_that_pass(data: Input, window: str, test: str) -> None:
    assert_equal(
        f"ISTREAM(SELECT k, COUNT(*) FILTER (WHERE {test}) AS n FROM s {window} GROUP BY k "
        f"HAVING COUNT(*) FILTER (WHERE {test}) > 0)",
        f"ISTREAM(SELECT k, COUNT(*) AS n FROM (SELECT k, v, x FROM s {window}) q "
        f"WHERE {test} GROUP BY k)", data,
    )


@equivalence(length=lengths)
def test_groups_of_groups_are_groups(data: Input, length: int) -> None:
    """A sum of the sums of each key is the sum of all rows."""
    window = f"[RANGE {length} SECONDS]"
    assert_equal(
        f"SELECT SUM(n) AS n FROM (SELECT k, COUNT(*) AS n FROM s {window} GROUP BY k) q "
        "HAVING SUM(n) > 0",
        f"SELECT COUNT(*) AS n FROM s {window} HAVING COUNT(*) > 0", data,
    )


@equivalence(window=windows)
def test_rows_that_meet_and_rows_that_miss_are_all(data: Input, window: str) -> None:
    """A table's keys split a relation in two, where neither side has a NULL."""
    rows = f"SELECT k, v FROM s {window} WHERE k IS NOT NULL"
    keys_of = "(SELECT k FROM t WHERE k IS NOT NULL)"
    assert_equal(
        f"ISTREAM({rows} AND k IN {keys_of} UNION ALL {rows} AND k NOT IN {keys_of})",
        f"ISTREAM({rows})", data,
    )


@pytest.mark.parametrize("window", ["[RANGE 10 SECONDS]", "[ROWS 2]", "[NOW]"])
def test_the_order_of_arrival_does_not_matter(window: str) -> None:
    rows: list[Row] = [("a", 1, None, 1), ("b", 2, 0.5, 1), ("a", 3, None, 4), ("c", None, 1.0, 12)]
    query = f"SELECT k, v FROM s {window}"
    answers = [
        changes_until(by_definition(query, Input([order], [[]], []), WHOLE), END)
        for order in (rows, rows[::-1], rows[2:] + rows[:2])
    ]
    assert answers[0] == answers[1] == answers[2]
