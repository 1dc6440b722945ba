"""QOS, SHED and RECOVER clauses: their values, what they contradict, and what can be run."""

from __future__ import annotations

from collections.abc import Iterable

from streamq.compiler.analysis.edges import CRITICALITIES
from streamq.compiler.analysis.tumbling import tumbling_ms
from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.outputs import check_output
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.goals import is_estimated
from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import Span
from streamq.stdlib.sifters.grid import CELLS

MOST_ATTRIBUTES = 6
"""More would leave a sifter's grid fewer than four steps for each."""

_RANKED = ast.ShedByUtility | ast.ShedOlder
_SHED_NAMES = {"OLDER": "OLDER THAN", "BYUTILITY": "BY UTILITY"}


def check_policies(policies: tuple[ast.Policy, ...], context: BindContext, sifted: bool = False) -> None:
    """Reports values out of range; right clauses that cannot be run yet become refusals.

    ``sifted``: rows are sifted before the query reads them, by what it and others want and are worth.
    """
    for policy in policies:
        before = context.errors
        match policy:
            case ast.Qos():
                for item in policy.items:
                    before = context.errors
                    _check_qos(item, context)
                    if context.errors == before and not _is_run(item, policy, policies, sifted):
                        name = type(item).__name__.removeprefix("Qos").upper()
                        bare = isinstance(item, ast.QosError) and not is_estimated(policies)
                        without = " without RECOVER ESTIMATE" if bare else ""
                        sifts = isinstance(item, ast.QosSlope | ast.QosFairness)
                        instead = "say SHED SIFTER ON (columns), which goes by it, or remove it" if sifts else ""
                        if isinstance(item, ast.QosCompleteness):
                            instead = "say for what rows may go: QOS LATENCY 2 SECONDS COMPLETENESS >= …, or remove it"
                        refuse(context, f"QOS {name}{without}", item.span, instead)
            case ast.Shed():
                check_shed(policy, context)
                _check_utility(policy, policies, context)
                if context.errors == before:
                    _check_goals(policy, policies, context)
            case ast.Recover():
                check_recover(policy, context)
                if isinstance(policy.method, ast.RecoverDropped):
                    _check_dropped(policy, policies, context)
            case _:
                raise TypeError(f"not a policy: {type(policy).__name__}")


def refuse(context: BindContext, what: str, span: Span, help_: str = "") -> None:
    """What is right and cannot be run yet: told only where nothing is wrong."""
    context.refusals.append(Diagnostic(
        code="SQ0601", message=f"{what} cannot be run yet", span=span,
        label="nothing would be done about it", help=help_ or "remove it to run the query",
    ))


def _within(
    value: float | None, least: float, most: float, what: str, span: Span, context: BindContext
) -> None:
    if value is not None and not least <= value <= most:
        context.error(
            "SQ0603", f"{what} must be between {least:g} and {most:g}, not {value:g}", span,
            help=f"write {value / 100:g}, or {value:g} PERCENT" if most == 1 < value <= 100 else "",
        )


def _positive(length: ast.Duration | None, what: str, context: BindContext) -> None:
    if length is not None and length.ms <= 0:
        context.error("SQ0603", f"{what} must be longer than nothing", length.span)


def _check_qos(item: ast.QosItem, context: BindContext) -> None:
    match item:
        case ast.QosLatency():
            _positive(item.latency, "LATENCY", context)
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


def _check_confidence(value: float | None, span: Span, context: BindContext) -> None:
    if value is not None and not 0 < value < 1:
        context.error("SQ0603", "CONFIDENCE must be above 0 and below 100 PERCENT", span)


def check_shed(policy: ast.Shed, context: BindContext) -> None:
    """Numbers of a SHED clause that are out of range."""
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
        case ast.ShedOlder(age=age):
            _positive(age, "OLDER THAN", context)
        case ast.ShedSifter() as sifter:
            _check_sifter(sifter, context)
        case ast.ShedFair(window=window):
            _positive(window, "WINDOW", context)
        case ast.ShedJoin() as join:
            _positive(join.basic_window, "BASIC WINDOW", context)
            _within(join.sample, 0, 1, "SAMPLE", join.span, context)
        case (
            ast.ShedAuto() | ast.ShedRandom() | ast.ShedByUtility() | ast.ShedWindows()
            | ast.ShedAttributes()
        ):
            pass
        case method:
            raise TypeError(f"not a shedding method: {type(method).__name__}")


def _check_sifter(sifter: ast.ShedSifter, context: BindContext) -> None:
    if sifter.regions is not None and not 1 <= sifter.regions <= CELLS:
        context.error("SQ0603", f"REGIONS must be between 1 and {CELLS:,}", sifter.span)
    if sifter.sample is not None and not 0 < sifter.sample <= 1:
        context.error(
            "SQ0603", "SAMPLE must be above 0 and at most 100 PERCENT", sifter.span,
            help="without a sample nobody knows which regions hold how many rows",
        )
    names = [n.parts[-1].text.casefold() for n in sifter.attributes]
    if len(names) > MOST_ATTRIBUTES:
        context.error(
            "SQ0603", f"a sifter has at most {MOST_ATTRIBUTES} attributes, not {len(names)}", sifter.attributes[-1].span,
            help="choose those that the queries' conditions speak of most",
        )
    again = next((n for i, n in enumerate(sifter.attributes) if names[i] in names[:i]), None)
    if again is not None:
        context.error("SQ0602", f"`{again.parts[-1].text}` is named twice", again.span, help="name each attribute once")


