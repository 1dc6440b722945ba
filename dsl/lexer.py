"""Text to tokens. What is wrong is reported and skipped, so that all of a text is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink, Label
from streamq.dsl.records import dataclass
from streamq.dsl.source import SourceFile, Span
from streamq.dsl.words import UNITS, UNITS_MEANT

MAX_SHOWN = 20
"""So many errors of one text are reported."""

MAX_WRONG = 40
"""A text with more errors than this, and one for each ten tokens, is no program."""

MAX_STATEMENT = 300_000
"""Most tokens of one statement."""

_TOKEN = re.compile(
    r"""
    (?P<SPACE>\s+)
  | (?P<WORD>[^\W\d]\w*)
  | (?P<NUMBER>(?:[0-9]+(?:\.[0-9]*)?|(?<![\w\])"`])\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<SUFFIX>[^\W\d]\w*)?
  | (?P<COMMENT>--[^\n]*|\#[^\n]*|/\*(?s:.*?)\*/)
  | (?P<SIGN><=|>=|<>|<@|@>|!=|==|\|\||/(?!\*)|[-+*%(),.;:=<>\[\]])
  | (?P<STRING>'[^']*+(?:''[^']*+)*+')
  | (?P<QUOTED>"[^"]*+(?:""[^"]*+)*+"|`[^`]*+(?:``[^`]*+)*+`)
  | (?P<UNCLOSED>'[^\n]*|"[^\n]*|`[^\n]*|/\*(?s:.*))
  | (?P<UNKNOWN>[^\s\w'"`\#\-+*/%(),.;:=<>\[\]]+|.)
    """,
    re.VERBOSE,
)
_KEPT = frozenset({"WORD", "NUMBER", "STRING"})
_SAME_SIGN = {"==": "=", "!=": "<>"}
_STRAIGHT = {"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "；": ";"}
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")


class Token(NamedTuple):
    """One token of a text; ``[start, end)`` are its character offsets.

    ``kind`` is ``WORD`` (keyword or plain name), ``NAME`` (quoted), ``NUMBER``, ``DURATION``
    (``10s``), ``STRING``, or the sign itself (``==`` and ``!=`` as ``=`` and ``<>``). ``text`` is
    as it was written, quotes included.
    """

    kind: str
    text: str
    start: int
    end: int


class Comment(NamedTuple):
    """A comment with its marks, and where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Lexed:
    """All tokens and comments of a text; ``errors`` are the offsets of what was skipped."""

    tokens: list[Token]
    comments: list[Comment]
    errors: list[int]


def tokenize(source: SourceFile, sink: DiagnosticSink) -> Lexed | None:
    """The tokens of a text, or None where it is no text of a program at all (SQ0005)."""
    text = source.text
    nul = text.find("\0")
    if nul >= 0 or len(_CONTROL.findall(text[:4096])) > 20:
        at = Span(source.name, max(nul, 0), max(nul, 0) + 1)
        sink.add(Diagnostic("SQ0005", "text is not a program: it holds binary data", at))
        return None
    lexed = Lexed([], [], [])
    wrong = DiagnosticSink()
    refused = _scan(source, lexed, wrong)
    if refused is not None:
        sink.add(refused)
        return None
    sink.extend(wrong.sorted()[:MAX_SHOWN])
    return lexed


def _scan(source: SourceFile, lexed: Lexed, wrong: DiagnosticSink) -> Diagnostic | None:
    """Fills ``lexed`` and ``wrong``; a text that is no program is given up with a diagnostic."""
    tokens, errors, text, file = lexed.tokens, lexed.errors, source.text, source.name
    last_token = MAX_STATEMENT
    new = tuple.__new__  # Half the time of Token(...), and a text may hold a million of them.
    for match in _TOKEN.finditer(text, 1 if text.startswith("\ufeff") else 0):
        kind, found = match.lastgroup, match.group()
        if kind == "SPACE":
            continue
        start, end = match.span()
        if kind in _KEPT:
            tokens.append(new(Token, (kind, found, start, end)))
        elif kind == "SIGN":
            tokens.append(new(Token, (_SAME_SIGN.get(found, found), found, start, end)))
            if found == ";":
                last_token = len(tokens) + MAX_STATEMENT
            elif len(tokens) > last_token:
                return _too_long(tokens[last_token - MAX_STATEMENT], file)
        elif kind == "QUOTED":
            tokens.append(Token("NAME", found, start, end))
        elif kind == "COMMENT":
            lexed.comments.append(Comment(found.rstrip(), start, end))
        elif kind == "SUFFIX":
            tokens.append(Token("DURATION", found, start, end))
            if match.group("SUFFIX").upper() not in UNITS:
                errors.append(start)
                wrong.add(_bad_suffix(match, file))
        elif kind == "UNCLOSED":
            errors.append(start)
            wrong.add(_not_closed(found, Span(file, start, end), tokens))
        else:
            errors.append(start)
            wrong.add(_unknown_character(found, Span(file, start, end)))
        if len(errors) > MAX_WRONG and len(errors) * 10 > len(tokens):
            return Diagnostic(
                "SQ0005",
                f"text is not a program: it begins with {len(errors)} unknown characters or words",
                Span(file, errors[0], errors[0] + 1),
            )
    return None


def _bad_suffix(match: re.Match[str], file: str) -> Diagnostic:
    meant = UNITS_MEANT.get(match.group("SUFFIX").upper())
    units = "units are ms, s, m, h, d and w; a name that begins with a digit needs double quotes"
    return Diagnostic(
        "SQ0105",
        f"`{match.group()}` is neither a number nor a length of time",
        Span(file, match.start("SUFFIX"), match.end()),
        help=f"did you mean `{match.group('NUMBER')} {meant}`?" if meant else units,
    )


def _not_closed(text: str, span: Span, before: Sequence[Token]) -> Diagnostic:
    """A text that goes over a line end before is where the sign is missing: it took the sign of the next one for its own."""
    what, close = {
        "'": ("string", "'"),
        '"': ("name", '"'),
        "`": ("name", "`"),
        "/": ("comment", "*/"),
    }[text[0]]
    first = Span(span.file, span.start, span.start + (2 if text[0] == "/" else 1))
    help = f"close it with `{close}`"
    longer = next((t for t in before if t.kind == "STRING" and "\n" in t.text), None) if close == "'" else None
    if longer is None:
        return Diagnostic("SQ0104", f"{what} is not closed", first, help=help)
    start = Span(span.file, longer.start, longer.start + 1)
    return Diagnostic(
        "SQ0104", f"{what} is not closed on its line", start, label="this text goes over a line end",
        labels=(Label(first, "so this one is not closed"),), help=help,
    )


def _unknown_character(found: str, span: Span) -> Diagnostic:
    shown = found if len(found) <= 10 else found[:10] + "…"
    what = "unknown character" if len(found) == 1 else "unknown characters"
    straight = _STRAIGHT.get(found[0])
    help = f"write a plain `{straight}`" if straight else ""
    return Diagnostic("SQ0103", f"{what} `{shown}`", span, help=help)


def _too_long(first: Token, file: str) -> Diagnostic:
    message = f"text is not a program: a statement has more than {MAX_STATEMENT:,} words and signs"
    return Diagnostic("SQ0005", message, Span(file, first.start, first.end))
