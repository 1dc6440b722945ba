"""One entrance to all of explain."""

from __future__ import annotations

from streamq.compiler.driver import CompileResult
from streamq.compiler.explain.formats import to_json, to_mermaid
from streamq.compiler.explain.model import (
    FORMATS,
    STAGES,
    ExplainModel,
    logical_model,
    physical_model,
)
from streamq.compiler.explain.pyspark_source import to_pyspark
from streamq.compiler.explain.text import to_text
from streamq.compiler.recursion import deep_recursion
from streamq.dsl.records import replace


class ExplainUnavailable(Exception):
    """The stage does not exist for this program, because of errors found before it."""


def render(
    result: CompileResult, stage: str = "annotated", format: str = "text",
    query: str | None = None,
) -> str:
    """The program at a stage (``STAGES``) in a format (``FORMATS``); ``query`` limits it to one.

    Raises ``ValueError`` for unknown words and ``ExplainUnavailable`` where errors came first.
    """
    if stage not in STAGES:
        raise ValueError(f"unknown stage '{stage}', use one of {', '.join(STAGES)}")
    if format not in FORMATS:
        raise ValueError(f"unknown format '{format}', use one of {', '.join(FORMATS)}")
    if result.logical is None or (stage in ("physical", "spark") and result.plan is None):
        raise ExplainUnavailable(stage)
    if stage == "spark" and format != "text":
        raise ValueError("stage 'spark' is a program: its only format is text")
    with deep_recursion():
        return _render(result, stage, format, query)


def render_shedding(result: CompileResult) -> str:
    """Where the program sheds, and where it could. Raises ``ExplainUnavailable`` where errors came first."""
    if result.optimized is None:
        raise ExplainUnavailable("shed")
    # Loads networkx, which takes longer than all else.
    from streamq.compiler.explain.shed import to_shed_text

    with deep_recursion():
        return to_shed_text(result)


def _render(result: CompileResult, stage: str, format: str, query: str | None) -> str:
    if stage == "spark":
        assert result.plan is not None
        return to_pyspark(result.plan)
    model = physical_model(result) if stage == "physical" else logical_model(result, stage)
    if query is not None:
        model = only(model, query)
    match format:
        case "text":
            return to_text(model)
        case "json":
            return to_json(model)
        case _:
            return to_mermaid(model)


def only(model: ExplainModel, query: str) -> ExplainModel:
    """The part of the model that one query needs; raises ``ValueError`` if there is no such query."""
    queries = tuple(q for q in model.queries if q.name.casefold() == query.casefold())
    if not queries:
        raise ValueError(
            f"no query '{query}', there are {', '.join(q.name for q in model.queries)}"
        )
    wanted: set[str] = set()
    stack = [q.root for q in queries]
    while stack:
        node = stack.pop()
        if node not in wanted:
            wanted.add(node)
            stack.extend(model.boxes[node].inputs)
    names = {q.name for q in queries}
    return replace(
        model, queries=queries, boxes={k: b for k, b in model.boxes.items() if k in wanted},
        notices=tuple(n for n in model.notices if n.query in names),
    )
