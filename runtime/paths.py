"""Where a path of a program points to: relative paths, globs, files that Spark would read."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from glob import glob, has_magic
from pathlib import Path
from urllib.parse import quote, unquote, urlparse

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:")
_HIDDEN = ("_", ".")


LONGEST_NAME = 200
"""Bytes of a file's name that is made of a name in a program; file systems allow 255, and Spark adds some."""


def file_name(name: str) -> str:
    """A name in a program as one of a file or a folder, whatever it holds; different ones for different names."""
    written = quote(name, safe="").replace(".", "%2E")
    if len(written) <= LONGEST_NAME:
        return written
    # No name is written with this sign behind a percent sign.
    return f"{written[:LONGEST_NAME // 2]}%-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def resolve(base_dir: str, path: str) -> str:
    """The absolute form of a path option; relative ones start from the program's folder.

    Addresses with a scheme (``s3a://…``) are left as they are; ``file:`` is taken off.
    """
    if path.startswith("file:"):
        path = "/" + path.removeprefix("file:").lstrip("/")
    elif is_remote(path):
        return path
    # A ``~`` that stands for nobody's folder is a name like another.
    return os.path.normpath(Path(base_dir or ".").absolute() / os.path.expanduser(path))


def is_remote(path: str) -> bool:
    """True for an address that this machine's file functions cannot look into."""
    return bool(_SCHEME.match(path)) and not path.startswith("file:")


def exists(path: str) -> bool:
    """True where the resolved path, or at least one match of its glob, exists."""
    # Unlike those of Path, these functions say False of a name that is too long, or in a closed folder.
    return os.path.exists(path) or (has_magic(path) and bool(glob(path)))


def spark_path(path: str) -> str:
    """The path as Spark's file stream takes it: folders and globs as they are.

    A stream over one plain file is refused by Spark (its base path must be a folder), one over a
    glob is not: the last letter or digit of the file's name becomes a character class of one.
    """
    if is_remote(path) or not os.path.isfile(path):
        return path
    escaped = without_globs(path)
    place = max(i for i, ch in enumerate(escaped) if ch.isalnum())
    return f"{escaped[:place]}[{escaped[place]}]{escaped[place + 1 :]}"


def without_globs(path: str) -> str:
    """The path as Spark takes it where it looks for globs and there are none."""
    return re.sub(r"([\\{}\[\]*?])", r"\\\1", path)


def from_log(place: str) -> str:
    """The path of a file that Spark wrote down as an address."""
    return unquote(urlparse(place).path if place.startswith("file:") else place)


def data_files(
    path: str, options: Mapping[str, str | int | float | bool] | None = None
) -> Iterator[Path]:
    """The files that Spark would read under a resolved local path, in name order.

    ``options`` are the connector's: ``glob`` chooses among names, ``recursive`` enters all folders;
    folders named ``column=value`` are always entered.
    """
    given = options or {}
    pattern, recursive = str(given.get("glob") or "*"), bool(given.get("recursive"))
    roots = [Path(path)] if os.path.exists(path) else [Path(p) for p in sorted(glob(path))]
    for root in roots:
        if root.is_file():
            yield root
        else:
            yield from _walk(root, pattern, recursive)


def partition_columns(path: str, file: Path) -> tuple[str, ...]:
    """Columns that folder names of the form ``name=value`` between ``path`` and ``file`` give."""
    try:
        parents = file.relative_to(path).parts[:-1]
    except ValueError:
        parents = file.parts[:-1]
    return tuple(part.split("=", 1)[0] for part in parents if "=" in part)


def _walk(folder: Path, pattern: str, recursive: bool) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith(_HIDDEN):
            continue
        if entry.is_dir():
            if recursive or "=" in entry.name:
                yield from _walk(entry, pattern, recursive)
        elif entry.is_file() and fnmatchcase(entry.name, pattern):
            yield entry
