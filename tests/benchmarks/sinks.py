"""How many rows a second the sinks take, beside one that keeps nothing and one of files, in one run.

Bids of NEXMark are put into every sink, in micro-batches of the same size, several times; the medians count. The database is a
PostgreSQL of the benchmark's own, the receiver of the webhook a process beside it.

Run from the root of the repository::

    python -m tests.benchmarks.sinks [--rows 400000] [--batches 4] [--repeat 3]

Ends with 1 where PostgreSQL or DuckDB take less than a quarter of what files take.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.options import CompileOptions
from streamq.runtime.run import RunOptions
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.spark.session import create_session
from tests.support.postgres import PostgresServer, postgres_server

LEAST_OF_FILE = 0.25

RECEIVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""

STREAM = """
CREATE STREAM bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING, url STRING, dateTime TIMESTAMP, WATERMARK FOR dateTime)
WITH (connector = 'nexmark', table = 'bid', events = {events}, rate = 100000000, max_events_per_trigger = {at_once});
"""
ROWS = "SELECT auction, bidder, price, channel, url, dateTime FROM bid"
KEYED = "SELECT auction, COUNT(*) AS bids, MAX(price) AS highest FROM bid GROUP BY auction"


def races(server: PostgresServer, port: int) -> dict[str, tuple[str, str]]:
    """By name what the sink is, and the query that goes into it; ``{n}`` is another one in each turn."""
    pg = f"connector = 'postgres', host = '127.0.0.1', port = {server.port}, database = 'postgres', user = 'streamq', table = 't{{n}}'"
    duck = "connector = 'duckdb', path = 'x{n}.duckdb', table = 't'"
    return {
        "noop": ("connector = 'noop'", ROWS),
        "file": ("connector = 'file', format = 'parquet', path = 'out{n}'", ROWS),
        "postgres": (pg, ROWS),
        "duckdb": (duck, ROWS),
        "webhook": (f"connector = 'webhook', url = 'http://127.0.0.1:{port}/rows', rows_per_request = 1000", ROWS),
        "noop, keyed": ("connector = 'noop'", KEYED),
        "postgres, keyed": (pg, KEYED),
        "duckdb, keyed": (duck, KEYED),
    }


def seconds_of(spark: SparkSession, text: str, folder: Path) -> tuple[float, int]:
    """How long the micro-batches took in all, and the rows that went to the sink."""
    plan = compile_program(text, CompileOptions(base_dir=str(folder))).require()
    report = run_plan(plan, RunOptions(once=True), session=spark)
    assert not report.diagnostics, report.diagnostics
    (totals,) = report.totals
    return totals.busy_ms / 1000, totals.rows_in


def measure(turns: int, run: Callable[[str, int], tuple[float, int]], names: list[str]) -> dict[str, float]:
    """Rows a second by name, in turns, so that a slow moment of the machine meets all; a first turn is not counted."""
    found: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(turns + 1):
        for name in names:
            seconds, rows = run(name, turn)
            if turn:
                found[name].append(rows / seconds)
    return {name: statistics.median(rates) for name, rates in found.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    receiver = subprocess.Popen([sys.executable, "-c", RECEIVER], stdout=subprocess.PIPE, text=True)
    assert receiver.stdout is not None
    spark = create_session({}, app="streamq-benchmark")
    try:
        with TemporaryDirectory() as folder, postgres_server(fsync="on", shared_buffers="256MB") as server:
            kinds = races(server, int(receiver.stdout.readline()))
            events = options.rows * 50 // 46
            stream = STREAM.format(events=events, at_once=-(-events // options.batches))

            def run(name: str, turn: int) -> tuple[float, int]:
                sink, select = kinds[name]
                number = f"{turn}_{list(kinds).index(name)}"
                text = f"{stream} CREATE SINK o WITH ({sink.format(n=number)}); INSERT INTO o {select};"
                return seconds_of(spark, text, Path(folder))

            rates = measure(options.repeat, run, list(kinds))
    finally:
        spark.stop()
        receiver.kill()
        receiver.wait()
    print(f"{'sink':<16} {'rows/s':>10} {'of noop':>8} {'of file':>8}")
    for name, rate in rates.items():
        beside = rates["noop, keyed" if name.endswith("keyed") else "noop"]
        print(f"{name:<16} {rate:>10,.0f} {rate / beside:>8.2f} {rate / rates['file']:>8.2f}")
    slow = [name for name in ("postgres", "duckdb") if rates[name] < LEAST_OF_FILE * rates["file"]]
    for name in slow:
        print(f"{name} takes less than {LEAST_OF_FILE} of what files take")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
