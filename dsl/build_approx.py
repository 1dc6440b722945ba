"""How exact and how large a sketch is: grammar rules to nodes."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from streamq.dsl import ast
from streamq.dsl.build import Build
from streamq.dsl.build_policy import Setting, keyword, setting, settings
from streamq.dsl.lexer import Token
from streamq.dsl.source import Span
from streamq.dsl.words import MEMORY_UNITS


def approx(b: Build, span: Span, *items: Setting) -> ast.Approx:
    given = settings(b, items)
    within, fp = given.get("WITHIN", (None, False))
    return ast.Approx(
        within=within, fp=fp, confidence=given.get("CONFIDENCE"), memory=given.get("MEMORY"),
        sample=given.get("SAMPLE"), method=given.get("METHOD"), span=span,
    )


def approx_within(_b: Build, span: Span, share: float) -> Setting:
    return ("WITHIN", (share, False), span)


def approx_within_fp(_b: Build, span: Span, share: float) -> Setting:
    return ("WITHIN", (share, True), span)


def approx_memory(b: Build, span: Span, amount: Decimal, unit: str) -> Setting:
    return ("MEMORY", b.whole(amount * MEMORY_UNITS[unit], span, "a memory in bytes"), span)


def approx_method(_b: Build, span: Span, name: Token) -> Setting:
    return ("METHOD", name.text.upper(), span)


APPROX_ACTIONS: dict[str, Callable[..., Any]] = {
    "approx": approx,
    "approx_confidence": setting("CONFIDENCE"),
    "approx_memory": approx_memory,
    "approx_method": approx_method,
    "approx_within": approx_within,
    "approx_within_fp": approx_within_fp,
    "memory_unit": keyword,
}
"""Rule or alias of the grammar to the function that makes its value."""
