"""Text in, syntax tree and diagnostics out. Knows nothing about plans."""

from __future__ import annotations

from streamq.dsl.ast import Program
from streamq.dsl.diagnostics import (
    CompileFailed,
    Diagnostic,
    DiagnosticSink,
    InternalError,
    Label,
    Severity,
)
from streamq.dsl.parser import parse_expression, parse_program, parse_type
from streamq.dsl.source import SourceFile, SourceMap, Span

__all__ = [
    "CompileFailed",
    "Diagnostic",
    "DiagnosticSink",
    "InternalError",
    "Label",
    "Program",
    "Severity",
    "SourceFile",
    "SourceMap",
    "Span",
    "parse_expression",
    "parse_program",
    "parse_type",
]
