"""The length of the windows of a query, where they follow each other and all are alike."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk


def tumbling_ms(root: lg.Logical) -> int | None:
    """The length in milliseconds; None where a stream is seen in other windows too, or in none."""
    lengths: set[int | None] = set()
    for node in walk(root):
        if isinstance(node, lg.Window):
            spec = node.spec
            whole = isinstance(spec, lg.Sliding) and spec.slide_ms == spec.range_ms
            lengths.add(spec.range_ms if whole and isinstance(spec, lg.Sliding) else None)
        elif isinstance(node, lg.Aggregate | lg.Join | lg.Distinct | lg.Sort) and node.window is None:
            lengths.add(None)
    return lengths.pop() if len(lengths) == 1 else None
