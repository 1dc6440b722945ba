"""Secrets among the settings of Spark: a file that only this user can read takes them to it.

Settings go to Spark as arguments of its process, which every user of the machine can list.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

ARGUMENTS = "PYSPARK_SUBMIT_ARGS"


@contextmanager
def submit_arguments(secrets: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment that a new Spark finds its secrets by, until it is up; empty where there are none."""
    if not secrets:
        yield {}
        return
    # Python makes the file readable for this user alone.
    handle, path = tempfile.mkstemp(prefix="streamq-", suffix=".properties")
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.writelines(f"{_escaped(key)}={_escaped(value)}\n" for key, value in secrets.items())
        others = os.environ.get(ARGUMENTS, "pyspark-shell")
        yield {ARGUMENTS: f"--properties-file {shlex.quote(path)} --load-spark-defaults {others}"}
    finally:
        os.unlink(path)


def _escaped(text: str) -> str:
    """Text as a file of Java properties has it."""
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 128 and chr(code).isalnum() else f"\\u{code:04x}" for code in codes)
