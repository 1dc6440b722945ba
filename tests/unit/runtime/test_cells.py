"""Result values as text and as JSON."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from streamq.runtime.cells import LONGEST, cell_text, json_cell


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "NULL"),
        (True, "true"),
        (12345, "12345"),
        (1234567.891, "1234567.891"),
        (2.0, "2"),
        (1 / 3, "0.3333"),
        (0.00012345678, "0.000123457"),
        (1e20, "1e+20"),
        (float("nan"), "nan"),
        (Decimal("1.50"), "1.50"),
        (datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC), "2024-01-02 03:04:05"),
        (datetime(2024, 1, 2, 3, 4, 5, 120_000, tzinfo=UTC), "2024-01-02 03:04:05.12"),
        (date(2024, 1, 2), "2024-01-02"),
        (b"\x00\xff", "X'00FF'"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ("two\nlines", "two⏎lines"),
        ("x" * 100, "x" * (LONGEST - 1) + "…"),
    ],
)
def test_text(value: Any, text: str) -> None:
    assert cell_text(value) == text


def test_long_values_uncut() -> None:
    assert cell_text("x" * 100, 1_000) == "x" * 100


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("inf"), "inf"),
        (Decimal("1.50"), "1.50"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (timedelta(seconds=1.5), 1.5),
        (b"\x00\xff", "00ff"),
        ({"a": (1, Decimal(2))}, {"a": [1, "2"]}),
        ([("k", 1.0)], [["k", 1.0]]),
    ],
)
def test_json(value: Any, expected: object) -> None:
    assert json_cell(value) == expected
    json.dumps(json_cell(value), allow_nan=False)
