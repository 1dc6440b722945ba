"""Settings of Spark, and of Kafka's client, that bring code or processes onto a machine, or say who may reach it: no matter of a program alone."""

from __future__ import annotations

import re

_KEYS = (
    # Where code comes from: jars, packages, Python files, class paths.
    r"jars(\..*)?", r"archives", r"files", r"repl\..*", r"submit\..*", r"repositories", r"home", r".*\.(user)?classpath(first)?",
    r"(driver|executor)\.(extra|default).*", r".*javaoptions", r".*librarypath", r".*\.impl",
    # What is run beside the queries.
    r"plugins(\..*)?", r"extralisteners", r"sql\.extensions(\..*)?", r"sql\.catalog\..*", r"sql\.queryexecutionlisteners",
    r"sql\.streaming\.streamingquerylisteners", r"ui\.filters", r"metrics\..*", r"(sql\.)?.*shufflemanager", r"shuffle\.manager",
    # Which programs are started, and in what surroundings.
    r"pyspark\..*", r"python\..*module", r"r\..*", r"executorenv\..*", r"worker\..*", r".*\.discoveryscript", r".*\.command",
    # Whom the machine talks to, and who may talk to it.
    r"master", r"remote", r"connect\..*", r"(driver|executor)\.(host|bindaddress)", r"ui\.enabled", r"kubernetes\..*", r"yarn\..*", r"authenticate.*",
    r"acls\..*", r"(admin|modify|ui\.view).*acls.*", r"ssl\..*",
    # What keeps secrets out of logs.
    r"(sql\.)?redaction\..*",
)

_BRINGS = re.compile(rf"spark\.({'|'.join(_KEYS)})", re.IGNORECASE)


def brings_code(key: str) -> bool:
    """True for a setting that a program has no right to by itself, ``spark.jars.packages`` for instance."""
    return _BRINGS.fullmatch(key) is not None


_CLIENT = re.compile(
    r"kafka\.(.*\.class(es)?|metric\.reporters|security\.providers|partition\.assignment\.strategy|config\.providers(\..*)?)", re.IGNORECASE
)
"""Options of Kafka's client that name classes, or what fills in ``${env:NAME}`` in the others."""


def client_brings_code(option: str) -> bool:
    """True for an option of a stream or sink that a program has no right to by itself, ``kafka.metric.reporters`` for instance."""
    return _CLIENT.fullmatch(option) is not None
