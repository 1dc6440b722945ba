"""Builds the Spark session that queries run in: quiet, local unless a master is named, and up as fast as it can be.

Every default can be overridden by the program's ``SET spark.… = …``.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from streamq.runtime.spark.class_archive import use_flags
from streamq.runtime.spark.cluster import (
    LOCAL,
    LOOPBACK,
    PYTHON_PATH,
    level_when_submitted,
    on_this_machine,
    send_package,
    settings_of,
    submitted_settings,
)
from streamq.runtime.spark.control_source import ASKED_WHEN_PLANNED
from streamq.runtime.spark.java import JavaHome, find_java
from streamq.runtime.spark.spark_home import spark_home
from streamq.runtime.spark.submit_secrets import submit_arguments
from streamq.stdlib.secrets import SECRET_NAMES, holds_secret

Setting = str | int | float | bool

FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

DEFAULTS: dict[str, Setting] = {
    "spark.master": LOCAL,
    "spark.driver.memory": "2g",
    "spark.ui.enabled": False,
    "spark.redaction.regex": SECRET_NAMES,
    "spark.ui.showConsoleProgress": False,
    # Spark keeps these lists even without a UI; a long run should not grow.
    "spark.ui.retainedJobs": 50,
    "spark.ui.retainedStages": 50,
    "spark.ui.retainedTasks": 1000,
    "spark.sql.ui.retainedExecutions": 20,
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.ansi.enabled": False,
    "spark.sql.session.timeZone": "UTC",
    # A repeated key of a map must not end a run.
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    # Else ``${env:HOME}`` in the names and texts of a program would be filled in.
    "spark.sql.variable.substitute": False,
    "spark.sql.shuffle.partitions": 2,
    # The control relation is asked while a micro-batch is planned.
    ASKED_WHEN_PLANNED: True,
    # Above 8000 bytes of bytecode HotSpot silently stays in the interpreter.
    "spark.sql.codegen.hugeMethodLimit": 8000,
    "spark.sql.execution.arrow.pyspark.enabled": True,
    # The default manager starts a process for each file that it renames on a local disk.
    "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": True,
    "spark.sql.streaming.minBatchesToRetain": 20,
    "spark.python.daemon.module": "streamq.runtime.spark.python_workers",
    # By TCP, each question to a Python worker waits some 40 ms for an acknowledgement that is put off.
    "spark.python.unix.domain.socket.enabled": hasattr(socket, "AF_UNIX"),
}
"""Session settings of a run."""

FAST_START: dict[str, Setting] = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": 1,
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.lightweightPlanChangeValidation": False,
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": False,
}
"""What short test queries add: they end before compiled code would pay."""

JVM_FLAGS = ("-XX:+UseParallelGC",)
JVM_SIZE = re.compile(r"\d+[kmgKMG]")
FAST_START_JVM_FLAGS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


def create_session(
    settings: Mapping[str, Setting],
    *,
    app: str = "streamq",
    fast_start: bool = False,
    log_file: Path | None = None,
    log_level: str = "warn",
    java: JavaHome | None = None,
    jvm_flags: tuple[str, ...] | None = None,
) -> SparkSession:
    """The running session, or a new one with our defaults under the ``spark.*`` keys of ``settings``.

    ``fast_start``: for tests; trades the speed of long queries for the start of short ones.
    ``log_file``: where Spark's own log goes at ``log_level``; without it Spark says nothing.
    ``java``: skips the search. ``jvm_flags``: stand in for the use of the class archive.
    A JVM serves one process for its lifetime: memory, Java and log of a second session are the first's.
    Raises :class:`~streamq.runtime.spark.java.JavaNotFound`.
    """
    home = java or find_java()
    submitted = submitted_settings()
    chosen = level_when_submitted(submitted) | {k: v for k, v in settings.items() if k.startswith("spark.")} | submitted
    flags = [
        *(FAST_START_JVM_FLAGS if fast_start else JVM_FLAGS),
        *(use_flags(home) if jvm_flags is None else jvm_flags),
        *_log_flags(log_file, log_level),
    ]
    builder = SparkSession.builder.appName(app)
    resolved = resolve_settings(chosen, flags, fast_start=fast_start)
    secrets = {key: value for key, value in resolved.items() if holds_secret(key)}
    for key, value in resolved.items():
        if key not in secrets:
            builder = builder.config(key, value)
    python = os.environ.get("PYSPARK_PYTHON") or sys.executable
    package = Path(pyspark.__file__).parent
    with submit_arguments(secrets) as arguments, _environment(
        **arguments, JAVA_HOME=str(home.home),
        PYSPARK_PYTHON=python,
        SPARK_HOME=str(spark_home(package, own_interpreter=python == sys.executable)),
        **({"SPARK_LOCAL_IP": LOOPBACK} if on_this_machine(resolved["spark.master"]) else {}),
    ):
        session = builder.getOrCreate()
    send_package(session.sparkContext)
    return session


def resolve_settings(
    chosen: Mapping[str, Setting], flags: list[str], *, fast_start: bool = False
) -> dict[str, str]:
    """Defaults, then what the user chose; Java options of the user are added to ours."""
    scratch = Path(tempfile.gettempdir()) / f"streamq-{os.getpid()}"
    defaults = DEFAULTS | (FAST_START if fast_start else {})
    master = str(chosen.get("spark.master", defaults["spark.master"]))
    others = {key: value for key, value in chosen.items() if key != PYTHON_PATH}
    merged: dict[str, Setting] = {
        **defaults, "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **settings_of(master, str(chosen.get(PYTHON_PATH, ""))), **others,
    }
    options = "spark.driver.extraJavaOptions"
    ours = [*flags, f"-Dderby.system.home={scratch / 'derby'}"]
    memory = str(merged["spark.driver.memory"])
    if not fast_start and JVM_SIZE.fullmatch(memory):
        # A heap that grows bit by bit is full each time, and cleaned whole: with much state that stops all for seconds.
        ours.append(f"-Xms{memory}")
    merged[options] = " ".join([*ours, str(chosen.get(options, ""))]).strip()
    return {key: _spell(value) for key, value in merged.items()}


def _spell(value: Setting) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _log_flags(log_file: Path | None, level: str) -> list[str]:
    name = "log4j2-quiet.properties" if log_file is None else "log4j2-file.properties"
    config = files("streamq.runtime.spark").joinpath(name)
    flags = [f'"-Dlog4j2.configurationFile={config}"']
    if log_file is not None:
        flags += [f'"-Dstreamq.log.file={log_file.resolve()}"', f"-Dstreamq.log.level={level}"]
    return flags


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Sets environment variables while the JVM starts, which inherits them, and puts back the old."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
