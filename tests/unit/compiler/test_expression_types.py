"""The static type of every form of expression; where Spark has one, it is Spark's."""

from __future__ import annotations

import pytest

from tests.support.compiling import PRELUDE, USED, codes, expression, found, type_of

TYPES = {
    # literals
    "1": "INT",
    "-2147483648": "INT",
    "2147483648": "BIGINT",
    "-9223372036854775808": "BIGINT",
    "9223372036854775808": "DECIMAL(19,0)",
    "1.50": "DECIMAL(3,2)",
    ".5": "DECIMAL(1,1)",
    "0.0": "DECIMAL(1,1)",
    "007.10": "DECIMAL(3,2)",
    "1e3": "DOUBLE",
    "'a'": "STRING",
    "TRUE": "BOOLEAN",
    "DATE '2024-02-29'": "DATE",
    "TIMESTAMP '2024-02-29 10:00:00'": "TIMESTAMP",
    "INTERVAL 5 SECONDS": "INTERVAL",
    "CAST(NULL AS INT)": "INT",
    # columns, fields and entries
    "i": "INT",
    "s.i": "INT",
    "I": "INT",
    "v": "VARCHAR(5)",
    "o.a": "INT",
    "o.p.q": "DECIMAL(5,2)",
    "s.o.p": "STRUCT<q: DECIMAL(5,2)>",
    "tags[0]": "STRING",
    "m['k']": "INT",
    "ARRAY(1, 2.5)[0]": "DECIMAL(11,1)",
    "NAMED_STRUCT('q', day).q": "DATE",
    # arithmetic
    "tiny + tiny": "TINYINT",
    "tiny + small": "SMALLINT",
    "tiny + 1": "INT",
    "i + l": "BIGINT",
    "i / 2": "INT",
    "l / i": "BIGINT",
    "i % tiny": "INT",
    "f + i": "FLOAT",
    "f + l": "FLOAT",
    "f / 2": "DOUBLE",
    "f * x": "DOUBLE",
    "x / 2": "DOUBLE",
    "x + d": "DOUBLE",
    "-i": "INT",
    "-d": "DECIMAL(10,2)",
    "+x": "DOUBLE",
    "-(INTERVAL 1 DAY)": "INTERVAL",
    "i + NULL": "INT",
    "NULL + NULL": "INT",
    # decimals: a constant counts its digits only
    "d + d": "DECIMAL(11,2)",
    "d + 1": "DECIMAL(11,2)",
    "d * 2": "DECIMAL(12,2)",
    "d * 100": "DECIMAL(14,2)",
    "d * -5": "DECIMAL(12,2)",
    "d / 3": "DECIMAL(14,6)",
    "d / d": "DECIMAL(23,13)",
    "d % 3": "DECIMAL(3,2)",
    "d + i": "DECIMAL(13,2)",
    "d * l": "DECIMAL(31,2)",
    "i / 2.0": "DECIMAL(17,6)",
    "1.5 * 2.25": "DECIMAL(6,3)",
    "e * e": "DECIMAL(38,6)",
    "e + e": "DECIMAL(38,9)",
    "e / d": "DECIMAL(38,8)",
    # time
    "ts + INTERVAL 1 DAY": "TIMESTAMP",
    "INTERVAL 1 DAY + ts": "TIMESTAMP",
    "ts - INTERVAL 1 DAY": "TIMESTAMP",
    "ts - ts": "INTERVAL",
    "day + 1": "DATE",
    "day - i": "DATE",
    "day + INTERVAL 1 HOUR": "TIMESTAMP",
    "INTERVAL 1 DAY + INTERVAL 1 HOUR": "INTERVAL",
    "INTERVAL 1 DAY - INTERVAL 1 HOUR": "INTERVAL",
    # text
    "t || 'a'": "STRING",
    "t || i || d || ts || b": "STRING",
    "v || v": "STRING",
    # tests
    "i = l": "BOOLEAN",
    "d > 1": "BOOLEAN",
    "ts > '2024-01-01'": "BOOLEAN",
    "day <= ts": "BOOLEAN",
    "b": "BOOLEAN",
    "NOT b AND i > 1 OR NULL": "BOOLEAN",
    "i BETWEEN 1 AND 2.5": "BOOLEAN",
    "t LIKE v": "BOOLEAN",
    "t NOT RLIKE 'a+'": "BOOLEAN",
    "i IN (1, 2.5, NULL)": "BOOLEAN",
    "ts IN ('2024-01-01')": "BOOLEAN",
    "tags IS NOT NULL": "BOOLEAN",
    "tags @> ARRAY('x')": "BOOLEAN",
    "tags <@ NULL": "BOOLEAN",
    "ARRAY() IS SUBSET OF tags": "BOOLEAN",
    "ARRAY(d, 1.123) IS NOT SUPERSET OF ARRAY(i, x)": "BOOLEAN",
    "o = o": "BOOLEAN",
    # choices and casts
    "CASE WHEN b THEN 1 ELSE 2.5 END": "DECIMAL(11,1)",
    "CASE WHEN b THEN i ELSE l END": "BIGINT",
    "CASE WHEN b THEN NULL ELSE t END": "STRING",
    "CASE WHEN b THEN v ELSE t END": "STRING",
    "CASE i WHEN 1 THEN day WHEN 2 THEN ts END": "TIMESTAMP",
    "CASE WHEN b THEN tags ELSE ARRAY('x') END": "ARRAY<STRING>",
    "CAST(t AS DECIMAL(5,1))": "DECIMAL(5,1)",
    "CAST(ts AS DATE)": "DATE",
    "CAST(tags AS ARRAY<INT>)": "ARRAY<INT>",
    # functions
    "UPPER(t)": "STRING",
    "ABS(d)": "DECIMAL(10,2)",
    "ROUND(d, 1)": "DECIMAL(10,1)",
    "COALESCE(i, l)": "BIGINT",
    "SIZE(tags)": "INT",
    "OVERLAP(tags, ARRAY(v))": "INT",
    "INNER_PRODUCT(m, MAP(v, d))": "DOUBLE",
    "own(i, v)": "DECIMAL(7,3)",
    "OWN(1, 'x')": "DECIMAL(7,3)",
    "COMPLETENESS()": "DOUBLE",
    "SHED()": "BIGINT",
    # aggregates
    "COUNT(*)": "BIGINT",
    "COUNT(DISTINCT t)": "BIGINT",
    "SUM(i)": "BIGINT",
    "SUM(f)": "DOUBLE",
    "SUM(d)": "DECIMAL(20,2)",
    "SUM(e)": "DECIMAL(38,10)",
    "AVG(i)": "DOUBLE",
    "AVG(d)": "DECIMAL(14,6)",
    "MAX(day)": "DATE",
    "MIN(o)": "STRUCT<a: INT, p: STRUCT<q: DECIMAL(5,2)>>",
    "SUM(i) FILTER (WHERE b) + 1": "BIGINT",
    "MAX(i) / COUNT(*)": "BIGINT",
}


