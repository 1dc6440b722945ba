"""Where a shedder may stand over records of Kafka before their values are read.

::

    Shed(Watermark(ts, Scan))   ->   Watermark(ts, Shed(Scan))

A record that goes then costs neither parsing nor what is above. It may where nothing of the value decides: by the place of
the record, or by columns that hold its key and the like. Records that go do not move event time then, unless that is
the record's own time.
"""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.dsl.records import replace
from streamq.stdlib.kafka_columns import VALUE, parts_of


def shed_unread(node: lg.Shed) -> lg.Logical:
    """The shedder as low as it can stand; itself where it must see what is in the rows, or whose source has no values to read."""
    scan = next((n for n in walk(node) if isinstance(n, lg.Scan)), None)
    if scan is None or not may_stand_unread(node, scan.source):
        return node
    return _lowered(node, node.input, unparsed_columns(scan.source))


def may_stand_unread(node: lg.Shed, source: lg.SourceDecl) -> bool:
    """True where nothing of a record's value says whether it goes."""
    plain = not node.spared and node.rank is None and node.sift is None and node.window_ms is None
    return source.connector == "kafka" and plain and set(node.keys) <= unparsed_columns(source)


def unparsed_columns(source: lg.SourceDecl) -> frozenset[str]:
    """The columns that are parts of a record, other than its value."""
    parts = parts_of(dict(source.options), [f.name for f in source.fields])
    return frozenset(name for name, part in parts.items() if part != VALUE)


def _lowered(shed: lg.Shed, below: lg.Logical, own: frozenset[str]) -> lg.Logical:
    match below:
        case lg.Watermark(input=lg.Scan()) if below.column in own:
            return replace(shed, input=below, unread=True)
        case lg.Watermark() | lg.Project():
            return with_inputs(below, (_lowered(shed, below.inputs[0], own),))
        case _:
            return replace(shed, input=below, unread=True)
