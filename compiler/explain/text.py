"""Explain as text: a tree per query, inputs indented below; shared operators are shown once."""

from __future__ import annotations

from streamq.compiler.explain.model import Box, ExplainModel
from streamq.dsl.visible import visible


def to_text(model: ExplainModel) -> str:
    """The model as lines."""
    lines: list[str] = []
    shown: set[str] = set()
    for q in model.queries:
        lines.append(f"query {q.name} -> {q.sink}")
        lines += [f"  {fact}" for fact in q.facts]
        _tree(model, q.root, "  ", lines, shown)
        notices = [n for n in model.notices if n.query == q.name]
        for n in notices:
            lines.append(f"  notice[{n.kind}]: {n.message}")
            lines += [f"    why: {n.hint}"] if n.hint else []
            lines += [f"    do: {n.action}"] if n.action else []
        lines.append("")
    return "\n".join(map(visible, lines)).rstrip() + "\n"


def _tree(
    model: ExplainModel, node: str, indent: str, lines: list[str], shown: set[str]
) -> None:
    box = model.boxes[node]
    first = node not in shown
    lines.append(f"{indent}{_title(box, model.stage)}{'' if first else '  (shown above)'}")
    if not first:
        return
    shown.add(node)
    lines += [f"{indent}    {fact}" for fact in box.facts if fact]
    for below in box.inputs:
        _tree(model, below, indent + "  ", lines, shown)


def _title(box: Box, stage: str) -> str:
    if stage == "physical":
        return box.title
    shared = f", shared by {', '.join(box.shared_by)}" if box.shared_by else ""
    return f"{box.title}   ({box.id}{shared})"
