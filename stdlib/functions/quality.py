"""How good a result is, row by row. Without shedding 1.0 and 0."""

from __future__ import annotations

from streamq.stdlib.functions.declare import Category

_c = Category("quality")

_c.quality("COMPLETENESS", "DOUBLE", "Weight of the rows kept, as a share of those that arrived.")
_c.quality(
    "SOURCE_COVERAGE", "DOUBLE", "The share of the query's input that was kept, as known when the micro-batch began."
)
_c.quality("KEPT", "BIGINT", "How many rows the result rests on.")
_c.quality("SHED", "BIGINT", "About how many rows are missing from it, as an estimate.")
_c.quality("LATE", "BIGINT", "How many rows came after the watermark and were left out.")

FUNCTIONS = _c.build()
