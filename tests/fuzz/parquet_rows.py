"""Rows of Parquet with odd values, and files of Parquet that are damaged."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fuzz.row_mutations import Values

SCHEMA = pa.schema([
    ("id", pa.int64()), ("name", pa.string()), ("x", pa.float64()), ("n", pa.int32()), ("ok", pa.bool_()), ("day", pa.date32()),
    ("at", pa.timestamp("us", "UTC")), ("tags", pa.list_(pa.string())), ("o", pa.struct([("a", pa.int32()), ("b", pa.string())])),
])  # fmt: skip
_ODD: dict[str, tuple[Any, ...]] = {
    "id": (None, 0, -(2**63), 2**63 - 1), "name": (None, "", "\0", "\x1b[31m", "\u202e", "a\nb", "\U0001f511", "'; --", "x" * 5000), "x": (None, 0.0, 1e308, -5e-324, 0.1),
    "n": (None, 2**31 - 1, -(2**31)), "ok": (None, True), "day": (None, date(1, 1, 1), date(9999, 12, 31), date(1582, 10, 4)),
    "at": (None, datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(1900, 1, 1, tzinfo=UTC)),
    "tags": (None, [], [None], ["", "\n"] * 50), "o": (None, {"a": None, "b": None}, {"a": -1, "b": "\0"}),
}  # fmt: skip


def write_rows(folder: Path, count: int, files: int, random: Random) -> Counter[Values]:
    """Writes so many rows; those that are well-formed, as answers."""
    expected: Counter[Values] = Counter()
    for number in range(files):
        rows = [_row(random, number * count + place) for place in range(count // files)]
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / f"{number}.parquet", compression=random.choice(("none", "snappy", "zstd")))
        expected.update(_answer(row) for row in rows if row["id"] is not None)
    return expected


def _row(random: Random, number: int) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": number, "name": f"n{number}", "x": number / 4, "n": number % 1000, "ok": number % 2 == 0, "day": date(2024, 5, 1 + number % 28),
        "at": datetime(2024, 5, 1, number % 24, tzinfo=UTC), "tags": ["a", "b"], "o": {"a": 1, "b": "c"},
    }  # fmt: skip
    for key in random.sample(list(row), random.choice((0, 1, 2, 9))):
        row[key] = random.choice(_ODD[key])
    return row


def _answer(row: dict[str, Any]) -> Values:
    """The row as JSON has it when the query has passed it on."""
    shown = dict(row)
    if row["day"] is not None:
        shown["day"] = row["day"].isoformat()
    if row["at"] is not None:
        shown["at"] = row["at"].strftime("%Y-%m-%dT%H:%M:%SZ")
    if row["o"] is not None:
        shown["o"] = (row["o"]["a"], row["o"]["b"])
    if row["tags"] is not None:
        shown["tags"] = tuple(row["tags"])
    return tuple(shown.values())


def damaged_file(path: Path, random: Random) -> None:
    """A file of some rows with bytes changed, cut off, or of other types."""
    rows = [_row(random, number) for number in range(200)]
    table = pa.Table.from_pylist(rows, SCHEMA)
    match random.choice(("bytes", "bytes", "cut", "footer", "types", "empty", "text")):
        case "types":
            place = random.randrange(len(SCHEMA))
            name = SCHEMA.names[place]
            pq.write_table(table.set_column(place, name, pa.array([[{"k": 1.5}]] * len(rows))), path)
            return
        case "empty":
            path.write_bytes(b"")
            return
        case "text":
            path.write_bytes(b"PAR1 is no file of Parquet\n" * 20)
            return
        case kind:
            pq.write_table(table, path)
            data = bytearray(path.read_bytes())
    if kind == "cut":
        del data[random.randrange(len(data)) :]
    else:
        first = len(data) - 600 if kind == "footer" else 4
        for _ in range(random.choice((1, 5, 40))):
            data[random.randrange(first, len(data))] = random.randrange(256)
    path.write_bytes(data)
