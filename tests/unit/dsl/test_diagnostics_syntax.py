"""Syntax errors: code, line, column, width, and what the user reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.dsl.parser import parse_program
from streamq.dsl.source import SourceFile, SourceMap
from streamq.dsl.tables import load_tables

_PIECES = [
    *sorted(load_tables().terminals),
    *("a", "b", '"q"', "1", "2.5", "1e9999", "'t'", "10s", "10x", "FORM", "SELCT", "SECNDS", ";"),
    *("'", '"', "/*", "-- c\n", "@", "é", "1,", "SELECT a FROM s [RANGE 1 HOUR]"),
]


def errors(text: str) -> tuple[tuple[Diagnostic, ...], SourceMap]:
    sink, sources = DiagnosticSink(), SourceMap()
    parse_program(sources.add(SourceFile("f.cql", text)), sink)
    return sink.sorted(), sources


def places(text: str) -> list[tuple[str, int, int]]:
    found, sources = errors(text)
    return [(d.code, *sources.locate(d.span)[1:]) for d in found]


# text, code, column, width, words of the message, words of the help
ONE_LINE: list[tuple[str, str, int, int, str, str]] = [
    # Misspelt keywords, at the word itself even where it was first taken for a name.
    ("SELET a FROM s", "SQ0101", 1, 5, "unexpected `SELET`, expected a statement", "`SELECT`"),
    ("SELET * FROM s", "SQ0101", 1, 5, "expected a statement such as CREATE STREAM", "`SELECT`"),
    ("SELECT a FORM s", "SQ0101", 10, 4, "unexpected `FORM`", "did you mean `FROM`?"),
    ("SELECT a FROM s GRUOP BY a", "SQ0101", 17, 5, "unexpected `GRUOP`", "`GROUP`"),
    ("SELECT a FROM s t WHRE a", "SQ0101", 19, 4, "unexpected `WHRE`", "`WHERE`"),
    ("SELECT a FROM s GROUP BY a HAVNG b", "SQ0101", 28, 5, "", "`HAVING`"),
    ("CREATE STERAM s (a INT)", "SQ0101", 8, 6, "expected CHANNEL, FUNCTION, QUERY", "`STREAM`"),
    ("SELECT a FROM s QOS LATNCY 2", "SQ0101", 21, 6, "", "`LATENCY`"),
    ("SELECT a FROM s SHED SIFTR ON (a)", "SQ0101", 22, 5, "a way to shed: NONE", "`SIFTER`"),
    ("SELECT a FROM s RECOVER (a) FROM SYNOPSYS", "SQ0101", 34, 8, "", "`SYNOPSIS`"),
    ("a UNON b", "SQ0101", 3, 4, "unexpected `UNON`", "`UNION`"),
    # Windows and units.
    (
        "SELECT a FROM s [Rage 10 Seconds]",
        "SQ0101",
        18,
        4,
        "unexpected `Rage`, expected a window such as RANGE 10 SECONDS, ROWS 100 or NOW",
        "did you mean `RANGE`?",
    ),
    (
        "SELECT a FROM s [RANGE 10 SECNDS]",
        "SQ0105",
        27,
        6,
        "unknown unit of time `SECNDS`",
        "`SECONDS`",
    ),
    ("SELECT a FROM s [RANGE 10 MONTHS]", "SQ0105", 27, 6, "`MONTHS`", "MILLISECONDS to WEEKS"),
    ("SELECT a FROM s [RANGE 10 SECONDS SLID 5]", "SQ0101", 35, 4, "", "`SLIDE`"),
    ("SELECT a FROM s [RANGE 10x]", "SQ0105", 26, 1, "neither a number nor a length", "ms, s, m"),
    ("SELECT a FROM s [RANGE]", "SQ0101", 23, 1, "expected a length of time such as", ""),
    ("SELECT a FROM s [ROWS many]", "SQ0101", 23, 4, "expected a number", ""),
    ("SELECT a FROM s t [NOW]", "SQ0101", 19, 1, "unexpected `[`", "before its alias"),
    ("SELECT ts - INTERVAL '5' MONTHS FROM s", "SQ0105", 13, 12, "INTERVAL needs a unit", ""),
    ("SELECT ts - INTERVAL '5 fortnights' FROM s", "SQ0105", 22, 14, "`fortnights`", ""),
    ("SELECT ts - INTERVAL 'soon' FROM s", "SQ0107", 22, 6, "`soon` is not a length of time", ""),
    ("SELECT a FROM s SHED OLDER THAN 3 FORTNIGHTS", "SQ0105", 35, 10, "", "WEEKS"),
    ("SELECT a FROM s [TUMBLE 1 MIN]", "SQ0105", 27, 3, "unknown unit of time `MIN`", "did you mean `MINUTE`?"),
    ("SELECT a FROM s [TUMBLE 2 hrs SLIDE 1 HOUR]", "SQ0105", 27, 3, "`hrs`", "did you mean `HOURS`?"),
    ("SELECT a FROM s [TUMBLE 9 SEC]", "SQ0105", 27, 3, "`SEC`", "did you mean `SECOND`?"),
    ("SELECT a FROM s [TUMBLE 1.5mins]", "SQ0105", 28, 4, "`1.5mins` is neither", "did you mean `1.5 MINUTES`?"),
    ("SELECT ts - INTERVAL '5 min' FROM s", "SQ0105", 22, 7, "`min`", "did you mean `MINUTE`?"),
    # What other languages have.
    ("SELECT a, COUNT(*) OVER (PARTITION BY a) FROM s", "SQ0101", 20, 4, "no window functions with OVER", "ROWS n]`"),
    ("SELECT SUM(a) OVER w FROM s", "SQ0101", 15, 4, "no window functions with OVER", "GROUP BY over a window"),
    ("SELECT a FROM s WHERE f(a) over (b) > 1", "SQ0101", 28, 4, "no window functions with OVER", "GROUP BY"),
    # The end of a statement.
    ("SELECT a FROM", "SQ0102", 14, 0, "expected a stream, table, view or subquery", ""),
    ("SELECT a, b FROM s WHERE", "SQ0102", 25, 0, "expected an expression", ""),
    ("SELECT a FROM s [NOW", "SQ0102", 21, 0, "unexpected end of the statement, expected `]`", ""),
    ("CREATE QUERY q AS", "SQ0102", 18, 0, "expected a query or the name of a stream", ""),
    ("CREATE", "SQ0102", 7, 0, "CHANNEL, FUNCTION, QUERY, RELATION, SINK, STREAM, TABLE or VIEW", ""),
    ("SELECT a FROM s JOIN t", "SQ0102", 23, 0, "expected ON, USING or `[`", ""),
    ("CREATE STREAM s (a", "SQ0102", 19, 0, "expected a type, AS or NOT", ""),
    ("SELECT a FROM s SHED RANDOM BY 30", "SQ0102", 34, 0, "expected PERCENT or `%`", ""),
    ("SET a =", "SQ0102", 8, 0, "a value: 'text', a number, TRUE or FALSE", ""),
    ("INCLUDE", "SQ0102", 8, 0, "expected a text in single quotes", ""),
    # Things in the wrong place.
    ("foo bar", "SQ0101", 1, 3, "unexpected `foo`, expected a statement", ""),
    ("SELECT FROM s", "SQ0101", 8, 4, "unexpected `FROM`, expected an expression", ""),
    ("SELECT a, FROM s", "SQ0101", 11, 4, "expected an expression", "take away the comma"),
    ("SELECT f(a FROM s", "SQ0101", 12, 4, "expected an operator, `)` or `,`", ""),
    ("SELECT a @> FROM s", "SQ0101", 13, 4, "expected an expression", ""),
    ("SELECT a @>= b FROM s", "SQ0101", 12, 1, "unexpected `=`, expected an expression", ""),
    ("SELECT a IS b FROM s", "SQ0101", 13, 1, "expected NOT, NULL, SUBSET or SUPERSET", ""),
    ("SELECT a IS NOT SUBST OF b", "SQ0101", 17, 5, "NULL, SUBSET or SUPERSET", "`SUBSET`"),
    ("SELECT a IS SUBSET b FROM s", "SQ0101", 20, 1, "unexpected `b`, expected OF", ""),
    ("SELECT a NOT SUBSET OF b", "SQ0101", 14, 6, "expected BETWEEN, IN, LIKE or RLIKE", ""),
    ("SELECT CASE WHEN a THEN b FROM s", "SQ0101", 27, 4, "an operator, ELSE, END or WHEN", ""),
    ("SELECT a FROM s GROUP BY a WHERE b", "SQ0101", 28, 5, "", "SELECT, FROM, WHERE, GROUP BY"),
    ("SELECT a FROM s ORDER a", "SQ0101", 23, 1, "unexpected `a`, expected BY", ""),
    ("SELECT a FROM s LIMIT -1", "SQ0101", 23, 1, "expected a number", ""),
    ("CREATE STREAM order (a INT)", "SQ0101", 15, 5, "expected a name", '"order"'),
    ("CREATE SINK s WITH (c = kafka)", "SQ0101", 25, 5, "expected a value", "'kafka'"),
    ('CREATE SINK s WITH (c = "kafka")', "SQ0101", 25, 7, "", "single quotes: 'kafka'"),
    ("INCLUDE other", "SQ0101", 9, 5, "", "single quotes: 'other'"),
    ("SELECT a FROM s SHED BY 30 PERCENT", "SQ0101", 25, 2, "expected UTILITY", ""),
    ("CREATE STREAM s (a INT) QOS WEIGHT 1", "SQ0101", 25, 3, "expected SHED, RECOVER, WITH", ""),
    ("CREATE TABLE t (a INT PRIMARY)", "SQ0101", 30, 1, "expected KEY", ""),
    (
        "CREATE STREAM s (a INT, WATERMARK FOR b AS c - INTERVAL 5 SECONDS)",
        "SQ0101",
        44,
        1,
        "unexpected `c`, expected `b`",
        "AS b - INTERVAL 5 SECONDS",
    ),
    ("SELECT order FROM s", "SQ0101", 8, 5, "expected an expression", '"order"'),
    (
        "SELECT a, ISTREAM(b) FROM s",
        "SQ0101",
        11,
        7,
        "unexpected `ISTREAM`",
        "SELECT ISTREAM(a, b)",
    ),
    ("CREATE VIEW v AS SELECT a FROM s SHED NONE", "SQ0101", 34, 4, "", "belong to CREATE QUERY"),
    ("SELECT * FROM (SELECT a FROM s QOS WEIGHT 2)", "SQ0101", 32, 3, "", "on its own"),
    # Types and numbers.
    ("CREATE STREAM s (a INTT)", "SQ0106", 20, 4, "unknown type `INTT`", "did you mean `INT`?"),
    ("SELECT CAST(a AS BIGNT) FROM s", "SQ0106", 18, 5, "unknown type `BIGNT`", "`BIGINT`"),
    ("CREATE TABLE t (a INT(5))", "SQ0107", 19, 6, "INT does not take a number", ""),
    ("CREATE TABLE t (a DECIMAL(50, 2))", "SQ0107", 19, 14, "out of range", "1 <= p <= 38"),
    ("CREATE TABLE t (a VARCHAR(0))", "SQ0107", 19, 10, "a length of at least 1", ""),
    ("SELECT a FROM s LIMIT 1.5", "SQ0107", 23, 3, "LIMIT must be a whole number", ""),
    ("SELECT a FROM s LIMIT 3000000000", "SQ0107", 23, 10, "must not be above 2,147,483,647", ""),
    ("SELECT a FROM s [ROWS 1.5]", "SQ0107", 23, 3, "must be a whole number", ""),
    ("SELECT a FROM s [RANGE 0.0001 SECONDS]", "SQ0107", 24, 14, "finer than a millisecond", ""),
    ("SELECT a FROM s [RANGE 1e15 DAYS]", "SQ0107", 24, 9, "length of time is too large", ""),
    ("SELECT 1e999 FROM s", "SQ0107", 8, 5, "number out of range: `1e999`", ""),
    ("SELECT " + "9" * 99, "SQ0107", 8, 99, "number out of range", ""),
    # Given twice.
    (
        "SELECT a QOS LATENCY 2 s LATENCY 3 s",
        "SQ0109",
        26,
        11,
        "LATENCY is given twice",
        "keep one",
    ),
    ("SELECT a SHED NONE SHED AUTO", "SQ0109", 20, 9, "SHED is given twice", ""),
    ("SELECT a QOS WEIGHT 1 SHED NONE QOS SLOPE 1", "SQ0109", 33, 11, "QOS is given twice", ""),
    ("SELECT a RECOVER ESTIMATE RECOVER ESTIMATE", "SQ0109", 27, 16, "RECOVER ESTIMATE", ""),
    ("SELECT a SHED SIFTER ON (a) REGIONS 1 REGIONS 2", "SQ0109", 39, 9, "REGIONS is given", ""),
    ("SELECT a RECOVER ALL FROM SYNOPSIS CYCLE AUTO CYCLE (a)", "SQ0109", 47, 9, "CYCLE", ""),
    ("CREATE SINK s WITH (a = 1, A = 2)", "SQ0109", 28, 5, "option `a` is given twice", ""),
    ("CREATE STREAM s (a INT, WATERMARK FOR a, WATERMARK FOR a)", "SQ0109", 42, 15, "", ""),
    ("CREATE TABLE t (a INT PRIMARY KEY, PRIMARY KEY (a))", "SQ0109", 49, 1, "PRIMARY KEY", ""),
    ("CREATE STREAM s (a INT b INT)", "SQ0101", 24, 1, "unexpected `b`", "is a `,` missing before it?"),
    ("CREATE SINK s WITH (a = 1 b = 2)", "SQ0101", 27, 1, "unexpected `b`", "is a `,` missing before it?"),
    ("CREATE SINK s WITH (a = 1,)", "SQ0101", 27, 1, "unexpected `)`", "take away the comma before it"),
    ("SELECT a FROM s SHED RANDOM 20 PERCENT", "SQ0101", 29, 2, "unexpected `20`", "is BY missing? `BY 20`"),
    ("SELECT a FROM s QOS (LATENCY 2 SECONDS)", "SQ0101", 21, 1, "unexpected `(`", "QOS has no parentheses"),
    ("SELECT a FROM TABLE(TUMBLE(TABLE s))", "SQ0101", 20, 1, "unexpected `(`", "a window stands behind its stream"),
    # Characters.
    ("SELECT 'abc FROM s", "SQ0104", 8, 1, "string is not closed", "close it with `'`"),
    ("SELECT a FROM s /* why", "SQ0104", 17, 2, "comment is not closed", "`*/`"),
    ('SELECT "a FROM s', "SQ0104", 8, 1, "name is not closed", ""),
    ("SELECT a FROM s WHERE a && b", "SQ0103", 25, 2, "unknown characters `&&`", ""),
    ("SELECT ‘a’ FROM s", "SQ0103", 8, 1, "unknown character `‘`", "plain `'`"),
]


@pytest.mark.parametrize(("text", "code", "column", "width", "message", "help"), ONE_LINE)
def test_one_line(text: str, code: str, column: int, width: int, message: str, help: str) -> None:
    found, sources = errors(text)
    first = found[0]
    assert (first.code, sources.locate(first.span)[1:]) == (code, (1, column)), first
    assert first.span.end - first.span.start == width
    assert message in first.message
    assert help in first.help
    start = first.message.split()[0]
    assert start[0].islower() or start[0] == "`" or start.isupper(), first.message
    assert not first.message.endswith(".")
    assert len(found) == (2 if "‘" in text else 1)


def test_the_quote_that_is_missing_is_that_of_the_text_which_goes_over_a_line_end() -> None:
    """It takes the quote of the next text for its own, so that the last text of the program seems to be the one that is open."""
    found, sources = errors("CREATE SINK a WITH (p = 'x);\nCREATE SINK b WITH (p = 'y');")
    (wrong,) = found
    assert (wrong.code, wrong.message) == ("SQ0104", "string is not closed on its line")
    assert sources.locate(wrong.span)[1:] == (1, 25)
    assert [sources.locate(label.span)[1:] for label in wrong.labels] == [(2, 27)]


def test_a_text_over_a_line_end_is_named_where_what_follows_does_not_fit() -> None:
    found, sources = errors("CREATE SINK a WITH (p = 'x);\nCREATE SINK b WITH (p = 'y);")
    first = found[0]
    assert (first.code, first.help) == ("SQ0101", "is the `'` of the text before it missing?")
    assert [sources.locate(label.span)[1:] for label in first.labels] == [(1, 25)]


MISSING = "is a `)` missing?"
OPEN = {
    "CREATE STREAM s (a INT, b STRING\n\nWITH (c = 1)": (3, 1, 32),
    "CREATE STREAM s (a INT, WATERMARK FOR a WITH (c = 1)": (1, 41, 39),
    "CREATE STREAM s (a INT, b STRING": (1, 33, None),
    "SELECT f(a FROM s": (1, 12, 10),
    "SELECT a FROM s WHERE a IN (1, 2 GROUP BY a": (1, 34, 32),
    "SELECT a FROM (SELECT b FROM s WHERE b > (1 + 2)": (1, 49, None),
}
"""Texts with a parenthesis left open: where the error is, and after how many characters the ``)`` may stand."""


@pytest.mark.parametrize(("text", "place"), OPEN.items(), ids=OPEN)
def test_a_parenthesis_that_is_not_closed(text: str, place: tuple[int, int, int | None]) -> None:
    (found,), sources = errors(text)
    assert (found.help, sources.locate(found.span)[1:]) == (MISSING, place[:2])
    assert [label.span.start for label in found.labels] == ([] if place[2] is None else [place[2]])


def test_no_parenthesis_is_missing_where_all_are_closed() -> None:
    for text in ("SELECT a FROM s WHERE f(a) JOIN", "CREATE STREAM s (a INT) SELECT", "SELECT OVER, f(a) OVER FROM s WHERE"):
        (found,), _ = errors(text)
        assert found.help != MISSING
        assert "window functions" not in found.message


def test_all_errors_of_a_program_in_one_pass() -> None:
    text = """\
