"""Secrets of a program, looked up where the program says they are: in the environment or in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from fnmatch import fnmatchcase

from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import NO_SPAN, Span
from streamq.runtime.paths import resolve
from streamq.stdlib.options import OptionValue
from streamq.stdlib.secrets import holds_secret, reference

VARIABLE = "STREAMQ_SECRETS"
"""Where it is set, programs may name these secrets and no others: ``PG_*,file:/etc/shop/*``, with commas."""


def may_be_named(kind: str, name: str) -> bool:
    """Whether programs may have a secret, by its kind and the name of its variable or the whole path of its file."""
    listed = os.environ.get(VARIABLE)
    if listed is None:
        return True
    patterns = [part.strip() for part in listed.split(",") if part.strip()]
    full = (part if part.startswith(("env:", "file:")) else f"env:{part}" for part in patterns)
    return any(fnmatchcase(f"{kind}:{name}", pattern) for pattern in full)


def reveal(value: str, base_dir: str, origin: Span = NO_SPAN) -> str:
    """The secret behind ``env:NAME`` or ``file:PATH``, a path from the program's folder; Abort with SQ0709 where it is not there,
    and with SQ0710 where programs may not have it.

    A line break at the end of a file is no part of it.
    """
    where = reference(value)
    if where is None:
        raise Abort(_missing("a secret stands in the open", origin))
    kind, name = where
    if not may_be_named(kind, name if kind == "env" else os.path.realpath(resolve(base_dir, name))):
        raise Abort(Diagnostic(
            "SQ0710", f"the program asks for the secret `{value.strip()}`, which it may not have here", origin,
            help=f"whoever runs it can add it to {VARIABLE} in the environment, where it says which secrets programs may name",
        ))
    if kind == "env":
        found = os.environ.get(name)
        if not found:
            raise Abort(_missing(f"the variable `{name}` of the environment, which holds a secret, is not set", origin))
        return found
    try:
        with open(resolve(base_dir, name), encoding="utf-8") as file:
            found = file.read().rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "").lower() if isinstance(error, OSError) else "it is no text"
        raise Abort(_missing(f"the file `{name}`, which holds a secret, cannot be read: {reason}", origin)) from error
    if not found:
        raise Abort(_missing(f"the file `{name}`, which holds a secret, is empty", origin))
    return found


def reveal_settings(settings: Mapping[str, OptionValue], base_dir: str) -> dict[str, OptionValue]:
    """The settings with the secrets of Spark in them; Abort with SQ0709 where one is not there."""
    return {
        key: reveal(str(value), base_dir) if key.startswith("spark.") and holds_secret(key) and reference(str(value)) is not None else value
        for key, value in settings.items()
    }


def _missing(message: str, origin: Span) -> Diagnostic:
    return Diagnostic("SQ0709", message, origin, help="set it before the run; secrets never stand in a program")
