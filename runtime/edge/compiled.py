"""From what a program says of an edge to the plan that the edge goes by."""

from __future__ import annotations

import math
from pathlib import Path
from typing import cast

from streamq.compiler.ir.edges import EdgeStream
from streamq.runtime.edge.plan import CycleRule, EdgePlan, Format
from streamq.stdlib.attributes.kinds import RANKED_ROWS, Dispersion, Scope
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.recovery.budget import CAPS
from streamq.stdlib.recovery.criticality import Category, category

UNLIMITED_KBPS = 1e8
"""Of a wire of which nothing is said: more than any has."""

LEASE_S = 5.0
"""How long a part of a channel is an edge's without a word of the central side."""

FLOOR_KBPS, FLOOR_SHARE = 1.0, 0.01
"""What an edge may send of a channel of which it was given nothing: enough to be heard of."""


def floor_kbps(channel_kbps: float) -> float:
    """Of a channel of so many kbit/s."""
    return max(FLOOR_KBPS, FLOOR_SHARE * channel_kbps)


def edge_plan(edge: EdgeStream, token: str = "") -> EdgePlan:
    """The first plan of an edge. In a channel it has only the floor, until the central side gives it a part.

    BadPlan for what cannot be.
    """
    options = dict(edge.options)
    shared = edge.channel is not None and edge.capacity_kbps is None
    capacity = edge.capacity_kbps or UNLIMITED_KBPS
    floor = 0.0
    if shared and edge.channel is not None:
        capacity = floor = floor_kbps(edge.channel.kbps)
    told = {name: error for name, error in edge.synopsis if error is not None}
    return EdgePlan(
        stream=edge.stream, columns=dict(edge.columns), cycle=_cycle(edge), capacity_kbps=capacity,
        protected=frozenset(name for name, _ in edge.kept), unread=frozenset(edge.unread),
        retained=frozenset(name for name, _ in edge.synopsis), format=cast(Format, options.get("format", "json")),
        bucket_bytes=int(options.get("bucket", 0)), unit="BYTES",
        ranking=Ranking(
            dispersion=cast(Dispersion, str(options.get("ranking", "stddev")).upper()),
            scope=cast(Scope, str(options.get("scope", "window")).upper()),
        ),
        errors=told, error_auto=len(told) < len(edge.synopsis), error_cap_pct=_cap(edge),
        retain_s=7 * 86_400.0 if edge.retain_ms is None else edge.retain_ms / 1000,
        synopsis_bytes=int(options.get("synopsis_bytes", 1 << 30)), linger_s=float(options.get("linger", 60_000)) / 1000,
        lease_s=LEASE_S if shared else 0.0, floor_kbps=floor, token=token,
    )


def _cycle(edge: EdgeStream) -> CycleRule:
    options = dict(edge.options)
    training = int(options.get("training_rows", 0))
    rows = int(options.get("cycle_rows", 0))
    if edge.cycle:
        return CycleRule(key=edge.cycle, length=rows, training_rows=training)
    if edge.finds_cycle:
        return CycleRule(training_rows=training)
    return CycleRule(length=rows or RANKED_ROWS)


def _cap(edge: EdgeStream) -> float | None:
    """The error that the category of the stream allows: the one that queries name, or the one that its columns' names tell."""
    names = [name for name, _ in edge.columns]
    found = cast(Category, edge.criticality) if edge.criticality else category(names)
    cap = CAPS[found]
    return None if math.isinf(cap) else cap


def token_of(edge: EdgeStream, base_dir: str, file: Path | None = None) -> str:
    """The token that edges and the run share, empty for none. OSError where its file cannot be read."""
    options = dict(edge.options)
    if file is None and "token_file" in options:
        file = Path(base_dir) / str(options["token_file"])
    return str(options.get("token", "")) if file is None else file.read_text("utf-8").strip()