def _check_goals(
    policy: ast.Shed, policies: tuple[ast.Policy, ...], context: BindContext
) -> None:
    """How much is shed: by QOS LATENCY or by a goal of the clause's own, and not by both."""
    items = [i for p in policies if isinstance(p, ast.Qos) for i in p.items]
    latency = next((i for i in items if isinstance(i, ast.QosLatency)), None)
    goal = policy.goal
    if isinstance(policy.method, _RANKED):
        _check_estimate(policy, policies, context)
    match policy.method:
        case ast.ShedNone() | ast.ShedAttributes():
            pass
        case (
            ast.ShedRandom() | ast.ShedAuto() | ast.ShedFair() | ast.ShedByUtility() | ast.ShedOlder()
            | ast.ShedSifter()
        ):
            if goal is not None and goal.unit == "KBPS":
                refuse(context, f"SHED {_name(policy.method)} TO CAPACITY", goal.span,
                        "say TO RATE n ROWS PER SECOND, or QOS LATENCY instead of a goal")
            elif goal is not None and latency is not None:
                _both(goal, context)
            elif goal is None and latency is None:
                refuse(context, f"SHED {_name(policy.method)} without a goal", policy.span,
                        "say how old results may be, QOS LATENCY 2 SECONDS, or RANDOM BY 20 PERCENT")
            elif goal is not None and isinstance(policy.method, ast.ShedAuto | ast.ShedFair):
                refuse(context, f"SHED {_name(policy.method)} with a goal of its own", policy.span,
                        "use SHED RANDOM, or QOS LATENCY instead of a goal")
        case ast.ShedJoin():
            _check_join_goal(policy, latency is not None, is_estimated(policies), context)
        case ast.ShedWindows():
            if goal is not None and goal.unit == "KBPS":
                refuse(context, "SHED WINDOWS TO CAPACITY", goal.span,
                        "say TO RATE n ROWS PER SECOND, or QOS LATENCY instead of a goal")
            elif goal is not None and latency is not None:
                _both(goal, context)
            elif goal is None and latency is None:
                refuse(context, "SHED WINDOWS without a goal", policy.span,
                        "say how old results may be, QOS LATENCY 2 SECONDS, or BY 20 PERCENT")
            elif is_estimated(policies):
                context.error(
                    "SQ0602", "SHED WINDOWS leaves exact results, so there is nothing to estimate",
                    policy.method.span, help="remove RECOVER ESTIMATE, or use SHED RANDOM",
                )
        case method:
            raise TypeError(f"not a shedding method: {type(method).__name__}")


def _check_join_goal(policy: ast.Shed, aged: bool, estimated: bool, context: BindContext) -> None:
    """How much of a window is compared: a share of its own, or as much as QOS LATENCY allows."""
    goal = policy.goal
    if goal is not None and goal.unit != "PERCENT":
        context.error(
            "SQ0602", "SHED JOIN keeps every row, so it has no rate of rows", goal.span,
            help="say BY 50 PERCENT, to compare half of a window, or QOS LATENCY instead of a goal",
        )
    elif goal is not None and aged:
        _both(goal, context)
    elif goal is None and not aged:
        refuse(context, "SHED JOIN without a goal", policy.span,
                "say how old results may be, QOS LATENCY 2 SECONDS, or BY 20 PERCENT")
    elif estimated:
        context.error(
            "SQ0602", "nothing can be estimated of pairs that SHED JOIN never looks for", policy.method.span,
            help="use SHED RANDOM, or remove RECOVER ESTIMATE",
        )


def _has_latency(policies: tuple[ast.Policy, ...]) -> bool:
    return any(isinstance(i, ast.QosLatency) for p in policies if isinstance(p, ast.Qos) for i in p.items)


def _both(goal: ast.ShedGoal, context: BindContext) -> None:
    context.error(
        "SQ0602", "a goal of its own and QOS LATENCY both say how much is shed", goal.span,
        help="remove one of them",
    )


def check_windows(
    policies: tuple[ast.Policy, ...], root: lg.Logical, context: BindContext
) -> None:
    """Whole windows can go only where each row is in one."""
    shed = next((p for p in policies if isinstance(p, ast.Shed)), None)
    if shed is None or not isinstance(shed.method, ast.ShedWindows) or tumbling_ms(root) is not None:
        return
    without = shed.goal is None and not _has_latency(policies)
    if without or (shed.goal is not None and shed.goal.unit == "KBPS"):
        return  # refused for that
    refuse(context, "SHED WINDOWS of other windows than TUMBLE, all of one length,", shed.span,
            "use [TUMBLE …] windows, or SHED RANDOM")


