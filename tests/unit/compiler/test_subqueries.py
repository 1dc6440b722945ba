"""What the binder makes of subqueries: names, types, and where they may stand."""

from __future__ import annotations

import pytest

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from streamq.dsl.ast import JoinKind
from streamq.dsl.types import BIGINT, BOOLEAN, DOUBLE, FLOAT
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


def test_a_column_of_a_full_join_using_that_stands_already_is_called_by_its_input() -> None:
    starred = schema(f"SELECT i, * FROM (SELECT x, i, ts FROM s) {MINUTE} a FULL JOIN r {MINUTE} b USING (i);")
    assert starred == ["i", "a_i", "x", "ts", "y", "b_ts"]


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


def test_an_aggregate_with_a_subquery_in_having_gives_one_row() -> None:
    for test in ("COUNT(*) IN (SELECT id FROM item)", f"EXISTS (SELECT 1 FROM r {MINUTE})"):
        inner = f"(SELECT MAX(y) FROM r {MINUTE} HAVING {test})"
        assert codes(f"SELECT {inner} AS m FROM s {MINUTE};") == []
    joined = f"(SELECT q.c FROM (SELECT COUNT(*) AS c FROM r {MINUTE}) q JOIN r {MINUTE} p ON q.c = p.i)"
    assert codes(f"SELECT {joined} AS m FROM s {MINUTE};") == ["SQ0305"]


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


def test_the_column_is_of_the_type_that_is_compared_before_it_is_distinct() -> None:
    for query in (
        "SELECT i FROM s WHERE f IN (SELECT id FROM item);",
        "SELECT f IN (SELECT id FROM item) AS answer FROM s;",
        "SELECT i FROM s WHERE EXISTS (SELECT 1 FROM item WHERE id = f);",
        "SELECT EXISTS (SELECT 1 FROM item WHERE id = f) AS answer FROM s;",
        "SELECT (SELECT COUNT(*) FROM item WHERE id = f) AS answer FROM s;",
    ):
        assert not any("Cast" in repr(join.condition) for join in joins(query))
        assert FLOAT in {f.type for join in joins(query) for f in join.right.schema}


def test_equalities_of_two_types_and_of_computed_values_need_no_except() -> None:
    for test in ("id = i", "id + 1 = l", "l = id + 1 AND name = t"):
        query = f"SELECT i FROM s WHERE EXISTS (SELECT 1 FROM item WHERE {test});"
        assert codes(query) == []


@pytest.mark.parametrize(
    "question",
    [
        "COUNT(*) IN (SELECT n FROM s {w})", "COUNT(*) NOT IN (SELECT n FROM s {w})",
        "COUNT(*) = ANY (SELECT n FROM s {w})", "LAST(x) IN (SELECT y FROM r {w})",
        "LAST(x) NOT IN (SELECT y FROM r {w})", "FIRST(x) > ANY (SELECT y FROM r {w})",
    ],
)
def test_an_aggregate_that_is_asked_for_makes_groups(question: str) -> None:
    window = "[TUMBLE 1 MINUTE]"
    asked = question.format(w=window)
    for query in (
        f"SELECT {asked} AS answer FROM s {window};",
        f"SELECT CASE WHEN {asked} THEN 1 ELSE 2 END AS answer FROM s {window};",
        f"SELECT 1 AS one FROM s {window} HAVING {asked};",
        f"SELECT t, {asked} AS answer FROM s {window} GROUP BY t;",
    ):
        assert codes(query) == []
        assert any(isinstance(n, lg.Aggregate) for n in walk(logical_query(query).root))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT i FROM s WHERE COUNT(*) IN (SELECT id FROM item);",
        "SELECT i FROM s WHERE COUNT(*) NOT IN (SELECT n FROM s);",
        "SELECT i FROM s WHERE COUNT(*) > ALL (SELECT id FROM item);",
        "SELECT i FROM s WHERE i = 1 OR COUNT(*) IN (SELECT n FROM s);",
        f"SELECT MAX(COUNT(*) IN (SELECT n FROM s {MINUTE})) AS m FROM s {MINUTE};",
    ],
)
def test_an_aggregate_that_is_asked_for_stands_where_aggregates_do(query: str) -> None:
    assert codes(query) == ["SQ0404"]


