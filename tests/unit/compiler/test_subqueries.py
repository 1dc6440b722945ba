"""What the binder makes of subqueries: names, types, and where they may stand."""

from __future__ import annotations

import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from streamq.dsl.ast import JoinKind
from streamq.dsl.types import BIGINT, BOOLEAN, DOUBLE
from tests.support.compiling import codes, found, logical_query

MINUTE = "[RANGE 1 MINUTE]"


def schema(query: str) -> list[str]:
    return [f.name for f in logical_query(query).root.schema]


def joins(query: str) -> list[lg.Join]:
    return [n for n in walk(logical_query(query).root) if isinstance(n, lg.Join)]


# --- FULL JOIN USING -----------------------------------------------------------------------------

FULL = f"FROM s {MINUTE} FULL JOIN r {MINUTE} USING (i)"


def test_a_full_join_using_has_its_column_once_and_first() -> None:
    starred = schema(f"SELECT * FROM (SELECT x, i, ts FROM s) {MINUTE} a FULL JOIN r {MINUTE} b USING (i);")
    assert starred == ["i", "x", "ts", "y", "b_ts"]
    assert schema(f"SELECT i, s.i AS ours, r.i AS theirs {FULL};") == ["i", "ours", "theirs"]
    assert codes(f"SELECT i, COUNT(*) AS c {FULL} WHERE i > 1 GROUP BY i;") == []


def test_full_joins_using_follow_each_other() -> None:
    query = f"SELECT i, q.y AS y {FULL} FULL JOIN r {MINUTE} q USING (i);"
    assert schema(query) == ["i", "y"]
    merged = [join.kind is JoinKind.FULL and "__using" in repr(join.condition) for join in joins(query)]
    assert sorted(merged) == [False, True]


def test_a_full_join_using_different_types_is_an_error_once() -> None:
    query = f"SELECT COUNT(*) AS c FROM s {MINUTE} a FULL JOIN (SELECT t AS i, ts FROM s) {MINUTE} b USING (i);"
    assert codes(query) == ["SQ0301"]


# --- scalar subqueries ---------------------------------------------------------------------------

GREATEST = f"(SELECT MAX(y) FROM r {MINUTE})"


def test_a_value_is_a_column_of_its_type_that_may_be_null() -> None:
    (column,) = logical_query(f"SELECT {GREATEST} AS m FROM s {MINUTE};").root.schema
    assert (column.type, column.nullable) == (DOUBLE, True)


def test_a_star_leaves_the_values_out() -> None:
    assert schema(f"SELECT *, {GREATEST} AS m FROM r {MINUTE};") == ["i", "y", "ts", "m"]


def test_a_value_below_an_aggregate_is_joined_below_it() -> None:
    inside = logical_query(f"SELECT SUM(x - {GREATEST}) AS total FROM s {MINUTE};").root
    outside = logical_query(f"SELECT SUM(x) - {GREATEST} AS total FROM s {MINUTE};").root
    assert isinstance(inside.inputs[0], lg.Aggregate)
    assert isinstance(outside.inputs[0], lg.Join)


def test_having_and_order_by_go_with_values() -> None:
    window = "[TUMBLE 1 MINUTE]"
    query = (
        f"SELECT i, COUNT(*) AS c FROM s {window} GROUP BY i "
        f"HAVING COUNT(*) > (SELECT AVG(y) FROM r {window}) ORDER BY SUM(x) LIMIT 3;"
    )
    assert codes(query) == []


def test_nothing_is_bound_twice_however_deep_it_lies() -> None:
    query = "SELECT MAX(y) AS y FROM r [RANGE 1 MINUTE]"
    for _ in range(25):
        query = f"SELECT MAX((SELECT MAX(y) FROM ({query}) q)) AS y FROM r [RANGE 1 MINUTE]"
    assert codes(query + ";") == []


# --- values for the row outside ------------------------------------------------------------------


def test_the_inner_query_is_grouped_by_its_side_of_the_equality() -> None:
    (join,) = joins(f"SELECT (SELECT COUNT(*) FROM r {MINUTE} WHERE r.i = s.i + 1) AS c FROM s {MINUTE};")
    assert join.kind is JoinKind.LEFT
    (grouped,) = [n for n in walk(join.right) if isinstance(n, lg.Aggregate)]
    assert [n for n, _ in grouped.keys] == ["__by0"]


