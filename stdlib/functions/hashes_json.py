"""Hashes, JSON, CSV and addresses (URLs)."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("hashes and JSON")

# --- hashes --------------------------------------------------------------------------------------

_c.scalar("HASH", "key, key*", "INT", "A hash of 32 bits (Murmur 3) of the values.", null_safe=True)
_c.scalar(
    "XXHASH64", "key, key*", "BIGINT", "A hash of 64 bits (xxHash) of the values.", null_safe=True
)
_c.scalar("CRC32", "BINARY", "BIGINT", "The CRC 32 of the bytes.")
_c.scalar("CRC32", "str", "BIGINT", "The CRC 32 of the text.")
_c.scalar("MD5", "bytes", "STRING", "The MD5 digest in hexadecimal digits.")
_c.scalar("SHA1 SHA", "bytes", "STRING", "The SHA-1 digest in hexadecimal digits.")
_c.scalar(
    "SHA2",
    "bytes, INT",
    "STRING",
    "The SHA-2 digest of 224, 256, 384 or 512 bits in hexadecimal digits; NULL for other sizes.",
)
_c.scalar(
    "HMAC",
    "bytes, bytes, str!?",
    "BINARY",
    "The keyed digest of the second under the key of the first; SHA-256 unless said.",
)

# --- JSON and CSV --------------------------------------------------------------------------------

_c.scalar(
    "GET_JSON_OBJECT",
    "str, str",
    "STRING",
    "What a path such as '$.user.id' leads to in a JSON text, or NULL.",
)
_c.scalar(
    "JSON_VALUE",
    "str, str",
    "STRING",
    "The same as GET_JSON_OBJECT.",
    sql="get_json_object({args})",
)
_c.scalar("JSON_ARRAY_LENGTH", "str", "INT", "How many elements the outermost JSON array has.")
_c.scalar("JSON_OBJECT_KEYS", "str", "ARRAY<STRING>", "The keys of the outermost JSON object.")
_c.scalar(
    "FROM_JSON",
    "str, str!",
    "schema()",
    "The value of a JSON text by a schema: FROM_JSON(body, 'id BIGINT, tags ARRAY<STRING>').",
)
_c.scalar("TO_JSON", "struct|map|array", "STRING", "The value as JSON text.")
_c.scalar(
    "FROM_CSV", "str, str!", "schema()", "The fields of a CSV line by a schema: 'a INT, b STRING'."
)
_c.scalar("TO_CSV", "struct", "STRING", "The fields as a CSV line.")

# --- addresses -----------------------------------------------------------------------------------

_c.scalar(
    "PARSE_URL",
    "str, str, str?",
    "STRING",
    "A part of an address: PARSE_URL(url, 'HOST'), PARSE_URL(url, 'QUERY', 'id'); or NULL.",
    sql="try_parse_url({args})",
)
_c.scalar("URL_ENCODE", "str", "STRING", "The text as it may stand in an address.")
_c.scalar(
    "URL_DECODE",
    "str",
    "STRING",
    "The text that an encoded one stands for, or NULL.",
    sql="try_url_decode({args})",
)

FUNCTIONS = _c.build()