def _check_estimate(
    policy: ast.Shed, policies: tuple[ast.Policy, ...], context: BindContext
) -> None:
    """Rows that have no chance to be kept are in no estimate."""
    if is_estimated(policies):
        context.error(
            "SQ0602", f"nothing can be estimated of rows that SHED {_name(policy.method)} never keeps",
            policy.method.span, help="use SHED RANDOM, or remove RECOVER ESTIMATE",
        )


def _name(method: ast.ShedMethod) -> str:
    name = type(method).__name__.removeprefix("Shed").upper()
    return _SHED_NAMES.get(name, name)


def _is_run(item: ast.QosItem, policy: ast.Qos, policies: tuple[ast.Policy, ...], sifted: bool) -> bool:
    """What the run sees to: the age of results, the share of their input, what queries weigh, what rows are worth."""
    aged = any(isinstance(i, ast.QosLatency) for i in policy.items)
    method = next((p.method for p in policies if isinstance(p, ast.Shed)), None)
    if (sifted or isinstance(method, ast.ShedSifter)) and isinstance(item, ast.QosWeight | ast.QosSlope | ast.QosFairness):
        return True
    if sifted and isinstance(item, ast.QosCompleteness):
        return True
    auto = method is None or isinstance(method, ast.ShedAuto)
    match item:
        case ast.QosLatency() | ast.QosCompleteness():
            return aged
        case ast.QosWeight():
            return aged and (auto or isinstance(method, ast.ShedFair))
        case ast.QosSlope():
            return aged and auto
        case ast.QosError():
            return aged and is_estimated(policies)
        case ast.QosCriticality():
            return True  # where shed values come back: looked at when the streams are known
        case ast.QosUtility():
            return isinstance(method, ast.ShedByUtility | ast.ShedJoin) or (aged and auto and not is_estimated(policies))
        case _:
            return False


def check_recover(policy: ast.Recover, context: BindContext) -> None:
    """Numbers of a RECOVER clause that are out of range."""
    match policy.method:
        case ast.RecoverEstimate(confidence=confidence):
            _check_confidence(confidence, policy.span, context)
        case ast.RecoverSynopsis() as synopsis:
            if isinstance(synopsis.error, float):
                _within(synopsis.error, 0, 1, "ERROR", policy.span, context)
            _positive(synopsis.retain, "RETAIN", context)
        case ast.RecoverNearest() | ast.RecoverDropped():
            pass
        case method:
            raise TypeError(f"not a method of recovery: {type(method).__name__}")


def _check_dropped(
    policy: ast.Recover, policies: tuple[ast.Policy, ...], context: BindContext
) -> None:
    """Rows that go are written down only where some may go."""
    shed = next((p.method for p in policies if isinstance(p, ast.Shed)), None)
    if isinstance(shed, ast.ShedJoin):
        context.error(
            "SQ0602", "RECOVER DROPPED of SHED JOIN, which keeps every row", policy.span,
            help="what it does not do is to look for pairs: remove RECOVER DROPPED, or use SHED RANDOM",
        )
    elif isinstance(shed, ast.ShedNone) or (shed is None and not _has_latency(policies)):
        context.error(
            "SQ0602", "RECOVER DROPPED where nothing is shed", policy.span,
            help="say what may go, SHED RANDOM BY 20 PERCENT or QOS LATENCY 2 SECONDS, or remove it",
        )


def check_dropped_sink(
    method: ast.RecoverDropped, sink: lg.SinkDecl, own: str | None, streams: Iterable[lg.SourceDecl], context: BindContext
) -> None:
    """Rows that go are files of their own, read again from their source, which has to have them still."""
    name, span = method.sink.text, method.sink.span
    if own is not None and own.casefold() == sink.name.casefold():
        context.error(
            "SQ0602", f"`{name}` is where the results go, so it cannot hold rows of the source too", span,
            help="declare another sink with connector = 'file'",
        )
    elif sink.connector != "file":
        refuse(context, f"RECOVER DROPPED INTO a {sink.connector} sink", span, "use a sink with connector = 'file'")
    elif dict(sink.options).get("partition_by"):
        context.error(
            "SQ0602", "rows that go lie in a folder for each micro-batch, not by columns", span,
            help="use a sink without partition_by",
        )
    for stream in streams:
        check_output(stream.fields, sink, span, context)
        if stream.connector == "rate":
            refuse(context, f"RECOVER DROPPED of `{stream.name}`, which cannot be read a second time,", span,
                    "use connector 'nexmark' or 'file' for the stream")


def _check_utility(
    policy: ast.Shed, policies: tuple[ast.Policy, ...], context: BindContext
) -> None:
    """SHED BY UTILITY needs a QOS UTILITY to go by."""
    items = [i for p in policies if isinstance(p, ast.Qos) for i in p.items]
    if not isinstance(policy.method, ast.ShedByUtility):
        return
    if not any(isinstance(i, ast.QosUtility) for i in items):
        context.error(
            "SQ0602", "SHED BY UTILITY without a QOS UTILITY", policy.method.span,
            help="say what a row is worth: QOS UTILITY CASE WHEN … THEN 1 ELSE 0.25 END",
        )
