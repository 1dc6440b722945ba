"""Why each shedder of a plan stands where it does, and what the next best places would have cost."""

from __future__ import annotations

from streamq.compiler.analysis.placement import Plan, Planner, Shedder
from streamq.compiler.analysis.shed_places import Place, Places
from streamq.dsl.records import dataclass


@dataclass(frozen=True, slots=True)
class Reason:
    """``instead``: the places that would drop rows, or more of them, if this one could not, and the ``loss`` of that
    plan, where this one loses ``best``. Without such a plan ``loss`` is None.
    """

    shedder: Shedder
    why: str
    best: float
    instead: tuple[str, ...]
    loss: float | None

    @property
    def words(self) -> str:
        """One line, as it is explained."""
        if self.loss is None:
            return f"{self.why}; no other places save as much"
        return f"{self.why}; next best: {_listed(self.instead)}, which loses {self.loss:.2%} instead of {self.best:.2%}"


def reasons(places: Places, plan: Plan, planner: Planner | None = None, looked: int = 1000) -> tuple[Reason, ...]:
    """One for each shedder; ``planner``: one that knows these places already."""
    planner = planner or Planner(places)
    shares = {s.place.name: s.share for s in plan.shedders}
    found = []
    for shedder in plan.shedders:
        other = planner.plan(plan.saving, without=(shedder.place.name,), looked=looked)
        more = () if other is None else tuple(
            s.place.name for s in other.shedders if s.share > shares.get(s.place.name, 0.0)
        )
        why = _why(places, shedder.place)
        found.append(Reason(shedder, why, plan.loss, more, None if other is None else other.loss))
    return tuple(found)


def _why(places: Places, place: Place) -> str:
    """What speaks against the place next above this one, if there is one."""
    bit = 1 << places.places.index(place)
    above = [
        (below.bit_count(), upper)
        for upper, below in zip(places.places, places.below, strict=True) if below & bit
    ]
    mine = [query for query, _ in place.answers]
    if not above:
        return f"all that {_listed(mine)} {_do(mine)} with a row comes after it"
    _, next_above = min(above, key=lambda found: found[0])
    others = [query for query, _ in next_above.answers if query not in mine]
    if next_above.keepers:
        keepers = next_above.keepers
        return f"above it, at `{next_above.name}`, {_listed(keepers)} {'needs' if len(keepers) == 1 else 'need'} all rows"
    if others:
        return f"above it, at `{next_above.name}`, {_listed(others)} would lose rows too"
    if next_above.rate > place.rate:
        return f"it tests {place.rate:,.0f} rows per second, at `{next_above.name}` it would be {next_above.rate:,.0f}"
    return f"a row lost at `{next_above.name}`, above it, saves less for what it costs"


def _do(names: list[str]) -> str:
    return "does" if len(names) == 1 else "do"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    """The names as a part of a sentence."""
    shown = [f"`{name}`" for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "nothing"
