"""Digests and hashes of values, as Spark computes them."""

from __future__ import annotations

import hashlib
import hmac as keyed
import struct
import zlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from streamq.compiler.ir.expr import Call
from streamq.dsl.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTERVAL,
    NULL,
    TIMESTAMP,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    is_integer,
    is_string,
)
from streamq.runtime.reference.functions.declare import Family, Function
from streamq.runtime.reference.numbers import wrap
from streamq.runtime.reference.values import to_instant

_f = Family()

_32 = (1 << 32) - 1
_64 = (1 << 64) - 1
_MICROSECOND = timedelta(microseconds=1)


def as_bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


_f.plain("CRC32")(lambda v: zlib.crc32(as_bytes(v)))
_f.plain("MD5")(lambda v: hashlib.md5(as_bytes(v), usedforsecurity=False).hexdigest())
_f.plain("SHA1 SHA")(lambda v: hashlib.sha1(as_bytes(v), usedforsecurity=False).hexdigest())
_SHA2 = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}


@_f.plain("SHA2")
def sha2(v: str | bytes, bits: int) -> str | None:
    return hashlib.new(_SHA2[bits], as_bytes(v)).hexdigest() if bits in _SHA2 else None


@_f.plain("HMAC")
def hmac(key: str | bytes, v: str | bytes, algorithm: str = "SHA-256") -> bytes:
    name = algorithm.lower().replace("-", "").removeprefix("hmac")
    return keyed.new(as_bytes(key), as_bytes(v), name).digest()


@_f.typed("HASH")
def hash_(call: Call) -> Function:
    return _hash(call, 42, murmur3, 32)


@_f.typed("XXHASH64")
def xxhash64(call: Call) -> Function:
    return _hash(call, 42, xx64, 64)


Mix = Callable[[bytes, int], int]
"""The hash of bytes (of 4 or 8 for numbers) with a seed, which is the hash of the values before."""


def _hash(call: Call, seed: int, mix: Mix, bits: int) -> Function:
    types = [a.type for a in call.args]

    def hashed(*values: object) -> int:
        found = seed
        for value, t in zip(values, types, strict=True):
            found = _mixed(value, t, found, mix)
        return wrap(found, bits)

    return hashed


def _mixed(value: Any, t: Type, seed: int, mix: Mix) -> int:
    """NULL leaves the seed as it is; nested values hash their parts one after another."""
    if value is None:
        return seed
    match t:
        case Array():
            parts = [(v, t.element) for v in value]
        case Struct():
            parts = [(v, f) for v, (_, f) in zip(value, t.fields, strict=True)]
        case Map():
            parts = [p for k, v in value for p in ((k, t.key), (v, t.value))]
        case _:
            return mix(_bytes_of(value, t), seed)
    for part, kind in parts:
        seed = _mixed(part, kind, seed, mix)
    return seed


def _bytes_of(value: Any, t: Type) -> bytes:
    if isinstance(t, Decimal):
        unscaled = int(value.scaleb(t.scale))
        if t.precision <= 18:
            return struct.pack("<q", unscaled)
        return unscaled.to_bytes(((unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8) + 1, "big", signed=True)
    if is_string(t) or t == BINARY:
        return as_bytes(value)
    if t == FLOAT:
        return struct.pack("<f", value or 0.0)
    if t == DOUBLE:
        return struct.pack("<d", value or 0.0)
    if t == TIMESTAMP:
        return struct.pack("<q", to_instant(value))
    if t == INTERVAL:
        return struct.pack("<q", value // _MICROSECOND)
    if t == BIGINT:
        return struct.pack("<q", value)
    if t == DATE:
        return struct.pack("<i", value.toordinal() - 719163)
    if t in (BOOLEAN, NULL) or is_integer(t):
        return struct.pack("<i", value)
    raise TypeError(f"no hash of {t}")


def _left(value: int, bits: int, width: int) -> int:
    return (value << bits | value >> (width - bits)) & ((1 << width) - 1)


def murmur3(data: bytes, seed: int) -> int:
    """Murmur 3 of 32 bits (Appleby); the bytes after the last four are mixed in one by one, signed."""
    h = seed & _32
    whole = len(data) // 4 * 4
    words = [*struct.unpack(f"<{whole // 4}I", data[:whole])]
    words += [b - 256 if b > 127 else b for b in data[whole:]]
    for word in words:
        k = _left(word * 0xCC9E2D51 & _32, 15, 32) * 0x1B873593 & _32
        h = (_left(h ^ k, 13, 32) * 5 + 0xE6546B64) & _32
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & _32
    h = (h ^ h >> 13) * 0xC2B2AE35 & _32
    return h ^ h >> 16


_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def _round(lane: int, word: int) -> int:
    return _left((lane + word * _P2) & _64, 31, 64) * _P1 & _64


def xx64(data: bytes, seed: int) -> int:
    """XxHash of 64 bits (Collet)."""
    seed &= _64
    at = 0
    if len(data) >= 32:
        lanes = [(seed + _P1 + _P2) & _64, (seed + _P2) & _64, seed, (seed - _P1) & _64]
        while at + 32 <= len(data):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            at += 32
        turns = (1, 7, 12, 18)
        h = sum(_left(lane, n, 64) for lane, n in zip(lanes, turns, strict=True)) & _64
        for lane in lanes:
            h = ((h ^ _round(0, lane)) * _P1 + _P4) & _64
    else:
        h = (seed + _P5) & _64
    h = (h + len(data)) & _64
    while at + 8 <= len(data):
        word = struct.unpack_from("<Q", data, at)[0]
        h = (_left(h ^ _round(0, word), 27, 64) * _P1 + _P4) & _64
        at += 8
    if at + 4 <= len(data):
        h = (_left(h ^ struct.unpack_from("<I", data, at)[0] * _P1 & _64, 23, 64) * _P2 + _P3) & _64
        at += 4
    for byte in data[at:]:
        h = _left(h ^ byte * _P5 & _64, 11, 64) * _P1 & _64
    h = (h ^ h >> 33) * _P2 & _64
    h = (h ^ h >> 29) * _P3 & _64
    return h ^ h >> 32


MAKERS = _f.makers
