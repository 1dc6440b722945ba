"""Source text to well laid-out source text, with its comments."""

from __future__ import annotations

from collections.abc import Sequence

from streamq.dsl import ast
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.lexer import Comment, Token, tokenize
from streamq.dsl.parser import parse_program, split_statements
from streamq.dsl.printer import print_statement
from streamq.dsl.remarks import attach
from streamq.dsl.source import SourceFile


def format_source(source: SourceFile, sink: DiagnosticSink) -> str | None:
    """The text in canonical layout; None, with the reasons in ``sink``, where it has errors.

    Formatting twice gives the same text as formatting once, and the meaning stays. Every comment
    is kept: before or behind what it stands at. A statement with a comment in a place that the
    layout has no line for is left as it was written.
    """
    found = DiagnosticSink()
    lexed = tokenize(source, found)
    program = parse_program(source, found)
    sink.extend(found.sorted())
    if lexed is None or found.has_errors:
        return None
    chunks = [tokens for tokens, _ in split_statements(lexed.tokens, len(source.text))]
    blocks: list[str] = []
    comments = lexed.comments
    position = 0
    for tokens, statement in zip(chunks, program.statements, strict=True):
        first = position
        while position < len(comments) and comments[position].start < tokens[0].start:
            position += 1
        leading = _behind(source.text, comments[first:position], blocks)
        first = position
        while position < len(comments) and comments[position].start < tokens[-1].start:
            position += 1
        body = _statement(source.text, tokens, comments[first:position], statement)
        blocks.append(_with_leading(source.text, leading, tokens[0].start, body))
    leading = _behind(source.text, comments[position:], blocks)
    if leading:
        blocks.append(_lines(source.text, leading, len(source.text)).rstrip("\n"))
    return "\n\n".join(blocks) + "\n" * bool(blocks)


def _behind(text: str, comments: Sequence[Comment], blocks: list[str]) -> Sequence[Comment]:
    """Adds the comments that stand on the last line of the block before to it; the others."""
    count = 0
    while blocks and count < len(comments):
        comment = comments[count]
        line_start = text.rfind("\n", 0, comment.start) + 1
        if not text[line_start : comment.start].strip():
            break
        blocks[-1] += f" {comment.text}"
        count += 1
        if not comment.text.startswith("/*"):
            break
    return comments[count:]


def _with_leading(text: str, comments: Sequence[Comment], end: int, body: str) -> str:
    return _lines(text, comments, end) + body


def _lines(text: str, comments: Sequence[Comment], end: int) -> str:
    """Comments on lines of their own; one empty line stays where there were some."""
    out = ""
    for number, comment in enumerate(comments):
        after = comments[number + 1].start if number + 1 < len(comments) else end
        gap = text[comment.end : after].count("\n") > 1
        out += comment.text + ("\n\n" if gap else "\n")
    return out


def _statement(
    text: str, tokens: Sequence[Token], comments: Sequence[Comment], statement: ast.Statement
) -> str:
    if not comments:
        return print_statement(statement)
    remarks = attach(text, tokens, comments, statement)
    if remarks is not None:
        printed = print_statement(statement, remarks)
        if _says_the_same(printed, statement, comments):
            return printed
    return text[tokens[0].start : tokens[-1].end] + ";"


def _says_the_same(printed: str, statement: ast.Statement, comments: Sequence[Comment]) -> bool:
    """True where the text still holds the statement and each comment once."""
    source, found = SourceFile("", printed), DiagnosticSink()
    lexed, again = tokenize(source, found), parse_program(source, found).statements
    if lexed is None or found.has_errors or len(again) != 1:
        return False
    # Texts are compared, not trees: that needs no recursion.
    same = print_statement(again[0]) == print_statement(statement)
    return same and sorted(c.text for c in lexed.comments) == sorted(c.text for c in comments)
