"""Spark's exceptions as diagnostics with the place in the program, without traces and plans."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.logger import PySparkLogger

from streamq.compiler.ir.physical import (
    PhysicalQuery,
    ScanStream,
    ScanTable,
    Step,
    walk,
)
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import Span
from streamq.runtime.disk import folder_in, not_written, reason_in
from streamq.runtime.spark.kafka_errors import of_kafka

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]\s*")
_BYPASS = re.compile(r"\s*If necessary set \S+ to \S+ to bypass this error\.?")
_SQLSTATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_JAVA_CLASS = re.compile(r"^(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error): ")
_TASK_FAILURE = re.compile(r"\(executor [^)]*\): |\([\w.\-]+ executor [^)]*\): ")
_FRAGMENT = re.compile(r"== SQL \(.*?\) ==\n(.*?)\n", re.DOTALL)
_READING = re.compile(r"while reading file (\S+?)\.?\s*(?:SQLSTATE|$)")
_OTHER_SPARK = re.compile(r"NoSuchMethodError|IncompatibleClassChangeError|NoClassDefFoundError|AbstractMethodError")
_WRAPPERS = frozenset({"STREAM_FAILED", "FOREACH_BATCH_USER_FUNCTION_ERROR", "TASK_WRITE_FAILED"})
_LONGEST, _DEEPEST = 400, 20


@dataclass(frozen=True, slots=True)
class Cause:
    """One link of an exception's chain: Spark's error class where it has one, and the message."""

    condition: str
    message: str


def silence_python_loggers() -> None:
    """Keeps PySpark from logging every failed query as JSON, and Py4J failed callbacks and lost connections."""
    PySparkLogger.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    # Py4J logs a lost connection with no logger of its own.
    logging.getLogger().addFilter(_not_from_py4j)


def _not_from_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def text_of(error: BaseException) -> str:
    """All that an exception and its causes say."""
    return "\n".join(f"{c.condition} {c.message}" for c in _chain(error))


def to_diagnostic(
    error: BaseException, query: PhysicalQuery, functions: tuple[str, ...] = (), folders: tuple[str, ...] = ()
) -> Diagnostic:
    """The diagnostic for a query that Spark refused or that failed while it ran.

    ``functions``: names of the program's Python functions, to find the step that calls one. ``folders``: those that
    the query writes to. SQ0705 a path that is gone, SQ0803 a column that the data lacks, SQ0804 a malformed row under
    ``on_error = 'fail'``, SQ0809 a disk that is full or may not be written, SQ0801 all else.
    """
    causes = tuple(_chain(error))
    text = text_of(error)
    span = _origin(text, query, functions)
    file = _READING.search(text)
    where = (f"in {file.group(1).removeprefix('file://')}",) if file else ()
    if "MALFORMED_RECORD_IN_PARSING" in text:
        return Diagnostic(
            "SQ0804", f"query `{query.name}` met a malformed row", span, notes=where,
            help="`streamq malformed` says which rows are so; take `on_error = 'fail'` away to have them counted and left out",
        )
    if "CSV header does not conform" in text:
        return Diagnostic(
            "SQ0803", f"a CSV header does not fit the columns of query `{query.name}`", span,
            notes=where + _header_notes(text), help="all files of a folder need the same header",
        )
    if "PARQUET_COLUMN_DATA_TYPE_MISMATCH" in text or "CANNOT_MERGE_INCOMPATIBLE" in text:
        return Diagnostic(
            "SQ0803", f"a column of the data has another type than query `{query.name}` declares",
            span, notes=(_best(causes),), help="declare the column with the type that the file has",
        )
    if "PATH_NOT_FOUND" in text or "FILE_NOT_EXIST" in text:
        return Diagnostic(
            "SQ0705", f"a path that query `{query.name}` reads is gone", span,
            notes=(_best(causes),), help="files of a stream must stay until they have been read",
        )
    if reason := reason_in(text, folders):
        return not_written(f"query `{query.name}`", reason, folder_in(text, folders), query.origin)
    if (found := of_kafka(query, text, _best(causes))) is not None:
        return found
    return Diagnostic(
        "SQ0801", f"query `{query.name}` failed: {_best(causes)}", span, notes=where,
        help=_help(text),
    )


def _chain(error: BaseException) -> Iterator[Cause]:
    """The exception and its causes, outermost first, each described once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if isinstance(current, CapturedException):
            message = str(current._desc or "")
            yield Cause(current.getCondition() or "", message)
            current = current._cause or current.__cause__
        elif isinstance(current, Py4JJavaError):
            yield from _of_java(current.java_exception)
            current = current.__cause__
        else:
            yield Cause("", str(current) or type(current).__name__)
            current = current.__cause__ or current.__context__


