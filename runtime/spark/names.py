"""Quoting of column and view names in Spark SQL text."""

from __future__ import annotations


def quoted(name: str) -> str:
    """A name in backticks, whatever it holds."""
    return "`" + name.replace("`", "``") + "`"
