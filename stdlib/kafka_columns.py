"""The columns of a stream from Kafka: those that hold parts of the record, and those of its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.types import (
    BIGINT,
    BINARY,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    Chars,
    Map,
    Struct,
    Type,
    is_string,
    with_article,
)
from streamq.stdlib.avro_schema import not_avro
from streamq.stdlib.kafka_options import PARTS
from streamq.stdlib.options import OptionValue, Problem

VALUE = "value"

_HEADERS = (Map(STRING, STRING), Map(STRING, BINARY))
_TYPES: dict[str, tuple[Type, ...]] = {
    "key": (STRING, BINARY), VALUE: (STRING, BINARY), "timestamp": (TIMESTAMP,), "headers": _HEADERS,
    "partition": (INT,), "offset": (BIGINT,), "topic_column": (STRING,),
}


def parts_of(options: Mapping[str, object], names: Sequence[str]) -> dict[str, str]:
    """Columns that hold a part of the record as it is, each with the part: ``key``, ``timestamp`` and so on.

    With format 'raw' the column that holds no other part has the ``value``.
    """
    by_fold = {name.casefold(): name for name in names}
    found: dict[str, str] = {
        by_fold[str(options[part]).casefold()]: part for part in PARTS
        if part in options and str(options[part]).casefold() in by_fold
    }
    rest = [name for name in names if name not in found]
    return found | {rest[0]: VALUE} if options.get("format") == "raw" and rest else found


def check_columns(options: Mapping[str, OptionValue], declared: Sequence[tuple[str, Type]]) -> list[Problem]:
    """What the declared columns and the options that name them say against each other; each SQ0707."""
    names = [name for name, _ in declared]
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for part in PARTS:
        asked = str(options.get(part, ""))
        if not asked:
            continue
        if asked.casefold() not in {n.casefold() for n in names}:
            message = f"option `{part}` names a column `{asked}` that is not declared"
            problems.append(Problem("SQ0707", "", message, did_you_mean(asked, names) or f"declare `{asked} {_TYPES[part][0]}`"))
        elif (first := seen.setdefault(asked.casefold(), part)) != part:
            message = f"column `{asked}` cannot hold both the {first} and the {part} of a record"
            problems.append(Problem("SQ0707", asked, message, "give each a column of its own"))
    parts = parts_of(options, names)
    for name, t in declared:
        held = parts.get(name)
        plain = STRING if isinstance(t, Chars) else t
        if held is not None and plain not in _TYPES[held]:
            wanted = " or ".join(map(str, _TYPES[held]))
            message = f"`{name}`, which holds the {held.removesuffix('_column')} of a record, is {with_article(t)}"
            problems.append(Problem("SQ0707", name, message, f"declare it {wanted}"))
    rest = [(name, t) for name, t in declared if name not in parts]
    if options.get("format") == "raw" and (rest or VALUE not in parts.values()):
        name = rest[0][0] if rest else ""
        message = f"`{name}` is one column too many for format 'raw'" if rest else "format 'raw' needs a column for the value"
        problems.append(Problem("SQ0707", name, message, "declare one column, STRING or BINARY, besides those that options name"))
    if options.get("format") == "avro":
        problems += [Problem("SQ0707", name, reason, help) for name, t in rest if (found := not_avro(name, t)) for reason, help in (found,)]
    return problems


def check_record(
    columns: Sequence[tuple[str, Type]], options: Mapping[str, OptionValue], sink: str
) -> list[Problem]:
    """What keeps a result with these columns from being records of a sink; SQ0202 and SQ0502."""
    known = dict(columns)
    by_fold = {name.casefold(): name for name in known}
    problems: list[Problem] = []
    keys = [name.strip() for name in str(options.get("key", "")).split(",") if name.strip()]
    headers = str(options.get("headers", ""))
    for name, what in (*((key, "key") for key in keys), *([(headers, "headers")] if headers else [])):
        if name.casefold() not in by_fold:
            message = f"sink `{sink}` takes its {what} from `{name}`, which is not in the result"
            problems.append(Problem("SQ0202", name, message, did_you_mean(name, [*known]) or f"add `{name}` to the select list"))
    made = by_fold.get(headers.casefold(), "")
    if made and known[made] not in _HEADERS:
        problems.append(_unfit(f"`{made}`, which becomes headers, is {with_article(known[made])}", "make it a MAP<STRING, STRING>"))
    key_names = {by_fold[k.casefold()] for k in keys if k.casefold() in by_fold}
    for name in sorted(key_names):
        if isinstance(known[name], Map) or (len(key_names) == 1 and isinstance(known[name], Array | Struct)):
            problems.append(_unfit(f"`{name}` is {with_article(known[name])}, which cannot be a key", "take a column of plain values"))
    rest = [(name, t) for name, t in columns if name != made]
    return problems + _check_value(rest, key_names, str(options.get("format", "")))


def _check_value(columns: list[tuple[str, Type]], keys: set[str], kind: str) -> list[Problem]:
    match kind:
        case "raw":
            held = [(name, t) for name, t in columns if name not in keys]
            if len(held) != 1 or not (is_string(held[0][1]) or held[0][1] == BINARY):
                shown = ", ".join(f"`{name}` {t}" for name, t in held) or "none"
                return [_unfit(f"format 'raw' writes one column, STRING or BINARY, besides key and headers; here it would be {shown}", "select one, or use format 'json'")]
        case "csv":
            return [
                _unfit(f"a csv record cannot hold `{name}`, which is {with_article(t)}", "use format 'json', or select parts of the column")
                for name, t in columns if isinstance(t, Array | Map | Struct) or t == BINARY
            ]
        case "avro":
            found = (not_avro(name, t) for name, t in columns)
            return [_unfit(reason, help) for one in found if one is not None for reason, help in (one,)]
        case _:
            pass
    return []


def _unfit(message: str, help: str) -> Problem:
    return Problem("SQ0502", "", message, help)
