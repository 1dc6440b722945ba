"""``streamq backfill``: the query of a program over the rows that it shed, which RECOVER DROPPED INTO kept.

::

    q over Scan(clicks, nexmark), SHED …   ->   q over Scan(clicks, files of the sink)

The answers are those of the rows that went alone: the rows of a filter that are missing, and of an aggregate the part
that is. COUNT and SUM add up with what the run gave; MIN and MAX are compared.
"""

from __future__ import annotations

from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.outputs import check_output
from streamq.compiler.driver import CompileResult
from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.compiler.lowering.query import lower_plan
from streamq.compiler.passes.asked import dropped_into
from streamq.compiler.passes.base import PassContext, run_passes
from streamq.compiler.passes.pipeline import PIPELINE
from streamq.compiler.recursion import deep_recursion
from streamq.dsl.diagnostics import Abort, Diagnostic, DiagnosticSink
from streamq.dsl.records import replace
from streamq.dsl.source import NO_SPAN


def keeps_dropped(result: CompileResult) -> tuple[str, ...]:
    """The queries that write down what they shed."""
    queries = () if result.logical is None else result.logical.queries
    return tuple(q.name for q in queries if dropped_into(q.policies) is not None)


def backfill_plan(
    result: CompileResult, name: str, sink: str | None, folder: str, base_dir: str, part: str = ""
) -> tuple[ph.PhysicalPlan | None, tuple[Diagnostic, ...]]:
    """The plan of one query over its dropped rows in a folder, into a sink of the program; None: onto the console.

    ``part``: a folder in that of a file sink, for the answers of this call; Spark takes a second run into one for a
    repetition of the first.
    """
    assert result.logical is not None
    plan = result.logical
    query = next(q for q in plan.queries if q.name == name)
    try:
        into = None if sink is None else _sink(query, plan, sink)
        changed = _over_dropped(query, plan, into, folder)
    except Abort as stop:
        return None, (stop.diagnostic,)
    alone = replace(plan, queries=(changed,), sinks=tuple(_part_of(s, part) if s == into else s for s in plan.sinks))
    with deep_recursion():
        optimized, _ = run_passes(alone, PIPELINE, PassContext(), check=False)
        physical, found = lower_plan(optimized, base_dir)
    return (physical if physical.queries else None), found


def _over_dropped(
    query: lg.LogicalQuery, plan: lg.LogicalPlan, into: lg.SinkDecl | None, folder: str
) -> lg.LogicalQuery:
    asked = dropped_into(query.policies)
    assert asked is not None
    kept = next(s for s in plan.sinks if s.name.casefold() == asked.sink.text.casefold())
    scans = [n.source.name for n in walk(query.root) if isinstance(n, lg.Scan) and not n.source.is_table]
    if len(scans) > 1:
        raise Abort(Diagnostic(
            "SQ0601", f"backfill of `{query.name}`, which reads streams more than once, cannot be run yet", query.origin,
            help="pairs of a row that was kept and one that was not would be missing; query the kept rows yourself",
        ))
    files = (*(o for o in kept.options if o[0] not in ("path", "compression")), ("path", folder), ("recursive", True))
    return replace(
        query, name=f"{query.name}.backfill", root=_from_files(query.root, files),
        sink=None if into is None else into.name, policies=(), utilities=(),
    )


def _sink(query: lg.LogicalQuery, plan: lg.LogicalPlan, name: str) -> lg.SinkDecl:
    """The sink of that name, which takes the answers of the query."""
    found = next((s for s in plan.sinks if s.name.casefold() == name.casefold()), None)
    if found is None:
        raise Abort(Diagnostic(
            "SQ0206", f"unknown sink `{name}`", NO_SPAN, help="name a sink that the program declares",
        ))
    asked = dropped_into(query.policies)
    if asked is not None and asked.sink.text.casefold() == found.name.casefold():
        raise Abort(Diagnostic(
            "SQ0602", f"`{found.name}` is where rows go that were shed, so it cannot hold answers too", found.origin,
            help="name another sink of the program, or leave out --into",
        ))
    problems = DiagnosticSink()
    check_output(query.root.schema, found, found.origin, BindContext(problems))
    for problem in problems.sorted():
        raise Abort(problem)
    return found


def _part_of(sink: lg.SinkDecl, part: str) -> lg.SinkDecl:
    if sink.connector != "file" or not part:
        return sink
    options = dict(sink.options)
    return replace(sink, options=tuple((options | {"path": f"{str(options['path']).rstrip('/')}/{part}"}).items()))


def _from_files(node: lg.Logical, options: tuple[tuple[str, lg.OptionValue], ...]) -> lg.Logical:
    """The same operators over files in the place of their stream."""
    if isinstance(node, lg.Scan) and not node.source.is_table:
        return replace(node, source=replace(node.source, connector="file", options=options))
    return with_inputs(node, tuple(_from_files(i, options) for i in node.inputs))
