"""What all parts of the binder share: the sink for diagnostics and the error expression."""

from __future__ import annotations

from dataclasses import dataclass, field

from streamq.compiler.ir.expr import Expr, Literal
from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink, Label, Severity
from streamq.dsl.source import Span
from streamq.dsl.types import Atomic

UNKNOWN = Atomic("UNKNOWN")
"""The type of an expression that was already reported; it fits everywhere and is never lowered."""


@dataclass
class BindContext:
    """Collects errors while binding goes on, and refusals that only stop the lowering."""

    sink: DiagnosticSink
    refusals: list[Diagnostic] = field(default_factory=list)

    def error(
        self, code: str, message: str, span: Span, *, label: str = "", help: str = "",
        notes: tuple[str, ...] = (), labels: tuple[Label, ...] = (),
    ) -> Expr:
        """Reports an error and gives an expression of unknown type to go on with."""
        self.sink.add(Diagnostic(
            code=code, message=message, span=span, label=label, help=help, notes=notes,
            labels=labels,
        ))
        return Literal(value=None, type=UNKNOWN, origin=span)

    def warn(self, code: str, message: str, span: Span, *, help: str = "") -> None:
        self.sink.add(Diagnostic(
            code=code, message=message, span=span, help=help, severity=Severity.WARNING
        ))


def is_unknown(*exprs: Expr) -> bool:
    return any(e.type == UNKNOWN for e in exprs)