def test_a_count_of_nothing_is_not_null_and_a_sum_is() -> None:
    root = logical_query(
        f"SELECT (SELECT COUNT(*) FROM r {MINUTE} WHERE r.i = s.i) AS c, "
        f"(SELECT MAX(y) FROM r {MINUTE} WHERE r.i = s.i) AS m FROM s {MINUTE};"
    ).root
    assert isinstance(root, lg.Project)
    count, greatest = (type(e).__name__ for _, e in root.items)
    assert (count, greatest) == ("Case", "Column")
    assert root.schema[0].type == BIGINT


def test_names_are_those_of_the_inner_query_first() -> None:
    assert joins(f"SELECT (SELECT COUNT(*) FROM r {MINUTE} WHERE i = 1) AS c FROM s {MINUTE};")[0].condition is None
    assert codes(f"SELECT (SELECT COUNT(*) FROM r {MINUTE} WHERE zzz = 1) AS c FROM s {MINUTE};") == ["SQ0202"]


@pytest.mark.parametrize(
    ("query", "code", "help"),
    [
        (f"SELECT (SELECT MAX(y) FROM r {MINUTE} WHERE r.i > s.i) AS m FROM s {MINUTE};",
         "SQ0501", "join the two in FROM, and group the pairs"),
        (f"SELECT (SELECT MAX(y) FROM r {MINUTE} WHERE s.x > 1) AS m FROM s {MINUTE};",
         "SQ0501", "join the two in FROM, and group the pairs"),
        (f"SELECT (SELECT MAX(y + s.x) FROM r {MINUTE}) AS m FROM s {MINUTE};",
         "SQ0501", "write it outside of the subquery, or join the two in FROM"),
        (f"SELECT (SELECT y FROM r {MINUTE} WHERE r.i = s.i) AS m FROM s {MINUTE};",
         "SQ0305", "select an aggregate without GROUP BY, such as MAX(…)"),
        (f"SELECT (SELECT MAX(y) FROM r {MINUTE} WHERE r.i = s.i GROUP BY ts) AS m FROM s {MINUTE};",
         "SQ0305", "select an aggregate without GROUP BY, such as MAX(…)"),
        (f"SELECT (SELECT MAX(y), MIN(y) FROM r {MINUTE} WHERE r.i = s.i) AS m FROM s {MINUTE};",
         "SQ0305", "select one column"),
        (f"SELECT t, COUNT(*) AS c, (SELECT MAX(y) FROM r {MINUTE} WHERE r.i = s.i) AS m "
         f"FROM s {MINUTE} GROUP BY t;",
         "SQ0403", "add `i` to GROUP BY, or take MAX(`i`), FIRST(`i`), …"),
        (f"SELECT {GREATEST} AS top, COUNT(*) AS c FROM s {MINUTE} GROUP BY top;",
         "SQ0501", "compute it in a subquery in FROM, and group that"),
        (f"SELECT s.i AS i FROM s {MINUTE} JOIN r {MINUTE} ON s.x > {GREATEST};",
         "SQ0501", "compute it in the select list of a subquery in FROM"),
    ],
)
def test_what_is_refused_says_a_way_out(query: str, code: str, help: str) -> None:
    assert [(d.code, d.help) for d in found(query)] == [(code, help)]


