"""Which inputs of an operator must stay whole: without some of their rows it puts out wrong ones, not fewer.

A row of an outer join that lost its counterpart is put out as if there had been none, and what NOT EXISTS and EXCEPT
would have taken away stays.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Literal, Op
from streamq.dsl import ast

_OF_JOINS: dict[ast.JoinKind, tuple[int, ...]] = {ast.JoinKind.LEFT: (1,), ast.JoinKind.RIGHT: (0,), ast.JoinKind.FULL: (0, 1)}


def whole_inputs(node: lg.Logical) -> tuple[int, ...]:
    """Their places among the inputs."""
    match node:
        case lg.Join():
            return _OF_JOINS.get(node.kind, ())
        case lg.Compare(op="EXCEPT"):
            return (1,)
        case _:
            return ()


def taken_away(node: lg.Logical) -> lg.Logical | None:
    """What an EXCEPT of equal windows takes away, at the test on top of its grouping; None at any other operator."""
    match node:
        case lg.Filter(
            predicate=Op(op="=", args=(Column(name=lg.LATER_SIDE), Literal(value=0))),
            input=lg.Aggregate(input=lg.Union(branches=(_, other))),
        ):
            return other
        case _:
            return None
