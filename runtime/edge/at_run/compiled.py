"""From what a program says of an edge to the plan that the edge goes by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from streamq.compiler.ir.edges import EdgeStream
from streamq.dsl.records import replace
from streamq.runtime.edge.at_run.channel import floor_kbps
from streamq.runtime.edge.at_run.opening import shared
from streamq.runtime.edge.plan import CycleRule, EdgePlan, Format
from streamq.runtime.edge.sift_rule import SiftRule
from streamq.runtime.secrets import reveal
from streamq.stdlib.attributes.kinds import RANKED_ROWS, Dispersion, Scope
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.recovery.budget import CAPS
from streamq.stdlib.recovery.criticality import Category, category
from streamq.stdlib.sifters.compact import Wish

UNLIMITED_KBPS = 1e8
"""Of a wire of which nothing is said: more than any has."""

RETAIN_S = 7 * 86_400.0
"""For how long shed values can be asked for where no RETAIN says it."""

def edge_plan(edge: EdgeStream, edges: Sequence[EdgeStream], token: str = "") -> EdgePlan:
    """The plan that one of the edges of a program begins with. In a channel it has the floor until the run gives it a part.

    BadPlan for what cannot be.
    """
    plan = replace(link_plan(edge), token=token)
    if edge.channel is None:
        return plan
    floor = float(floor_kbps(edge.channel.kbps, sum(other.channel == edge.channel for other in edges)))
    return shared(plan, floor, floor, plan.revision)


def link_plan(edge: EdgeStream) -> EdgePlan:
    """The plan of an edge by itself, with all of its own wire. BadPlan for what cannot be."""
    options = dict(edge.options)
    told = {name: error for name, error in edge.synopsis if error is not None}
    return EdgePlan(
        stream=edge.stream, columns=dict(edge.columns), cycle=_cycle(edge), capacity_kbps=edge.capacity_kbps or UNLIMITED_KBPS,
        protected=frozenset(name for name, _ in edge.kept), sift=_sift(edge), unread=frozenset(edge.unread),
        retained=frozenset(name for name, _ in edge.synopsis), format=cast(Format, options["format"]),
        bucket_bytes=int(options.get("bucket", 0)), unit="BYTES",
        ranking=Ranking(
            dispersion=cast(Dispersion, str(options["ranking"]).upper()), scope=cast(Scope, str(options["scope"]).upper()),
            text="ENTROPY" if options["texts"] == "shed" else "PROTECT",
        ),
        errors=told, error_auto=len(told) < len(edge.synopsis), error_cap_pct=_cap(edge),
        retain_s=RETAIN_S if edge.retain_ms is None else edge.retain_ms / 1000,
        synopsis_bytes=int(options["synopsis_bytes"]), linger_s=int(options["linger"]) / 1000,
    )


def _cycle(edge: EdgeStream) -> CycleRule:
    options = dict(edge.options)
    training = int(options["training_rows"])
    rows = int(options.get("cycle_rows", 0))
    if edge.cycle:
        return CycleRule(key=edge.cycle, length=rows, training_rows=training)
    if edge.finds_cycle:
        return CycleRule(training_rows=training)
    return CycleRule(length=rows or RANKED_ROWS)


def _sift(edge: EdgeStream) -> SiftRule | None:
    """The sifter of all queries together: they share its regions, and the strictest fairness holds."""
    if not edge.sifts:
        return None
    first = edge.sifts[0]
    plan = replace(first.plan, fairness=min(one.plan.fairness for one in edge.sifts))
    wishes = tuple(Wish(one.wanted, one.weight, one.slope, one.least) for one in edge.sifts)
    return SiftRule(attributes=first.attributes, plan=plan, wishes=wishes)


def _cap(edge: EdgeStream) -> float | None:
    """The error that the category of the stream allows: the one that queries name, or the one that its columns' names tell."""
    names = [name for name, _ in edge.columns]
    found = cast(Category, edge.criticality) if edge.criticality else category(names)
    cap = CAPS[found]
    return None if math.isinf(cap) else cap


def token_of(edge: EdgeStream, base_dir: str, file: Path | None = None) -> str:
    """The token that edges and the run share, empty for none. OSError where its file cannot be read, Abort where it is elsewhere and not there."""
    options = dict(edge.options)
    if file is None and "token_file" in options:
        file = Path(base_dir) / str(options["token_file"])
    if file is not None:
        return file.read_text("utf-8").strip()
    return reveal(str(options["token"]), base_dir) if "token" in options else ""