def _of_java(thrown: Any) -> Iterator[Cause]:
    """The messages of an exception of Java and of its causes; its place in the code says nothing to a user."""
    for _ in range(_DEEPEST):
        if thrown is None:
            return
        yield Cause("", str(thrown.getMessage() or thrown.getClass().getSimpleName()))
        thrown = thrown.getCause()


def _best(causes: tuple[Cause, ...]) -> str:
    """The first line that says something: the innermost cause with an error class, else any."""
    named = [c for c in causes if c.condition and c.condition not in _WRAPPERS]
    told = [c for c in (named[:1] or causes[::-1]) if c.message.strip()]
    if not told:
        return "Spark gave no reason"
    return _one_line(told[0])


def _one_line(cause: Cause) -> str:
    """A message in one line, Spark's error class first, without trace, plan or SQLSTATE."""
    text = cause.message
    failure = list(_TASK_FAILURE.finditer(text))
    if failure:
        text = text[failure[-1].end() :]
    if "Traceback (most recent call last)" in text:
        lines = [line for line in text.splitlines() if line and not line.startswith((" ", "\t"))]
        raised = [line for line in lines if not line.lstrip().startswith("SQLSTATE")]
        text = raised[-1] if raised else text
    first = next((line for line in text.splitlines() if line.strip()), "")
    for noise in (_JAVA_CLASS, _SQLSTATE, _BYPASS):
        first = noise.sub("", first)
    first = first.strip().rstrip(".;").strip()
    named = _CONDITION.match(first)
    first = first[named.end() :] if named else first
    condition = cause.condition or (named.group(1) if named else "")
    shown = first if len(first) <= _LONGEST else first[:_LONGEST] + " …"
    return f"{shown} [{condition}]" if condition else shown


def _origin(text: str, query: PhysicalQuery, functions: tuple[str, ...]) -> Span:
    """The span of the step that an error speaks of, else of the query."""
    steps = walk(query.root)
    file = _READING.search(text)
    if file:
        for step in steps:
            if isinstance(step, ScanStream | ScanTable) and _reads(step, file.group(1)):
                return step.origin
    fragments = [f.strip() for f in _FRAGMENT.findall(text)]
    if "PYTHON_EXCEPTION" in text:
        fragments.extend(functions)
    for fragment in filter(None, fragments):
        for step in steps:
            if any(fragment in sql for sql in _texts(step)):
                return step.origin
    return query.origin


def _reads(scan: ScanStream | ScanTable, file: str) -> bool:
    path = dict(scan.options).get("path")
    plain = str(path or "").removeprefix("file:").rstrip("/")
    stem = plain.split("*")[0].lstrip("./")
    return bool(stem) and stem in file


def _texts(step: Step) -> Iterator[str]:
    for name in ("items", "metrics", "keys", "aggregates"):
        for item in getattr(step, name, ()):
            yield item[1]
    condition = getattr(step, "condition", None)
    if isinstance(condition, str):
        yield condition


def _header_notes(text: str) -> tuple[str, ...]:
    found = re.search(r"Expected: (.*?) but found: (.*)", text)
    return (f"expected column `{found.group(1)}`, found `{found.group(2)}`",) if found else ()


def _help(text: str) -> str:
    if "PYTHON_EXCEPTION" in text or "Python worker" in text:
        return "the error was raised inside a Python function that the program names"
    if "STATE_STORE" in text:
        return "the state on disk does not fit the query: start with another `--checkpoint` folder"
    if _OTHER_SPARK.search(text):
        return "a jar was made for another version of Spark: take the one for Spark 4.3"
    if "OutOfMemoryError" in text:
        return "give Spark more memory: SET spark.driver.memory = '4g'"
    return ""
