"""Functions between text, bytes and addresses (URLs)."""

from __future__ import annotations

import base64
import binascii
import re
from urllib.parse import quote_plus, unquote_to_bytes

from streamq.runtime.reference.functions.declare import Family
from streamq.runtime.reference.functions.hashes import as_bytes

_f = Family()

_CHARSETS = {"UTF-16": "utf-16-be"}
"""Names that mean something else in Java: UTF-16 is written with a byte order mark."""


@_f.plain("ENCODE")
def encode(text: str, charset: str) -> bytes:
    """Characters that the set does not have become question marks."""
    name = charset.upper()
    mark = b"\xfe\xff" if name == "UTF-16" and text else b""
    return mark + text.encode(_CHARSETS.get(name, name), "replace")


@_f.plain("DECODE")
def decode(data: bytes, charset: str) -> str:
    name = charset.upper()
    if name == "UTF-16" and data[:2] in (b"\xfe\xff", b"\xff\xfe"):
        return data.decode("utf-16", "replace")
    return data.decode(_CHARSETS.get(name, name), "replace")


_f.plain("BASE64")(lambda v: base64.b64encode(as_bytes(v)).decode())


@_f.plain("UNBASE64")
def unbase64(text: str) -> bytes | None:
    """Characters outside of the alphabet are passed over."""
    kept = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0])
    try:
        return base64.b64decode(kept + "=" * (-len(kept) % 4))
    except binascii.Error:
        return base64.b64decode(kept[:-1])


@_f.plain("HEX")
def hex_(value: int | str | bytes) -> str:
    if isinstance(value, int):
        return format(value & ((1 << 64) - 1), "X")
    return as_bytes(value).hex().upper()


@_f.plain("UNHEX")
def unhex(text: str) -> bytes | None:
    """An odd count of digits gets a 0 before it."""
    if not re.fullmatch(r"[0-9A-Fa-f]*", text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else "0" + text)


@_f.plain("TO_BINARY")
def to_binary(text: str, form: str = "hex") -> bytes | None:
    match form.lower():
        case "hex":
            return unhex(text)
        case "utf-8" | "utf8":
            return text.encode()
        case "base64":
            return _strict_base64(text)
        case _:
            return None


def _strict_base64(text: str) -> bytes | None:
    plain = re.sub(r"\s", "", text)
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4 if "=" not in plain else 0), validate=True)
    except binascii.Error:
        return None


_ADDRESS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][\w+.-]*):)?(?://(?P<authority>[^/?#]*))?"
    r"(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?(?:#(?P<ref>.*))?",
    re.DOTALL,
)
_UNSAFE = re.compile(r"[\s<>\"{}|\\^`]|%(?![0-9A-Fa-f]{2})")


@_f.plain("PARSE_URL")
def parse_url(url: str, part: str, key: str | None = None) -> str | None:
    """NULL for a text that is no address, and for a part that it does not have."""
    found = None if _UNSAFE.search(url) else _ADDRESS.fullmatch(url)
    if found is None or (key is not None and part != "QUERY"):
        return None
    authority, query = found["authority"], found["query"]
    match part:
        case "HOST":
            return None if not authority else re.sub(r":\d*$", "", authority.rpartition("@")[2])
        case "PATH":
            return found["path"]
        case "QUERY" if key is not None:
            value = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", query or "")
            return value[1] if value else None
        case "QUERY":
            return query
        case "REF":
            return found["ref"]
        case "PROTOCOL":
            return found["scheme"]
        case "FILE":
            return found["path"] + (f"?{query}" if query is not None else "")
        case "AUTHORITY":
            return authority or None
        case "USERINFO":
            return authority.rpartition("@")[0] if authority and "@" in authority else None
        case _:
            return None


_f.plain("URL_ENCODE")(lambda s: quote_plus(s, safe="*").replace("~", "%7E"))


@_f.plain("URL_DECODE")
def url_decode(text: str) -> str | None:
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        return None
    return unquote_to_bytes(text.replace("+", " ")).decode("utf-8", "replace")


MAKERS = _f.makers
