"""The formatter: layout, comments, idempotence."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from streamq.dsl import ast
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.formatter import format_source
from streamq.dsl.lexer import tokenize
from streamq.dsl.parser import parse_program
from streamq.dsl.printer import print_program
from streamq.dsl.source import SourceFile
from tests.support.strategies import PROGRAMS, STATEMENTS, tuples

FEW = settings(max_examples=60, deadline=None)


def formatted(text: str) -> str:
    sink = DiagnosticSink()
    result = format_source(SourceFile("f.cql", text), sink)
    assert sink.sorted() == ()
    assert result is not None
    return result


def comments(text: str) -> list[str]:
    lexed = tokenize(SourceFile("f.cql", text), DiagnosticSink())
    assert lexed is not None
    return [comment.text for comment in lexed.comments]


def statements(text: str) -> object:
    return parse_program(SourceFile("f.cql", text), DiagnosticSink()).statements


def test_lays_out_a_query() -> None:
    text = "select a,count(*) n from s[range 10 seconds]where a>1 group by a qos weight 2;select 1"
    assert formatted(text) == (
        "SELECT a, count(*) AS n\n"
        "FROM s [RANGE 10 SECONDS]\n"
        "WHERE a > 1\n"
        "GROUP BY a\n"
        "QOS WEIGHT 2;\n"
        "\n"
        "SELECT 1;\n"
    )


def test_sets_are_compared_by_signs() -> None:
    text = "select a from s where a is subset of b and a IS NOT superset OF b and b@>a"
    assert formatted(text) == "SELECT a\nFROM s\nWHERE a <@ b AND NOT a @> b AND b @> a;\n"


def test_breaks_long_lists_and_conditions() -> None:
    names = [f"a_rather_long_name_{n}" for n in range(6)]
    where = " AND ".join(f"{name} > 0" for name in names)
    lines = formatted(f"SELECT {', '.join(names)} FROM s WHERE {where}").splitlines()
    assert lines[:3] == ["SELECT", "  a_rather_long_name_0,", "  a_rather_long_name_1,"]
    assert lines[7:10] == [
        "FROM s",
        "WHERE a_rather_long_name_0 > 0",
        "  AND a_rather_long_name_1 > 0",
    ]
    assert max(map(len, lines)) <= 100


def test_keeps_comments_where_they_were() -> None:
    text = (
        "-- the header\n"
        "\n"
        "-- about s\n"
        "CREATE STREAM s (\n"
        "  a INT, -- the a\n"
        "  -- before b\n"
        "  b INT\n"
        "); -- after s\n"
        "\n"
        "SELECT\n"
        "  a, -- first\n"
        "  b\n"
        "FROM s [NOW]\n"
        "  -- before the join\n"
        "  JOIN u ON s.a = u.a\n"
        "WHERE a > 1 -- big\n"
        "  -- and small\n"
        "  AND b < 2\n"
        "# policy\n"
        "QOS WEIGHT 2;\n"
        "\n"
        "/* the end */\n"
    )
    assert formatted(text) == text


def test_comment_before_the_semicolon_goes_behind_it() -> None:
    assert formatted("SELECT a FROM s -- why\n;") == "SELECT a\nFROM s; -- why\n"


def test_statement_with_a_comment_inside_an_expression_is_left_as_it_was() -> None:
    text = "select  f(a /* the key */, b)   from s"
    assert formatted(text) == text + ";\n"


def test_text_with_errors_is_not_formatted() -> None:
    sink = DiagnosticSink()
    assert format_source(SourceFile("f.cql", "SELECT FROM"), sink) is None
    assert [d.code for d in sink.sorted()] == ["SQ0101"]


def test_text_of_comments_only() -> None:
    assert formatted("") == ""
    assert formatted("-- a\n\n\n\n-- b") == "-- a\n\n-- b\n"


def test_crlf_and_bom_are_taken_away() -> None:
    assert formatted("\ufeffSELECT a -- x\r\nFROM s;\r\n") == "SELECT\n  a -- x\nFROM s;\n"


@FEW
@given(PROGRAMS)
def test_printed_programs_are_formatted_already(program: ast.Program) -> None:
    text = print_program(program)
    assert formatted(text) == text


@FEW
@given(st.builds(ast.Program, statements=tuples(STATEMENTS, 1, 2)), st.data())
def test_no_comment_is_lost_and_formatting_twice_changes_nothing(
    program: ast.Program, data: st.DataObject
) -> None:
    plain = print_program(program)
    lexed = tokenize(SourceFile("f.cql", plain), DiagnosticSink())
    assert lexed is not None
    edges = sorted({t.start for t in lexed.tokens} | {t.end for t in lexed.tokens} | {len(plain)})
    places = data.draw(st.lists(st.sampled_from(edges), max_size=4)) if edges else []
    text = plain
    for number, place in enumerate(sorted(places, reverse=True)):
        comment = data.draw(
            st.sampled_from(
                [f" -- c{number}\n", f"\n# c{number}\n", f" /* c{number}\n*/ ", " /**/ "]
            )
        )
        text = text[:place] + comment + text[place:]
    once = formatted(text)
    assert statements(once) == statements(plain)
    assert sorted(comments(once)) == sorted(comments(text))
    assert formatted(once) == once
