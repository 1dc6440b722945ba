"""Whether this machine can run queries: Python, Java and the packages that Spark needs."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("pyspark", "pyarrow", "pandas", "numpy", "protobuf")
_LEAST_PYTHON = (3, 11)


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report; ``problem`` is empty where all is well."""

    name: str
    found: str
    problem: str = ""


def examine() -> Iterator[Check]:
    """All checks, cheap ones first; packages are not imported."""
    yield Check("streamq", _version("streamq") or "not installed")
    old = sys.version_info < _LEAST_PYTHON
    yield Check(
        "python", platform.python_version(), "Python 3.11 or later is needed" if old else ""
    )
    for name in PACKAGES:
        yield _package(name)
    yield _java()
    worker = os.environ.get("PYSPARK_PYTHON")
    if worker and os.path.realpath(worker) != os.path.realpath(sys.executable):
        yield Check(
            "PYSPARK_PYTHON", worker,
            "another interpreter than this one: unset it, or Python functions may not be found",
        )


def _package(name: str) -> Check:
    found = _version(name)
    if found is None:
        return Check(name, "not installed", f"run `pip install {name}`")
    if name == "pandas" and int(found.split(".")[0]) >= 3:
        return Check(name, found, "PySpark 4.3 supports pandas below 3: pip install 'pandas<3'")
    return Check(name, found)


def _java() -> Check:
    if _version("pyspark") is None:
        return Check("java", "not looked for")
    from streamq.runtime.spark.java import JavaNotFound, find_java

    try:
        java = find_java()
    except JavaNotFound as missing:
        return Check("java", "; ".join(missing.seen) or "none", missing.help)
    return Check("java", f"{java.version} at {java.java} (from {java.origin})")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
