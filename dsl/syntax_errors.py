from __future__ import annotations
from collections.abc import Sequence
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.lexer import Token
from streamq.dsl.machine import Machine
from streamq.dsl.source import Span
from streamq.dsl.tables import ParseTables


def syntax_error(machine: Machine, tokens: Sequence[Token], index: int, file: str) -> Diagnostic:
    expected = sorted(machine.acceptable())
    if index == len(tokens):
        end = tokens[-1].end if tokens else 0
        return Diagnostic("SQ0102", f"unexpected end, expected {expected}", Span(file, end, end))
    t = tokens[index]
    return Diagnostic("SQ0101", f"unexpected `{t.text}`, expected {expected}", Span(file, t.start, t.end))
