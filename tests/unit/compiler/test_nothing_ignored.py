"""No clause is silently ignored: each acts, or is reported. What is harmless is a warning, SQ0902."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.explain import render
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk
from streamq.dsl.diagnostics import Severity
from streamq.dsl.source import SourceFile
from tests.support.cases import reader
from tests.support.compiling import codes, compile_text, found, logical_query


def physical(text: str) -> str:
    result = compile_text(text)
    assert result.plan is not None, [d.message for d in result.diagnostics]
    last = result.plan.queries[-1].name
    return render(result, "physical", query=last)


def operators(text: str) -> list[type[lg.Logical]]:
    return [type(node) for node in walk(logical_query(text).root)]


# --- clauses that act ----------------------------------------------------------------------------


def test_distinct_inside_a_view_a_cte_and_a_subquery() -> None:
    inner = "SELECT DISTINCT i, ts FROM s"
    for text in (
        f"CREATE VIEW v AS {inner}; SELECT i FROM v;",
        f"WITH v AS ({inner}) SELECT i FROM v;",
        f"SELECT i FROM ({inner}) v;",
        f"({inner}) UNION ALL SELECT i, ts FROM r;",
    ):
        assert "drop duplicates of i, ts" in physical(text)


def test_order_by_with_limit_inside() -> None:
    inner = "SELECT i, x FROM s [TUMBLE 1 MINUTE] ORDER BY x DESC LIMIT 2"
    for text in (
        f"CREATE VIEW v AS {inner}; SELECT i FROM v;",
        f"WITH v AS ({inner}) SELECT i FROM v;",
        f"SELECT i FROM ({inner}) v;",
        f"({inner}) UNION ALL SELECT i, x FROM s [TUMBLE 1 MINUTE];",
        f"RSTREAM({inner});",
    ):
        assert "max_by" in physical(text)


def test_partition_by_of_windows() -> None:
    assert "group by __k0 = `i`, __k1 = `t`" in physical("SELECT * FROM s [PARTITION BY i, t ROWS 1];")
    session = physical("SELECT i, COUNT(*) AS c FROM s [SESSION 1 MINUTE PARTITION BY i] GROUP BY i;")
    assert "group by i, session of ts" in session


def test_column_lists_rename() -> None:
    assert codes("CREATE VIEW v (a, b) AS SELECT i, x FROM s; SELECT a, b FROM v;") == []
    assert codes("CREATE VIEW v (a, b) AS SELECT i, x FROM s; SELECT i FROM v;") == ["SQ0202"]
    assert codes("WITH v (a) AS (SELECT i FROM s) SELECT a FROM v;") == []


def test_not_null_of_files() -> None:
    table = "CREATE TABLE z (a INT NOT NULL, c INT) WITH (connector = 'file', path = 'in');"
    assert "where `a` IS NOT NULL" in physical(table + "SELECT c FROM s JOIN z ON i = c;")
    stream = "CREATE STREAM z (a INT NOT NULL, b INT) WITH (connector = 'file', path = 'in');"
    assert "IF(`a` IS NULL, '', " in physical(stream + "SELECT b FROM z;")
    # Spark would move the test into the reader if it stood below the count.
    for options in ("path = 'in', format = 'json', on_error = 'fail'", "path = 'in', format = 'parquet'"):
        assert "AS malformed" in physical(stream.replace("path = 'in'", options) + "SELECT b FROM z;"), options
    assert "`a`" not in physical(stream.replace(" NOT NULL", "") + "SELECT b FROM z;")


def test_nulls_first_and_last() -> None:
    query = "SELECT i FROM s [TUMBLE 1 MINUTE] ORDER BY i {} LIMIT 1;"
    plans = {physical(query.format(order)) for order in ("", "DESC", "NULLS LAST", "DESC NULLS FIRST")}
    assert len(plans) == 4
    assert physical(query.format("ASC NULLS FIRST")) == physical(query.format(""))


def test_a_length_of_text_is_kept_by_a_cast() -> None:
    assert "left(CAST(`t` AS STRING), 3)" in physical("SELECT CAST(t AS VARCHAR(3)) AS a FROM s;")
    assert "rpad(CAST(`i` AS STRING), 3, ' ')" in physical("SELECT CAST(i AS CHAR(3)) AS a FROM s;")


def test_filter_and_distinct_of_aggregates() -> None:
    assert "FILTER (WHERE `b`)" in physical("SELECT SUM(i) FILTER (WHERE b) AS a FROM s [TUMBLE 1 MINUTE];")
    assert "collect_set" in physical("SELECT COUNT(DISTINCT i) AS a, AVG(x) AS c FROM s;")
    for text in ("UPPER(DISTINCT t)", "UPPER(t) FILTER (WHERE b)", "own(DISTINCT x, t)", "SUM(*)"):
        assert codes(f"SELECT {text} AS a FROM s;") == ["SQ0302"]


def test_shedding_of_every_source_of_a_query() -> None:
    text = "SELECT ISTREAM(s.x) FROM s [RANGE 1 DAY] JOIN r [RANGE 1 DAY] ON s.i = r.i SHED RANDOM BY 5 PERCENT;"
    result = compile_text(text)
    assert result.optimized is not None
    shed = [n for n in walk(result.optimized.queries[-1].root) if isinstance(n, lg.Shed)]
    assert len(shed) == 2


# --- clauses that are reported -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "CREATE VIEW v AS SELECT i FROM s [TUMBLE 1 MINUTE] ORDER BY i; SELECT i FROM v;",
        "WITH v AS (SELECT i FROM s ORDER BY i) SELECT i FROM v;",
        "SELECT i FROM (SELECT i FROM s ORDER BY i DESC) v;",
        "(SELECT i FROM s ORDER BY i) UNION ALL SELECT i FROM r;",
        "CREATE TABLE z (a INT, PRIMARY KEY (a)) WITH (connector = 'memory'); SELECT i FROM s JOIN z ON i = a;",
        "CREATE TABLE z (a INT PRIMARY KEY) WITH (connector = 'memory'); SELECT i FROM s JOIN z ON i = a;",
        "CREATE STREAM z (a INT, b INT NOT NULL AS a + 1) WITH (connector = 'memory'); SELECT b FROM z;",
        "CREATE STREAM z (a INT) WITH (connector = 'memory');",
        "CREATE TABLE z (a INT) WITH (connector = 'memory');",
        "CREATE VIEW v AS SELECT i FROM s;",
        "CREATE SINK z WITH (connector = 'console');",
        "CREATE FUNCTION f (a INT) RETURNS INT AS 'm:f';",
        "WITH v AS (SELECT i FROM s) SELECT i FROM r;",
        "CREATE VIEW v AS WITH w AS (SELECT i FROM s) SELECT i FROM r; SELECT i FROM v;",
    ],
)
def test_harmless_things_are_warnings(text: str) -> None:
    (diagnostic,) = found(text)
    assert (diagnostic.code, diagnostic.severity) == ("SQ0902", Severity.WARNING)
    assert diagnostic.help


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT i FROM s LIMIT 3;", "SQ0408"),
        ("SELECT i FROM (SELECT i FROM s LIMIT 3) x;", "SQ0408"),
        ("SELECT i FROM s [TUMBLE 1 MINUTE] ORDER BY i LIMIT 0;", "SQ0408"),
        ("SELECT i FROM s ORDER BY i;", "SQ0408"),
        ("SELECT i FROM s HAVING i > 1;", "SQ0409"),
        ("SELECT name FROM item [NOW];", "SQ0401"),
        ("SELECT i FROM s [UNBOUNDED SLIDE 1 SECOND];", "SQ0405"),
        ("SELECT i FROM s [PARTITION BY nothing ROWS 1];", "SQ0202"),
        ("SELECT i, COUNT(*) AS c FROM s [SESSION 1 MINUTE PARTITION BY t] GROUP BY i;", "SQ0501"),
        ("SELECT LATE() AS c FROM s;", "SQ0601"),
        ("SELECT i FROM (SELECT DISTINCT i FROM s [TUMBLE 1 MINUTE]) WHERE KEPT() > 3;", "SQ0601"),
        ("CREATE TABLE z (a INT, PRIMARY KEY (b)) WITH (connector = 'memory'); SELECT a FROM s JOIN z ON i = a;", "SQ0202"),
        ("CREATE FUNCTION f (a INT, A INT) RETURNS INT AS 'm:f'; SELECT f(1, 2) AS b FROM s;", "SQ0205"),
    ],
)  # fmt: skip
def test_the_rest_is_an_error(text: str, code: str) -> None:
    reported = [d.code for d in found(text) if d.severity is Severity.ERROR]
    assert reported == [code]


def test_what_an_included_file_holds_beyond_need_is_not_reported() -> None:
    library = """
    CREATE STREAM a (x INT) WITH (connector = 'memory');
    CREATE STREAM b (x INT) WITH (connector = 'memory');
    CREATE VIEW v AS SELECT x FROM b;
    CREATE SINK out WITH (connector = 'console');
    CREATE FUNCTION f (a INT) RETURNS INT AS 'm:f';
    """
    program = SourceFile("program.cql", "INCLUDE 'lib.cql'; SELECT x FROM a;")
    assert compile_program(program, read_text=reader({"lib.cql": library})).diagnostics == ()


def test_unused_things_are_not_reported_beside_errors() -> None:
    """A query with an error may be the one that would have used them."""
    assert codes("CREATE VIEW v AS SELECT i FROM s; SELECT nothing FROM s;") == ["SQ0202"]


def test_a_stream_that_only_an_unused_view_reads_is_not_reported_too() -> None:
    stream = "CREATE STREAM z (a INT) WITH (connector = 'memory');"
    (diagnostic,) = found(stream + "CREATE VIEW v AS SELECT a FROM z;")
    assert diagnostic.message == "nothing reads `v`"
