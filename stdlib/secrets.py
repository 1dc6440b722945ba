"""What is not to be shown: values of settings and options, and passwords in addresses; and where secrets come from."""

from __future__ import annotations

import re

_SECRET = r"(?i)(secret|password|passwd|token|credential|access[._-]?key|account[._-]?key|private[._-]?key)"
_USER = r"(?<=://)[^/@\s]+(?=@)"

_REFERENCE = r"(env|file):\s*(\S.*?)\s*"

HIDDEN = "***"


def is_secret(key: str) -> bool:
    """True for the name of a setting whose value is a secret, ``spark.hadoop.fs.s3a.secret.key`` for instance."""
    return re.search(_SECRET, key) is not None


def redacted(text: str) -> str:
    """The text, without names and passwords in the addresses that it has: ``s3a://key:secret@bucket/``."""
    return re.sub(_USER, HIDDEN, text)


def reference(text: str) -> tuple[str, str] | None:
    """Where a secret is: ``env:PG_PASSWORD`` is ("env", "PG_PASSWORD"), ``file:pg.secret`` ("file", "pg.secret"); None for the secret itself."""
    found = re.fullmatch(_REFERENCE, text)
    return (found[1], found[2]) if found is not None else None
