"""The phases in order, with the gate between them: text in, plans and diagnostics out."""

from __future__ import annotations

from collections.abc import Callable

from streamq.compiler.analysis.edge_notices import edge_notices
from streamq.compiler.analysis.sketch_notices import sketch_notices
from streamq.compiler.binder.context import BindContext
from streamq.compiler.binder.program import bind_program
from streamq.compiler.includes import resolve_includes
from streamq.compiler.ir.logical import LogicalPlan
from streamq.compiler.ir.physical import PhysicalPlan
from streamq.compiler.lowering.query import lower_plan
from streamq.compiler.notices import PlanNotice
from streamq.compiler.options import CompileOptions
from streamq.compiler.passes.base import PassContext, TraceEntry, run_passes
from streamq.compiler.passes.pipeline import PIPELINE
from streamq.compiler.recursion import deep_recursion
from streamq.dsl.diagnostics import CompileFailed, Diagnostic, DiagnosticSink, Severity
from streamq.dsl.records import dataclass
from streamq.dsl.source import SourceFile, SourceMap, Span


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What a compilation gave.

    ``logical``: before the passes (None: errors before binding ended). ``optimized``: after them.
    ``plan``: what Spark will run, None if there is any error. ``diagnostics``: errors and warnings, sorted.
    """

    sources: SourceMap
    diagnostics: tuple[Diagnostic, ...]
    logical: LogicalPlan | None = None
    optimized: LogicalPlan | None = None
    plan: PhysicalPlan | None = None
    notices: tuple[PlanNotice, ...] = ()
    trace: tuple[TraceEntry, ...] = ()

    @property
    def ok(self) -> bool:
        return not any(d.severity is Severity.ERROR for d in self.diagnostics)

    @property
    def meant(self) -> LogicalPlan | None:
        """The plan that says what the answers are: as bound, with what estimates and measures add."""
        found = (entry.plan for entry in self.trace if entry.name == "quality")
        return next(found, self.logical)

    def require(self) -> PhysicalPlan:
        """The physical plan; raises ``CompileFailed`` if the program has errors."""
        if self.plan is None:
            raise CompileFailed(self.diagnostics, self.sources)
        return self.plan


ReadText = Callable[[str], str]
"""Reads an included file by its path relative to the program's folder; raises OSError."""


def compile_program(
    source: SourceFile | str, options: CompileOptions | None = None,
    read_text: ReadText | None = None,
) -> CompileResult:
    """Compiles a program; user errors are in the result, never raised.

    ``read_text`` serves INCLUDE; without it an INCLUDE is an error.
    """
    options = options or CompileOptions()
    if isinstance(source, str):
        source = SourceFile("program.cql", source)
    try:
        with deep_recursion():
            return _compile(source, options, read_text)
    except RecursionError:
        # Some releases of Python have a small stack of their own for calls through C.
        return _too_deep(source)


def _too_deep(source: SourceFile) -> CompileResult:
    diagnostic = Diagnostic(
        code="SQ0108", message="the program is nested too deeply", span=Span(source.name, 0, 0),
        help="split long expressions and chains of queries, for instance with views",
    )
    return CompileResult(SourceMap({source.name: source}), (diagnostic,))


def _compile(
    source: SourceFile, options: CompileOptions, read_text: ReadText | None
) -> CompileResult:
    sink = DiagnosticSink()
    sources = SourceMap()
    statements = resolve_includes(source, sources, sink, read_text)
    if sink.has_errors:
        return CompileResult(sources, sink.sorted())
    context = BindContext(sink, source.name)
    logical = bind_program(statements, context)
    if context.sink.has_errors:
        sink.extend(context.refusals)
        return CompileResult(sources, sink.sorted())
    passes = PassContext()
    optimized, trace = run_passes(logical, PIPELINE, passes, check=options.verify)
    plan, found = lower_plan(optimized, options.base_dir)
    sink.extend(context.refusals)
    sink.extend(found)
    return CompileResult(
        sources, sink.sorted(), logical, optimized, None if sink.has_errors else plan,
        (*passes.notices, *edge_notices(optimized), *sketch_notices(optimized)), trace,
    )
