"""How many rows a source gives for each step of its offsets, as far as its options say."""

from __future__ import annotations

from collections.abc import Mapping

GROUP = 50
SHARES = {"person": 1, "auction": 3, "bid": 46}
"""Of each group of events of NEXMark, the rows of each table."""

_ROWS_PER_BYTE = {"parquet": 1 / 30, "csv": 1 / 60, "json": 1 / 100}


def rows_per_unit(connector: str, options: Mapping[str, object]) -> float:
    """Rows for each unit of ``runtime/control/offsets.py``: a first guess, where only reading tells."""
    match connector:
        case "nexmark":
            return SHARES.get(str(options.get("table")), GROUP) / GROUP
        case "rate":
            rate = options.get("rows_per_second")
            return float(rate) if isinstance(rate, int | float) else 1.0
        case "file" | "memory":
            return _ROWS_PER_BYTE.get(str(options.get("format")), _ROWS_PER_BYTE["json"])
        case _:
            return 1.0
