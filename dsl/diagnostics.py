"""Diagnostics as data: what is wrong, where, why, and a way out. Rendering is elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from streamq.dsl.codes import CODES
from streamq.dsl.records import dataclass, field
from streamq.dsl.source import SourceMap, Span


class Severity(Enum):
    """How bad it is: only an ``ERROR`` stops the program."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Label:
    """A secondary place that explains the primary one."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``message`` is lower case without a full stop and stands alone.

    ``help`` says what to do, ``notes`` give facts. ``code`` is one of ``codes.CODES``.
    """

    code: str
    message: str
    span: Span
    label: str = ""
    help: str = ""
    notes: tuple[str, ...] = ()
    labels: tuple[Label, ...] = ()
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"diagnostic code {self.code} is not in the table of codes")

    def to_dict(self, sources: SourceMap) -> dict[str, object]:
        """The stable JSON form (version 1)."""
        file, line, column = sources.locate(self.span)
        return {
            "code": self.code,
            "severity": self.severity.value,
            "message": self.message,
            "file": file,
            "line": line,
            "column": column,
            "start": self.span.start,
            "end": self.span.end,
            "label": self.label,
            "help": self.help,
            "notes": list(self.notes),
            "labels": [
                dict(zip(("file", "line", "column"), sources.locate(la.span), strict=True))
                | {"text": la.text}
                for la in self.labels
            ],
        }


@dataclass
class DiagnosticSink:
    """Collects the diagnostics of all phases; equal ones (code, span, message) count once."""

    _seen: dict[tuple[str, Span, str], Diagnostic] = field(default_factory=dict)

    def add(self, diagnostic: Diagnostic) -> None:
        self._seen.setdefault((diagnostic.code, diagnostic.span, diagnostic.message), diagnostic)

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            self.add(diagnostic)

    @property
    def has_errors(self) -> bool:
        return any(d.severity is Severity.ERROR for d in self._seen.values())

    def sorted(self) -> tuple[Diagnostic, ...]:
        """By file, then place, then code."""
        return tuple(sorted(self._seen.values(), key=lambda d: (d.span, d.code, d.message)))


class CompileFailed(Exception):
    """Raised where a caller asked for a plan and the program has errors."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...], sources: SourceMap) -> None:
        self.diagnostics = diagnostics
        self.sources = sources
        super().__init__("; ".join(f"{d.code}: {d.message}" for d in diagnostics[:5]))


class Abort(Exception):
    """Carries one diagnostic out of a nested construct; the phase that catches it goes on."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(f"{diagnostic.code}: {diagnostic.message}")


class InternalError(Exception):
    """A broken invariant of StreamQ itself, never the user's fault; please report it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """``did you mean `x`?`` for the closest known name, or an empty string."""
    from difflib import get_close_matches  # slow to import, and only for programs with errors

    by_fold = {k.casefold(): k for k in known}
    close = get_close_matches(name.casefold(), list(by_fold), n=1, cutoff=0.6)
    return f"did you mean `{by_fold[close[0]]}`?" if close else ""
