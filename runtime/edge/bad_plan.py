"""What is raised of a plan that an edge cannot go by."""

from __future__ import annotations


class BadPlan(ValueError):
    """A plan that cannot be: says what is wrong in a sentence."""
