"""The connector ``kafka``: topics of a broker as streams, and as sinks."""

from __future__ import annotations

import re
from collections.abc import Mapping

from streamq.stdlib.options import OptionValue, Problem, fold_key, utc_moment
from streamq.stdlib.registry import ConnectorSpec, OptionSpec, OptionType
from streamq.stdlib.secrets import holds_secret, reference
from streamq.stdlib.written import TIME_OUT

FORMATS = ("json", "csv", "avro", "raw")
OWN = "kafka."
"""What options begin with that go to the clients of Kafka as they are."""

PARTS = ("key", "timestamp", "headers", "partition", "offset", "topic_column")
"""Options of a stream that name the column which holds a part of the record, beside its value."""

_SERVERS = OptionSpec(
    name="bootstrap_servers", required=True,
    doc="host:port of one broker or more, with commas; the others are found from there.",
)
_SECURITY = (
    OptionSpec(
        name="security_protocol", type=OptionType.CHOICE, choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
        doc="How brokers are talked to; in the open unless said.",
    ),
    OptionSpec(
        name="sasl_mechanism", type=OptionType.CHOICE, choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
        doc="How username and password are shown, with SASL_PLAINTEXT and SASL_SSL; PLAIN unless said.",
    ),
    OptionSpec(name="username", doc="Who asks, with SASL_PLAINTEXT and SASL_SSL."),
    OptionSpec(name="password", secret=True, doc="The user's password."),
    OptionSpec(name="truststore_location", type=OptionType.PATH, doc="A file with the certificates that are trusted."),
    OptionSpec(name="truststore_password", secret=True, doc="Opens the truststore."),
    OptionSpec(name="keystore_location", type=OptionType.PATH, doc="A file with the client's own certificate and key."),
    OptionSpec(name="keystore_password", secret=True, doc="Opens the keystore."),
    OptionSpec(name="key_password", secret=True, doc="Opens the key in the keystore."),
)
_TEXT = (
    OptionSpec(name="delimiter", default=",", doc="csv: what stands between two fields."),
    OptionSpec(name="quote", default='"', doc="csv: what encloses a field that holds a delimiter."),
    OptionSpec(name="escape", doc="csv: what stands before a quote inside quotes; a backslash unless said."),
    OptionSpec(name="null_value", doc="csv: the text that stands for NULL; an empty field always does."),
    OptionSpec(name="date_format", doc="csv, json: how a DATE is written: 'dd.MM.yyyy'; ISO unless said."),
)
_SCHEMA = OptionSpec(
    name="schema_file", type=OptionType.PATH,
    doc="avro: a file with the schema that values are written with (.avsc); made from the columns unless said.",
)

KAFKA_STREAM = ConnectorSpec(
    name="kafka",
    roles=("stream",),
    options=(
        _SERVERS,
        OptionSpec(name="topic", doc="The topic that is read; several with commas."),
        OptionSpec(name="topic_pattern", doc="In place of topic: a regular expression for their names; new ones are found."),
        OptionSpec(
            name="format", type=OptionType.CHOICE, choices=FORMATS, default="json",
            doc="How a record's value is written; raw: one column holds it as it is, as STRING or BINARY.",
        ),
        OptionSpec(
            name="starting", default="earliest",
            doc="Where a new run begins: 'earliest', 'latest' or a time, '2026-01-31 12:00:00'; a run with a checkpoint goes on.",
        ),
        OptionSpec(name="max_rows_per_trigger", type=OptionType.INT, least=1, doc="How many records a micro-batch takes at most."),
        OptionSpec(
            name="fail_on_data_loss", type=OptionType.BOOL, default=True,
            doc="Whether the run ends where records are gone that it has not read: with false it goes on behind them.",
        ),
        OptionSpec(
            name="age_by_timestamp", type=OptionType.BOOL, default=True,
            doc="Whether the time of a record says since when it waits: false where old records are put in once more.",
        ),
        OptionSpec(
            name="on_error", type=OptionType.CHOICE, choices=("count", "fail"), default="count",
            doc="json, csv, avro: malformed records are counted and left out, or end the run.",
        ),
        OptionSpec(name="key", doc="The column, STRING or BINARY, that holds the record's key."),
        OptionSpec(name="timestamp", doc="The column, a TIMESTAMP, that holds the record's time."),
        OptionSpec(name="headers", doc="The column, MAP<STRING, STRING> or MAP<STRING, BINARY>, that holds the headers."),
        OptionSpec(name="partition", doc="The column, an INT, that holds the number of the partition."),
        OptionSpec(name="offset", doc="The column, a BIGINT, that holds the place in the partition."),
        OptionSpec(name="topic_column", doc="The column, a STRING, that holds the name of the topic."),
        *_TEXT,
        OptionSpec(
            name="timestamp_format", doc="csv, json: how a TIMESTAMP is written: 'yyyy-MM-dd HH:mm:ss'; ISO unless said."
        ),
        _SCHEMA,
        OptionSpec(
            name="wire_header", type=OptionType.BOOL, default=False,
            doc="avro: whether five bytes of a schema registry stand before each value; they are passed over.",
        ),
        *_SECURITY,
    ),
    doc="The records of topics of Kafka, each read once. Options that begin with `kafka.` go to its client as they are.",
)
KAFKA_SINK = ConnectorSpec(
    name="kafka",
    roles=("sink",),
    options=(
        _SERVERS,
        OptionSpec(name="topic", required=True, doc="The topic that is written; it must be there."),
        OptionSpec(
            name="format", type=OptionType.CHOICE, choices=FORMATS, default="json",
            doc="How a record's value is written; raw: as the one column that is no key and no headers.",
        ),
        OptionSpec(
            name="key",
            doc="Columns, with commas, that make the record's key: one as it is, several as JSON. A relation's own keys unless said.",
        ),
        OptionSpec(name="headers", doc="The column, MAP<STRING, STRING> or MAP<STRING, BINARY>, that becomes headers."),
        *_TEXT,
        TIME_OUT,
        _SCHEMA,
        *_SECURITY,
    ),
    modes=("append", "update"),
    guarantee="at least once: after a restart records of the last batch may come again, with the same headers "
    "streamq-query and streamq-batch",
    doc="A topic of Kafka. Options that begin with `kafka.` go to its client as they are.",
)

