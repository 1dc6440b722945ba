"""A disk that is full, or may not be written: told apart from other errors, with the folder and what to do."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from pathlib import Path

from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import Span

CODE = "SQ0809"
LITTLE = 1 << 20
"""A disk with fewer free bytes counts as full where nobody says which one is."""

_FULL = re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk", re.IGNORECASE)
_CLOSED = re.compile(r"Read-only file system", re.IGNORECASE)
_DENIED = re.compile(r"Mkdirs failed|Permission denied|AccessDenied|Operation not permitted", re.IGNORECASE)
_ERRORS = {
    errno.ENOSPC: "the disk is full", errno.EDQUOT: "the disk is full", errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied", errno.EPERM: "permission denied",
}


def reason_in(text: str, folders: tuple[str, ...]) -> str:
    """Why something could not be written, as the text of an error says; empty where it says something else.

    ``folders``: those that are written to. A file elsewhere that may not be opened is one that is read.
    """
    if _FULL.search(text):
        return _ERRORS[errno.ENOSPC]
    if _CLOSED.search(text):
        return _ERRORS[errno.EROFS]
    return _ERRORS[errno.EACCES] if _DENIED.search(text) and any(f in text for f in folders) else ""


def folder_in(text: str, folders: tuple[str, ...]) -> str:
    """The folder that an error speaks of; where it names none, one on a full disk; empty where there is none."""
    named = [folder for folder in folders if folder in text]
    return next(iter([*named, *(folder for folder in folders if _is_full(folder))]), "")


def _is_full(folder: str) -> bool:
    path = Path(folder)
    try:
        found = os.statvfs(next(p for p in (path, *path.parents) if p.exists()))
    except (OSError, StopIteration):
        return False
    return found.f_bavail * found.f_frsize < LITTLE


def not_written(who: str, reason: str, folder: str, span: Span) -> Diagnostic:
    """``who``: what wanted to write, such as ``query `q```."""
    where = f"`{folder}`" if folder else "its files"
    return Diagnostic(
        CODE, f"{who} cannot write to {where}: {reason}", span,
        help="make room or give the right to write there; a run that goes on tries again by itself",
    )


def refuses_folders(folder: Path) -> str:
    """Why no folder can be made in a folder that is there; empty where one can, or could if the disk were not full.

    It is tried, and what was made is taken away: rights alone do not tell it, in ``/proc`` for instance.
    """
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".streamq-", dir=folder))
    except OSError as error:
        return "" if error.errno in (errno.ENOSPC, errno.EDQUOT) else f"no folder can be made in `{folder}`"
    return ""


def is_trouble(error: OSError) -> bool:
    """Whether an error is of a disk that is full or may not be written."""
    return error.errno in _ERRORS


def of_error(error: OSError, who: str, folder: Path | str, span: Span) -> Diagnostic:
    """The diagnostic for what Python's own file functions raised."""
    reason = _ERRORS.get(error.errno or 0) or (error.strerror or str(error)).lower()
    return not_written(who, reason, str(folder), span)
