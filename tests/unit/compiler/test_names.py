"""What names mean: columns, inputs, aliases, fields, CTEs, stars, ordinals, results."""

from __future__ import annotations

import pytest

from streamq.compiler.ir.expr import Column, FieldOf
from tests.support.compiling import codes, expression, found, logical_query


def names(query: str) -> list[str]:
    return [f.name for f in logical_query(query).root.schema]


def test_case_does_not_count_and_the_declared_spelling_stays() -> None:
    stream = "CREATE STREAM Odd (CamelCase INT, \"a b\" INT) WITH (connector = 'memory');"
    assert names(stream + "SELECT camelcase + 1 AS x, * FROM ODD;") == ["x", "CamelCase", "a b"]
    assert names(stream + "SELECT CAMELCASE, \"A B\" FROM odd;") == ["CamelCase", "a b"]


def test_an_alias_hides_the_name_of_the_stream() -> None:
    assert codes("SELECT z.i FROM s z;") == []
    assert codes("SELECT s.i FROM s z;") == ["SQ0202"]


def test_an_alias_comes_before_a_struct_column() -> None:
    plain = expression("o.a")
    assert isinstance(plain, FieldOf)
    aliased = expression("o.i", source="s o")
    assert isinstance(aliased, Column)
    assert aliased.name == "i"
    assert isinstance(expression("o.o.a", source="s o"), FieldOf)


def test_ambiguous_names_say_what_to_write() -> None:
    (diagnostic,) = found("SELECT i FROM s JOIN r ON s.l = r.i;")[:1]
    assert diagnostic.code == "SQ0203"
    assert diagnostic.help == "say `s.i` or `r.i`"


def test_using_makes_one_column_of_two() -> None:
    assert names("SELECT i, y FROM s JOIN r USING (i) WHERE i > 1;") == ["i", "y"]
    starred = names("SELECT * FROM s [NOW] JOIN r [RANGE 1 DAY] USING (i);")
    assert starred.count("i") == 1
    assert "r_i" not in starred
    assert "r_ts" in starred


def test_a_right_join_using_takes_the_column_of_the_kept_side() -> None:
    left = expression("i", source="s [RANGE 1 DAY] LEFT JOIN r [RANGE 1 DAY] USING (i)")
    right = expression("i", source="s [RANGE 1 DAY] RIGHT JOIN r [RANGE 1 DAY] USING (i)")
    assert isinstance(left, Column)
    assert isinstance(right, Column)
    assert (left.name, right.name) == ("s.i", "r.i")


def test_names_of_results() -> None:
    query = "SELECT i + 1, i * 2, UPPER(t), CAST(l AS INT), o.p.q, COUNT(*), (i) FROM s GROUP BY i, t, l, o;"
    assert names(query) == ["column", "column_2", "upper", "l", "q", "count", "i"]


def test_stars_keep_apart_what_is_called_the_same() -> None:
    assert names("SELECT * FROM r a JOIN r b ON a.i = b.i;") == ["i", "y", "ts", "b_i", "b_y", "b_ts"]
    assert names("SELECT b.* FROM r a JOIN r b ON a.i = b.i;") == ["i", "y", "ts"]
    assert codes("SELECT i, * FROM r;") == ["SQ0205"]


def test_group_by_takes_columns_before_aliases_before_nothing() -> None:
    query = "SELECT i AS l, COUNT(*) AS c FROM s GROUP BY l;"
    assert codes(query) == ["SQ0403"]
    assert codes("SELECT i + 1 AS g, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] GROUP BY g;") == []
    assert codes("SELECT i + 1 AS g, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] GROUP BY 1;") == []
    assert codes("SELECT i + 1 AS g, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] GROUP BY i + 1;") == []


def test_order_by_takes_aliases_before_columns() -> None:
    query = logical_query("SELECT i AS l, x FROM s [TUMBLE 1 MINUTE] ORDER BY l LIMIT 1;")
    assert [f.name for f in query.root.schema] == ["l", "x"]


def test_a_cte_hides_a_stream_and_sees_those_before_it() -> None:
    assert names("WITH s AS (SELECT i AS z FROM s), q AS (SELECT z + 1 AS y FROM s) SELECT * FROM q;") == ["y"]
    assert codes("WITH q AS (SELECT * FROM p), p AS (SELECT i FROM s) SELECT * FROM q;") == ["SQ0201"]


def test_a_view_does_not_see_the_ctes_of_its_reader() -> None:
    view = "CREATE VIEW v AS SELECT * FROM hidden;"
    assert codes(view + "WITH hidden AS (SELECT i FROM s) SELECT * FROM v;") == ["SQ0201"]


def test_declarations_may_come_in_any_order() -> None:
    program = """
    SELECT a FROM v;
    CREATE VIEW v AS SELECT a FROM w;
    CREATE VIEW w AS SELECT own(a, 'x') AS a FROM z;
    CREATE FUNCTION own (a DOUBLE, b STRING) RETURNS INT AS 'm:f';
    CREATE STREAM z (a INT) WITH (connector = 'memory');
    """
    assert codes(program, prelude=False) == []


@pytest.mark.parametrize(
    ("query", "help"),
    [
        ("SELECT tagz FROM s;", "did you mean `tags`?"),
        ("SELECT s.tagz FROM s;", "did you mean `tags`?"),
        ("SELECT zzzzzzzz FROM r;", "`r` has `i`, `y`, `ts`"),
        ("SELECT i FROM itme;", "did you mean `item`?"),
        ("SELECT q.* FROM r;", "the inputs are `r`"),
        ("SELECT o.z FROM s;", "it has `a`, `p`"),
        ("SELECT UPPPER(t) FROM s;", "did you mean `UPPER`?"),
        ("SELECT ownn(x, t) FROM s;", "did you mean `own`?"),
        ("INSERT INTO otu SELECT i FROM s;", "did you mean `out`?"),
        ("SELECT i FROM (SELECT i FROM r) WHERE zzzzzzz = 1;", "the input has `i`"),
    ],
)
def test_help_names_what_there_is(query: str, help: str) -> None:
    assert [d.help for d in found(query)] == [help]


def test_a_window_bound_is_a_column_once_it_is_selected() -> None:
    view = "CREATE VIEW v AS RSTREAM(SELECT i, WINDOW_END FROM s [TUMBLE 1 MINUTE]);"
    query = logical_query(view + "SELECT WINDOW_END, COUNT(*) AS c FROM v GROUP BY WINDOW_END;")
    assert [f.name for f in query.root.schema] == ["WINDOW_END", "c"]
    assert codes(view + "SELECT WINDOW_START FROM v;") == ["SQ0407"]
    assert codes(view + "SELECT i, WINDOW_END, COUNT(*) AS c FROM v GROUP BY i;") == ["SQ0403"]


@pytest.mark.parametrize(
    ("query", "window"),
    [
        ("SELECT TUMBLE(ts, '1 minute') AS w, i FROM s;", "s [TUMBLE 1 MINUTE]"),
        ("SELECT i FROM s z GROUP BY z.i, hop_end(ts, 5, 60);", "stream [RANGE 10 MINUTES SLIDE 1 MINUTE]"),
        ("SELECT SESSION(s.ts, 5) AS w FROM s JOIN r ON s.i = r.i;", "stream [SESSION 5 MINUTES]"),
    ],
)
def test_a_window_that_is_called_like_a_function(query: str, window: str) -> None:
    wrong = next(d for d in found(query) if d.code == "SQ0204")
    assert wrong.help.startswith(f"a window stands behind the stream: `{window}`; ")
