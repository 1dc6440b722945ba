"""How far an edge is: all that it has to know to go on after its last whole batch, as if nothing had been between."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.at_source.sifting import Sifting, sifting_to_json
from streamq.runtime.edge.at_source.source import Position
from streamq.stdlib.attributes.cycle import Cycle
from streamq.stdlib.attributes.intra_stream import State
from streamq.stdlib.attributes.reevaluation import Reevaluation, Schedule
from streamq.stdlib.attributes.shed_plan import ShedPlan
from streamq.stdlib.recovery.keys import Keys
from streamq.stdlib.recovery.retaining import Retained


@dataclass(frozen=True, slots=True)
class Progress:
    """``cycle``: None until it is found. ``windows``: whole cycles that were sent, ``seq``: messages.

    ``shedding``: the plan and when it is looked at again; ``retained``, ``keys``: what retention knows; ``carried``: rows
    that are no whole cycle yet, ``since_s``: from when; ``position``: up to where the source is done, with what is carried.
    ``base``: the number of a cycle after which those of new keys begin, as other rows had the ones before. ``sifting``: by what rows are sifted, where they are; ``untold``: rows that were dropped since the last message was made.
    """

    position: Position = field(default_factory=Position)
    cycle: Cycle | None = None
    windows: int = 0
    seq: int = 0
    shedding: State | None = None
    retained: Retained = field(default_factory=Retained)
    keys: Keys | None = None
    carried: pa.RecordBatch | None = None
    since_s: float = 0.0
    sifting: Sifting | None = None
    untold: int = 0
    base: int = 0

    @property
    def waits(self) -> bool:
        """Whether there are rows that nothing is done with yet, or that nobody was told of."""
        return self.untold > 0 or (self.carried is not None and self.carried.num_rows > 0)


def small_to_json(progress: Progress) -> str:
    """What is not of arrays."""
    found: dict[str, Any] = {
        "position": progress.position.text(), "windows": progress.windows, "seq": progress.seq,
        "since_s": progress.since_s, "untold": progress.untold, "base": progress.base,
    }
    if progress.sifting is not None:
        found["sifting"] = sifting_to_json(progress.sifting)
    if progress.cycle is not None:
        cycle = progress.cycle
        found["cycle"] = [list(cycle.key), cycle.length, [list(group) for group in cycle.groups]]
    if progress.shedding is not None:
        state = progress.shedding
        again = state.reevaluation
        found["shedding"] = {
            "plan": [state.plan.plan_id, state.plan.effective_from_cycle, list(state.plan.attrs)],
            "schedule": [again.schedule.base_s, again.schedule.factor, again.schedule.max_s],
            "evaluated": [again.interval_s, again.last_s, sorted(again.attrs)],
            "order": list(state.order), "attributes": list(state.attributes),
        }
    return json.dumps(found)


def cycle_of(found: dict[str, Any]) -> Cycle | None:
    """The cycle in a JSON object of ``small_to_json``. ValueError, KeyError or TypeError for another."""
    if "cycle" not in found:
        return None
    key, length, groups = found["cycle"]
    return Cycle(tuple(key), int(length), groups=tuple(map(tuple, groups)))


def shedding_of(found: dict[str, Any]) -> State | None:
    """The same of the plan."""
    if "shedding" not in found:
        return None
    state = found["shedding"]
    plan_id, since, attrs = state["plan"]
    interval_s, last_s, evaluated = state["evaluated"]
    again = Reevaluation(Schedule(*state["schedule"]), frozenset(evaluated), interval_s, last_s)
    return State(ShedPlan(plan_id, since, tuple(attrs)), again, tuple(state["order"]), tuple(state["attributes"]))
