"""The scalar functions of the language in Python, by name, aliases included."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from streamq.runtime.reference.functions import (
    bits,
    collections,
    conditions,
    csv_texts,
    encodings,
    formats,
    hashes,
    json_texts,
    numbers,
    patterns,
    sketches,
    strings,
    times,
)
from streamq.runtime.reference.functions.declare import Maker

SCALARS: dict[str, Maker] = {
    **strings.MAKERS,
    **patterns.MAKERS,
    **encodings.MAKERS,
    **numbers.MAKERS,
    **bits.MAKERS,
    **formats.MAKERS,
    **times.MAKERS,
    **conditions.MAKERS,
    **collections.MAKERS,
    **hashes.MAKERS,
    **json_texts.MAKERS,
    **csv_texts.MAKERS,
    **sketches.MAKERS,
}
"""Name to what makes the function of a call."""

SEES_NULL = frozenset({"LOCATE", "POSITION"})
"""Functions that are called with NULL arguments although they are not declared ``null_safe``."""

_NOW = "its value is the time of the run"
_SKETCH = "the bytes of a sketch are its implementation's own"

UNSUPPORTED: Mapping[str, str] = MappingProxyType(
    {
        "CURRENT_TIMESTAMP": _NOW,
        "NOW": _NOW,
        "CURRENT_DATE": _NOW,
        "CURDATE": _NOW,
        "SENTENCES": "where sentences and words end is a table of the Java runtime",
        "HISTOGRAM_NUMERIC": "its bins depend on the order in which values are merged",
        "HLL_SKETCH_AGG": _SKETCH,
        "HLL_UNION_AGG": _SKETCH,
        "HLL_SKETCH_ESTIMATE": _SKETCH,
        "KLL_SKETCH_AGG": _SKETCH,
        "KLL_SKETCH_QUANTILE": _SKETCH,
        "COUNT_MIN_SKETCH": _SKETCH,
    }
)
"""Functions that the reference does not compute, scalar ones and aggregates, with the reason."""
