"""Searches for inputs that the compiler, the formatter or a run cannot take: ``python -m tests.fuzz.programs``."""

from __future__ import annotations
