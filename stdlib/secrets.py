"""What is not to be shown: values of settings and options, and passwords in addresses; and where secrets come from."""

from __future__ import annotations

import re

SECRET_NAMES = r"(?i)(secret|password|passwd|token|credential|access[._-]?key|account[._-]?key|private[._-]?key|jaas)"
"""What names of settings and options with secrets have in them; Java reads it as Python does."""

_ABOUT_ONE = r"(?i)(provider|providers|file|path|dir|class|type|enabled|interval|ratio|timeout|ttl|expiry|url|uri|endpoint|location|algorithm|regex)$"
"""How names end that say something of a secret, and hold none."""

_USER = r"(?<=://)[^/@\s]+(?=@)"
_PASSWORD = r"(?i)://[^/@\s:]*:[^/@\s]+@|[?&;](password|passwd|pwd|secret|token|access_key|accountkey)=[^&;\s]"

_REFERENCE = r"(env|file):\s*(\S.*?)\s*"

HIDDEN = "***"


def is_secret(key: str) -> bool:
    """True for the name of a setting whose value is a secret, ``spark.hadoop.fs.s3a.secret.key`` for instance."""
    return re.search(SECRET_NAMES, key) is not None


def holds_secret(key: str) -> bool:
    """True for a setting that has a secret itself as its value; ``credentials.provider`` or ``oauthTokenFile`` have none."""
    return is_secret(key) and re.search(_ABOUT_ONE, key) is None


def has_password(text: str) -> bool:
    """True for an address with a password in it: ``postgres://me:word@host/``, ``jdbc:…?password=word``."""
    return re.search(_PASSWORD, text) is not None


def redacted(text: str) -> str:
    """The text, without names and passwords in the addresses that it has: ``s3a://key:secret@bucket/``."""
    return re.sub(_USER, HIDDEN, text)


def reference(text: str) -> tuple[str, str] | None:
    """Where a secret is: ``env:PG_PASSWORD`` is ("env", "PG_PASSWORD"), ``file:pg.secret`` ("file", "pg.secret"); None for the secret itself."""
    found = re.fullmatch(_REFERENCE, text)
    return (found[1], found[2]) if found is not None else None
