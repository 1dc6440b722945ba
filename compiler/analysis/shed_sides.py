"""Of a join one side sheds, where that is known to be better than both.

A share that is lost of one input is the same share of the pairs, whichever input it is, so the one goes whose rows save
most: the least loss for a saving. Where both lose rows on their own the shares multiply, and a pair has no
weight of its own that says for how many it stands.

Of some operators one input must stay whole (``analysis/whole_inputs.py``).
"""

from __future__ import annotations

from collections.abc import Mapping

from streamq.compiler.analysis.costs import OUT, told_rate
from streamq.compiler.analysis.operators import operators_of
from streamq.compiler.analysis.shed_places import Query, places_of
from streamq.compiler.analysis.whole_inputs import taken_away, whole_inputs
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.graph import build_graph
from streamq.compiler.ir.rewrite import walk
from streamq.dsl import ast
from streamq.dsl.records import dataclass, field, replace

Streams = frozenset[str]
NO_STREAMS: Streams = frozenset()


@dataclass(frozen=True, slots=True)
class Sides:
    """The streams of a query that are ``spared``, and ``why``. ``wrong``: those of which a lost row may make answers wrong."""

    spared: Streams = NO_STREAMS
    why: str = ""
    wrong: Streams = NO_STREAMS


def sides(plan: lg.LogicalPlan, query: lg.LogicalQuery) -> Sides:
    """Which streams of a query keep all rows, where its rows go at random."""
    every, whole = _streams(query.root), must_stay_whole(query.root)
    if whole == every:
        return Sides(wrong=whole)
    if len(every) < 2:
        return Sides()
    work = _Choice(whole, _savings(plan, query))
    spared = every - work.shed(query.root)
    why = [f"without rows of {_words(whole)} there would be wrong answers, not fewer"] if whole else []
    why += [text for streams, text in work.why if streams <= spared]
    return Sides(spared, "; ".join(why))


@dataclass
class _Choice:
    """Which streams shed. ``whole``: those that must not; ``savings``: cost per second by stream, where its rate is told.

    ``why``: the streams that are spared at a join, and the reason.
    """

    whole: Streams
    savings: Mapping[str, float]
    why: list[tuple[Streams, str]] = field(default_factory=list)

    def shed(self, root: lg.Logical) -> Streams:
        below: dict[int, Streams] = {}
        for node in walk(root):
            found = _streams(node) - self.whole if isinstance(node, lg.Scan) else NO_STREAMS
            for i in node.inputs:
                found |= below[id(i)]
            if isinstance(node, lg.Join) and node.kind in (ast.JoinKind.INNER, ast.JoinKind.CROSS):
                found = self._one_of(node, below[id(node.left)], below[id(node.right)])
            below[id(node)] = found
        return below[id(root)]

    def _one_of(self, node: lg.Join, left: Streams, right: Streams) -> Streams:
        """The side whose rows save more; both where that is not known, or where a lost row does more than to take pairs away."""
        both = left | right
        plain = _is_plain(node.left) and _is_plain(node.right)
        if not left or not right or _streams(node.left) & _streams(node.right) or not plain or not both <= self.savings.keys():
            return both
        more, less = (left, right) if self._saving(left) >= self._saving(right) else (right, left)
        times = self._saving(more) / max(self._saving(less), 1e-300)
        text = f"as large a part of {_words(more)} saves {times:.3g} times as much as of {_words(less)}, for the same loss"
        self.why.append((less, text))
        return more

    def _saving(self, streams: Streams) -> float:
        return sum(self.savings[s] for s in streams)


def must_stay_whole(root: lg.Logical) -> Streams:
    """The streams without whose rows there would be wrong answers."""
    found = NO_STREAMS
    for node in walk(root):
        if all(_streams(i) for i in node.inputs):
            found = found.union(*(_streams(node.inputs[place]) for place in whole_inputs(node)))
        if (other := taken_away(node)) is not None:
            found |= _streams(other)
    return found


def _is_plain(side: lg.Logical) -> bool:
    """Whether a row that is lost of this side is lost of the pairs, and changes none."""
    return not any(isinstance(n, lg.Aggregate | lg.Distinct | lg.Compare) for n in walk(side))


def _savings(plan: lg.LogicalPlan, query: lg.LogicalQuery) -> dict[str, float]:
    """What goes with all rows of each stream whose rate is told: cost per second, guessed."""
    graph = build_graph(replace(plan, queries=(query,)))
    places = places_of(operators_of(graph), [Query(name=query.name, operator=graph.roots[query.name], cost=OUT)])
    scans = {name: node.source for name, node in graph.nodes.items() if isinstance(node, lg.Scan)}
    found: dict[str, float] = {}
    for place in places.places:
        source = scans.get(place.operator)
        if place.reader is None and source is not None and told_rate(source) is not None:
            found[source.name] = found.get(source.name, 0.0) + place.saving
    return found


def _streams(node: lg.Logical) -> Streams:
    return frozenset(n.source.name for n in walk(node) if isinstance(n, lg.Scan) and not n.source.is_table)


def _words(streams: Streams) -> str:
    return " and ".join(f"`{s}`" for s in sorted(streams))
