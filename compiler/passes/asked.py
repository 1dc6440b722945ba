"""How a query sheds, as its policies have it: how much, and which rows."""

from __future__ import annotations

from streamq.compiler.ir.goals import Goal, is_estimated, qos
from streamq.dsl import ast
from streamq.dsl.records import dataclass, replace
from streamq.dsl.source import Span

FAIR_WINDOW_MS = 10_000
"""The source time window of SHED FAIR where it names none."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How a query sheds: how much, and which: whole ``keys``, if any.

    ``ranked``: what is worth least first, by QOS UTILITY; with ``older_ms`` what is so much older than the newest.
    ``windows``: all rows of a window or none.
    """

    goal: Goal
    keys: tuple[str, ...]
    span: Span
    ranked: bool = False
    older_ms: int | None = None
    windows: bool = False
    sifter: ast.ShedSifter | None = None
    join: ast.ShedJoin | None = None

    @property
    def at_random(self) -> bool:
        """Whether all rows of a stream are alike, and how many go follows from the age of results alone."""
        goal, alike = self.goal, not self.keys and not self.ranked and not self.windows and self.sifter is None and self.join is None
        return alike and goal.latency_ms is not None and goal.fair_ms is None and goal.error is None


def asked_of(policies: tuple[ast.Policy, ...]) -> Asked | None:
    """How the query sheds; None where it keeps all rows."""
    latency, least = qos(policies, ast.QosLatency), qos(policies, ast.QosCompleteness)
    weight, error = qos(policies, ast.QosWeight), qos(policies, ast.QosError)
    shed = next((p for p in policies if isinstance(p, ast.Shed)), None)
    by_age = None
    if latency is not None:
        by_age = Goal(
            latency_ms=latency.latency.ms, least=0.0 if least is None else least.least,
            weight=1.0 if weight is None else weight.weight,
        )
        if error is not None:
            by_age = replace(by_age, error=error.most, confidence=error.confidence or by_age.confidence)
    own = None if shed is None or shed.goal is None else _own(shed.goal)
    if shed is not None and (goal := own or by_age) is not None:
        ranked = replace(goal, ranked=True)
        match shed.method:
            case ast.ShedRandom(keys=keys):
                return Asked(goal, tuple(k.parts[-1].text for k in keys), shed.span)
            case ast.ShedByUtility():
                return Asked(ranked, (), shed.span, ranked=True)
            case ast.ShedSifter() as sifter:
                return Asked(ranked, (), shed.span, sifter=sifter)
            case ast.ShedJoin() as join:
                return Asked(replace(goal, selects=True), (), shed.span, join=join)
            case ast.ShedWindows():
                return Asked(goal, (), shed.span, windows=True)
            case ast.ShedOlder(age=age):
                return Asked(ranked, (), shed.span, ranked=True, older_ms=age.ms)
    match shed:
        case ast.Shed(method=ast.ShedFair(window=window)) if by_age is not None:
            over = FAIR_WINDOW_MS if window is None else window.ms
            return Asked(replace(by_age, fair_ms=over), (), shed.span)
        case None | ast.Shed(method=ast.ShedAuto()) if by_age is not None and latency is not None:
            slope = qos(policies, ast.QosSlope)
            worth = by_age.weight * (1.0 if slope is None else slope.slope)
            if qos(policies, ast.QosUtility) is not None and not is_estimated(policies):
                return Asked(replace(by_age, ranked=True, worth=worth), (), latency.span, ranked=True)
            return Asked(replace(by_age, worth=worth), (), latency.span)
        case _:
            return None


def dropped_into(policies: tuple[ast.Policy, ...]) -> ast.RecoverDropped | None:
    """RECOVER DROPPED INTO of a query, if it is there."""
    methods = (p.method for p in policies if isinstance(p, ast.Recover))
    return next((m for m in methods if isinstance(m, ast.RecoverDropped)), None)


def _own(goal: ast.ShedGoal) -> Goal:
    """A goal of the clause's own."""
    return Goal(percent=goal.amount) if goal.unit == "PERCENT" else Goal(rows_per_s=goal.amount)
