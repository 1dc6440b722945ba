"""What goes wrong with Kafka while a query runs, in words of the program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery
from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.kafka_servers import places

_GONE = re.compile(
    r"Timed out waiting for a node|Timed out waiting to send|Timeout(?: of \d+ ?ms)? expired before|Failed to update metadata|"
    r"not present in metadata after|Expiring \d+ record|Failed to get offsets|Bootstrap broker|Disconnected from node|"
    r"Connection to node .* could not be established"
)
_LOST = re.compile(r"KAFKA_DATA_LOSS|failOnDataLoss|Some data may have been lost|[Oo]ut of range|OffsetOutOfRange")
_REFUSED = re.compile(
    r"[^\n]*?(The message is \d+ bytes when serialized which is larger than [^\n]*?configuration|"
    r"[^\n:]*message larger than the max[^\n]*?will accept|Compacted topic cannot accept message without key)"
)


def refused_record(text: str) -> str | None:
    """Why a topic takes no record like one of these, where ``text`` says that; else None."""
    found = _REFUSED.search(text)
    return None if found is None else found[1].strip()


def _asks(options: Mapping[str, OptionValue], text: str) -> bool:
    """True where the text names one of the brokers, or the topic."""
    names = (*str(options["bootstrap_servers"]).split(","), str(options.get("topic", "")))
    return any(name.strip() in text for name in names if name.strip())


def of_kafka(query: PhysicalQuery, text: str, reason: str) -> Diagnostic | None:
    """The diagnostic where ``text`` speaks of brokers that are gone, or of records that are; None where it is something else."""
    found = list(places([query]))
    streams = [place for role, place in found if role == "stream"]
    if streams and _LOST.search(text):
        _, origin = next((place for place in streams if str(place[0].get("topic")) in text), streams[0])
        return Diagnostic(
            "SQ0801", f"records that query `{query.name}` has not read are gone from its topic", origin, notes=(reason,),
            help="the topic kept them for too short a time, or was made anew; with fail_on_data_loss = false a run goes on behind them",
        )
    if found and _GONE.search(text):
        options, origin = next((place for _, place in found if _asks(place[0], text)), found[0][1])
        return Diagnostic(
            "SQ0808", f"query `{query.name}` lost the brokers of Kafka at `{options['bootstrap_servers']}`", origin, notes=(reason,),
            help="a run with `--checkpoint` goes on where it stopped, once they are back",
        )
    return None
