"""The record of a run as a page that needs nothing beside it."""

from __future__ import annotations

import json
from html import escape

from streamq.runtime.metrics import Sifted
from streamq.runtime.report import joined
from streamq.runtime.report.chart import Line, chart
from streamq.runtime.report.record import Point, QueryRecord, RunRecord, completeness

MOST_POINTS = 600
"""Of a long run every so-manieth micro-batch is drawn, the oldest results among them kept."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --faint: #8a929c; --paper: #ffffff; --rule: #d9dee3;
  --a: #2563eb; --b: #d97706; --c: #0f766e; --goal: #dc2626; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ed; --faint: #8a929c; --paper: #14171a; --rule: #30363d;
  --a: #7aa2ff; --b: #f0b35a; --c: #5eead4; --goal: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1360px;
  margin: 2rem auto; padding: 0 1rem; }
h1, h2 { font-weight: 600; } h2 { margin-top: 2.5rem; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .25rem .9rem .25rem 0; text-align: right; }
th:first-child, td:first-child { text-align: left; } th { color: var(--faint); font-weight: 500; }
td { border-top: 1px solid var(--rule); font-variant-numeric: tabular-nums; }
.missed { color: var(--goal); font-weight: 600; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { color: var(--faint); } svg { width: 100%; height: auto; }
svg text { fill: var(--faint); font-size: 11px; } .grid { stroke: var(--rule); }
polyline { fill: none; stroke-width: 1.8; } polyline.a { stroke: var(--a); } polyline.b { stroke: var(--b); }
polyline.c { stroke: var(--c); }
line.goal { stroke: var(--goal); stroke-dasharray: 5 4; }
.key { margin-left: .9rem; } .key::before { content: "— "; font-weight: 700; }
.key.a::before { color: var(--a); } .key.b::before { color: var(--b); } .key.c::before { color: var(--c); } .key.goal::before { color: var(--goal); }
"""


def page(record: RunRecord) -> str:
    """The HTML text, with the data of ``record.to_dict`` inside."""
    title = f"{record.program}: {record.seconds:.0f} s, ended by {record.ended_by}"
    data = json.dumps(record.to_dict(), ensure_ascii=False).replace("<", "\\u003c")
    sections = "".join(_section(query) + _joined(record, query.name) for query in record.queries)
    return document(
        title,
        f"<h1>{escape(record.program)}</h1>"
        f"<p>{record.seconds:.1f} seconds, ended by: {escape(record.ended_by)}</p>{_table(record)}{_sifters(record)}{_edges(record)}{sections}"
        f'<script type="application/json" id="data">{data}</script>',
    )


def document(title: str, body: str) -> str:
    """A page with our style sheet."""
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{body}</body></html>\n"
    )


def _table(record: RunRecord) -> str:
    """One line per query: where its rows went, and how old its results were."""
    names = ["query", "rows in", "kept", "shed", "late", "malformed", "put aside", "completeness", "95 % age", "worst age", "goal"]
    head = "".join(f"<th>{name}</th>" for name in names)
    lines: list[str] = []
    for query in record.queries:
        totals, goal, age = query.totals, query.latency_goal_ms, query.age_ms(0.95)
        missed = ' class="missed"' if goal is not None and age is not None and age > goal else ""
        counts = (totals.rows_in, totals.kept, totals.shed, totals.late, totals.malformed, totals.dead)
        cells = [
            escape(query.name), *(f"{count:,}" for count in counts), f"{completeness(totals):.3f}",
            "" if age is None else _seconds(age), _seconds(totals.worst_age_ms),
            "" if goal is None else _seconds(goal),
        ]
        shown = "".join(
            f"<td{missed if name == '95 % age' else ''}>{cell}</td>" for name, cell in zip(names, cells, strict=True)
        )
        lines.append(f"<tr>{shown}</tr>")
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"


def _sifters(record: RunRecord) -> str:
    """What was expected of each sifter beside what it did, and the same of each of its queries."""
    parts: list[str] = []
    for one in record.sifted:
        lines = [("rows kept", one.expected_keep, one.keep), ("quality of all answers", one.expected_quality, one.quality)]
        lines += [(f"completeness of {q.name}", q.expected, q.got) for q in one.queries]
        cells = "".join(f"<tr><td>{escape(name)}</td><td>{e:.1%}</td><td>{a:.1%}</td></tr>" for name, e, a in lines)
        parts.append(
            f"<h2>{escape(_sifter_name(one))}</h2><table><thead><tr><th></th><th>expected</th><th>achieved</th></tr></thead>"
            f"<tbody>{cells}</tbody></table>"
        )
    return "".join(parts)


def _sifter_name(one: Sifted) -> str:
    times = f"{one.built} time{'s' if one.built != 1 else ''}"
    return f"sifter on {one.stream} ({', '.join(one.attributes)}), built {times}; rows of {one.seen_by}"


def _edges(record: RunRecord) -> str:
    """What came from each edge."""
    return "".join(f"<p>{escape(one.words)}</p>" for one in record.received)


def _joined(record: RunRecord, query: str) -> str:
    return "".join(f"<p>{escape(joined.words(one))}</p>{joined.charts(one)}" for one in record.selected if one.query == query)


def _section(query: QueryRecord) -> str:
    points = thinned(query.points)
    goal = query.latency_goal_ms

    def line(name: str, style: str, of: str, scale: float = 1.0) -> Line:
        return Line(name, style, tuple((p.seconds, getattr(p, of) * scale) for p in points))

    charts = [
        chart("Load", "rows/s", [line("offered", "a", "offered_per_s"), line("kept", "b", "kept_per_s")]),
        chart(
            "Age of results", "s", [line("age", "a", "age_ms", 0.001), line("micro-batch", "b", "batch_ms", 0.001)],
            None if goal is None else goal / 1000,
        ),
        chart("Share kept", "of the rows that arrived", [line("kept", "a", "keep")], 1.0),
        chart("State", "rows", [line("state", "a", "state_rows")]),
        *([chart("Backlog", "records", [line("unread", "a", "backlog_rows")])] if query.totals.backlog_rows is not None else []),
    ]
    return f'<h2>{escape(query.name)}</h2><div class="charts">{"".join(charts)}</div>'


def thinned(points: tuple[Point, ...]) -> tuple[Point, ...]:
    """At most ``MOST_POINTS``: of each stretch of micro-batches the one with the oldest results."""
    if len(points) <= MOST_POINTS:
        return points
    width = len(points) / MOST_POINTS
    return tuple(
        max(points[round(n * width) : max(round((n + 1) * width), round(n * width) + 1)], key=lambda p: p.age_ms)
        for n in range(MOST_POINTS)
    )


def _seconds(ms: float) -> str:
    return f"{ms / 1000:.2f} s"
