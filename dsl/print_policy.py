"""QOS, SHED and RECOVER clauses to documents."""

from __future__ import annotations

from streamq.dsl import ast
from streamq.dsl.layout import LINE, Doc, Group, Indent
from streamq.dsl.print_parts import (
    Docs,
    duration_text,
    number_text,
    percent_text,
    string_text,
    words,
)


def policy_doc(node: ast.Node, docs: Docs) -> Doc | None:
    """The document of a policy or a part of one; None for other nodes."""
    match node:
        case ast.Qos(items=items):
            return Group(("QOS", Indent((LINE, docs.items(items, "")))))
        case ast.QosItem():
            return _qos_item(node, docs)
        case ast.Shed(method=method, goal=goal):
            return words("SHED", docs[method], docs[goal] if goal else None)
        case ast.ShedMethod():
            return _shed_method(node, docs)
        case ast.ShedGoal(unit=unit, amount=amount):
            number = number_text(amount)
            match unit:
                case "KBPS":
                    return f"TO CAPACITY {number} KBPS"
                case "ROWS":
                    return f"TO RATE {number} ROWS PER SECOND"
            return f"BY {number} PERCENT"
        case ast.Recover(method=method):
            return words("RECOVER", docs[method])
        case ast.RecoverMethod():
            return _recover_method(node, docs)
    return None


def _qos_item(item: ast.QosItem, docs: Docs) -> Doc | None:
    match item:
        case ast.QosLatency(latency=latency):
            return f"LATENCY {duration_text(latency)}"
        case ast.QosCompleteness(least=least):
            return f"COMPLETENESS >= {number_text(least)}"
        case ast.QosSlope(slope=slope):
            return f"SLOPE {number_text(slope)}"
        case ast.QosWeight(weight=weight):
            return f"WEIGHT {number_text(weight)}"
        case ast.QosError(most=most, confidence=confidence):
            return words(f"ERROR <= {percent_text(most)}", _confidence(confidence))
        case ast.QosUtility(utility=utility):
            return ("UTILITY ", docs[utility])
        case ast.QosFairness(fairness=fairness):
            return f"FAIRNESS {number_text(fairness)}"
        case ast.QosCriticality(criticality=criticality):
            return f"CRITICALITY {string_text(criticality)}"
    return None


def _shed_method(method: ast.ShedMethod, docs: Docs) -> Doc | None:
    match method:
        case ast.ShedNone():
            return "NONE"
        case ast.ShedAuto():
            return "AUTO"
        case ast.ShedRandom(keys=keys):
            return words("RANDOM", ("BY KEY ", docs.list(keys)) if keys else None)
        case ast.ShedOlder(age=age):
            return f"OLDER THAN {duration_text(age)}"
        case ast.ShedByUtility():
            return "BY UTILITY"
        case ast.ShedSifter():
            return words(
                ("SIFTER ON ", docs.list(method.attributes)),
                None if method.regions is None else f"REGIONS {method.regions}",
                None if method.partition is None else f"PARTITION {method.partition}",
                _sample(method.sample),
                None if method.drop is None else f"DROP {method.drop}",
            )
        case ast.ShedFair(window=window):
            return words("FAIR", None if window is None else f"WINDOW {duration_text(window)}")
        case ast.ShedWindows():
            return "WINDOWS"
        case ast.ShedJoin(basic_window=basic, sample=sample):
            length = None if basic is None else f"BASIC WINDOW {duration_text(basic)}"
            return words("JOIN", length, _sample(sample))
        case ast.ShedAttributes(keep=keep):
            return words("ATTRIBUTES", ("KEEP ", docs.list(keep)) if keep else None)
    return None


def _recover_method(method: ast.RecoverMethod, docs: Docs) -> Doc | None:
    match method:
        case ast.RecoverSynopsis():
            return words(
                _columns(method.columns, docs),
                "FROM SYNOPSIS",
                _error(method.error),
                _cycle(method.cycle, docs),
                None if method.retain is None else f"RETAIN {duration_text(method.retain)}",
            )
        case ast.RecoverNearest(columns=columns):
            return words(_columns(columns, docs), "FROM NEAREST")
        case ast.RecoverEstimate(confidence=confidence):
            return words("ESTIMATE", _confidence(confidence))
        case ast.RecoverDropped(sink=sink):
            return ("DROPPED INTO ", docs[sink])
    return None


def _columns(columns: tuple[ast.Name, ...], docs: Docs) -> Doc:
    return docs.list(columns) if columns else "ALL"


def _error(error: float | str | None) -> str | None:
    if error is None:
        return None
    return f"ERROR {error}" if isinstance(error, str) else f"ERROR {percent_text(error)}"


def _cycle(cycle: tuple[ast.Name, ...] | str | None, docs: Docs) -> Doc | None:
    if cycle is None:
        return None
    return ("CYCLE ", cycle if isinstance(cycle, str) else docs.list(cycle))


def _confidence(confidence: float | None) -> str | None:
    return None if confidence is None else f"CONFIDENCE {percent_text(confidence)}"


def _sample(sample: float | None) -> str | None:
    return None if sample is None else f"SAMPLE {percent_text(sample)}"
