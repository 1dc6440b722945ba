"""Rows without event time, where the source does not look for them: they fall into no window, and harm nobody."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.streams import at, run_once, seconds, write_batches

pytestmark = pytest.mark.spark

PROGRAM = """
CREATE STREAM s (k STRING, v BIGINT, raw STRING, ts TIMESTAMP AS CAST(raw AS TIMESTAMP), WATERMARK FOR ts AS ts)
WITH (connector = 'file', path = 's', format = 'json');
CREATE QUERY range AS SELECT k, COUNT(*) AS n FROM s [RANGE 5 SECONDS] WHERE v > 0 GROUP BY k;
CREATE QUERY rows AS SELECT ISTREAM(k, v) FROM s [ROWS 2] WHERE v > 0;
CREATE QUERY framed AS SELECT k, COUNT(*) AS n FROM s [TUMBLE 10 SECONDS] WHERE v > 0 GROUP BY k;
CREATE QUERY pairs AS SELECT ISTREAM(a.k, b.v) FROM s [RANGE 5 SECONDS] a, s [RANGE 5 SECONDS] b WHERE a.k = b.k;
"""


def test_rows_whose_computed_time_is_null(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("a", 1, at(1)), ("a", 2, None), ("b", 3, at(2)), ("b", 4, "never")]
    batches = [
        [{"k": k, "v": v, "raw": raw} for k, v, raw in rows], [{"k": "z", "v": 0, "raw": at(100)}]
    ]
    write_batches(tmp_path / "s", batches)
    found = run_once(spark, PROGRAM, tmp_path)
    changes = {
        (row[0], row[1], sign, seconds(when)) for *row, sign, when in found["range"].rows
    }
    assert changes == {("a", 1, "+", 1), ("a", 1, "-", 6), ("b", 1, "+", 2), ("b", 1, "-", 7)}
    assert found["rows"].rows == [("a", 1), ("b", 3)]
    assert found["framed"].rows == [("a", 1), ("b", 1)]
    assert found["pairs"].rows == [("a", 1), ("b", 3), ("z", 0)]