@pytest.mark.parametrize(("text", "expected"), TYPES.items(), ids=TYPES)
def test_type(text: str, expected: str) -> None:
    assert str(type_of(text)) == expected


def test_window_bounds_are_timestamps() -> None:
    for name in ("WINDOW_START", "window_end", "s.WINDOW_END"):
        assert str(type_of(name, source="s [TUMBLE 1 MINUTE]")) == "TIMESTAMP"


NULLABLE = {
    "i": True,
    "n": False,
    "1": False,
    "n + 1": False,
    "n / 1": True,
    "n % 1": True,
    "i + n": True,
    "i IS NULL": False,
    "n = 1": False,
    "COALESCE(i, n)": False,
    "COALESCE(i, l)": True,
    "CASE WHEN b THEN 1 END": True,
    "CASE WHEN b THEN 1 ELSE 2 END": False,
    "CAST(n AS BIGINT)": False,
    "CAST(n AS TINYINT)": True,
    "COUNT(*)": False,
    "SUM(n)": True,
    "tags[0]": True,
    "ARRAY(1) @> ARRAY(n)": True,
}


@pytest.mark.parametrize(("text", "expected"), NULLABLE.items(), ids=NULLABLE)
def test_nullable(text: str, expected: bool) -> None:
    assert expression(text).nullable is expected