# --- IN, EXISTS, ALL, ANY ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "test",
    [
        f"EXISTS (SELECT 1 FROM r {MINUTE})",
        f"NOT EXISTS (SELECT i FROM r {MINUTE} GROUP BY i HAVING COUNT(*) > 1)",
        f"EXISTS (SELECT y FROM r {MINUTE} WHERE r.i = s.i GROUP BY y HAVING COUNT(*) > 1)",
        f"EXISTS (SELECT COUNT(*) FROM r {MINUTE} WHERE r.i = s.i HAVING COUNT(*) = 0)",
        f"EXISTS (SELECT i FROM r {MINUTE} UNION SELECT i FROM s {MINUTE})",
        f"EXISTS (SELECT 1 FROM r {MINUTE} WHERE r.i = s.i AND y > {GREATEST})",
        f"i IN (SELECT i FROM r {MINUTE} GROUP BY i HAVING COUNT(*) > 1)",
        f"x IN (SELECT y FROM r {MINUTE} WHERE r.i = s.i)",
        f"x NOT IN (SELECT MAX(y) FROM r {MINUTE} WHERE r.i = s.i GROUP BY ts)",
        f"x <> ANY (SELECT y FROM r {MINUTE})",
        f"NOT x = ALL (SELECT y FROM r {MINUTE})",
        "l IN (SELECT id FROM item GROUP BY id HAVING COUNT(*) > 1)",
        "EXISTS (SELECT id FROM item GROUP BY id HAVING COUNT(*) > 1)",
        "l <> ANY (SELECT id FROM item)",
        f"(x > 1 OR i IN (SELECT i FROM r {MINUTE}))",
        f"(i NOT IN (SELECT i FROM r {MINUTE})) IS NULL",
        f"CASE WHEN EXISTS (SELECT 1 FROM r {MINUTE} WHERE r.i = s.i) THEN x ELSE 0.0 END > 1",
        f"COALESCE(x < ALL (SELECT y FROM r {MINUTE} WHERE r.i = s.i), FALSE)",
    ],
)
def test_what_asks_a_query_has_the_columns_outside(test: str) -> None:
    assert schema(f"SELECT * FROM r {MINUTE};") == ["i", "y", "ts"]
    assert schema(f"SELECT i, x FROM s {MINUTE} WHERE {test};") == ["i", "x"]


@pytest.mark.parametrize(
    "value",
    [
        f"i IN (SELECT i FROM r {MINUTE})", f"x NOT IN (SELECT y FROM r {MINUTE} WHERE r.i = s.i)",
        f"EXISTS (SELECT 1 FROM r {MINUTE})", f"NOT EXISTS (SELECT i FROM r {MINUTE} GROUP BY i)",
        f"x > ANY (SELECT y FROM r {MINUTE})", f"x = ALL (SELECT y FROM r {MINUTE} WHERE r.i = s.i)",
    ],
)
def test_a_question_is_a_value_elsewhere(value: str) -> None:
    (column,) = logical_query(f"SELECT {value} AS answer FROM s {MINUTE};").root.schema
    assert (column.type, column.nullable) == (BOOLEAN, "EXISTS" not in value)
    grouped = f"SELECT COUNT_IF({value}) AS c, i, x FROM s {MINUTE} GROUP BY i, x HAVING {value};"
    assert codes(grouped) == []


def test_what_cannot_be_null_needs_no_count_of_nulls() -> None:
    query = "SELECT n IN (SELECT n FROM s) AS answer FROM s;"
    assert len(joins(query)) == 1
    (column,) = logical_query(query).root.schema
    assert not column.nullable


def test_a_list_of_one_aggregate_is_refused() -> None:
    (wrong,) = found(f"SELECT i FROM s {MINUTE} WHERE x IN (SELECT MAX(y) FROM r {MINUTE} WHERE r.i = s.i);")
    assert (wrong.code, wrong.help) == (
        "SQ0501", "it is one value: compare with it by `=`, without IN, ALL or ANY",
    )


# --- tables in set operations --------------------------------------------------------------------


def test_except_and_intersect_look_up_a_table() -> None:
    ours = f"SELECT l FROM s {MINUTE}"
    for query in (
        f"{ours} EXCEPT SELECT id FROM item;", f"{ours} INTERSECT SELECT id FROM item;",
        f"SELECT id FROM item INTERSECT {ours};",
    ):
        assert not any(isinstance(n, lg.Compare) for n in walk(logical_query(query).root))
    assert schema(f"SELECT id FROM item INTERSECT {ours};") == ["id"]
    assert codes(f"SELECT id FROM item EXCEPT {ours};") == ["SQ0501"]
    assert codes(f"{ours} EXCEPT ALL SELECT id FROM item;") == ["SQ0501"]
