"""What an edge learns from the first rows of a stream before it sends any: the cycle, and how exactly attributes are kept.

Rows by which a cycle is found are whole cycles, so the error of an attribute is found in them as well: the smallest from which
on a larger one stores no fewer values, its fixed point, or what is allowed at most (Ahuja 2006, section 3.2.4.3).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import pyarrow as pa

from streamq.dsl.records import dataclass, field, replace
from streamq.runtime.edge.columns import for_ranking, to_column
from streamq.runtime.edge.keying import coded_keys, key_columns, keys_of
from streamq.runtime.edge.plan import BadPlan, EdgePlan
from streamq.stdlib.attributes.columns import encoded_bytes
from streamq.stdlib.attributes.cycle import Cycle, NoCycle, declared, discover
from streamq.stdlib.recovery.budget import error_threshold
from streamq.stdlib.recovery.plateau import plateau_error_pct, training

UNLIKELY = 1 << 20
"""By how many bytes numbers with a fraction are taken for wider, as the narrowest of equal attributes becomes the key."""

LEAST_RANKED = 30
"""Rows that are ranked together at least where the length of a cycle is found: of three keys one cycle says nothing."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The ``cycle``, the ``errors`` of attributes in percent, and those that are ``exact`` as nothing says what they may be."""

    cycle: Cycle
    errors: Mapping[str, float] = field(default_factory=dict)
    exact: tuple[str, ...] = ()


def is_enough(plan: EdgePlan, rows: pa.RecordBatch) -> bool:
    """Whether the first rows tell all that is to be learned of them."""
    rule = plan.cycle
    count: int = rows.num_rows
    if count >= rule.training_rows or (rule.length and not plan.error_auto):
        return True
    return bool(rule.key) and not rule.length and 0 < rule.min_cycles * _different(rows, rule.key) <= count


def learned(plan: EdgePlan, rows: pa.RecordBatch) -> Learned:
    """What the first rows tell, at least one where something is to be found. BadPlan where they have no cycle."""
    rule = plan.cycle
    first = rows.slice(0, rule.training_rows) if rule.training_rows else rows
    cycle = _cycle(plan, first)
    errors, exact = _errors(plan, first, cycle.key) if plan.error_auto and rule.training_rows else ({}, ())
    return Learned(cycle, errors, exact)


def _cycle(plan: EdgePlan, rows: pa.RecordBatch) -> Cycle:
    rule = plan.cycle
    if rule.auto:
        return _found(plan, rows)
    if not rule.key:
        return Cycle((), rule.length)
    return declared(_in_order(plan, rule.key), rule.length or _rows_of_cycles(_different(rows, rule.key)))


def _rows_of_cycles(keys: int) -> int:
    """A cycle of so many keys, or as many of them as it takes for a ranking to rest on something."""
    return keys * math.ceil(LEAST_RANKED / keys)


def _found(plan: EdgePlan, rows: pa.RecordBatch) -> Cycle:
    columns = {name: for_ranking(rows.column(name)) for name in plan.read}
    width = {name: encoded_bytes(values) + UNLIKELY * (values.dtype.kind == "f") for name, values in columns.items()}
    try:
        found = discover(columns, width, plan.cycle.min_cycles, plan.cycle.tolerance)
    except NoCycle:
        raise BadPlan(
            f"no columns come again in a fixed order in the first {rows.num_rows} rows: say CYCLE (columns)"
        ) from None
    return replace(found, key=_in_order(plan, found.key), ordinal=False)


def _in_order(plan: EdgePlan, key: tuple[str, ...]) -> tuple[str, ...]:
    """In the order of the stream, as messages tell it."""
    return tuple(name for name in plan.columns if name in key)


def _errors(plan: EdgePlan, rows: pa.RecordBatch, key: tuple[str, ...]) -> tuple[dict[str, float], tuple[str, ...]]:
    """Of attributes of which nobody says the error."""
    _, codes = coded_keys(keys_of(key), key_columns(rows, key))
    cap = math.inf if plan.error_cap_pct is None else plan.error_cap_pct
    found: dict[str, float] = {}
    exact = []
    for name in plan.columns:
        if name in plan.kept or name in key or name in plan.errors or not plan.retains(name):
            continue
        plateau = plateau_error_pct(training(codes, to_column(rows.column(name))))
        if plateau is None and cap == math.inf:
            exact.append(name)
        found[name] = 0.0 if name in exact else error_threshold(plateau, cap)
    return found, tuple(exact)


def _different(rows: pa.RecordBatch, key: tuple[str, ...]) -> int:
    keys, _ = coded_keys(keys_of(key), key_columns(rows, key))
    return len(keys)
