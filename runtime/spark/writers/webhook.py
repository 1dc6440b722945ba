"""Posts a query's results to an address on the web, as JSON, at least once (ADR 0019).

The tasks of Spark send their rows, each over one connection. The rows of a partition are sorted first, so that a micro-batch that
is repeated sends the same requests, and each has the ``Idempotency-Key`` that it had: a receiver that knows it takes it once.
"""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.runtime.secrets import reveal
from streamq.runtime.spark.names import quoted
from streamq.runtime.spark.writers.base import Target, send_all, told
from streamq.runtime.spark.writers.http_posts import Posts, reached
from streamq.runtime.spark.writers.run_id import begin_run
from streamq.stdlib.secrets import reference
from streamq.stdlib.sink_options import headers_of, is_web_address
from streamq.stdlib.written import JSON_OPTIONS

SERVER = "the server"


@dataclass(slots=True)
class WebhookWriter:
    """The writer of one query."""

    target: Target
    _run: str = ""

    def check(self) -> None:
        """Looks whether somebody listens at the address; Abort with SQ0709, SQ0703 or SQ0808."""
        with told(self.target, SERVER):
            reached(self._posts())

    def prepare(self, frame: DataFrame) -> None:
        """Begins the run, by whose id its requests are told from those of others."""
        self._run = begin_run(self.target.directory)

    def write(self, batch: DataFrame, number: int, stopping: threading.Event) -> None:
        """One micro-batch."""
        posts, most = self._posts(), int(self.target.option("rows_per_request", 500))
        lines, key = self.target.text("format") == "lines", f"{self._run[:16]}/{number}"

        def send(part: str, batches: Iterator[pa.RecordBatch]) -> int:
            return _post(posts, key, _chunks(batches, most), lines=lines)

        row = F.to_json(F.struct(*[F.col(quoted(name)) for name in batch.columns]), JSON_OPTIONS).alias("row")
        time = self.target.query.time_column
        order = [F.col(quoted(time))] if time is not None and time in batch.columns else []
        frame = batch.select(*[column.alias("time") for column in order], row).sortWithinPartitions(*["time"] * len(order), "row")
        with told(self.target, SERVER):
            send_all(frame.select("row"), send)

    def _posts(self) -> Posts:
        origin, base_dir = self.target.query.sink.origin, self.target.base_dir
        url, token = self.target.text("url"), self.target.text("token")
        if reference(url) is not None:
            url = reveal(url, base_dir, origin)
            if not is_web_address(url):
                raise Abort(Diagnostic(
                    "SQ0703", "what `url` stands for is no address that begins with http:// or https://", origin,
                    help="correct the variable or the file that holds it",
                ))
        token = reveal(token, base_dir, origin) if token else ""
        if not (token.isascii() and token.isprintable()):
            raise Abort(Diagnostic(
                "SQ0703", "what `token` stands for cannot be part of a request", origin,
                help="a token is a line of plain letters and signs",
            ))
        return Posts(
            url, token, headers_of(self.target.text("headers")) or (),
            "application/x-ndjson" if self.target.text("format") == "lines" else "application/json",
            self.target.seconds("timeout"), int(self.target.option("tries", 5)), self.target.seconds("backoff"),
        )


def _chunks(batches: Iterator[pa.RecordBatch], most: int) -> Iterator[pa.Array]:
    """The rows in pieces of ``most``, but for the last, whatever the size of the batches that they come in."""
    held: list[pa.Array] = []
    rows = 0
    for batch in batches:
        column, at = batch.column(0), 0
        while at < len(column):
            piece = column.slice(at, most - rows)
            held.append(piece)
            at, rows = at + len(piece), rows + len(piece)
            if rows == most:
                yield pa.concat_arrays(held)
                held, rows = [], 0
    if held:
        yield pa.concat_arrays(held)


def _post(posts: Posts, key: str, chunks: Iterator[pa.Array], *, lines: bool) -> int:
    """Sends the pieces of a partition one after the other; returns how many rows they had."""
    context = TaskContext.get()
    partition = 0 if context is None else context.partitionId()
    rows = 0
    with posts.connected(random.Random()) as post:
        for number, chunk in enumerate(chunks):
            body = body_of(chunk, lines=lines)
            # With another cut of the rows the same number may hold others: those are no repetition.
            post(body, f"{key}/{partition}.{number}/{hashlib.sha256(body).hexdigest()[:16]}")
            rows += len(chunk)
    return rows


def body_of(rows: pa.Array, *, lines: bool) -> bytes:
    """Rows that are JSON as a request has them: in one array, or a line each."""
    joined = pc.binary_join(pa.ListArray.from_arrays([0, len(rows)], rows), "\n" if lines else ",")[0].as_py()
    return f"{joined}\n".encode() if lines else f"[{joined}]".encode()
