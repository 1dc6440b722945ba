"""The sifter of a stream, as a query asks for it."""

from __future__ import annotations

from typing import get_args

from streamq.compiler.ir.goals import Sift, has_all, qos
from streamq.compiler.ir.logical import Field
from streamq.dsl import ast
from streamq.dsl.types import is_numeric
from streamq.stdlib.sifters.plans import Method, Plan

SAMPLE = 0.01
"""The share of rows that a sifter looks at, where the query names none."""


def sift_of(
    sifter: ast.ShedSifter, stream: str, fields: tuple[Field, ...], policies: tuple[ast.Policy, ...]
) -> Sift | None:
    """The sifter of a stream as a query with these policies asks for it; None where the stream lacks one of its attributes."""
    by_fold = {f.name.casefold(): f for f in fields}
    if not has_all(stream, by_fold.keys(), sifter.attributes):
        return None
    # In the order of the stream, so that queries share it however they name them.
    named = {n.parts[-1].text.casefold() for n in sifter.attributes}
    attributes = [f for name, f in by_fold.items() if name in named]
    fairness, slope, weight = qos(policies, ast.QosFairness), qos(policies, ast.QosSlope), qos(policies, ast.QosWeight)
    least = qos(policies, ast.QosCompleteness)
    method = next((m for m in get_args(Method) if m == sifter.partition), None)
    plan = Plan(
        regions=sifter.regions or Plan().regions, method=method or Plan().method,
        fairness=Plan().fairness if fairness is None else fairness.fairness,
        sampled=SAMPLE if sifter.sample is None else sifter.sample, counted=sifter.drop == "COUNTER",
    )
    return Sift(
        stream, tuple(f.name for f in attributes), tuple(not is_numeric(f.type) for f in attributes), plan,
        1.0 if weight is None else weight.weight, 1.0 if slope is None else slope.slope, 0.0 if least is None else least.least,
    )
