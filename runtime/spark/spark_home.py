"""A ``SPARK_HOME`` whose Python workers start in a quarter of the time.

Spark puts ``$SPARK_HOME/python/lib/pyspark.zip`` in front of the path of every Python process it starts. Python
keeps no compiled code for a zip file, so each process compiles all of pyspark anew: a second of CPU, six times
before the first row of a Python source; and a planner's process that has not called back within a fixed ten
seconds, as on a busy machine, fails the query. Our home links to the pip package's programs and jars and has no such
zip, so the workers import the pyspark that is installed beside StreamQ, compiled as it is.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from streamq.runtime.spark.java import cache_dir

_LINKED = ("bin", "jars", "sbin")


def spark_home(package: Path, *, own_interpreter: bool = True) -> Path:
    """The home for the pyspark installed in the folder ``package``.

    Where the workers run another interpreter than ours (``own_interpreter`` False), which may have no
    pyspark of its own, it is ``package`` itself, as Spark would take it.
    """
    if not own_interpreter or not (package / "jars").is_dir():
        return package
    target = package.resolve()
    home = cache_dir() / f"spark-home-{hashlib.sha256(str(target).encode()).hexdigest()[:16]}"
    home.mkdir(exist_ok=True)
    for name in _LINKED:
        _link(home / name, target / name)
    return home


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and link.readlink() == target:
        return
    # Made aside and renamed: another process may be starting at the same time.
    with tempfile.TemporaryDirectory(dir=link.parent) as aside:
        draft = Path(aside) / link.name
        draft.symlink_to(target)
        os.replace(draft, link)
