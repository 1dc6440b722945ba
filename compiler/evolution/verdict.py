"""What a change of a program means for a query that has a checkpoint."""

from __future__ import annotations

from streamq.dsl.records import dataclass, field
from streamq.dsl.source import NO_SPAN, Span

COMPATIBLE, NEW, NEW_CHECKPOINT, STATE_LOST = (
    "compatible", "new", "needs a new checkpoint", "state lost",
)
"""It goes on; it never ran; it must start anew; it would start anew without a word."""

_RANK = {COMPATIBLE: 0, NEW: 0, NEW_CHECKPOINT: 1, STATE_LOST: 2}


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that differs: where (an operator of the program), what, what it means and what can be done."""

    where: str
    what: str
    verdict: str = COMPATIBLE
    help: str = ""
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)

    def told(self, query: str) -> str:
        """What differs, with the operator that it is about where that is not the query itself."""
        return self.what if self.where == query else f"{self.where}: {self.what}"

    def to_dict(self) -> dict[str, str]:
        return {"where": self.where, "what": self.what, "verdict": self.verdict, "help": self.help}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a query, with all that differs."""

    query: str
    reasons: tuple[Reason, ...] = ()
    new: bool = False

    @property
    def kind(self) -> str:
        worst = max((r.verdict for r in self.reasons), key=_RANK.__getitem__, default=COMPATIBLE)
        return NEW if self.new and worst == COMPATIBLE else worst

    @property
    def ok(self) -> bool:
        """True where the query may start with the checkpoint that is there."""
        return self.kind in (COMPATIBLE, NEW)

    @property
    def blocking(self) -> tuple[Reason, ...]:
        return tuple(r for r in self.reasons if _RANK[r.verdict])

    def to_dict(self) -> dict[str, object]:
        return {"query": self.query, "verdict": self.kind, "reasons": [r.to_dict() for r in self.reasons]}
