"""How much a shedder lets through, and what first."""

from __future__ import annotations

from collections.abc import Set
from typing import TypeVar

from streamq.compiler.ir.durations import show_ms
from streamq.compiler.ir.expr import Expr
from streamq.dsl import ast
from streamq.dsl.records import dataclass
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Everywhere, Predicate


def control_view(query: str) -> str:
    """The name of the relation of one row with the numbers that steer a query."""
    return f"streamq_control_{query}"


def dropped_view(query: str) -> str:
    """The name of such a relation with what held for a micro-batch that is done."""
    return f"streamq_dropped_{query}"


def is_estimated(policies: tuple[ast.Policy, ...]) -> bool:
    """Whether results are worked out for all rows from those that were kept."""
    return any(
        isinstance(p, ast.Recover) and isinstance(p.method, ast.RecoverEstimate) for p in policies
    )


Item = TypeVar("Item", bound=ast.QosItem)


def qos(policies: tuple[ast.Policy, ...], kind: type[Item]) -> Item | None:
    """The item of that kind of a query's QOS, if there is one."""
    items = (i for p in policies if isinstance(p, ast.Qos) for i in p.items)
    return next((item for item in items if isinstance(item, kind)), None)


@dataclass(frozen=True, slots=True)
class Rank:
    """What goes first: the rows for which the number ``utility`` is least, or those ``older_ms`` older than the newest."""

    utility: Expr | None = None
    older_ms: int | None = None

    @property
    def words(self) -> str:
        """Which rows go first, as a part of a sentence."""
        if self.older_ms is not None:
            return f"those older than {show_ms(self.older_ms)} first"
        return "those of least utility first"


@dataclass(frozen=True, slots=True)
class Sift:
    """The sifter that a query shares with all others that sift the ``stream`` by these ``attributes``, as they ask it to.

    ``text``: which of them are words and no numbers. ``wanted``: the rows of the stream that the query may want, over the attributes in their order; known once predicates
    stand where they stay. ``weight``, ``slope``: how much the query counts against the others, and what it loses with
    all its rows, 0 to 1. ``least``: the share of them that it needs.
    """

    stream: str
    attributes: tuple[str, ...]
    text: tuple[bool, ...]
    plan: Plan = Plan()
    weight: float = 1.0
    slope: float = 1.0
    least: float = 0.0
    wanted: Predicate = Everywhere()

    @property
    def group(self) -> tuple[object, ...]:
        """What queries have in common that share a sifter."""
        return (self.stream, self.attributes, self.plan)

    @property
    def words(self) -> str:
        """Which rows go first, as a part of a sentence."""
        return f"those of {' and '.join(self.attributes)} that queries want least first"


LEFT, RIGHT = "left", "right"
"""The inputs of a join that selects, under which a query keeps what their rows are worth."""


@dataclass(frozen=True, slots=True)
class Selects:
    """A join that keeps every row, and compares each with a part of the other window (SHED JOIN).

    ``query``: whose control relation has the fraction; ``goal``: what that follows from. ``bw_ms``: length of a basic window,
    0 where none is asked for; ``sampled``: the base share of rows that are compared with all. ``worth``: the columns of the
    left and of the right input that say what a row is worth, empty where it does not count; a pair is worth the larger one.
    """

    query: str
    goal: Goal
    bw_ms: int
    sampled: float
    worth: tuple[str, str] = ("", "")


def has_all(stream: str, columns: Set[str], names: tuple[ast.Name, ...]) -> bool:
    """Whether names, which may say whose they are, are all of columns of a stream; ``columns``: case-folded."""
    return all(
        n.parts[-1].text.casefold() in columns and (len(n.parts) == 1 or n.parts[0].text.casefold() == stream.casefold())
        for n in names
    )


@dataclass(frozen=True, slots=True)
class Goal:
    """One of: all rows but ``percent``; as many as results no older than ``latency_ms`` allow; ``rows_per_s``.

    ``least``: the share that is kept whatever that means for the goal, 0 to 1. ``fair_ms``: the source time window
    over which the coverages of all queries that have one are made level, in proportion to their ``weight``.
    ``error``: how large the relative error of estimates may be at ``confidence``, which says how much has to be kept.
    ``ranked``: which rows go depends on what is in them, so it has to be learned what is in all of them.
    ``window_ms``: whole windows of that length stay or go, which take rows for ``late_ms`` after their end. ``needed``:
    the share that is kept of the rows that the query wants, by a sifter; ``sampled``: the share that it looks at.
    ``selects``: the share is not that of the rows that are kept, but of the other window with which a join compares each.
    ``worth``: what an answer without any row loses, against those of the other queries of the program that have one and
    shed together with this: first where rows are worth least for their work. None: it sheds by itself.
    """

    percent: float | None = None
    latency_ms: int | None = None
    rows_per_s: float | None = None
    least: float = 0.0
    fair_ms: int | None = None
    weight: float = 1.0
    ranked: bool = False
    error: float | None = None
    confidence: float = 0.95
    window_ms: int | None = None
    late_ms: int = 0
    needed: float = 0.0
    sampled: float | None = None
    worth: float | None = None
    selects: bool = False

    @property
    def steered(self) -> bool:
        """Whether numbers follow from what the run sees; else the share is fixed, and all that there is to it."""
        return self.percent is None or self.ranked

    @property
    def words(self) -> str:
        """Which rows go, or with what of the other window each is compared, as the end of a sentence."""
        if self.selects:
            return self._compared
        if self.percent is not None:
            return f"{self.percent:g} % of the rows"
        if self.rows_per_s is not None:
            return f"the rows above {self.rows_per_s:,.0f} per second"
        assert self.latency_ms is not None
        least = f", at most {1 - self.least:.0%}" if self.least else ""
        if self.error is not None:
            least += f", with estimates right to {100 * self.error:g} %"
        if self.needed:
            least = f", but at least {self.needed:.0%} of those that it wants"
        fair = "" if self.fair_ms is None else ", and as fair queries give each other"
        return f"as many rows as results no older than {show_ms(self.latency_ms)} need{least}{fair}"

    @property
    def _compared(self) -> str:
        if self.percent is not None:
            return f"{100 - self.percent:g} % of the other window"
        assert self.latency_ms is not None
        least = f", and at least {self.least:.0%} of it" if self.least else ""
        return f"as much of the other window as results no older than {show_ms(self.latency_ms)} allow{least}"

    @property
    def turn(self) -> str:
        """When it is its turn among the queries of the program, as the end of a sentence; empty where it sheds by itself."""
        return "" if self.worth is None else "; queries that are worth less for their work shed first"
