"""What the functions that make AST nodes share: reporting, names, texts and numbers."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from typing import Any

from streamq.dsl.ast import Duration, Ident
from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.dsl.lexer import Token
from streamq.dsl.records import dataclass
from streamq.dsl.source import Span
from streamq.dsl.words import UNITS

MAX_MS = 9_223_372_036_854_775
"""Longest length of time: Spark counts microseconds in 64 bits."""

MAX_COUNT = 2**31 - 1
MAX_DIGITS = 60
EXACT = Context(prec=2 * MAX_DIGITS)
"""Arithmetic that rounds no number a user may write."""


@dataclass(frozen=True, slots=True)
class Build:
    """Where the nodes of one text come from and where its errors go."""

    file: str
    sink: DiagnosticSink

    def report(self, code: str, message: str, span: Span, help: str = "") -> None:
        self.sink.add(Diagnostic(code, message, span, help=help))

    def span_of(self, token: Token) -> Span:
        return Span(self.file, token.start, token.end)

    def ident(self, token: Token) -> Ident:
        """The name a token stands for, without its quotes."""
        return Ident(text=name_text(token), span=self.span_of(token))

    def decimal(self, token: Token) -> Decimal:
        """The value of a NUMBER; one too long or too large for any use is reported as 0."""
        try:
            value = Decimal(token.text)
        except InvalidOperation:  # An exponent beyond all bounds.
            value = Decimal("Infinity")
        if (
            len(token.text) > MAX_DIGITS
            or not -300 <= value.adjusted() <= 300
            or value.is_infinite()
        ):
            message = f"number out of range: `{shorten(token.text)}`"
            self.report("SQ0107", message, self.span_of(token))
            return Decimal(0)
        return value

    def whole(self, value: Decimal, span: Span, what: str) -> int:
        """A count of ``what``; a fraction or more than 2,147,483,647 is reported."""
        if value != value.to_integral_value():
            self.report("SQ0107", f"{what} must be a whole number", span)
        elif abs(value) > MAX_COUNT:
            self.report("SQ0107", f"{what} must not be above {MAX_COUNT:,}", span)
        else:
            return int(value)
        return 1

    def duration(self, value: Decimal, unit: str, span: Span) -> Duration:
        """So many of a unit of ``words.UNITS``, in whole milliseconds."""
        ms = EXACT.multiply(value, Decimal(UNITS[unit]))
        if ms != ms.to_integral_value():
            help = "a length of time is a whole number of milliseconds"
            self.report("SQ0107", "length of time is finer than a millisecond", span, help)
        elif abs(ms) > MAX_MS:
            help = f"the longest is {MAX_MS // 86_400_000:,} days"
            self.report("SQ0107", "length of time is too large", span, help)
        else:
            return Duration(ms=int(ms), span=span)
        return Duration(ms=1, span=span)


def name_text(token: Token) -> str:
    """The name a token stands for: as spelled, without quotes."""
    text = token.text
    if text[0] in '"`':
        return text[1:-1].replace(text[0] * 2, text[0])
    return text


def string_text(token: Token) -> str:
    """The value of a STRING token."""
    return token.text[1:-1].replace("''", "'")


def shorten(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."


def tuple_of(_build: Build, _span: Span, *children: Any) -> tuple[Any, ...]:
    """The value of a list rule: its items."""
    return children