CLIENT = {
    "bootstrap_servers": "bootstrap.servers",
    "security_protocol": "security.protocol",
    "sasl_mechanism": "sasl.mechanism",
    "truststore_location": "ssl.truststore.location",
    "truststore_password": "ssl.truststore.password",
    "keystore_location": "ssl.keystore.location",
    "keystore_password": "ssl.keystore.password",
    "key_password": "ssl.key.password",
}
"""Option to the name that Kafka's client has for it. A username and its password become a login."""

SECRETS = frozenset({"password", "truststore_password", "keystore_password", "key_password"})
PATHS = frozenset({"truststore_location", "keystore_location"})

_ONLY_FOR = {
    "delimiter": ("csv",),
    "quote": ("csv",),
    "escape": ("csv",),
    "null_value": ("csv",),
    "timestamp_format": ("csv", "json"),
    "date_format": ("csv", "json"),
    "on_error": ("json", "csv", "avro"),
    "schema_file": ("avro",),
    "wire_header": ("avro",),
}
_TAKEN = frozenset(
    OWN + name for name in (
        "bootstrap.servers", "auto.offset.reset", "enable.auto.commit", "interceptor.classes", "key.deserializer",
        "value.deserializer", "key.serializer", "value.serializer",
    )
)
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def own_options(given: Mapping[str, OptionValue]) -> tuple[dict[str, OptionValue], dict[str, OptionValue], list[Problem]]:
    """The options that the language declares, those of Kafka's client, and what is wrong with these."""
    ours = {key: value for key, value in given.items() if not key.casefold().startswith(OWN)}
    theirs: dict[str, OptionValue] = {}
    problems: list[Problem] = []
    for key, value in given.items():
        name = key.casefold()
        if key in ours:
            continue
        if name in _TAKEN:
            message = f"option `{key}` is set by the connector itself"
            help = "write bootstrap_servers = 'host:9092'" if name.endswith("servers") else "leave it out"
            problems.append(Problem("SQ0701", key, message, help))
        elif is_client_secret(name) and reference(str(value)) is None:
            message = f"option `{key}` holds a secret, and whoever reads the program would know it"
            variable = re.sub(r"[^A-Z0-9]+", "_", name.upper())
            problems.append(Problem("SQ0708", key, message, f"write '{key}' = 'env:{variable}' for a variable of the environment, or 'file:PATH'"))
        else:
            theirs[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return ours, theirs, problems


def login_of(mechanism: str) -> str:
    """The class of Java that logs in by username and password."""
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return f"org.apache.kafka.common.security.{kind}LoginModule"


def is_client_secret(name: str) -> bool:
    """True for an option of Kafka's client whose value is a secret."""
    return (holds_secret(name) and not name.endswith(".id")) or name.endswith("keystore.key")


def check_kafka(
    found: dict[str, OptionValue], given: Mapping[str, OptionValue], role: str, problems: list[Problem]
) -> None:
    """What the options contradict, and values that no option type can check."""
    named = {fold_key(key): key for key in given}
    if "bootstrap_servers" in found and servers(str(found["bootstrap_servers"])) is None:
        message = f"option `bootstrap_servers` must be a host and a port, not '{found['bootstrap_servers']}'"
        problems.append(Problem("SQ0703", named["bootstrapservers"], message, "write bootstrap_servers = 'localhost:9092'"))
    _check_format(found, named, problems)
    _check_topics(found, named, role, problems)
    if role == "stream":
        _check_starting(found, named, problems)
    _check_security(found, named, problems)


def servers(text: str) -> tuple[tuple[str, int], ...] | None:
    """Hosts and ports; None for anything else."""
    found: list[tuple[str, int]] = []
    for one in text.split(","):
        host, colon, port = one.strip().rpartition(":")
        if not colon or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65_536:
            return None
        found.append((host.strip("[]"), int(port)))
    return tuple(found)


def topics(text: str) -> tuple[str, ...]:
    """The topics of a list with commas."""
    return tuple(name.strip() for name in text.split(","))


def _check_format(found: dict[str, OptionValue], named: Mapping[str, str], problems: list[Problem]) -> None:
    kind = str(found.get("format", "json"))
    for name, formats in _ONLY_FOR.items():
        if kind in formats:
            continue
        key = named.get(fold_key(name))
        if key is not None:
            message = f"option `{name}` has no meaning for format '{kind}'"
            problems.append(Problem("SQ0701", key, message, f"leave it out, or write format = '{formats[0]}'"))
        found.pop(name, None)
    for name in ("delimiter", "quote", "escape"):
        if name in found and found[name] == "\\t":
            found[name] = "\t"
        if fold_key(name) in named and len(str(found.get(name, ""))) > 1:
            message = f"option `{name}` must be one character, not '{found[name]}'"
            problems.append(Problem("SQ0703", named[fold_key(name)], message, f"write {name} = ';'"))


def _as_python(pattern: str) -> str:
    """An expression of Java's, by which topics are matched, as Python reads it; error where only Python has it so."""
    if "(?P" in pattern:
        raise re.error("(?P is not known to Java, which matches topics: a group is named by (?<name>…)")
    return re.sub(r"\\p\{\w+\}", "[a-z]", re.sub(r"\(\?<(?![=!])", "(?P<", pattern))


def _check_topics(
    found: dict[str, OptionValue], named: Mapping[str, str], role: str, problems: list[Problem]
) -> None:
    if role == "stream" and ("topic" in found) == ("topic_pattern" in found):
        if "topic" in found:
            message = "options `topic` and `topic_pattern` exclude each other"
            problems.append(Problem("SQ0703", named["topicpattern"], message, "keep one of them"))
        elif not {"topic", "topicpattern"} & named.keys():
            problems.append(Problem("SQ0702", "", "connector `kafka` needs the option `topic`", "add topic = '…', or topic_pattern"))
    if "topic" in found:
        names = topics(str(found["topic"])) if role == "stream" else (str(found["topic"]),)
        wrong = next((name for name in names if not _TOPIC.fullmatch(name)), None)
        if wrong is not None:
            problems.append(Problem(
                "SQ0703", named["topic"], f"'{wrong}' is no name of a topic", "topics have letters, digits, dots, - and _ in their names"
            ))
        found["topic"] = ",".join(names)
    if "topic_pattern" in found:
        try:
            re.compile(_as_python(str(found["topic_pattern"])))
        except re.error as error:
            problems.append(Problem(
                "SQ0703", named["topicpattern"], f"option `topic_pattern` must be a regular expression: {error}", "write topic_pattern = 'orders[.].*'"
            ))


def _check_starting(found: dict[str, OptionValue], named: Mapping[str, str], problems: list[Problem]) -> None:
    starting = str(found.get("starting", "earliest")).strip()
    if starting.casefold() in ("earliest", "latest"):
        found["starting"] = starting.casefold()
        return
    moment = utc_moment(starting)
    if moment is None:
        message = f"option `starting` must be 'earliest', 'latest' or a time, not '{starting}'"
        problems.append(Problem("SQ0703", named.get("starting", ""), message, "write starting = '2026-01-31 12:00:00', in UTC"))
    else:
        found["starting"] = moment


def _check_security(found: dict[str, OptionValue], named: Mapping[str, str], problems: list[Problem]) -> None:
    sasl = str(found.get("security_protocol", "")).startswith("SASL")
    for name in ("username", "password", "sasl_mechanism"):
        if name in found and not sasl:
            problems.append(Problem(
                "SQ0702", named[fold_key(name)], f"option `{name}` needs a security_protocol that shows it",
                "add security_protocol = 'SASL_SSL', or 'SASL_PLAINTEXT'",
            ))
            return
    if ("username" in found) != ("password" in found) and not {"username", "password"} <= {*named}:
        one, other = ("username", "password") if "username" in found else ("password", "username")
        help = f"add {other} = 'env:KAFKA_PASSWORD'" if other == "password" else f"add {other} = '…'"
        problems.append(Problem("SQ0702", named[one], f"option `{one}` needs the option `{other}`", help))
    elif "username" in found:
        found.setdefault("sasl_mechanism", "PLAIN")
