"""The functions of Python that read sketches, those that a query needs."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Call
from streamq.compiler.ir.expr import walk as walk_expr
from streamq.compiler.ir.rewrite import exprs_of, walk
from streamq.stdlib.functions.sketch_parts import READERS


def readers_of(query: lg.LogicalQuery) -> tuple[ph.FunctionSource, ...]:
    """They are registered as a program's own functions are, under names that no program can give."""
    used = {
        part.function
        for node in walk(query.root) for expr in exprs_of(node) for part in walk_expr(expr)
        if isinstance(part, Call) and part.function in READERS
    }
    found = (READERS[name] for name in sorted(used))
    return tuple(ph.FunctionSource(name, reader.target, reader.parameters, reader.result) for name, reader in found)
