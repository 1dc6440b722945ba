"""What a session needs where the master is not in this process: addresses, and StreamQ on the executors.

Executors get all of StreamQ as a zip file, made from what is installed here, so that it need not be installed there. Their
Python must have numpy, pandas and pyarrow; it is the one that ``PYSPARK_PYTHON`` names, on every machine.
"""

from __future__ import annotations

import hashlib
import io
import os
import socket
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from ipaddress import ip_address
from itertools import chain
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from streamq.compiler.binder.settings import BANNED
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.spark.java import cache_dir

LOCAL = "local[*]"
"""The master where none is named."""

NO_EXECUTOR_S = 15.0
"""Seconds until it is told that a cluster has given no executor."""

ANSWER_S = 5.0
LOOPBACK = "127.0.0.1"
PYTHON_PATH = "spark.executorEnv.PYTHONPATH"

_ROOMS = ("streamq", "streamq.dsl", "streamq.stdlib", "streamq.compiler", "streamq.runtime")
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)


def is_local(master: str) -> bool:
    """True where the executor is a part of the driver's own process."""
    return master == "local" or master.startswith("local[")


def on_this_machine(master: str) -> bool:
    """True where nothing of the cluster runs elsewhere, as far as the master's address says so."""
    if is_local(master) or master.startswith("local-cluster["):
        return True
    hosts = [host for host, _ in _addresses(master)]
    return bool(hosts) and all(map(_is_loopback, hosts))


def _addresses(master: str) -> list[tuple[str, str]]:
    """Host and port of each master of ``spark://host:port,host:port``; none of other masters."""
    if not master.startswith("spark://"):
        return []
    parts = [part.rpartition(":") for part in master.removeprefix("spark://").split(",")]
    return [(host.strip("[]"), port) for host, _, port in parts]


def _answers(address: tuple[str, str]) -> bool:
    host, port = address
    try:
        socket.create_connection((host, int(port)), ANSWER_S).close()
    except (OSError, ValueError, OverflowError):
        return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def settings_of(master: str, python_path: str = "") -> dict[str, str]:
    """Session settings for a master. ``python_path``: the folders that the user wants executors to import from, too."""
    found: dict[str, str] = {}
    if on_this_machine(master):
        # Nothing of ours listens to the outside, and no name of this machine is looked up.
        found |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if not is_local(master):
        # Spark lays the files that it ships into the folder that an executor runs in, and starts its Python there.
        found[PYTHON_PATH] = os.pathsep.join(filter(None, (package_zip().name, python_path)))
    return found


def send_package(context: SparkContext) -> None:
    """Brings StreamQ to the executors; nothing where they are in this process."""
    if not is_local(str(context.master)):
        _send(context, package_zip())


def send_modules(context: SparkContext, folder: Path) -> bool:
    """Brings the Python modules and packages of a folder to the executors; False where they are in this process."""
    if is_local(str(context.master)):
        return False
    found: dict[str, bytes] = {}
    for entry in folder.iterdir():
        if entry.suffix == ".py" and entry.is_file():
            found[entry.name] = entry.read_bytes()
        elif (entry / "__init__.py").is_file():
            found.update(_files(entry, entry.name))
    _send(context, _zipped(found, "program"))
    return True


def package_zip() -> Path:
    """StreamQ as it is installed here, with its data files, in a zip file that Python imports from."""
    return _zipped(dict(chain.from_iterable(_files(files(room), room.replace(".", "/")) for room in _ROOMS)), "streamq")


def _send(context: SparkContext, archive: Path) -> None:
    """Here nothing is imported from the archive: it would hide what it was made from."""
    kept = list(sys.path)
    context.addPyFile(str(archive))
    sys.path[:] = kept


def _zipped(entries: Mapping[str, bytes], name: str) -> Path:
    """A zip file of the entries, whose name says what is in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(entries):
            entry = zipfile.ZipInfo(path, _FIRST_DAY)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, entries[path])
    target = cache_dir() / f"{name}-{hashlib.sha256(content.getvalue()).hexdigest()[:12]}.zip"
    if not target.is_file():
        # Written aside and renamed: another process may be starting at the same time.
        aside = target.with_suffix(f".{os.getpid()}")
        aside.write_bytes(content.getvalue())
        aside.replace(target)
    return target


def _files(folder: Traversable, name: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        path = f"{name}/{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _files(entry, path)
        elif entry.is_file() and not entry.name.endswith(".pyc"):
            yield path, entry.read_bytes()


def master_of(settings: Mapping[str, object], session: SparkSession | None = None) -> str:
    """Where a program with these settings runs."""
    if session is not None:
        return str(session.sparkContext.master)
    return str(submitted_settings().get("spark.master") or settings.get("spark.master", LOCAL))


def submitted_settings() -> dict[str, str]:
    """What ``spark-submit`` was told, where this process was started by it; those settings hold before the program's."""
    if _SUBMITTED not in os.environ:
        return {}
    SparkContext._ensure_initialized()
    fixed = {name.casefold() for name in BANNED}
    return {key: value for key, value in SparkConf().getAll() if key.casefold() not in fixed}


def level_when_submitted(submitted: Mapping[str, str]) -> dict[str, str]:
    """WARN where ``spark-submit`` started this process and nobody says how to log: results drown in Spark's lines of INFO else.

    ``submitted``: what ``spark-submit`` was told.
    """
    if _SUBMITTED not in os.environ or "log4j" in submitted.get("spark.driver.extraJavaOptions", ""):
        return {}
    folder = os.environ.get("SPARK_CONF_DIR") or Path(os.environ.get("SPARK_HOME", ""), "conf")
    own = any(path.suffix != ".template" for path in Path(folder).glob("log4j2*"))
    return {} if own else {"spark.log.level": "WARN"}


def before_start(master: str, *, has_checkpoint: bool) -> Diagnostic | None:
    """What forbids a run on a master: no folder that all its machines see, or nobody who answers at its address."""
    if not has_checkpoint and (nowhere := no_shared_folder(master)) is not None:
        return nowhere
    if not master.startswith("spark://") or any(map(_answers, _addresses(master))):
        return None
    return Diagnostic(
        "SQ0801", f"no Spark master answers at {master}", NO_SPAN,
        help="start it, or correct `--master`; a standalone master listens at port 7077 unless it is told another",
        notes=("docs/deployment.md, `A cluster on this machine`, says how to start one to try",),
    )


def executor_count(session: SparkSession) -> Callable[[], int] | None:
    """How many executors the cluster has given so far; None where there is no cluster."""
    context: Any = session.sparkContext
    if is_local(str(context.master)):
        return None
    # The driver is among those that Spark lists.
    return lambda: int(context._jsc.sc().getExecutorMemoryStatus().size()) - 1


def no_shared_folder(master: str) -> Diagnostic | None:
    """SQ0820 for a run without a checkpoint of its own where the executors cannot see this machine's temporary folder."""
    if on_this_machine(master):
        return None
    return Diagnostic(
        "SQ0820", "a run on a cluster needs a folder that all its machines see", NO_SPAN,
        label=f"spark.master is {master}",
        help="name one with `--checkpoint DIR`: a network file system that is mounted at the same place everywhere",
        notes=("the place of the run, its state and what is decided about shedding are kept there",),
    )
