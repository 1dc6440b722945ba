"""Sees to it that a checkpoint has one run at a time: two would do each other's micro-batches, and sinks get them twice."""

from __future__ import annotations

import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN

FILE_NAME = ".run.lock"


def hold(root: Path, stack: ExitStack) -> Diagnostic | None:
    """Holds the folder of checkpoints until the stack ends, or the process does; SQ0805 where another run holds it.

    What cannot be written, or has no locks, is held by nobody: the first is told when a query starts.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(root / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        return None
    stack.callback(os.close, descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return Diagnostic(
            "SQ0805", f"checkpoint `{root}` is that of a run which has not ended", NO_SPAN,
            help="stop that run first, or choose another folder with `--checkpoint`",
        )
    except OSError:
        return None
    return None
