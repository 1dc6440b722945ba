"""Writes the input of a micro-batch to its dead letters: files as they are, what was made by number as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream
from streamq.runtime.control.offsets import Files, Numbers, Records, span_of
from streamq.runtime.paths import from_log, resolve
from streamq.runtime.spark.emit import EmitContext, scans_of
from streamq.runtime.spark.sources import read_again
from streamq.runtime.spark.writers.base import only_read
from streamq.runtime.supervise.letters import REFUSED, Aside, folder_name, write_letters
from streamq.stdlib.written import JSON_OPTIONS

FAILURES = (PySparkException, Py4JError, OSError)
"""What goes wrong where rows are read again or written."""


class NotReadAgain(Exception):
    """The rows of a stream cannot be read a second time; the text says of which."""


def write_input(query: PhysicalQuery, batch: int, checkpoint: Path, folder: Path, context: EmitContext) -> None:
    """A folder for each stream of the query; NotReadAgain, or one of FAILURES."""
    for place, scan in enumerate(scans_of(query)):
        span = span_of(checkpoint, place, batch)
        if span is None:
            raise NotReadAgain(f"rows of stream `{scan.stream}` (connector '{scan.connector}') cannot be read again")
        target = folder / folder_name(scan.stream)
        if isinstance(span, Files):
            _copy(span, scan, target, context)
        elif span:
            _write_json(_rows(scan, span, context), target)


def _rows(scan: ScanStream, span: Numbers | Records, context: EmitContext) -> DataFrame:
    if isinstance(span, Records):
        from streamq.runtime.spark.kafka import whole_records_again

        return whole_records_again(context.spark, scan, span, context.base_dir)
    return read_again(scan, span, context.sources)


BatchFunction = Callable[[DataFrame, int], None]


def letters_instead(write: BatchFunction, aside: Mapping[int, Aside]) -> BatchFunction:
    """The function of a sink, but for micro-batches whose rows it refused: those are read as well, and put aside.

    The sink is given such a micro-batch without rows, as it counts them: else the next one would not follow its last.
    """

    def take_batch(batch: DataFrame, number: int) -> None:
        found = aside.get(number)
        if found is None or not found.refused:
            write(batch, number)
            return
        read = False

        def fill(draft: Path) -> None:
            nonlocal read
            _write_json(batch, draft / REFUSED)
            read = True

        write_letters(Path(found.letters), found.note, fill)
        if not read:
            only_read(batch)
        write(batch.limit(0), number)

    return take_batch


def _write_json(frame: DataFrame, target: Path) -> None:
    frame.write.mode("overwrite").options(**JSON_OPTIONS).json(str(target))


def _copy(span: Files, scan: ScanStream, target: Path, context: EmitContext) -> None:
    """Byte by byte, so that malformed rows, headers and all else are there that the stream's options can read."""
    root = resolve(context.base_dir, str(dict(scan.options).get("path", "")))
    for place, copy in zip(span.places, _copies(span.places, root, target), strict=True):
        copy.parent.mkdir(parents=True, exist_ok=True)
        _fetch(context.spark, place, copy)


def _copies(places: tuple[str, ...], root: str, target: Path) -> Iterator[Path]:
    """Where copies go: by the name below the stream's folder, as names of folders may be columns, each once."""
    taken: set[Path] = set()
    for place in places:
        path = from_log(place)
        inside = os.path.relpath(path, root) if path.startswith(root.rstrip("/") + "/") else os.path.basename(path)
        copy, number = target / inside, 1
        while copy in taken:
            number += 1
            copy = (target / inside).with_name(f"{number}-{Path(inside).name}")
        taken.add(copy)
        yield copy


def _fetch(spark: SparkSession, place: str, copy: Path) -> None:
    """A file of any file system that Spark reads."""
    jvm: Any = spark.sparkContext._jvm
    path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(place))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    jvm.org.apache.hadoop.fs.FileUtil.copy(path.getFileSystem(conf), path, jvm.java.io.File(str(copy)), False, conf)
