"""QOS, SHED and RECOVER clauses: their values, what they contradict, and what can be run."""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext
from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import Span

CRITICALITIES = (
    "extremely critical", "very critical", "moderately critical", "low critical", "not critical"
)


def check_policies(policies: tuple[ast.Policy, ...], context: BindContext) -> None:
    """Reports values out of range; clauses that cannot be run yet become refusals."""
    for policy in policies:
        match policy:
            case ast.Qos():
                for item in policy.items:
                    _check_qos(item, context)
            case ast.Shed():
                _check_shed(policy, context)
            case ast.Recover():
                _check_recover(policy, context)
            case _:
                raise TypeError(f"not a policy: {type(policy).__name__}")


def refuse_on_source(policies: tuple[ast.Policy, ...], context: BindContext) -> None:
    """Policies of a CREATE STREAM: none of them can be run yet."""
    for policy in policies:
        _refuse(context, "a policy of the stream itself", policy.span,
                "put SHED RANDOM BY n PERCENT on the query instead")


def _refuse(context: BindContext, what: str, span: Span, help_: str = "") -> None:
    context.refusals.append(Diagnostic(
        code="SQ0601", message=f"{what} cannot be run yet", span=span,
        label="nothing would be done about it", help=help_ or "remove it to run the query",
    ))


def _within(
    value: float, least: float, most: float, what: str, span: Span, context: BindContext
) -> None:
    if not least <= value <= most:
        context.error(
            "SQ0603", f"{what} must be between {least:g} and {most:g}, not {value:g}", span
        )


def _check_qos(item: ast.QosItem, context: BindContext) -> None:
    match item:
        case ast.QosLatency():
            if item.latency.ms <= 0:
                context.error("SQ0603", "LATENCY must be longer than nothing", item.span)
        case ast.QosCompleteness():
            _within(item.least, 0, 1, "COMPLETENESS", item.span, context)
        case ast.QosSlope():
            _within(item.slope, 0, 1, "SLOPE", item.span, context)
        case ast.QosWeight():
            _within(item.weight, 0, 1e9, "WEIGHT", item.span, context)
        case ast.QosFairness():
            _within(item.fairness, 0, 1, "FAIRNESS", item.span, context)
        case ast.QosError():
            _within(item.most, 0, 1, "ERROR", item.span, context)
            _check_confidence(item.confidence, item.span, context)
        case ast.QosCriticality():
            if item.criticality.casefold() not in CRITICALITIES:
                context.error(
                    "SQ0603", f"unknown CRITICALITY '{item.criticality}'", item.span,
                    help="say one of " + ", ".join(f"'{c}'" for c in CRITICALITIES),
                )
        case ast.QosUtility():
            pass
        case _:
            raise TypeError(f"not a QOS item: {type(item).__name__}")
    name = type(item).__name__.removeprefix("Qos").upper()
    _refuse(context, f"QOS {name}", item.span)


def _check_confidence(value: float | None, span: Span, context: BindContext) -> None:
    if value is not None and not 0 < value < 1:
        context.error("SQ0603", "CONFIDENCE must be above 0 and below 100 PERCENT", span)


def _check_shed(policy: ast.Shed, context: BindContext) -> None:
    goal = policy.goal
    if goal is not None:
        if goal.unit == "PERCENT":
            _within(goal.amount, 0, 100, "BY … PERCENT", goal.span, context)
        elif goal.amount <= 0:
            context.error("SQ0603", "a capacity or rate must be above 0", goal.span)
    match policy.method:
        case ast.ShedNone():
            if goal is not None:
                context.error(
                    "SQ0602", "SHED NONE sheds nothing, so a goal has no meaning", policy.span,
                    help="remove the goal, or choose a method such as RANDOM",
                )
        case ast.ShedRandom():
            if goal is None or goal.unit != "PERCENT":
                _refuse(context, "SHED RANDOM without a fixed share", policy.span,
                        "say how much: SHED RANDOM BY 20 PERCENT")
        case method:
            name = type(method).__name__.removeprefix("Shed").upper()
            _refuse(context, f"SHED {_SPELLING.get(name, name)}", policy.span,
                    "use SHED RANDOM BY n PERCENT")


_SPELLING = {"OLDER": "OLDER THAN", "BYUTILITY": "BY UTILITY"}


def _check_recover(policy: ast.Recover, context: BindContext) -> None:
    match policy.method:
        case ast.RecoverEstimate():
            _check_confidence(policy.method.confidence, policy.span, context)
        case ast.RecoverSynopsis(error=float() as error):
            _within(error, 0, 1, "ERROR", policy.span, context)
        case _:
            pass
    name = type(policy.method).__name__.removeprefix("Recover").upper()
    spelling = {"SYNOPSIS": "FROM SYNOPSIS", "NEAREST": "FROM NEAREST", "DROPPED": "DROPPED INTO"}
    _refuse(context, f"RECOVER {spelling.get(name, name)}", policy.span)
