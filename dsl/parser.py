"""Text to AST: statements are split at ``;`` and parsed one by one, so one error hides no other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, cast

from streamq.dsl import ast
from streamq.dsl.build import Build
from streamq.dsl.build_approx import APPROX_ACTIONS
from streamq.dsl.build_expr import EXPR_ACTIONS
from streamq.dsl.build_policy import POLICY_ACTIONS
from streamq.dsl.build_query import QUERY_ACTIONS
from streamq.dsl.build_statement import STATEMENT_ACTIONS
from streamq.dsl.diagnostics import Abort, CompileFailed, Diagnostic, DiagnosticSink
from streamq.dsl.lexer import Token, tokenize
from streamq.dsl.machine import Grammar, Machine, Rejected
from streamq.dsl.source import SourceFile, SourceMap, Span
from streamq.dsl.syntax_errors import MISSING_SEMICOLON, syntax_error
from streamq.dsl.tables import load_tables
from streamq.dsl.types import Type

ACTIONS: dict[str, Callable[..., Any]] = {
    **APPROX_ACTIONS,
    **EXPR_ACTIONS,
    **QUERY_ACTIONS,
    **POLICY_ACTIONS,
    **STATEMENT_ACTIONS,
}

MAX_ERRORS = 100
"""So many statements with syntax errors are reported."""

MAX_HOPELESS = 10
"""A text whose first statements are all wrong, so many of them, is given up."""


@cache
def load_grammar() -> Grammar:
    """Tables and actions, ready to run."""
    return Grammar(load_tables(), ACTIONS)


def parse_program(source: SourceFile, sink: DiagnosticSink) -> ast.Program:
    """The statements of one text. Never raises on bad text: what is wrong goes to ``sink``."""
    lexed = tokenize(source, sink)
    statements: list[ast.Statement] = []
    if lexed is not None:
        build = Build(source.name, sink)
        wrong = 0
        for tokens, stretch in split_statements(lexed.tokens, len(source.text)):
            outcomes = _parse_statements(tokens, build)
            statements.extend(o for o in outcomes if isinstance(o, ast.Statement))
            errors = [o for o in outcomes if isinstance(o, Diagnostic)]
            # Where a token was left out the rest of the statement means little.
            if errors and not _any_in(lexed.errors, stretch):
                sink.extend(errors[:MAX_ERRORS])
                wrong += len(errors)
                hopeless = wrong >= MAX_HOPELESS and not statements
                if hopeless or wrong >= MAX_ERRORS:
                    sink.add(_given_up(errors[-1], hopeless))
                    break
    whole = Span(source.name, 0, len(source.text))
    return ast.Program(statements=tuple(statements), span=whole)


def split_statements(tokens: list[Token], end: int) -> Iterator[tuple[list[Token], range]]:
    """The tokens between ``;`` signs, with the offsets they stretch over; empty ones are dropped."""
    first = offset = 0
    for index, token in enumerate(tokens):
        if token.kind == ";":
            if index > first:
                yield tokens[first:index], range(offset, token.end)
            first, offset = index + 1, token.end
    if first < len(tokens):
        yield tokens[first:], range(offset, end)


def _any_in(offsets: list[int], stretch: range) -> bool:
    """True where one of the sorted offsets lies in the stretch."""
    return bisect_left(offsets, stretch.start) < bisect_left(offsets, stretch.stop)


def _parse_statements(tokens: list[Token], build: Build) -> list[ast.Statement | Diagnostic]:
    """The statement of the tokens; more than one outcome where a ``;`` is missing."""
    outcomes: list[ast.Statement | Diagnostic] = []
    while True:
        outcome = _parse(tokens, "statement", build)
        outcomes.append(outcome)
        if not isinstance(outcome, Diagnostic) or outcome.help != MISSING_SEMICOLON:
            return outcomes
        tokens = tokens[bisect_left(tokens, outcome.span.start, key=attrgetter("start")) :]


def parse_expression(text: str) -> ast.Expr:
    """One expression; raises ``CompileFailed`` where the text is none. For tests and tools."""
    return cast(ast.Expr, _parse_alone(text, "expr"))


def parse_type(text: str) -> Type:
    """One type such as ``ARRAY<INT>``; raises ``CompileFailed`` where the text is none."""
    return cast(Type, _parse_alone(text, "type"))


def _parse_alone(text: str, start: str) -> Any:
    source, sink = SourceFile("", text), DiagnosticSink()
    lexed = tokenize(source, sink)
    value: Any = None
    if lexed is not None and not sink.has_errors:
        value = _parse(lexed.tokens, start, Build("", sink))
        if isinstance(value, Diagnostic):
            sink.add(value)
    if sink.has_errors:
        raise CompileFailed(sink.sorted(), SourceMap({source.name: source}))
    return value


def _parse(tokens: Sequence[Token], start: str, build: Build) -> Any:
    """The value of the tokens, or the diagnostic that says why there is none."""
    grammar = load_grammar()

    def before(index: int) -> Machine:
        machine = Machine(grammar, start, Build(build.file, DiagnosticSink()))
        for number in range(index):
            machine.feed(tokens, number)
        return machine

    try:
        return Machine(grammar, start, build).run(tokens)
    except Rejected as rejected:
        return syntax_error(before, tokens, rejected.index, build.file)
    except Abort as abort:
        return abort.diagnostic


def _given_up(last: Diagnostic, hopeless: bool) -> Diagnostic:
    """What is said when the rest of a text is not read."""
    if hopeless:
        message = "text is not a program: no statement of it could be read so far"
        return Diagnostic("SQ0005", message, last.span)
    message = "too many syntax errors: the rest of the file was not read"
    return Diagnostic("SQ0101", message, last.span)