CREATE STREAM s (a INTT, b STRNG);
SELECT a FORM s;

SELECT b FROM s [RANGE 10 SECNDS];
SELECT ok FROM s;
CREATE QUERY q AS
  SELECT a
  FROM s
  WHERE;
SELECT a ? b FROM s
"""
    assert places(text) == [
        ("SQ0106", 1, 20),
        ("SQ0106", 1, 28),
        ("SQ0101", 2, 10),
        ("SQ0105", 4, 27),
        ("SQ0102", 9, 8),
        ("SQ0103", 10, 10),
    ]


def test_columns_count_characters_of_crlf_and_unicode_text() -> None:
    assert places("SELECT 'größe' AS ü\r\nFORM s\r\n") == [("SQ0101", 2, 1)]


def test_a_missing_semicolon_costs_one_error_and_no_statement() -> None:
    text = "CREATE SINK a WITH (x = 1)\nCREATE SINK b WITH (x = 1)\nINSERT INTO a SELECT ! FROM s;"
    found, _ = errors(text)
    assert [d.code for d in found] == ["SQ0101", "SQ0101", "SQ0103"] or [d.code for d in found] == [
        "SQ0103"
    ]
    sink = DiagnosticSink()
    program = parse_program(
        SourceFile("f.cql", "SELECT a FROM s\nCREATE SINK b WITH (x = 1); SELECT c FROM s"), sink
    )
    (only,) = sink.sorted()
    assert only.help == "end the statement before it with `;`"
    assert [type(s).__name__ for s in program.statements] == ["CreateSink", "CreateQuery"]


def test_a_skipped_character_gives_no_second_error() -> None:
    assert places("SELECT a $ b FROM s; SELECT c FORM t") == [
        ("SQ0103", 1, 10),
        ("SQ0101", 1, 31),
    ]


@given(st.lists(st.sampled_from(_PIECES), max_size=30))
@settings(max_examples=300, deadline=None)
def test_no_text_raises(pieces: list[str]) -> None:
    text = " ".join(pieces)
    found, sources = errors(text)
    for diagnostic in found:
        assert 0 <= diagnostic.span.start <= diagnostic.span.end <= len(text)
        assert sources.locate(diagnostic.span)[1] >= 1


def test_a_hopeless_text_is_given_up_early() -> None:
    found, _ = errors("this is no program;\n" * 50)
    assert [d.code for d in found] == ["SQ0101"] * 9 + ["SQ0005", "SQ0101"]


def test_a_program_with_some_good_statements_shows_many_errors() -> None:
    found, _ = errors("SELECT a FROM s;" + "SELECT a FORM s;" * 60)
    assert [d.code for d in found] == ["SQ0101"] * 60
    found, _ = errors("SELECT a FROM s;" + "SELECT a FORM s;" * 600)
    assert len(found) == 101
