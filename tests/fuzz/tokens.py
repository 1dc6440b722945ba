"""Programs cut roughly into tokens, and into parts that can stand for one another; by rules of their own, so that a fault
of the lexer does not hide itself."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = re.compile(r"""\s+|--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|[^\W\d]\w*|\d[\w.]*|<=|>=|<>|@>|<@|!=|\|\||.""", re.DOTALL)
_CLAUSES = ("SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "QOS", "SHED", "RECOVER", "WITH", "WATERMARK", "UNION", "JOIN")


def tokens_of(text: str) -> list[str]:
    """All of the text, in pieces."""
    return _TOKEN.findall(text)


def parts_of(programs: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Statements, clauses, texts in parentheses and in brackets, and words of programs, each once, by kind."""
    kinds: dict[str, dict[str, None]] = {kind: {} for kind in ("statement", "clause", "group", "window", "word", "literal")}
    for text in programs:
        for statement in text.split(";"):
            kinds["statement"][statement.strip()] = None
            for clause in re.split(rf"\b(?=(?:{'|'.join(_CLAUSES)})\b)", statement):
                kinds["clause"][clause.strip()] = None
        kinds["group"].update(dict.fromkeys(re.findall(r"\([^()]*\)", text)))
        kinds["window"].update(dict.fromkeys(re.findall(r"\[[^\[\]]*\]", text)))
        for token in tokens_of(text):
            if re.match(r"['\d]", token):
                kinds["literal"][token] = None
            elif not token.isspace() and not token.startswith(("--", "/*")):
                kinds["word"][token] = None
    return {kind: tuple(part for part in parts if len(part) < 2000) for kind, parts in kinds.items()}
