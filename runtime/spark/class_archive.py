"""An archive of Spark's loaded classes, with which a JVM starts in about half the time.

Java can dump the classes that a run has loaded, parsed and verified, and map them back in the next run
(class data sharing; from Java 25 on, the ahead-of-time cache). ``warm_up`` makes the archive once, about
150 MB in the user's cache; a session uses it where it is present. Java itself checks that it fits the jars
and does without where it does not.
"""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

from streamq.runtime.spark.java import JavaHome, cache_dir

FIRST_AOT_JAVA = 25
"""The first Java whose cache holds everything in one file, so that it needs no archive of the JDK."""

_SILENT = "-Xlog:disable"


def archive_path(java: JavaHome) -> Path:
    """Where the archive of this Java and this Spark belongs; the file need not exist."""
    key = f"{java.java.resolve()} {java.version} {version('pyspark')} {sys.prefix}"
    return cache_dir() / f"spark-{hashlib.sha256(key.encode()).hexdigest()[:16]}.classes"


def use_flags(java: JavaHome) -> tuple[str, ...]:
    """JVM flags that map the archive in, none where there is no archive."""
    archive = archive_path(java)
    if not archive.is_file():
        return ()
    if java.version >= FIRST_AOT_JAVA:
        return (f'"-XX:AOTCache={archive}"', _SILENT)
    return (f'"-XX:SharedArchiveFile={archive}"', "-Xshare:auto", _SILENT)


def record_flags(java: JavaHome, target: Path) -> tuple[str, ...]:
    """JVM flags that write the archive to ``target`` when the JVM exits."""
    if java.version >= FIRST_AOT_JAVA:
        return (f'"-XX:AOTCacheOutput={target}"', _SILENT)
    return (f'"-XX:ArchiveClassesAtExit={target}"', _SILENT)
