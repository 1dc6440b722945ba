"""A program that changes while its state lives on: what a query's checkpoint holds, and whether it still fits."""

from __future__ import annotations

from streamq.compiler.evolution.compare import compare, same_work
from streamq.compiler.evolution.describe import is_named, shape_of, source_name, states_of
from streamq.compiler.evolution.shape import Shape, shape_from
from streamq.compiler.evolution.verdict import Reason, Verdict

__all__ = ["Reason", "Shape", "Verdict", "compare", "is_named", "same_work", "shape_from", "shape_of", "source_name", "states_of"]
