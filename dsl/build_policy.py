"""QOS, SHED and RECOVER clauses: grammar rules to nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from streamq.dsl import ast
from streamq.dsl.build import Build, string_text
from streamq.dsl.lexer import Token
from streamq.dsl.source import Span

Setting = tuple[str, Any, Span]
"""One item of a clause: its name, its value, its place."""

# --- QOS -----------------------------------------------------------------------------------------

_QOS_NAMES: dict[type[ast.QosItem], str] = {
    ast.QosLatency: "LATENCY",
    ast.QosCompleteness: "COMPLETENESS",
    ast.QosSlope: "SLOPE",
    ast.QosWeight: "WEIGHT",
    ast.QosError: "ERROR",
    ast.QosUtility: "UTILITY",
    ast.QosFairness: "FAIRNESS",
    ast.QosCriticality: "CRITICALITY",
}


def policies(b: Build, _span: Span, *clauses: ast.Policy) -> tuple[ast.Policy, ...]:
    """All clauses of a query or stream; those that may stand once are checked."""
    once: list[tuple[str, Span]] = []
    for clause in clauses:
        match clause:
            case ast.Qos():
                once.append(("QOS", clause.span))
            case ast.Shed():
                once.append(("SHED", clause.span))
            case ast.Recover(method=ast.RecoverEstimate()):
                once.append(("RECOVER ESTIMATE", clause.span))
            case ast.Recover(method=ast.RecoverDropped()):
                once.append(("RECOVER DROPPED", clause.span))
    report_twice(b, once)
    return clauses


def report_twice(b: Build, named: Iterable[tuple[str, Span]]) -> None:
    """One SQ0109 for each name that was there before."""
    seen: set[str] = set()
    for name, span in named:
        if name in seen:
            b.report("SQ0109", f"{name} is given twice", span, "keep one of them")
        seen.add(name)


def qos(b: Build, span: Span, *items: ast.QosItem) -> ast.Policy:
    report_twice(b, ((_QOS_NAMES[type(item)], item.span) for item in items))
    return ast.Qos(items=items, span=span)


def qos_latency(_b: Build, span: Span, latency: ast.Duration) -> ast.QosItem:
    return ast.QosLatency(latency=latency, span=span)


def qos_completeness(_b: Build, span: Span, least: float) -> ast.QosItem:
    return ast.QosCompleteness(least=least, span=span)


def qos_slope(_b: Build, span: Span, slope: Decimal) -> ast.QosItem:
    return ast.QosSlope(slope=float(slope), span=span)


def qos_weight(_b: Build, span: Span, weight: Decimal) -> ast.QosItem:
    return ast.QosWeight(weight=float(weight), span=span)


def qos_error(_b: Build, span: Span, most: float, confidence: float | None) -> ast.QosItem:
    return ast.QosError(most=most, confidence=confidence, span=span)


def qos_utility(_b: Build, span: Span, utility: ast.Expr) -> ast.QosItem:
    return ast.QosUtility(utility=utility, span=span)


def qos_fairness(_b: Build, span: Span, fairness: Decimal) -> ast.QosItem:
    return ast.QosFairness(fairness=float(fairness), span=span)


def qos_criticality(_b: Build, span: Span, text: Token) -> ast.QosItem:
    return ast.QosCriticality(criticality=string_text(text), span=span)


# --- SHED ----------------------------------------------------------------------------------------


def shed(_b: Build, span: Span, method: ast.ShedMethod, goal: ast.ShedGoal | None) -> ast.Policy:
    return ast.Shed(method=method, goal=goal, span=span)


def shed_random(
    _b: Build, span: Span, keys: tuple[ast.Name, ...] | None, goal: ast.ShedGoal | None
) -> ast.Policy:
    method = ast.ShedRandom(keys=keys or (), span=span)
    return ast.Shed(method=method, goal=goal, span=span)


def shed_none(_b: Build, span: Span) -> ast.ShedMethod:
    return ast.ShedNone(span=span)


def shed_auto(_b: Build, span: Span) -> ast.ShedMethod:
    return ast.ShedAuto(span=span)


def shed_older(_b: Build, span: Span, age: ast.Duration) -> ast.ShedMethod:
    return ast.ShedOlder(age=age, span=span)


def shed_by_utility(_b: Build, span: Span) -> ast.ShedMethod:
    return ast.ShedByUtility(span=span)


def shed_sifter(
    b: Build, span: Span, attributes: tuple[ast.Name, ...], *options: Setting
) -> ast.ShedMethod:
    given = settings(b, options)
    return ast.ShedSifter(
        attributes=attributes,
        regions=given.get("REGIONS"),
        partition=given.get("PARTITION"),
        sample=given.get("SAMPLE"),
        drop=given.get("DROP"),
        span=span,
    )


def shed_fair(_b: Build, span: Span, window: ast.Duration | None) -> ast.ShedMethod:
    return ast.ShedFair(window=window, span=span)


def shed_windows(_b: Build, span: Span) -> ast.ShedMethod:
    return ast.ShedWindows(span=span)


def shed_join(b: Build, span: Span, *options: Setting) -> ast.ShedMethod:
    given = settings(b, options)
    return ast.ShedJoin(
        basic_window=given.get("BASIC WINDOW"), sample=given.get("SAMPLE"), span=span
    )


def shed_attributes(_b: Build, span: Span, keep: tuple[ast.Name, ...] | None) -> ast.ShedMethod:
    return ast.ShedAttributes(keep=keep or (), span=span)


def settings(b: Build, items: tuple[Setting, ...]) -> dict[str, Any]:
    """The values of items of a clause by their names; of what is there twice the first, and a report."""
    report_twice(b, ((name, span) for name, _, span in items))
    return {name: value for name, value, _ in reversed(items)}


def setting(name: str) -> Callable[[Build, Span, Any], Setting]:
    return lambda _b, span, value: (name, value, span)


def _auto(name: str) -> Callable[[Build, Span], Setting]:
    return lambda _b, span: (name, "AUTO", span)


def keyword(_b: Build, _span: Span, token: Token) -> str:
    return token.text.upper()


def goal_capacity(_b: Build, span: Span, amount: Decimal, unit: str) -> ast.ShedGoal:
    return ast.ShedGoal(unit="KBPS", amount=kbit_per_s(amount, unit), span=span)


def kbit_per_s(amount: Decimal, unit: str) -> float:
    """A capacity in KBPS."""
    return float(amount * (1000 if unit == "MBPS" else 1))


def goal_rate(_b: Build, span: Span, amount: Decimal) -> ast.ShedGoal:
    return ast.ShedGoal(unit="ROWS", amount=float(amount), span=span)


def goal_percent(_b: Build, span: Span, amount: Decimal, _percent: bool) -> ast.ShedGoal:
    return ast.ShedGoal(unit="PERCENT", amount=float(amount), span=span)


# --- RECOVER -------------------------------------------------------------------------------------


def recover_synopsis(
    b: Build, span: Span, columns: tuple[ast.Name, ...], *options: Setting
) -> ast.Policy:
    given = settings(b, options)
    method = ast.RecoverSynopsis(
        columns=columns,
        error=given.get("ERROR"),
        cycle=given.get("CYCLE"),
        retain=given.get("RETAIN"),
        span=span,
    )
    return ast.Recover(method=method, span=span)


def recover_nearest(_b: Build, span: Span, columns: tuple[ast.Name, ...]) -> ast.Policy:
    return ast.Recover(method=ast.RecoverNearest(columns=columns, span=span), span=span)


def recover_estimate(_b: Build, span: Span, confidence: float | None) -> ast.Policy:
    return ast.Recover(method=ast.RecoverEstimate(confidence=confidence, span=span), span=span)


def recover_dropped(b: Build, span: Span, sink: Token) -> ast.Policy:
    return ast.Recover(method=ast.RecoverDropped(sink=b.ident(sink), span=span), span=span)


def every_column(_b: Build, _span: Span) -> tuple[ast.Name, ...]:
    return ()


POLICY_ACTIONS: dict[str, Callable[..., Any]] = {
    "basic_window": setting("BASIC WINDOW"),
    "drop_kind": keyword,
    "every_column": every_column,
    "goal_capacity": goal_capacity,
    "goal_percent": goal_percent,
    "goal_rate": goal_rate,
    "partition_kind": keyword,
    "policies": policies,
    "qos": qos,
    "qos_completeness": qos_completeness,
    "qos_criticality": qos_criticality,
    "qos_error": qos_error,
    "qos_fairness": qos_fairness,
    "qos_latency": qos_latency,
    "qos_slope": qos_slope,
    "qos_utility": qos_utility,
    "qos_weight": qos_weight,
    "rate_unit": keyword,
    "recover_dropped": recover_dropped,
    "recover_estimate": recover_estimate,
    "recover_nearest": recover_nearest,
    "recover_synopsis": recover_synopsis,
    "regions": setting("REGIONS"),
    "sample": setting("SAMPLE"),
    "shed": shed,
    "shed_attributes": shed_attributes,
    "shed_auto": shed_auto,
    "shed_by_utility": shed_by_utility,
    "shed_fair": shed_fair,
    "shed_join": shed_join,
    "shed_none": shed_none,
    "shed_older": shed_older,
    "shed_random": shed_random,
    "shed_sifter": shed_sifter,
    "shed_windows": shed_windows,
    "sifter_drop": setting("DROP"),
    "sifter_partition": setting("PARTITION"),
    "split_kind": keyword,
    "stream_policies": policies,
    "synopsis_cycle": setting("CYCLE"),
    "synopsis_cycle_auto": _auto("CYCLE"),
    "synopsis_error": setting("ERROR"),
    "synopsis_error_auto": _auto("ERROR"),
    "synopsis_retain": setting("RETAIN"),
}
"""Rule or alias of the grammar to the function that makes its value."""
