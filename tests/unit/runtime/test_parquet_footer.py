"""The footer reader against files that pyarrow wrote, and against files that are none."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamq.runtime.parquet_footer import read_columns


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
@pytest.mark.parametrize("wide", [1, 40])
def test_top_level_columns_in_order(tmp_path: Path, version: str, wide: int) -> None:
    nested = pa.struct(
        [("x", pa.int32()), ("y", pa.list_(pa.int8())), ("m", pa.map_(pa.string(), pa.int64()))]
    )
    columns = {
        "s": pa.array([{"x": 1, "y": [1], "m": [("k", 1)]}], nested),
        "Größe": pa.array([True]),
        "d": pa.array([Decimal("1.5")], pa.decimal128(10, 2)),
        "e": pa.array(["x"]).dictionary_encode(),
        **{f"c{i}": pa.array([i]) for i in range(wide)},
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", version=version)
    assert [c.name for c in read_columns(tmp_path / "a.parquet")] == list(columns)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_units_of_timestamps(tmp_path: Path, unit: str, zone: str | None) -> None:
    table = pa.table({"t": pa.array([0], pa.timestamp(unit, zone)), "n": [1]})
    pq.write_table(table, tmp_path / "a.parquet")
    units = {c.name: c.timestamp_unit for c in read_columns(tmp_path / "a.parquet")}
    assert units == {"t": unit, "n": ""}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"a,b\n1,2\n3,4\n5,6\n",
        b"PAR1" + (99).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\xff" * 30 + (30).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\x00" * 30 + (30).to_bytes(4, "little") + b"PAR1",
        b"PAR1" + b"\x1c" * 5000 + (5000).to_bytes(4, "little") + b"PAR1",
    ],
)
def test_what_is_no_parquet_file(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ValueError, match="Parquet"):
        read_columns(tmp_path / "a")


def test_a_file_cut_short(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "b").write_bytes(whole[:length])
        with pytest.raises(ValueError, match="Parquet"):
            read_columns(tmp_path / "b")
