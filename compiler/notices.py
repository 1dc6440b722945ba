"""Notices: decisions of the planner that change what the user gets."""

from __future__ import annotations

from streamq.dsl.records import dataclass, field
from streamq.dsl.source import NO_SPAN, Span


@dataclass(frozen=True, slots=True)
class PlanNotice:
    """``message``: what was decided; ``hint``: why; ``action``: what the user can do about it.

    ``kind`` is a stable word for tools; ``query`` the query it concerns.
    """

    kind: str
    query: str
    message: str
    hint: str = ""
    action: str = ""
    span: Span = field(default=NO_SPAN, compare=False)
