"""Which kind of failure it was, by the code of its diagnostic and what Spark said. No Spark."""

from __future__ import annotations

import re

from streamq.runtime.supervise.policy import Kind

_BY_CODE = {
    "SQ0804": Kind.DATA,
    "SQ0808": Kind.AWAY,
    "SQ0809": Kind.AWAY,
    "SQ0801": Kind.UNKNOWN,
}
"""Codes of failures after which a query is started again; all others are final."""

_LASTING = re.compile(
    r"STATE_STORE_\w*(?:SCHEMA|PROVIDER|INVALID)|STATE_SCHEMA|STREAMING_STATEFUL_OPERATOR_\w+|UNRESOLVED_COLUMN|PARSE_SYNTAX_ERROR"
    r"|Number of distinct sources|There are \[\d+\] sources in the checkpoint"
)
_AWAY = re.compile(
    r"kafka\.common\.errors\.\w*(?:Timeout|Disconnect|NotAvailable|Network|Coordinator)\w*Exception|Timed out waiting for a node assignment"
    r"|ExecutorLostFailure|Lost executor|MetadataFetchFailedException|Could not find CoarseGrainedScheduler"
    r"|Connection refused|Connection reset by peer|UnknownHostException|No route to host"
)
_FROM_PYTHON = "PYTHON_EXCEPTION"


def kind_of(code: str, text: str) -> Kind:
    """``text``: all that Spark said of the failure, as one text."""
    kind = _BY_CODE.get(code, Kind.FINAL)
    if kind is not Kind.UNKNOWN:
        return kind
    if _LASTING.search(text):
        return Kind.FINAL
    if _FROM_PYTHON in text:
        return Kind.DATA
    return Kind.AWAY if _AWAY.search(text) else Kind.UNKNOWN
