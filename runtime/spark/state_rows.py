"""Keys and values of an operator's state, by Spark's own reader of states; those of our operators unpacked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.spark.own_session import own_session
from streamq.runtime.state_summary import OperatorState
from streamq.runtime.state_values import value_names

Shown = dict[str, object]


def read_rows(directory: Path, operator: OperatorState, limit: int, session: SparkSession | None = None) -> list[Shown]:
    """At most ``limit`` rows of the last version of a state. Abort with SQ0801 where Spark cannot read it.

    ``session``: one that runs already; else one is started, and stopped again.
    """
    if session is not None:
        return _read(session, directory, operator, limit)
    with own_session({}, app="streamq-state", fast_start=True, help="`streamq doctor` looks at Java") as spark:
        return _read(spark, directory, operator, limit)


def _read(spark: SparkSession, directory: Path, operator: OperatorState, limit: int) -> list[Shown]:
    try:
        return [row for frame in _frames(spark, directory, operator) for row in _rows(frame, operator, limit)][:limit]
    except PySparkException as error:
        raise Abort(Diagnostic(
            "SQ0801", f"Spark cannot read the state of `{operator.operator}`", NO_SPAN,
            help="the summary, without `--rows`, needs no Spark", notes=(str(error).partition("\n")[0],),
        )) from error


def _frames(spark: SparkSession, directory: Path, operator: OperatorState) -> Iterator[DataFrame]:
    reader = spark.read.format("statestore").option("operatorId", operator.number)
    match operator.spark:
        case "symmetricHashJoin":
            for side in ("left", "right"):
                yield reader.option("joinSide", side).load(str(directory))
        case "transformWithStateInPandasExec":
            variable = "windows" if operator.kind == "window join" else "timeline"
            yield reader.option("stateVarName", variable).load(str(directory))
        case _:
            yield reader.load(str(directory))


def _rows(frame: DataFrame, operator: OperatorState, limit: int) -> Iterator[Shown]:
    columns = [name for name in frame.columns if name != "partition_id"]
    for row in frame.select(*columns).limit(limit).collect():
        shown: Shown = {}
        for name in columns:
            shown |= _flat(row[name], name, operator)
        blob = shown.pop("state", None)
        yield from _unpacked(shown, blob) if isinstance(blob, bytes | bytearray) else (_readable(shown),)


def _flat(value: Any, name: str, operator: OperatorState) -> Shown:
    """A struct as its fields, of which Spark may call several alike; anything else under its own name."""
    if not isinstance(value, Row):
        return {name: value}
    names = value_names(operator.aggregates if name == "value" else (), value.__fields__)
    return dict(zip(names, value, strict=True))


def _unpacked(key: Shown, blob: bytes | bytearray) -> Iterator[Shown]:
    """The rows of the tables that a bucket of an operator of ours holds."""
    from streamq.runtime.spark.state_codec import decode_state

    for name, table in decode_state(bytes(blob)).tables.items():
        columns = {column: values.tolist() for column, values in table.items()}
        for values in zip(*columns.values(), strict=True):
            yield {**key, "table": name, **dict(zip(columns, values, strict=True))}


def _readable(row: Shown) -> Shown:
    """Bytes as how many there are; windows as two instants."""
    return {name: f"{len(v)} bytes" if isinstance(v, bytes | bytearray) else _plain(v) for name, v in row.items()}


def _plain(value: object) -> object:
    return " to ".join(map(str, value)) if isinstance(value, Row) and value.__fields__ == ["start", "end"] else value
