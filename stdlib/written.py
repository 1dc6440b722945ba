"""How values are written where their readers see text: times with all their digits, rows with all their fields."""

from __future__ import annotations

from streamq.stdlib.registry import OptionSpec

TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"
"""Spark by itself writes milliseconds, and so would lose what a TIMESTAMP holds beyond them."""

JSON_OPTIONS = {"timestampFormat": TIME_FORMAT, "ignoreNullFields": "false"}
"""What Spark is told where it writes or reads JSON that StreamQ passes on."""

TIME_OUT = OptionSpec(
    name="timestamp_format",
    default=TIME_FORMAT,
    doc="csv, json: how a TIMESTAMP is written: 'yyyy-MM-dd HH:mm:ss'; with all its digits unless said.",
)
"""The option of sinks."""
