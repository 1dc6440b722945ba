"""What a paper says, and whether it came out."""

from __future__ import annotations


def said(holds: bool, statement: str) -> bool:
    """Prints a statement with its outcome, and gives that."""
    print(f"  {'yes' if holds else 'NO '}  {statement}")
    return holds
