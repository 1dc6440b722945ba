"""The tokenizer: kinds, offsets, comments, and what is wrong."""

from __future__ import annotations

import pytest

from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.lexer import Lexed, tokenize
from streamq.dsl.source import SourceFile


def lex(text: str) -> tuple[Lexed, list[tuple[str, int, int]]]:
    sink = DiagnosticSink()
    lexed = tokenize(SourceFile("f.cql", text), sink)
    assert lexed is not None
    return lexed, [(d.code, d.span.start, d.span.end) for d in sink.sorted()]


def kinds(text: str) -> list[str]:
    lexed, errors = lex(text)
    assert errors == []
    return [token.kind for token in lexed.tokens]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select a_1 Größe", ["WORD", "WORD", "WORD"]),
        ('"a b" `c``d` "say ""x"""', ["NAME", "NAME", "NAME"]),
        ("'it''s' '' '--'", ["STRING", "STRING", "STRING"]),
        ("1 2.5 3. .5 1e3 2.5E-7", ["NUMBER"] * 6),
        ("10s 500ms 5m 2h 1d 3w 0.5s 10Seconds", ["DURATION"] * 8),
        ("a.b t.*", ["WORD", ".", "WORD", "WORD", ".", "*"]),
        ("= == <> != < <= > >=", ["=", "=", "<>", "<>", "<", "<=", ">", ">="]),
        ("@> <@ a<@b a@>b", ["@>", "<@", "WORD", "<@", "WORD", "WORD", "@>", "WORD"]),
        ("+ - * / % || ( ) [ ] , ; : .", "+ - * / % || ( ) [ ] , ; : .".split()),
        ("ARRAY<ARRAY<INT>>", ["WORD", "<", "WORD", "<", "WORD", ">", ">"]),
        ("a[1].b", ["WORD", "[", "NUMBER", "]", ".", "WORD"]),
        ("", []),
        ("\ufeffselect", ["WORD"]),
        ("a\r\nb\u00a0c", ["WORD", "WORD", "WORD"]),
    ],
)
def test_kinds(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_every_token_knows_its_place() -> None:
    text = "a  'b''c'\n/* x */ \"d\" 10ms<="
    lexed, _ = lex(text)
    assert [text[t.start : t.end] for t in lexed.tokens] == [t.text for t in lexed.tokens]
    assert [(t.start, t.end) for t in lexed.tokens] == [
        (0, 1),
        (3, 9),
        (18, 21),
        (22, 26),
        (26, 28),
    ]


def test_comments_are_kept_apart() -> None:
    lexed, errors = lex("a -- one \n# two\r\n/* three\n*/ b /**/ -- it's \"four")
    assert errors == []
    assert [t.text for t in lexed.tokens] == ["a", "b"]
    assert [c.text for c in lexed.comments] == [
        "-- one",
        "# two",
        "/* three\n*/",
        "/**/",
        "-- it's \"four",
    ]


@pytest.mark.parametrize(
    ("text", "errors", "rest"),
    [
        ("a 'bc\nd", [("SQ0104", 2, 3)], ["a", "d"]),
        ('a "bc\nd', [("SQ0104", 2, 3)], ["a", "d"]),
        ("a `bc\nd", [("SQ0104", 2, 3)], ["a", "d"]),
        ("a /* b\nc", [("SQ0104", 2, 4)], ["a"]),
        ("a @@ b", [("SQ0103", 2, 4)], ["a", "b"]),
        ("a <@@ b @ >", [("SQ0103", 4, 5), ("SQ0103", 8, 9)], ["a", "<@", "b", ">"]),
        ("a ? b $ c", [("SQ0103", 2, 3), ("SQ0103", 6, 7)], ["a", "b", "c"]),
        ("a 10x", [("SQ0105", 4, 5)], ["a", "10x"]),
        ("a 1_000", [("SQ0105", 3, 7)], ["a", "1_000"]),
        ("a “b”", [("SQ0103", 2, 3), ("SQ0103", 4, 5)], ["a", "b"]),
    ],
)
def test_errors_do_not_stop_it(
    text: str, errors: list[tuple[str, int, int]], rest: list[str]
) -> None:
    lexed, found = lex(text)
    assert found == errors
    assert [t.text for t in lexed.tokens] == rest
    assert len(lexed.errors) == len(errors)


def test_a_curly_quote_gets_a_plain_one_offered() -> None:
    sink = DiagnosticSink()
    tokenize(SourceFile("f.cql", "a ‘b"), sink)
    assert [d.help for d in sink.sorted()] == ["write a plain `'`"]


def test_so_many_errors_are_shown() -> None:
    sink = DiagnosticSink()
    assert tokenize(SourceFile("f.cql", "a @ b " + "word " * 500 + "@ b " * 39), sink)
    assert [d.code for d in sink.sorted()] == ["SQ0103"] * 20


@pytest.mark.parametrize(
    "text",
    ["a\0b", "\x7fELF\x02" + "\x01\x02\x03\x04" * 10, "¿ " * 100, "1_0 " * 99, "(" * 400_000],
)
def test_what_is_no_text_of_a_program(text: str) -> None:
    sink = DiagnosticSink()
    assert tokenize(SourceFile("f.cql", text), sink) is None
    assert [d.code for d in sink.sorted()] == ["SQ0005"]
