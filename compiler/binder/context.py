"""What all parts of the binder share: the sink for diagnostics and the error expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from streamq.compiler.ir.expr import Expr, Literal
from streamq.dsl.diagnostics import Abort, Diagnostic, DiagnosticSink, Label, Severity
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import Span
from streamq.dsl.types import Atomic

UNKNOWN = Atomic("UNKNOWN")
"""The type of an expression that was already reported; it fits everywhere and is never lowered."""

RESERVED_PREFIX = "__"
"""Columns that begin with this are the plan's own."""

T = TypeVar("T")


@dataclass
class BindContext:
    """Collects errors while binding goes on, and refusals that only stop the lowering.

    ``file``: the program's own file. ``used``: declarations that something reads, as (name space,
    folded name). ``errors``: how many calls of ``error`` there were.
    """

    sink: DiagnosticSink
    file: str = ""
    refusals: list[Diagnostic] = field(default_factory=list)
    used: set[tuple[str, str]] = field(default_factory=set)
    errors: int = 0

    def error(
        self, code: str, message: str, span: Span, *, label: str = "", help: str = "",
        notes: tuple[str, ...] = (), labels: tuple[Label, ...] = (),
    ) -> Expr:
        """Reports an error and gives an expression of unknown type to go on with."""
        self.errors += 1
        self.sink.add(Diagnostic(
            code=code, message=message, span=span, label=label, help=help, notes=notes,
            labels=labels,
        ))
        return unknown(span)

    def reserved(self, name: str, span: Span) -> None:
        """Reports a column name that the plan keeps for itself."""
        self.error(
            "SQ0205", f"`{name}` is taken: names that begin with `{RESERVED_PREFIX}` are StreamQ's",
            span, help="choose a name that begins otherwise",
        )

    def warn(self, code: str, message: str, span: Span, *, help: str = "") -> None:
        self.sink.add(Diagnostic(
            code=code, message=message, span=span, help=help, severity=Severity.WARNING
        ))

    def gather(self, *steps: Callable[[], T]) -> list[T]:
        """The results of all steps. Where some abort, each is reported before the last goes on up."""
        results: list[T] = []
        stop: Abort | None = None
        for step in steps:
            try:
                results.append(step())
            except Abort as wrong:
                self.sink.add(wrong.diagnostic)
                stop = wrong
        if stop is not None:
            raise stop
        return results


def unknown(span: Span) -> Expr:
    """Stands for an expression that was already reported."""
    return Literal(value=None, type=UNKNOWN, origin=span)


def is_unknown(*exprs: Expr) -> bool:
    return any(e.type == UNKNOWN for e in exprs)
