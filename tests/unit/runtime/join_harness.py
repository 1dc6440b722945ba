"""Runs the join of a compiled query in its buckets, as Spark would, without Spark: rows are packed by hand."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

import pyarrow as pa

from streamq.compiler.analysis.window_joins import matching_of
from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.physical import BUCKETS
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.lowering.window_joins import SHARDS
from streamq.runtime.reference.answers import Answer
from streamq.runtime.reference.engine import evaluate
from streamq.runtime.spark.join_bucket import JoinBucket, Place, Written
from tests.contract.answers import AS_SPARK

START = datetime(2024, 1, 1)
START_US = 1_704_067_200_000_000
DELAY_S, LAST_S = 5, 10_000
COLUMNS = "(n BIGINT, k INT, v INT, x DOUBLE, tags ARRAY<INT>, names ARRAY<STRING>, w MAP<STRING, DOUBLE>, ts TIMESTAMP"
PRELUDE = "".join(
    f"CREATE STREAM {name} {COLUMNS}, WATERMARK FOR ts AS ts - INTERVAL {DELAY_S} SECONDS) WITH (connector = 'file', path = 'in');\n"
    for name in "ab"
)

Row = Mapping[str, Any]
"""The columns of a row, ``ts`` as seconds."""

Pair = tuple[int, int]
Batches = Sequence[tuple[Sequence[Row], Sequence[Row]]]
"""Micro-batches: rows of ``a``, rows of ``b``."""


def compiled(query: str) -> CompileResult:
    result = compile_program(f"{PRELUDE}CREATE QUERY q AS {query};")
    assert result.ok, result.diagnostics
    return result


def closed(batches: Batches) -> list[tuple[Sequence[Row], Sequence[Row]]]:
    """The batches, and one that closes all windows."""
    last = {"n": -1, "k": None, "v": None, "x": None, "tags": None, "names": None, "w": None, "ts": LAST_S}
    return [*batches, ([last], [last])]


def answer(result: CompileResult, batches: Batches) -> Answer:
    """The answer of the reference evaluator."""
    assert result.logical is not None
    inputs = {
        name: [[tuple(_cell(c, row[c]) for c in ("n", "k", "v", "x", "tags", "names", "w", "ts")) for row in batch[i]] for batch in closed(batches)]
        for i, name in enumerate("ab")
    }
    return evaluate(result.logical, inputs, AS_SPARK)["q"]


def by_definition(result: CompileResult, batches: Batches) -> list[Pair]:
    """The pairs of the reference evaluator."""
    changes = answer(result, batches).changes
    return sorted((c.row[0], c.row[1]) for c in changes for _ in range(c.count) if c.row[0] >= 0)


def _cell(column: str, value: Any) -> Any:
    if column == "ts":
        return START + timedelta(seconds=value)
    if column == "w" and value is not None:
        return tuple(value.items())
    return tuple(value) if isinstance(value, list) else value


def steps(result: CompileResult) -> tuple[ph.WindowJoin, tuple[str, ...], lg.Join]:
    """The join of the query, the names of its values, and the join of the logical plan."""
    assert result.plan is not None
    assert result.optimized is not None
    (query,) = result.plan.queries
    parent = next(
        s for s in ph.walk(query.root)
        if isinstance(s, ph.Select) and any(isinstance(n, ph.WindowJoin) for n in _through(s)) and len(s.items) > 2
    )
    joined = next(n for n in _through(parent) if isinstance(n, ph.WindowJoin))
    node = next(n for n in walk(result.optimized.queries[0].root) if isinstance(n, lg.Join))
    return joined, tuple(n for n, _ in parent.items[: len(joined.kinds)]), node


def _through(step: ph.Step) -> Iterator[ph.Step]:
    """What is below a step, past what only observes and filters."""
    for below in ph.inputs_of(step):
        yield below
        if isinstance(below, ph.Observe | ph.Where):
            yield from _through(below)


class Buckets:
    """The buckets of a join with their state, which may be read back from what was written at any time."""

    def __init__(self, result: CompileResult) -> None:
        self.step, self.names, self.node = steps(result)
        self.matching = matching_of(self.node)
        self.state: dict[int, dict[Place, bytes]] = {}
        self.late_ms, self.watermark_ms = 0, 0
        self.latest = [0, 0]
        self.told: list[str] = []

    def feed(self, batch: tuple[Sequence[Row], Sequence[Row]], frac: float = 1.0) -> list[Pair]:
        """The pairs of a micro-batch, of rows that are not late."""
        rows = [
            (side, row) for side in (0, 1) for row in batch[side]
            if START_US + row["ts"] * 1_000_000 > self.late_ms * 1000
        ]
        found: list[Pair] = []
        for bucket in range(BUCKETS if self.matching.keys else SHARDS):
            mine = [packed for side, row in rows if (packed := self._packed(side, row, bucket, frac)) is not None]
            if mine:
                found += self._bucket(bucket, mine)
        for side in (0, 1):
            self.latest[side] = max([self.latest[side], *(START_US + r["ts"] * 1_000_000 for r in batch[side])])
        self.late_ms = self.watermark_ms
        self.watermark_ms = max(self.watermark_ms, min(self.latest) // 1000 - DELAY_S * 1000)
        return found

    def _bucket(self, bucket: int, rows: list[dict[str, Any]]) -> list[Pair]:
        step = self.step
        join = JoinBucket.of(step.condition, step.grids, step.kinds, step.left, step.sampled, step.worths)
        state = self.state.setdefault(bucket, {})
        batch = pa.RecordBatch.from_pylist(rows, join.form.incoming())
        results: list[pa.RecordBatch] = []
        written = yield_into(results, join.advance(bucket, dict(state), iter([batch]), self.watermark_ms))
        for place in written.gone:
            del state[place]
        state.update(written.data)
        left, right = (f"v{self.names.index(name)}" for name in ("a.n", "b.n"))
        self.told += [text for r in results for text in r["told"].to_pylist() if text is not None]
        return [
            (m, n) for r in results
            for m, n, told in zip(r[left].to_pylist(), r[right].to_pylist(), r["told"].to_pylist(), strict=True) if told is None
        ]

    def _packed(self, side: int, row: Row, bucket: int, frac: float) -> dict[str, Any] | None:
        """The row as it comes to a bucket; None where it does not."""
        shown = {f"{'ab'[side]}.{name}": value for name, value in row.items()}
        keys = [shown[_name(next(a for a in part.args if _name(a) in shown))] for part in self.matching.keys]
        if any(key is None for key in keys):
            return None
        key = zlib.crc32(repr(keys).encode())
        if self.matching.keys and key % BUCKETS != bucket:
            return None
        values: dict[str, Any] = {}
        for place, (name, kind) in enumerate(zip(self.names, self.step.kinds, strict=True)):
            value = shown.get(name)
            value = START_US + value * 1_000_000 if name.endswith(".ts") and value is not None else value
            values[f"v{place}"] = value if name.endswith((".n", ".ts")) and value is not None else {"text": None}.get(kind, 0)
        number = zlib.crc32(f"{side} {row['n']}".encode())
        return {
            "at": START_US + row["ts"] * 1_000_000, "side": side, "key": key, "row": number, "nulls": 0, "frac": frac,
            "own": bool(self.matching.keys) or number % SHARDS == bucket, "worth": row.get("worth", 0.0), **values, **self._compared(side, shown),
        }

    def _compared(self, side: int, shown: Row) -> dict[str, Any]:
        sets = self.matching.sets
        if sets is not None:
            value = shown[_name(sets.left if side == 0 else sets.right)]
            if isinstance(value, dict):
                known = {k: v for k, v in value.items() if v is not None}
                return {"items": [_code(k) for k in known], "weights": [abs(v) for v in known.values()]}
            items = None if value is None else [_code(v) for v in value if v is not None]
            return {"items": items, "weights": items} if sets.kind == "INNER_PRODUCT" else {"items": items}
        given = [shown[_name(of.left if side == 0 else of.right)] for of in self.matching.values]
        unknown = sum(1 << i for i, value in enumerate(given) if value is None)
        return {f"c{i}": 0 if value is None else value for i, value in enumerate(given)} | {"unknown": unknown}


def yield_into(results: list[pa.RecordBatch], steps: Generator[pa.RecordBatch, None, Written]) -> Written:
    """What a generator gives at its end; what it yields goes into the list."""
    while True:
        try:
            results.append(next(steps))
        except StopIteration as end:
            return cast(Written, end.value)


def _name(expr: Any) -> str:
    """The column that an expression is, a widening of its type aside."""
    return str(expr.name) if hasattr(expr, "name") else _name(expr.operand)


def _code(item: Any) -> int:
    return item if isinstance(item, int) else zlib.crc32(item.encode())


def joined(result: CompileResult, batches: Batches, tests: Callable[[Row, Row], bool]) -> list[Pair]:
    """The pairs of the operator. ``tests``: the condition, where Spark has to look at what is left of it."""
    buckets = Buckets(result)
    rows = [{row["n"]: row for batch in batches for row in batch[side]} for side in (0, 1)]
    found = [pair for batch in closed(batches) for pair in buckets.feed(batch) if pair[0] >= 0 and pair[1] >= 0]
    if not buckets.matching.whole:
        found = [(m, n) for m, n in found if tests(rows[0][m], rows[1][n])]
    return sorted(found)
