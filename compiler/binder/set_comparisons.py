"""EXCEPT and INTERSECT: of results of equal windows as one grouping, with a table as a join, else row by row."""

from __future__ import annotations

from streamq.compiler.binder.catalog import identity
from streamq.compiler.binder.relations import Environment
from streamq.compiler.binder.semi_joins import meets, misses, renamed
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import AggCall, Column, Expr, IsNull, Literal, Op, conjunction
from streamq.dsl import ast
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.types import BOOLEAN, INT, holds_map, with_article
from streamq.stdlib.functions import FUNCTIONS

MARK = lg.SIDE


def bind_compared(sides: tuple[lg.Logical, ...], node: ast.SetOp, env: Environment) -> lg.Logical:
    """EXCEPT and INTERSECT: every row once, by the sides that have it.

    ::

        a EXCEPT b     ->  SELECT row FROM (a marked 0, b marked 1) GROUP BY row HAVING MAX(mark) = 0
        a INTERSECT b  ->  … HAVING MIN(mark) = 0 AND MAX(mark) = 1
    """
    if any(s.change is lg.Change.STATIC for s in sides):
        return _with_table(sides, node, env)
    window = sides[0].window
    same = isinstance(window, lg.Sliding) and all(s.window == window for s in sides)
    if node.all or not (same and all(s.change is lg.Change.FINAL for s in sides)):
        left, right = sides
        return lg.Compare(left, right, node.op, node.all, owner=env.owner, origin=node.span)
    marked = []
    for side, mark in zip(sides, (0, 1), strict=True):
        value = Literal(value=mark, type=INT, nullable=False, origin=node.span)
        marked.append(lg.Project(
            side, (*identity(side.schema), (MARK, value)), owner=env.owner, origin=node.span
        ))
    union = lg.Union(tuple(marked), owner=env.owner, origin=node.span)
    keys = identity(sides[0].schema)
    mark_column = Column(name=MARK, type=INT, nullable=False)
    extremes = tuple(
        (f"{MARK}_{name}", AggCall(function=name, args=(mark_column,), spec=FUNCTIONS[name], type=INT))
        for name in ("MIN", "MAX")
    )
    grouped = lg.Aggregate(union, keys, extremes, owner=env.owner, origin=node.span)
    wanted = (("MAX", 0),) if node.op == "EXCEPT" else (("MIN", 0), ("MAX", 1))
    tests = tuple(
        Op(op="=", type=BOOLEAN, origin=node.span, args=(
            Column(name=f"{MARK}_{name}", type=INT),
            Literal(value=value, type=INT, nullable=False),
        ))
        for name, value in wanted
    )
    test = conjunction(tests)
    assert test is not None
    kept = lg.Filter(grouped, test, owner=env.owner, origin=node.span)
    return lg.Project(kept, keys, owner=env.owner, origin=node.span)


def _with_table(sides: tuple[lg.Logical, ...], node: ast.SetOp, env: Environment) -> lg.Logical:
    """Rows that are looked up in a table, which does not change.

    ::

        a EXCEPT t     ->  SELECT DISTINCT * FROM a, the rows without an equal one in t
        a INTERSECT t  ->  SELECT DISTINCT * FROM a, the rows with an equal one in t
    """
    left, right = sides
    if node.op == "INTERSECT" and right.change is not lg.Change.STATIC:
        left, right = right, left
    if node.all:
        raise Abort(Diagnostic(
            code="SQ0501", span=node.span, message=f"{node.op} ALL with a table cannot be run yet",
            help=f"say {node.op}, which gives every row once",
        ))
    if right.change is not lg.Change.STATIC:
        raise Abort(Diagnostic(
            code="SQ0501", span=node.span,
            message="EXCEPT of a table and a stream cannot be run yet",
            help="only the rows of the stream can come and go: put the stream first",
        ))
    for f in left.schema:
        if holds_map(f.type):
            raise Abort(Diagnostic(
                code="SQ0502", span=node.span,
                message=f"{node.op} cannot compare `{f.name}`, which is {with_article(f.type)}",
                help="select single entries of the map",
            ))
    table = renamed(right, node.span, env)
    tests = []
    for ours, theirs in zip(left.schema, table.schema, strict=True):
        a, b = (
            Column(name=f.name, type=f.type, nullable=f.nullable, origin=node.span)
            for f in (ours, theirs)
        )
        equal: Expr = Op(op="=", args=(a, b), type=BOOLEAN, origin=node.span)
        if a.nullable and b.nullable:
            nulls = conjunction(tuple(
                IsNull(operand=e, type=BOOLEAN, nullable=False, origin=node.span) for e in (a, b)
            ))
            assert nulls is not None
            equal = Op(op="OR", args=(equal, nulls), type=BOOLEAN, origin=node.span)
        tests.append(equal)
    join = misses if node.op == "EXCEPT" else meets
    found = join(left, table, conjunction(tuple(tests)), env, node.span)
    return lg.Distinct(found, owner=env.owner, origin=node.span)
