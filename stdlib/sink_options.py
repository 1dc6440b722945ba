"""The sinks that are servers and files of databases: their options, and what these contradict."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from streamq.stdlib.options import OptionValue, Problem, fold_key
from streamq.stdlib.registry import ConnectorSpec, OptionSpec, OptionType
from streamq.stdlib.secrets import redacted, reference

_CREATE = OptionSpec(
    name="create", type=OptionType.BOOL, default=True,
    doc="Whether the table is made where it is not there, with columns as the result has them.",
)
_EXISTING = OptionSpec(
    name="existing", type=OptionType.CHOICE, choices=("refuse", "keep"), default="refuse",
    doc="What a new run does where the table holds rows that an earlier run of the query wrote: refuse to start, or leave them and add its own.",
)
_PATIENCE = OptionSpec(
    name="patience", type=OptionType.DURATION, default=30_000, least=0,
    doc="How long a micro-batch waits, before it begins, for a server that does not answer.",
)

POSTGRES = ConnectorSpec(
    name="postgres",
    roles=("sink",),
    options=(
        OptionSpec(name="table", required=True, doc="The table, by its very name."),
        OptionSpec(name="schema", default="public", doc="The schema of the table."),
        OptionSpec(name="host", doc="Name or address of the server; localhost unless said."),
        OptionSpec(
            name="port", type=OptionType.INT, least=1, most=65_535, doc="Its port; 5432 unless said."
        ),
        OptionSpec(name="database", doc="The database; needed without uri."),
        OptionSpec(name="user", doc="Who writes; the name of the run's user unless said."),
        OptionSpec(name="password", secret=True, doc="The password of the user."),
        OptionSpec(
            name="sslmode", type=OptionType.CHOICE,
            choices=("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
            doc="Whether what goes over the network is encrypted; prefer unless said.",
        ),
        OptionSpec(
            name="uri", secret=True,
            doc="All of this in one, postgresql://user:password@host:port/database?sslmode=require, in place of the others.",
        ),
        _CREATE,
        _EXISTING,
        OptionSpec(
            name="staging_schema",
            doc="Where streamq_progress and the tables of micro-batches on their way are; the schema of the table unless said.",
        ),
        OptionSpec(
            name="connect_timeout", type=OptionType.DURATION, default=5_000, least=2_000,
            doc="How long the server may take to answer at all, in whole seconds.",
        ),
        _PATIENCE,
    ),
    modes=("append", "update"),
    guarantee="exactly once: each micro-batch is one transaction, which notes its number",
    update_guarantee="exactly once: the newest row of each key, a micro-batch in one transaction",
    doc="A table of PostgreSQL.",
)

DUCKDB = ConnectorSpec(
    name="duckdb",
    roles=("sink",),
    options=(
        OptionSpec(
            name="path", type=OptionType.PATH, required=True,
            doc="The file of the database, on the machine of the run; made where it is not there.",
        ),
        OptionSpec(name="table", required=True, doc="The table, by its very name."),
        OptionSpec(name="schema", default="main", doc="The schema of the table."),
        _CREATE,
        _EXISTING,
        _PATIENCE,
    ),
    modes=("append", "update"),
    guarantee="exactly once: each micro-batch is one transaction, which notes its number",
    update_guarantee="exactly once: the newest row of each key, a micro-batch in one transaction",
    doc="A table in a file of DuckDB, which is open only while a micro-batch is written.",
)

WEBHOOK = ConnectorSpec(
    name="webhook",
    roles=("sink",),
    options=(
        OptionSpec(
            name="url", required=True,
            doc="Where rows are posted, https://…; one that is itself a secret as 'env:NAME' or 'file:PATH'.",
        ),
        OptionSpec(
            name="format", type=OptionType.CHOICE, choices=("array", "lines"), default="array",
            doc="What a request holds: one JSON array of objects, or an object on each line.",
        ),
        OptionSpec(
            name="rows_per_request", type=OptionType.INT, default=500, least=1, most=10_000,
            doc="How many rows a request holds at most.",
        ),
        OptionSpec(name="headers", doc="Further headers, 'Name: value', with ; between them."),
        OptionSpec(name="token", secret=True, doc="Sent as Authorization: Bearer …"),
        OptionSpec(
            name="timeout", type=OptionType.DURATION, default=10_000, least=1,
            doc="How long is waited for the connection, and then each time for more of the answer.",
        ),
        OptionSpec(
            name="tries", type=OptionType.INT, default=5, least=1, most=100,
            doc="How often a request is sent before the micro-batch fails.",
        ),
        OptionSpec(
            name="backoff", type=OptionType.DURATION, default=500, least=1,
            doc="The pause before the second try; each further one is twice as long, a minute at most.",
        ),
    ),
    guarantee="at least once: a micro-batch that is repeated sends its requests again, each with the Idempotency-Key that it had",
    doc="An address on the web that takes JSON by POST.",
)


OWN_WRITERS = frozenset(spec.name for spec in (POSTGRES, DUCKDB, WEBHOOK))
"""Sinks that StreamQ writes into itself: Spark has none of the kind."""


_LAKE = (
    OptionSpec(name="path", type=OptionType.PATH, doc="The folder of the table; or give table."),
    OptionSpec(name="table", doc="The table, by its name in a catalog of Spark: catalog.schema.table."),
    OptionSpec(name="partition_by", doc="Columns, with commas, by whose values the table is cut."),
)

DELTA = ConnectorSpec(
    name="delta", roles=("sink",), options=_LAKE,
    guarantee="exactly once: the log of the table knows the micro-batches of a query",
    doc="A table of Delta Lake, where its jars are given.",
)

ICEBERG = ConnectorSpec(
    name="iceberg", roles=("sink",), options=_LAKE,
    guarantee="exactly once: the snapshots of the table know the micro-batches of a query",
    doc="A table of Apache Iceberg, where its jar is given.",
)

LAKES = frozenset({DELTA.name, ICEBERG.name})


def check_lake(spec: ConnectorSpec, found: dict[str, OptionValue], given: Mapping[str, OptionValue], problems: list[Problem]) -> None:
    """A table of a lake has either a path or a name."""
    if "path" in found and "table" in found:
        key = next(key for key in given if fold_key(key) == "table")
        problems.append(Problem("SQ0703", key, "options `path` and `table` exclude each other", "keep one of them"))
    if not {"path", "table"} & {fold_key(key) for key in given}:
        problems.append(Problem("SQ0702", "", f"connector `{spec.name}` needs the option `path` or `table`", "add path = 'lake/results'"))


def check_sink(spec: ConnectorSpec, found: dict[str, OptionValue], given: Mapping[str, OptionValue], problems: list[Problem]) -> None:
    """What the options of a database or webhook contradict, and names that it cannot have."""
    named = {fold_key(key): key for key in given}
    for key in ("table", "schema", "staging_schema"):
        if key in found and (problem := _name(key, str(found[key]), spec.name)) is not None:
            problems.append(Problem(problem.code, named[fold_key(key)], problem.message, problem.help))
    if spec.name == "postgres":
        _check_postgres(found, named, problems)
    elif spec.name == "webhook":
        _check_webhook(found, named, problems)


LONGEST_NAME = 63
"""Bytes of a name in PostgreSQL; it cuts a longer one without a word."""


def _name(key: str, name: str, connector: str) -> Problem | None:
    if not name or "\0" in name:
        return Problem("SQ0703", key, f"option `{key}` must be a name", f"write {key} = 'results'")
    if connector == "postgres" and len(name.encode()) > LONGEST_NAME:
        return Problem("SQ0703", key, f"option `{key}` is longer than the {LONGEST_NAME} bytes that a name of PostgreSQL has", "choose a shorter name")
    return None


_PARTS = ("host", "port", "database", "user", "password", "sslmode")


def _check_postgres(found: dict[str, OptionValue], named: dict[str, str], problems: list[Problem]) -> None:
    both = [part for part in _PARTS if part in named]
    if "uri" in named and both:
        message = f"options `uri` and `{both[0]}` exclude each other"
        problems.append(Problem("SQ0703", named[both[0]], message, "uri holds all of the address"))
    if "uri" not in named and "database" not in named:
        message = "connector `postgres` needs the option `database`"
        problems.append(Problem("SQ0702", "", message, "add database = '…', or uri = 'env:PG_URI'"))


_HEADER = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_OWN_HEADERS = frozenset({"authorization", "content-length", "content-type", "host", "idempotency-key", "transfer-encoding"})


def headers_of(text: str) -> tuple[tuple[str, str], ...] | None:
    """``'X-Team: ads; X-Env: prod'`` as pairs; None where it is not written so, or would break a request."""
    pairs: list[tuple[str, str]] = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        name, colon, value = (piece.strip() for piece in part.partition(":"))
        if not colon or _HEADER.fullmatch(name) is None or not value.isprintable() or not value.isascii():
            return None
        pairs.append((name, value))
    return tuple(pairs)


def _check_webhook(found: dict[str, OptionValue], named: dict[str, str], problems: list[Problem]) -> None:
    url = str(found.get("url", ""))
    if url and reference(url) is None:
        if redacted(url) != url:
            message = "the address in option `url` has a name in it, and the password that belongs to it would have to be there too"
            problems.append(Problem("SQ0708", named["url"], message, "write url = 'env:WEBHOOK_URL', or use token"))
        elif not is_web_address(url):
            problems.append(Problem("SQ0703", named["url"], "option `url` must be an address that begins with http:// or https://", "write url = 'https://example.org/rows'"))
    headers = headers_of(str(found.get("headers", "")))
    if headers is None:
        problems.append(Problem("SQ0703", named["headers"], "option `headers` must be names and values", "write headers = 'X-Team: ads; X-Env: prod'"))
    elif own := [name for name, _ in headers if name.casefold() in _OWN_HEADERS]:
        help = "use the option token" if own[0].casefold() == "authorization" else "leave it out"
        problems.append(Problem("SQ0703", named["headers"], f"header `{own[0]}` is set by the sink itself", help))


def is_web_address(url: str) -> bool:
    """True for an http or https address with a host, and nothing in it that a request cannot hold."""
    try:
        parts = urlsplit(url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        return False
    plain = url.isascii() and url.isprintable() and " " not in url
    return plain and port_is_one and parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
