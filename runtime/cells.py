"""Values of result rows as short text and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from decimal import Decimal

from streamq.dsl.visible import visible
from streamq.runtime.metrics import Cell

LONGEST = 60
"""Characters of a text or nested value that a table shows."""


def cell_text(value: Cell, longest: int = LONGEST) -> str:
    """A value as a table shows it: NULL, plain numbers, times in UTC without a zone; nothing that steers a terminal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return _number(value)
        case datetime():
            text = value.strftime("%Y-%m-%d %H:%M:%S")
            return f"{text}.{value.microsecond:06d}".rstrip("0") if value.microsecond else text
        case bytes():
            return _short(f"X'{value.hex().upper()}'", longest)
        case dict() | list() | tuple():
            return _short(visible(json.dumps(json_cell(value), ensure_ascii=False)), longest)
        case _:
            return _short(visible(str(value).replace("\n", "⏎")), longest)


def json_cell(value: Cell) -> object:
    """A value as JSON has it: times in ISO 8601, decimals as text, bytes in hexadecimal digits."""
    match value:
        case float():
            return value if math.isfinite(value) else str(value)
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return str(value)
        case bytes():
            return value.hex()
        case Mapping():
            return {str(key): json_cell(item) for key, item in value.items()}
        case list() | tuple():
            return [json_cell(item) for item in value]
        case _:
            return value


def is_number(value: Cell) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number(value: float) -> str:
    """Four decimals at most where that says enough, else six digits."""
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 0.01 <= abs(value) < 1e15:
        return f"{value:.4f}".rstrip("0").rstrip(".")
    return f"{value:.6g}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
