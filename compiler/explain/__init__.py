"""Plans for people: every stage as text, JSON or a chart, and as a PySpark program."""

from __future__ import annotations

from streamq.compiler.explain.render import ExplainUnavailable, render, render_shedding

__all__ = ["ExplainUnavailable", "render", "render_shedding"]
