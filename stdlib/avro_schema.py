"""Schemas of Avro for columns of the language, and schemas that tell whether a record could be read."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from streamq.dsl.diagnostics import InternalError
from streamq.dsl.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    Array,
    Chars,
    Decimal,
    Map,
    Struct,
    Type,
    with_article,
)

READ = "__ok"
"""A field behind those of a record, which holds END where the value ended there; else the value has another schema."""

END = bytes.fromhex("a97c3f1de0564b82")
"""What is put behind each value before it is read."""

END_TYPE = {"type": "fixed", "name": "streamq_end", "size": len(END)}

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: dict[Type, object] = {
    BOOLEAN: "boolean", TINYINT: "int", SMALLINT: "int", INT: "int", BIGINT: "long", FLOAT: "float", DOUBLE: "double",
    STRING: "string", BINARY: "bytes", DATE: {"type": "int", "logicalType": "date"},
    TIMESTAMP: {"type": "long", "logicalType": "timestamp-micros"},
}


def not_avro(name: str, t: Type) -> tuple[str, str] | None:
    """Why Avro has no place for a column, and what helps; None where it has."""
    if not _NAME.fullmatch(name):
        return f"avro has no fields with a name such as `{name}`", "take letters, digits and _ for its name"
    match t:
        case Array():
            return not_avro(name, t.element)
        case Map():
            if t.key != STRING:
                return f"avro cannot hold `{name}`, {with_article(t)}: its maps have STRING keys", "use MAP<STRING, …>"
            return not_avro(name, t.value)
        case Struct():
            return next((found for n, f in t.fields if (found := not_avro(n, f)) is not None), None)
        case Decimal() | Chars():
            return None
        case _:
            return None if t in _PLAIN else (f"avro cannot hold `{name}`, which is {with_article(t)}", "use another type")


def schema_of(columns: Sequence[tuple[str, Type, bool]], record: str = "row") -> str:
    """The schema of a record with these columns, (name, type, whether it may be NULL), as JSON."""
    fields = [{"name": n, "type": _union(_type(t, f"{record}_{n}"), nullable)} for n, t, nullable in columns]
    return json.dumps({"type": "record", "name": record, "fields": fields})


def told_as_read(schema: str) -> str:
    """The schema of a value with END behind it. ValueError for what is no record."""
    found = json.loads(schema)
    if not isinstance(found, dict) or found.get("type") != "record" or not isinstance(found.get("fields"), list):
        raise ValueError("the schema is not that of a record")
    return json.dumps(found | {"fields": [*found["fields"], {"name": READ, "type": END_TYPE}]})


def field_names(schema: str) -> tuple[str, ...]:
    """The names of a record's fields."""
    return tuple(str(field["name"]) for field in json.loads(schema)["fields"])


def _union(made: object, nullable: bool) -> object:
    return ["null", made] if nullable else made


def _type(t: Type, record: str) -> object:
    match t:
        case Array():
            return {"type": "array", "items": _union(_type(t.element, record), True)}
        case Map():
            return {"type": "map", "values": _union(_type(t.value, record), True)}
        case Struct():
            fields = [{"name": n, "type": _union(_type(f, f"{record}_{n}"), True)} for n, f in t.fields]
            return {"type": "record", "name": record, "fields": fields}
        case Decimal():
            return {"type": "bytes", "logicalType": "decimal", "precision": t.precision, "scale": t.scale}
        case Chars():
            return "string"
        case _ if t in _PLAIN:
            return _PLAIN[t]
        case _:
            raise InternalError(f"no Avro type for {t}")