def test_a_side_without_counterpart_becomes_nullable() -> None:
    join = "s [RANGE 1 MINUTE] JOIN r [RANGE 1 MINUTE] ON s.i = r.i"
    assert not expression("s.n", source=join).nullable
    assert not expression("s.n", source=join.replace("JOIN", "LEFT JOIN")).nullable
    assert expression("s.n", source=join.replace("JOIN", "RIGHT JOIN")).nullable
    assert expression("s.n", source=join.replace("JOIN", "FULL JOIN")).nullable


MISFITS = [
    "i + t", "t + 1", "tags + tags", "b + 1", "ts + 1", "ts + ts", "day - day", "day - ts", "-t", "NOT i",
    "i = t", "ts > 'x'", "ts = 1", "b = 1", "m = m", "tags = 'a'", "i IN ('a')", "i BETWEEN 1 AND 'b'",
    "i LIKE 'a'", "t LIKE 1", "tags @> 'a'", "tags <@ m", "m @> m", "NOT i @> l", "ARRAY(m) <@ ARRAY(m)", "tags @> ARRAY(1)", "tags || 'a'", "i[0]", "tags['a']", "m[1]", "t[0]", "(i, l)", "NULL",
    "CASE WHEN b THEN 1 ELSE 'a' END", "CASE i WHEN 'a' THEN 1 END", "INTERVAL 1 DAY * 2", "bin || 'a'",
    "DATE '2024-02-30'", "TIMESTAMP '0001-01-01 00:00:00+10:00'",
]  # fmt: skip


WAYS_OUT = {
    "tags @> i": "`@>`, IS SUPERSET OF, stands between two arrays: ARRAY(…) makes one of single values",
    "t IS SUBSET OF tags": "`<@`, IS SUBSET OF, stands between two arrays: ARRAY(…) has one text in it, SPLIT(…, ',') the parts of one",
    "m @> m": "`@>`, IS SUPERSET OF, stands between two arrays: MAP_KEYS(…) and MAP_VALUES(…) are those of a map",
    "tags <@ ARRAY(i)": "write a CAST, for example CAST(… AS ARRAY<STRING>)",
    "ARRAY(m) @> ARRAY(m)": "a MAP cannot be compared: make an array of what matters in it",
}


@pytest.mark.parametrize(("text", "help"), WAYS_OUT.items(), ids=WAYS_OUT)
def test_ways_out_for_what_is_no_set(text: str, help: str) -> None:
    (wrong,) = found(f"SELECT NOT {text} AS result FROM s;")
    assert (wrong.code, wrong.help) == ("SQ0301", help)
    begin = len(PRELUDE + USED + "SELECT NOT ")
    assert (wrong.span.start, wrong.span.end) == (begin, begin + len(text))


ARGUMENTS = {
    "ABS(s.t)": "write it as ABS(CAST(s.t AS DOUBLE)), or declare the column as a number",
    "ABS('x')": "write it as ABS(CAST('x' AS DOUBLE))",
    "SUBSTRING(t, t)": "write it as SUBSTRING(t, CAST(t AS BIGINT)), or declare the column as a number",
    "SUBSTRING(l, 1, 2)": "write it as SUBSTRING(CAST(l AS STRING), 1, 2)",
    "YEAR(t)": "write it as YEAR(CAST(t AS TIMESTAMP))",
    "UPPER(tags)": "it is used as UPPER(a string)",
    "CARDINALITY(i)": "it is used as CARDINALITY(an ARRAY or a MAP)",
    "ROUND(i, 1, 2)": "it is used as ROUND(a number[, a whole number])",
}


@pytest.mark.parametrize(("text", "help"), ARGUMENTS.items(), ids=ARGUMENTS)
def test_ways_out_for_wrong_arguments(text: str, help: str) -> None:
    """What is to be written can be written."""
    (wrong,) = found(f"SELECT {text} AS result FROM s;")
    assert (wrong.code, wrong.help) == ("SQ0302", help)
    if help.startswith("write it as "):
        mended = help.removeprefix("write it as ").removesuffix(", or declare the column as a number")
        assert codes(f"SELECT {mended} AS result FROM s;") == []


@pytest.mark.parametrize("text", MISFITS)
def test_misfit(text: str) -> None:
    """One cause, one diagnostic."""
    (code,) = codes(f"SELECT {text} AS result FROM s;")
    assert code in ("SQ0301", "SQ0304")
