"""All functions of the language, by their upper-case names, aliases included."""

from __future__ import annotations

from streamq.stdlib.functions import (
    aggregates,
    collections,
    conditions,
    hashes_json,
    numbers,
    quality,
    sketches,
    strings,
    times,
)
from streamq.stdlib.registry import FunctionSpec

FUNCTIONS: dict[str, FunctionSpec] = {
    **strings.FUNCTIONS,
    **numbers.FUNCTIONS,
    **times.FUNCTIONS,
    **conditions.FUNCTIONS,
    **collections.FUNCTIONS,
    **hashes_json.FUNCTIONS,
    **aggregates.FUNCTIONS,
    **quality.FUNCTIONS,
    **sketches.FUNCTIONS,
}
"""Name to declaration. A name belongs to one category; a test holds that."""


def lookup(name: str) -> FunctionSpec | None:
    """The function of a name in any case, or None."""
    return FUNCTIONS.get(name.upper())
