"""What went through an edge, and why rows were left out of it."""

from __future__ import annotations

from collections.abc import Iterator

from streamq.dsl.records import dataclass
from streamq.runtime.edge.at_source.pipeline import Step
from streamq.runtime.edge.columns import MOST_TEXT


@dataclass(slots=True)
class Counts:
    """What went through an edge since it started: ``rows``, those of them that were sifted out, ``dropped``, and lines that were
    none. ``sent``: bytes of ``messages``, with what the transport adds to them. ``answers``: parts, of which a message has several.
    """

    rows: int = 0
    dropped: int = 0
    malformed: int = 0
    messages: int = 0
    sent: int = 0
    answers: int = 0
    failures: int = 0
    refused_requests: int = 0


def why_left_out(step: Step, most: int) -> Iterator[tuple[str, str]]:
    """What its user should know of the rows of a step, each with a word by which it is told once. ``most``: bytes of a message."""
    if step.unkept:
        yield "unkept", (
            f"rows are counted as malformed that no synopsis can keep: NULL, NaN or a text of more than {MOST_TEXT} characters in "
            "a column of CYCLE, or the least BIGINT"
        )
    if step.too_wide:
        yield "too wide", "rows are counted as malformed that are wider than any message"
    if any(len(message) > most for message in step.messages):
        yield "wide", f"a row is wider than the bucket of {most} bytes, and goes in one burst: a larger `bucket` says that it may"