@pytest.mark.parametrize(
    "test",
    [
        "EXISTS (SELECT nonsense, blah(3) {})", "NOT EXISTS (SELECT nonsense, blah(3) {})",
        "(i > 1 OR EXISTS (SELECT nonsense, blah(3) {}))",
        "EXISTS (SELECT nonsense, blah(COUNT(*)) {})",
        "EXISTS (SELECT nonsense, blah(COUNT(*)) {} HAVING COUNT(*) > 1)",
    ],
)
def test_the_select_list_of_exists_is_looked_at(test: str) -> None:
    where = test.format(f"FROM r {MINUTE} WHERE r.i = s.i")
    assert codes(f"SELECT i FROM s {MINUTE} WHERE {where};") == ["SQ0202", "SQ0204"]


def test_the_select_list_of_exists_may_read_the_row_outside() -> None:
    inner = f"(SELECT *, r.*, s.x, y, {GREATEST}, NULL FROM r {MINUTE} WHERE r.i = s.i)"
    assert codes(f"SELECT i FROM s {MINUTE} WHERE EXISTS {inner};") == []
    assert codes(f"SELECT EXISTS {inner} AS answer FROM s {MINUTE};") == []
    unknown = f"SELECT i FROM s {MINUTE} WHERE EXISTS (SELECT q.* FROM r {MINUTE});"
    assert codes(unknown) == ["SQ0202"]


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT id FROM item WHERE EXISTS (SELECT 1 FROM s {MINUTE} WHERE s.l > item.id);",
        f"SELECT id FROM item WHERE NOT EXISTS (SELECT 1 FROM s {MINUTE} WHERE s.l = item.id);",
        f"SELECT id FROM item WHERE NOT EXISTS (SELECT 1 FROM s {MINUTE});",
        f"SELECT id FROM item WHERE id NOT IN (SELECT l FROM s {MINUTE});",
        "SELECT id FROM item WHERE id NOT IN (SELECT l FROM s [TUMBLE 1 MINUTE]);",
        f"SELECT id FROM item WHERE id < ALL (SELECT l FROM s {MINUTE});",
        f"SELECT id FROM item WHERE id < ANY (SELECT l FROM s {MINUTE});",
        f"SELECT id, (SELECT MAX(l) FROM s {MINUTE}) AS m FROM item;",
        f"SELECT id, id IN (SELECT l FROM s {MINUTE}) AS answer FROM item;",
    ],
)
def test_a_table_outside_is_refused_in_words_of_its_own(query: str) -> None:
    (wrong,) = found(query)
    assert (wrong.code, wrong.label) == ("SQ0502", "a stream inside, a table outside")


def test_a_table_outside_may_meet_a_stream() -> None:
    assert codes(f"SELECT id FROM item WHERE id IN (SELECT l FROM s {MINUTE});") == []
    assert codes(f"SELECT id FROM item WHERE EXISTS (SELECT 1 FROM s {MINUTE} WHERE l = id);") == []


@pytest.mark.parametrize(
    "query",
    [
        f"(SELECT MAX(y) AS y FROM r {MINUTE} WHERE r.i = s.i UNION SELECT 1.0 AS y FROM r {MINUTE})",
        f"(WITH q AS (SELECT y FROM r {MINUTE} WHERE r.i = s.i) SELECT y FROM q)",
        f"(SELECT q.y FROM (SELECT y FROM r {MINUTE} WHERE r.i = s.i) q)",
        f"(SELECT y FROM r {MINUTE} WHERE y IN (SELECT y FROM r {MINUTE} WHERE i = s.i))",
        f"(SELECT y FROM r {MINUTE} WHERE r.i = s.i ORDER BY y LIMIT 2)",
        f"(SELECT SUM(y + s.x) AS y FROM r {MINUTE} GROUP BY i)",
    ],
)
def test_a_row_outside_that_is_out_of_reach_is_told_from_what_is_unknown(query: str) -> None:
    wrongs = found(f"SELECT i FROM s {MINUTE} WHERE x IN {query};")
    assert [d.code for d in wrongs if d.code != "SQ0902"] == ["SQ0501"]
    assert "of the row outside" in wrongs[-1].message


def test_a_view_below_a_subquery_knows_no_row_outside() -> None:
    text = f"CREATE VIEW w AS SELECT y FROM r {MINUTE} WHERE i = l; SELECT i FROM s {MINUTE} WHERE x IN (SELECT y FROM w);"
    assert codes(text) == ["SQ0202"]


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


def test_a_map_is_not_compared() -> None:
    prelude = (
        "CREATE TABLE places (i INT, m MAP<STRING, INT>) WITH (connector = 'memory');\n"
        "SELECT i, m FROM s {} SELECT i, m FROM places;"
    )
    for op in ("EXCEPT", "INTERSECT"):
        (wrong,) = found(prelude.format(op))
        assert wrong.code == "SQ0502"
        assert wrong.message == f"{op} cannot compare `m`, which is a MAP<STRING, INT>"
