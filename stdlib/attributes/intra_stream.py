"""What the source of a stream sheds of a window: how many attributes, which, and whether that was decided anew.

Smooth, rank, plan, in this order; the values are then retained, the attributes left out, and the rest sent (Ahuja 2006,
section 3.1). Here the plan is made, from a window and the state before it alone: done again for the same window, it gives
the same. What is left to the caller: to retain the values of ``Decision.plan`` before it sends ``plan.kept(window)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from streamq.dsl.records import dataclass, field
from streamq.stdlib.attributes.columns import Columns, Ints, row_count
from streamq.stdlib.attributes.kinds import Overflow, Unit, Unsheddable
from streamq.stdlib.attributes.ranking import Ranked, Ranking, ranked
from streamq.stdlib.attributes.reevaluation import Reevaluation, Schedule, started
from streamq.stdlib.attributes.shed_plan import ShedPlan
from streamq.stdlib.attributes.sizing import (
    Exact,
    drop_ratio,
    exact,
    n_shed,
    n_shed_by_bytes,
    residual_rate,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shedding:
    """What is asked of a stream. ``unit`` BYTES needs the widths of all attributes, ``attr_bytes``.

    ``utilisation``: the part of the capacity to fill, above 0, up to 1. ``spare``: kbit/s of the capacity that have to be left
    before fewer attributes are shed than before, from 0: what is known of it only roughly makes no plan swing. ``determined``:
    see ``ranked``. ``overflow``: what is done where shedding all that may be shed is too little.
    """

    ranking: Ranking
    schedule: Schedule = field(default_factory=Schedule)
    unit: Unit = "COUNT"
    utilisation: Exact = 1
    spare: Exact = 0
    attr_bytes: Mapping[str, Exact] = field(default_factory=dict)
    determined: frozenset[str] = frozenset()
    overflow: Overflow = "RAISE"


@dataclass(frozen=True, slots=True)
class Window:
    """Rows of a cycle, ``[rows]`` of each attribute, the attributes that are always there.

    ``cycle_no``: from 1. ``offered``: kbit/s in which these rows came. ``ranked_by``: what is ranked for the scope PER_KEY,
    the last cycles with their ``keys``; else nothing.
    """

    columns: Columns
    cycle_no: int
    offered: Exact
    ranked_by: Columns | None = None
    keys: Ints | None = None


@dataclass(frozen=True, slots=True)
class State:
    """What is known after a window: the plan, when it is evaluated again, and the order and attributes it was taken from."""

    plan: ShedPlan
    reevaluation: Reevaluation
    order: tuple[str, ...]
    attributes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with a window. ``ranked``: if it was evaluated, else None. ``changed``: the plan is another than before.

    ``residual``: kbit/s that are left (R'). ``row_drop_ratio``: the share of *rows* that has to be dropped as well.
    """

    plan: ShedPlan
    ranked: Ranked | None
    changed: bool
    offered: Fraction
    residual: Fraction
    row_drop_ratio: Fraction


def decided(
    window: Window, capacity: Exact, now_s: float, state: State | None, shedding: Shedding
) -> tuple[Decision, State]:
    """The decision on a window, and the state after it. ``state``: None for the first window.

    It is evaluated if due, or if another number of attributes is to be shed, as the rate or the capacity changed, or if the
    attributes did. A window without rows tells nothing, and the plan stays. ``Unsheddable`` where too few attributes may be
    shed, unless rows are dropped instead; ValueError for bad input.
    """
    attributes = tuple(window.columns)
    rows = row_count(window.columns)
    shedding.ranking.check(attributes)
    before = ShedPlan() if state is None else state.plan
    if state is not None and (rows == 0 or not _evaluates(window, capacity, now_s, state, shedding)):
        return _decision(window, capacity, before, None, before, shedding), state
    found = ranked(window.ranked_by or window.columns, shedding.ranking, window.keys, shedding.determined)
    attrs = found.order[: _steady(window, capacity, found.order, len(before.attrs), shedding)] if rows else ()
    plan = before.changed_to(attrs, window.cycle_no)
    reevaluation = (
        started(shedding.schedule, attrs, now_s) if state is None else state.reevaluation.after(attrs, now_s)
    )
    after = State(plan, reevaluation, found.order, attributes)
    return _decision(window, capacity, plan, found, before, shedding), after


def _evaluates(window: Window, capacity: Exact, now_s: float, state: State, shedding: Shedding) -> bool:
    """Whether it is time, or something changed."""
    if tuple(window.columns) != state.attributes or state.reevaluation.due(now_s):
        return True
    before = len(state.plan.attrs)
    return _steady(window, capacity, state.order, before, shedding) != before


def _steady(window: Window, capacity: Exact, order: tuple[str, ...], before: int, shedding: Shedding) -> int:
    """How many attributes are shed, where so many were ``before``: fewer only with capacity to spare."""
    wanted = _size(window, capacity, order, shedding)
    if wanted >= before or not shedding.spare:
        return wanted
    try:
        return min(_size(window, max(exact(capacity) - exact(shedding.spare), Fraction(0)), order, shedding), before)
    except Unsheddable:
        return before


def _size(window: Window, capacity: Exact, order: tuple[str, ...], shedding: Shedding) -> int:
    """How many attributes are shed, all where rows are dropped too."""
    try:
        if shedding.unit == "BYTES":
            return n_shed_by_bytes(window.offered, capacity, order, _widths(window, shedding), shedding.utilisation)
        n = len(window.columns)
        return n_shed(window.offered, capacity, n, shedding.utilisation, n - len(order))
    except Unsheddable:
        if shedding.overflow == "TUPLES":
            return len(order)
        raise


def _widths(window: Window, shedding: Shedding) -> Mapping[str, Exact]:
    """Of the attributes there are: equal ones by count. ValueError where one has no width."""
    if shedding.unit == "COUNT":
        return dict.fromkeys(window.columns, 1)
    missing = [name for name in window.columns if name not in shedding.attr_bytes]
    if missing:
        raise ValueError(f"no width is given of {', '.join(missing)}")
    return {name: shedding.attr_bytes[name] for name in window.columns}


def _decision(
    window: Window, capacity: Exact, plan: ShedPlan, found: Ranked | None, before: ShedPlan, shedding: Shedding
) -> Decision:
    widths = {name: exact(w) for name, w in _widths(window, shedding).items()}
    gone = sum((widths.get(name, Fraction(0)) for name in plan.attrs), Fraction(0))
    offered = exact(window.offered)
    residual = residual_rate(offered, gone, sum(widths.values(), Fraction(0)))
    too_many = drop_ratio(residual, capacity, shedding.utilisation) if shedding.overflow == "TUPLES" else Fraction(0)
    return Decision(plan, found, plan is not before, offered, residual, too_many)
