"""The columns of a stream from Kafka: those that hold parts of the record, and those of its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamq.dsl.diagnostics import did_you_mean
from streamq.dsl.types import BIGINT, BINARY, INT, STRING, TIMESTAMP, Chars, Map, Type, with_article
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
    """Columns that hold a part of the record as it is, each with the part: ``key``, ``timestamp``, …

    With format 'raw' the column that holds no other part has the ``value``.
    """
    by_fold = {name.casefold(): name for name in names}
    found = {
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
        name = str(options.get(part, ""))
        if not name:
            continue
        if name.casefold() not in {n.casefold() for n in names}:
            message = f"option `{part}` names a column `{name}` that is not declared"
            problems.append(Problem("SQ0707", "", message, did_you_mean(name, names) or f"declare `{name} {_TYPES[part][0]}`"))
        elif (first := seen.setdefault(name.casefold(), part)) != part:
            message = f"column `{name}` cannot hold both the {first} and the {part} of a record"
            problems.append(Problem("SQ0707", name, message, "give each a column of its own"))
    parts = parts_of(options, names)
    for name, t in declared:
        part = parts.get(name)
        plain = STRING if isinstance(t, Chars) else t
        if part is not None and plain not in _TYPES[part]:
            wanted = " or ".join(map(str, _TYPES[part]))
            message = f"`{name}`, which holds the {part.removesuffix('_column')} of a record, is {with_article(t)}"
            problems.append(Problem("SQ0707", name, message, f"declare it {wanted}"))
    rest = [(name, t) for name, t in declared if name not in parts]
    if options.get("format") == "raw" and (rest or VALUE not in parts.values()):
        name = rest[0][0] if rest else ""
        message = f"`{name}` is one column too many for format 'raw'" if rest else "format 'raw' needs a column for the value"
        problems.append(Problem("SQ0707", name, message, "declare one column, STRING or BINARY, besides those that options name"))
    if options.get("format") == "avro":
        problems += [Problem("SQ0707", name, reason, help) for name, t in rest if (found := not_avro(name, t)) for reason, help in (found,)]
    return problems
