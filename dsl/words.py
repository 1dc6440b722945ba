"""The words of the language: which are reserved, which need a certain word after them, and units.

Keywords are contextual: a word is a keyword only where the grammar can take it. The tables here
hold the exceptions.
"""

from __future__ import annotations

RESERVED = frozenset(
    """
    SELECT FROM WHERE GROUP HAVING ORDER BY LIMIT UNION EXCEPT INTERSECT JOIN INNER LEFT RIGHT FULL
    CROSS ON USING AND OR NOT AS CASE WHEN THEN ELSE END CREATE INSERT INTO IN IS NULL TRUE FALSE
    BETWEEN LIKE RLIKE DISTINCT CAST EXISTS WITH QOS SHED RECOVER
    """.split()
)
"""Words that are a name only in quotes (or after a dot, or as the key of an option)."""

CALLABLE = frozenset({"SHED", "LEFT", "RIGHT"})
"""Reserved words that are also functions: they are names where ``(`` follows."""

FOLLOWED_BY: dict[str, frozenset[str]] = {
    "APPROX": frozenset({"DISTINCT"}),
    "CONFIDENCE": frozenset({"NUMBER"}),
    "DATE": frozenset({"STRING"}),
    "DSTREAM": frozenset({"("}),
    "FILTER": frozenset({"("}),
    "INTERVAL": frozenset({"STRING", "NUMBER", "DURATION", "-"}),
    "ISTREAM": frozenset({"("}),
    "MEMORY": frozenset({"NUMBER"}),
    "METHOD": frozenset({"NAME"}),
    "PRIMARY": frozenset({"KEY"}),
    "RSTREAM": frozenset({"("}),
    "SAMPLE": frozenset({"NUMBER"}),
    "TABLE": frozenset({"NAME"}),
    "TIMESTAMP": frozenset({"STRING"}),
    "WATERMARK": frozenset({"FOR"}),
    "WITHIN": frozenset({"FP", "NUMBER"}),
}
"""Keywords that are names unless one of these comes next, where a name could stand as well."""

MEMORY_UNITS: dict[str, int] = {"BYTES": 1, "KB": 1 << 10, "MB": 1 << 20}
"""Units of memory in bytes, the least one first."""

UNITS: dict[str, int] = {
    "MILLISECOND": 1,
    "MILLISECONDS": 1,
    "MS": 1,
    "SECOND": 1_000,
    "SECONDS": 1_000,
    "S": 1_000,
    "MINUTE": 60_000,
    "MINUTES": 60_000,
    "M": 60_000,
    "HOUR": 3_600_000,
    "HOURS": 3_600_000,
    "H": 3_600_000,
    "DAY": 86_400_000,
    "DAYS": 86_400_000,
    "D": 86_400_000,
    "WEEK": 604_800_000,
    "WEEKS": 604_800_000,
    "W": 604_800_000,
}
"""Units of time in milliseconds."""

UNITS_MEANT: dict[str, str] = {
    "MSEC": "MILLISECOND",
    "MSECS": "MILLISECONDS",
    "MILLI": "MILLISECOND",
    "MILLIS": "MILLISECONDS",
    "SEC": "SECOND",
    "SECS": "SECONDS",
    "MIN": "MINUTE",
    "MINS": "MINUTES",
    "HR": "HOUR",
    "HRS": "HOURS",
    "WK": "WEEK",
    "WKS": "WEEKS",
}
"""Short forms of other languages, which are no units here, and the units that they mean."""
