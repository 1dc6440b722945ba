"""Explain as JSON and as a Mermaid flow chart."""

from __future__ import annotations

import json

from streamq.compiler.explain.model import ExplainModel
from streamq.dsl.visible import escaped, visible


def to_json(model: ExplainModel) -> str:
    """A stable JSON document (version 1)."""
    document = {
        "version": 1,
        "stage": model.stage,
        "queries": [
            {"name": q.name, "sink": q.sink, "facts": list(q.facts), "root": q.root}
            for q in model.queries
        ],
        "operators": [
            {
                "id": b.id, "title": b.title, "facts": list(b.facts), "inputs": list(b.inputs),
                "shared_by": list(b.shared_by),
            }
            for b in model.boxes.values()
        ],
        "notices": [
            {
                "kind": n.kind, "query": n.query, "message": n.message, "hint": n.hint,
                "action": n.action,
            }
            for n in model.notices
        ],
    }
    return escaped(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def to_mermaid(model: ExplainModel) -> str:
    """A flow chart from the sources down to the sinks."""
    names = {box: f"n{i}" for i, box in enumerate(model.boxes)}
    lines = ["flowchart TD"]
    for box in model.boxes.values():
        label = "<br/>".join(_escape(t) for t in (box.title, *box.facts) if t)
        lines.append(f'  {names[box.id]}["{label}"]')
    lines += [
        f"  {names[i]} --> {names[b.id]}" for b in model.boxes.values() for i in b.inputs
    ]
    for i, q in enumerate(model.queries):
        lines.append(f'  q{i}(["{_escape(q.name)} -> {_escape(q.sink)}"])')
        lines.append(f"  {names[q.root]} --> q{i}")
    return "\n".join(lines) + "\n"


def _escape(text: str) -> str:
    short = visible(text if len(text) <= 120 else text[:119] + "…")
    # ``#`` begins what Mermaid reads as a character's number.
    for sign, entity in (("#", "#35;"), ("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        short = short.replace(sign, entity)
    return short
