"""The operators of all queries as one drawing, answers on top, with the shedders of a plan where they stand."""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.analysis.placement import Plan
from streamq.compiler.explain.words import show_operator
from streamq.compiler.ir.graph import PlanGraph


def to_tree(graph: PlanGraph, plan: Plan) -> Iterator[str]:
    """A line for each operator below those that read it; what several read is drawn once, and named again for the others."""
    shares = {(s.place.operator, s.place.reader): s.share for s in plan.shedders}
    drawn: set[str] = set()
    for query, root in graph.roots.items():
        yield query
        stack = [(root, query, 1)]
        while stack:
            name, reader, depth = stack.pop()
            again = name in drawn
            text = "drawn above" if again else show_operator(graph.nodes[name])
            arm = "" if (share := shares.get((name, reader))) is None else f"   <- drops {share:.0%}, of those that come this way"
            whole = "" if (share := shares.get((name, None))) is None or again else f"   <- drops {share:.0%}"
            yield f"{'  ' * depth}{name}: {text}{arm}{whole}"
            if not again:
                drawn.add(name)
                stack += [(below, name, depth + 1) for below in reversed(graph.inputs[name])]
