"""NEXMark queries over generated events against the same questions asked in SQL of those events.

A window or session has an answer once the watermark, 4 seconds behind the latest event, has passed
its end; what is still open at the end of the events is on neither side.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from streamq.runtime.metrics import RunReport
from streamq.runtime.spark.nexmark_arrow import record_batch
from streamq.stdlib.nexmark import TABLES, NexmarkConfig
from tests.examples.comparing import assert_same_rows, sql_rows
from tests.examples.running import EXAMPLES, compile_file, into_memory, run_to_end

pytestmark = pytest.mark.spark

RATE = 500
EVENTS = 20_000
PER_BATCH = 8_000
"""Forty seconds of event time in three micro-batches."""

ARROW = {"BIGINT": pa.int64(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us")}

SLIDING = """
    WITH windows AS (
        SELECT bid.*, epoch_us(dateTime) // 2000000 * 2 - step AS start
        FROM bid, (SELECT unnest([0, 2, 4, 6, 8]) AS step)
    ), counted AS (
        SELECT auction, start, count(*) AS bids
        FROM windows
        GROUP BY ALL
        HAVING make_timestamp((start + 10) * 1000000) <= (SELECT bid FROM closed)
    )
"""

TUMBLING = "time_bucket(INTERVAL 10 SECONDS, dateTime)"

EXPECTED: Mapping[str, str] = {
    "q1": """
        SELECT auction, bidder, 0.908::DECIMAL(3, 3) * price AS price, dateTime, extra FROM bid
    """,
    "q3": """
        SELECT name, city, state, a.id
        FROM auction a JOIN person p ON a.seller = p.id
        WHERE category = 10 AND state IN ('OR', 'ID', 'CA')
    """,
    "q5": SLIDING + """
        SELECT auction, bids, make_timestamp(start * 1000000) AS WINDOW_START,
               make_timestamp((start + 10) * 1000000) AS WINDOW_END
        FROM counted
        QUALIFY rank() OVER (PARTITION BY start ORDER BY bids DESC) = 1
    """,
    "q7": f"""
        SELECT auction, price, bidder, dateTime, extra
        FROM bid
        WHERE {TUMBLING} + INTERVAL 10 SECONDS <= (SELECT bid FROM closed)
        QUALIFY rank() OVER (PARTITION BY {TUMBLING} ORDER BY price DESC) = 1
    """,
    "q8": f"""
        WITH registered AS (SELECT id, name, {TUMBLING} AS start FROM person),
             sellers AS (SELECT DISTINCT seller, {TUMBLING} AS start FROM auction)
        SELECT id, name, r.start AS WINDOW_START
        FROM registered r JOIN sellers s ON r.id = s.seller AND r.start = s.start
        WHERE r.start + INTERVAL 10 SECONDS <= (SELECT least(person, auction) FROM closed)
    """,
    "q11": """
        WITH gaps AS (
            SELECT *, dateTime - lag(dateTime) OVER one_bidder < INTERVAL 10 SECONDS AS goes_on
            FROM bid
            WINDOW one_bidder AS (PARTITION BY bidder ORDER BY dateTime)
        ), numbered AS (
            SELECT *, count(*) FILTER (WHERE goes_on IS NOT TRUE)
                      OVER (PARTITION BY bidder ORDER BY dateTime) AS visit
            FROM gaps
        )
        SELECT bidder, count(*) AS bids, min(dateTime) AS WINDOW_START,
               max(dateTime) + INTERVAL 10 SECONDS AS WINDOW_END
        FROM numbered
        GROUP BY bidder, visit
        HAVING max(dateTime) + INTERVAL 10 SECONDS <= (SELECT bid FROM closed)
    """,
    "q13": """
        SELECT auction, bidder, price, dateTime, value
        FROM bid JOIN side_input ON auction % 100 = key
    """,
    "q17": """
        SELECT auction, strftime(dateTime, '%Y-%m-%d') AS day, count(*) AS total_bids,
               count(*) FILTER (WHERE price < 10000) AS rank1_bids,
               count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids,
               count(*) FILTER (WHERE price >= 1000000) AS rank3_bids,
               min(price) AS min_price, max(price) AS max_price, avg(price) AS avg_price,
               sum(price)::BIGINT AS sum_price
        FROM bid
        GROUP BY ALL
    """,
    "q18": """
        SELECT * FROM bid
        QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) = 1
    """,
    "q19": """
        SELECT auction, list(
                 {'price': price, 'bidder': bidder, 'channel': channel, 'dateTime': dateTime}
                 ORDER BY price DESC, dateTime DESC, bidder DESC
               )[1:10] AS top
        FROM bid
        GROUP BY auction
    """,
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's folder, its three streams cut off after ``EVENTS`` events."""
    folder = tmp_path_factory.mktemp("nexmark")
    shutil.copytree(EXAMPLES / "nexmark", folder, dirs_exist_ok=True)
    streams = folder / "streams.cql"
    text = streams.read_text("utf-8")
    endless = "rate = 10000"
    assert text.count(endless) == 3
    finite = f"rate = {RATE}, events = {EVENTS}, max_events_per_trigger = {PER_BATCH}"
    streams.write_text(text.replace(endless, finite), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    """The same events as tables, and ``closed``: the watermark that each stream reaches."""
    connection = duckdb.connect()
    config = NexmarkConfig(rate=float(RATE))
    for name in ("person", "auction", "bid"):
        schema = pa.schema([(column, ARROW[sql_type]) for column, sql_type in TABLES[name]])
        batch = record_batch(config, name, schema, 0, EVENTS)
        connection.register(name, pa.Table.from_batches([batch]))
    side_input = EXAMPLES / "nexmark" / "side_input.csv"
    connection.execute(f"CREATE VIEW side_input AS FROM read_csv('{side_input}')")
    latest = "(SELECT max(dateTime) FROM {0}) - INTERVAL 4 SECONDS AS {0}"
    columns = ", ".join(latest.format(name) for name in ("person", "auction", "bid"))
    connection.execute(f"CREATE VIEW closed AS SELECT {columns}")
    return connection


@pytest.mark.parametrize("query", EXPECTED)
def test_answers(
    query: str, programs: Path, tables: duckdb.DuckDBPyConnection, spark: SparkSession
) -> None:
    plan = into_memory(compile_file(programs / f"{query}.cql").require())
    expected = sql_rows(tables, EXPECTED[query])
    assert expected
    assert_same_rows(_latest(run_to_end(plan, spark), query), expected)


def _latest(report: RunReport, query: str) -> list[dict[str, Any]]:
    """The rows of a query; of rows that replace each other the last."""
    keys = report.memory[query][0].keys
    if not keys:
        return report.rows(query)
    rows = {tuple(row[key] for key in keys): row for row in report.rows(query)}
    return list(rows.values())
