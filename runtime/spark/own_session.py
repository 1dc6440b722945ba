"""A Spark session that a command starts for itself, and stops when it is done."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.spark.java import JavaNotFound
from streamq.runtime.spark.quiet import children_write_to, last_line, silence_accumulators
from streamq.runtime.spark.session import Setting, create_session


@contextmanager
def own_session(
    settings: Mapping[str, Setting], *, app: str, help: str, fast_start: bool = False,
    log_file: Path | None = None,
) -> Iterator[SparkSession]:
    """A session as ``create_session`` makes it, whose processes say nothing on the terminal.

    Abort with SQ0802 where no Java is found, with SQ0801 and ``help`` where Spark stays down.
    """
    with children_write_to(log_file) as output:
        try:
            spark = create_session(settings, app=app, fast_start=fast_start, log_file=log_file)
        except JavaNotFound as missing:
            raise Abort(
                Diagnostic("SQ0802", str(missing), NO_SPAN, help=missing.help, notes=missing.seen)
            ) from missing
        except (PySparkException, Py4JError) as error:
            reason = _reason(error) or last_line(output)
            raise Abort(
                Diagnostic("SQ0801", "Spark did not start", NO_SPAN, notes=(reason,), help=help)
            ) from error
    silence_accumulators()
    try:
        yield spark
    finally:
        _stop(spark)


def _reason(error: Exception) -> str:
    """What Java says of it, without the places in its code; empty where it says nothing."""
    if not isinstance(error, Py4JJavaError):
        return ""
    message = str(error.java_exception.getMessage() or "").strip()
    return message.splitlines()[0] if message else ""


def is_alive(spark: SparkSession) -> bool:
    """Whether the Java process of the session answers."""
    try:
        return bool(spark.version)
    except (Py4JError, OSError):
        return False


def _stop(spark: SparkSession) -> None:
    """Stops the session; where its Java process is gone, lets the next session start another one."""
    try:
        with warnings.catch_warnings():
            # That the process may have crashed is known where it matters.
            warnings.simplefilter("ignore", RuntimeWarning)
            spark.stop()
    except (Py4JError, OSError):
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None
        SparkSession._instantiatedSession = None
        SparkSession._activeSession = None
