"""The libraries of connectors that Spark does not have by itself, given as jars or got by their coordinates."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from streamq.compiler.ir.libraries import AVRO, KAFKA, needs
from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import NO_SPAN, Span
from streamq.runtime.spark.session import Setting

VARIABLE = "STREAMQ_JARS"
SCALA = "2.13"


@dataclass(frozen=True, slots=True)
class Library:
    """``artefact``: its name, which ends in the version of Scala; ``holds``: a class of it. ``origin``: what needs it."""

    what: str
    artefact: str
    holds: str
    origin: Span = NO_SPAN

    @property
    def coordinates(self) -> str:
        """Where Maven has it, in the version that goes with the running Spark."""
        return f"org.apache.spark:{self.artefact}_{SCALA}:{pyspark.__version__}"


_LIBRARIES = {
    KAFKA: Library("connector 'kafka'", KAFKA, "org.apache.spark.sql.kafka010.KafkaSourceProvider"),
    AVRO: Library("format 'avro'", AVRO, "org.apache.spark.sql.avro.AvroDataToCatalyst"),
}


def needed(queries: Sequence[PhysicalQuery]) -> tuple[Library, ...]:
    """The libraries that queries need, each once."""
    found: dict[str, Library] = {}
    for name, origin in (need for query in queries for need in needs(query)):
        found.setdefault(name, replace(_LIBRARIES[name], origin=origin))
    return tuple(found.values())


def given_jars(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The jars that are given, files and those of folders: by ``paths``, and by the variable of the environment."""
    named = [Path(part) for part in os.environ.get(VARIABLE, "").split(os.pathsep) if part.strip()]
    found: dict[Path, None] = {}
    for path in (*paths, *named):
        jars = sorted(path.glob("*.jar")) if path.is_dir() else [path]
        if not jars or not all(jar.is_file() for jar in jars):
            raise Abort(Diagnostic(
                "SQ0811", f"there are no jars at `{path}`", NO_SPAN, help=f"`--jars` and {VARIABLE} name jars, or folders with jars in them"
            ))
        found |= dict.fromkeys(jar.absolute() for jar in jars)
    return tuple(found)


def jar_settings(queries: Sequence[PhysicalQuery], jars: Sequence[Path], chosen: Sequence[str]) -> dict[str, Setting]:
    """The settings of a session that has what the queries need; ``chosen``: settings of the program, which win.

    Where no jars are given, Spark gets them from Maven by its own means.
    """
    found: dict[str, Setting] = {}
    libraries = needed(queries)
    if jars:
        found["spark.jars"] = ",".join(map(str, jars))
    elif libraries and not {"spark.jars", "spark.jars.packages"} & {*chosen}:
        found["spark.jars.packages"] = ",".join(one.coordinates for one in libraries)
    return {name: value for name, value in found.items() if name not in chosen}


@contextmanager
def starts_with_libraries(
    queries: Sequence[PhysicalQuery], settings: Mapping[str, Setting], session: AbstractContextManager[SparkSession]
) -> Iterator[SparkSession]:
    """The session; where it does not start as libraries cannot be got, Abort with SQ0811 says so."""
    with ExitStack() as stack:
        try:
            spark = stack.enter_context(session)
        except Abort as abort:
            if "spark.jars.packages" not in settings or abort.diagnostic.code != "SQ0801":
                raise
            raise Abort(library_missing(needed(queries), "Spark could not get it from Maven")) from abort
        yield spark


def check_libraries(queries: Sequence[PhysicalQuery], spark: SparkSession) -> None:
    """Abort with SQ0811 where a session lacks a library."""
    for one in needed(queries):
        try:
            spark._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(one.holds)  # type: ignore[union-attr]
        except Py4JError as error:
            raise Abort(library_missing((one,))) from error


def library_missing(libraries: Sequence[Library], reason: str = "") -> Diagnostic:
    """What to say, and how to get them."""
    what = " and ".join(one.what for one in libraries)
    wanted = ", ".join(one.coordinates for one in libraries)
    return Diagnostic(
        "SQ0811", f"the library of {what} is not there", libraries[0].origin,
        help=f"give its jars with `--jars FOLDER` or the variable {VARIABLE}; Maven has them as {wanted}",
        notes=(reason,) if reason else (),
    )
