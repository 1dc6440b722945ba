"""What an operator keeps from one micro-batch to the next, and until when."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.durations import show_ms
from streamq.dsl.ast import JoinKind
from streamq.dsl.records import dataclass
from streamq.stdlib.sketches.kinds import shown_size


@dataclass(frozen=True, slots=True)
class StateBound:
    """``keeps``: in the user's words; ``until``: when it is let go; ``bounded``: False if never."""

    keeps: str
    until: str
    bounded: bool = True

    def __str__(self) -> str:
        return f"keeps {self.keeps} {self.until}"


FOREVER = "forever"


def state_bound(node: lg.Logical) -> StateBound | None:
    """The operator's state, or None where it keeps nothing."""
    match node:
        case lg.Aggregate():
            rows = "one row per group" if node.keys else "one row"
            return _per_window(rows + kept_values(node), node.input, small=not node.keys)
        case lg.Distinct() if node.approx is not None:
            return StateBound(f"a filter of {shown_size(node.approx.memory)}", "for ever, of that size")
        case lg.Distinct():
            if node.window is None and node.event_time is not None:
                return StateBound("every different row", "until the watermark passes it")
            return _per_window("every different row", node.input)
        case lg.Sort():
            rows = "all rows" if node.limit is None else f"{node.limit} rows"
            return _per_window(rows, node.input, small=True)
        case lg.Window(spec=lg.LastRows() as spec):
            return _last_rows(spec)
        case lg.Compare():
            return StateBound("how often each row of both sides is there", "while it is there")
        case lg.Join():
            return _join(node)
        case _:
            return None


_OF_ALL_VALUES = frozenset(
    {"COLLECT_LIST", "ARRAY_AGG", "LISTAGG", "STRING_AGG", "MEDIAN", "PERCENTILE", "MODE"}
)


def kept_values(node: lg.Aggregate) -> str:
    """What stays beside the groups' rows where no window lets go of it."""
    if not isinstance(node.input.window, lg.Unbounded | None):
        return ""
    calls = [call for _, call in node.aggregates]
    if any(call.function in _OF_ALL_VALUES and not call.distinct for call in calls):
        return " and every value"
    different = any(call.distinct or call.function == "COLLECT_SET" for call in calls)
    return " and every different value" if different else ""


def _last_rows(spec: lg.LastRows) -> StateBound:
    rows = f"{spec.rows} row{'s' if spec.rows > 1 else ''}"
    if not spec.partition:
        return StateBound(rows, "until newer rows push them out")
    if spec.range_ms is not None:
        return StateBound(f"{rows} per key, and a count of its rows", FOREVER, bounded=False)
    return StateBound(f"{rows} per key", FOREVER, bounded=False)


_BOTH = "{} and the rows of its window"


def _per_window(keeps: str, below: lg.Logical, *, small: bool = False) -> StateBound | None:
    if below.change is lg.Change.STATIC:
        return None
    match below.window:
        case lg.Sliding():
            return StateBound(f"{keeps} and window", "until the watermark passes the window's end")
        case lg.Session(gap_ms=gap):
            return StateBound(
                f"{keeps} and session", f"until the watermark is {show_ms(gap)} past its last row"
            )
        case lg.TimeRange(range_ms=ms):
            return StateBound(_BOTH.format(keeps), f"until the watermark is {show_ms(ms)} past them")
        case lg.Now():
            return StateBound(_BOTH.format(keeps), "until the watermark passes them")
        case lg.LastRows():
            return StateBound(_BOTH.format(keeps), "until newer rows push them out")
        case _:
            return StateBound(keeps, FOREVER, bounded=small)


def _join(node: lg.Join) -> StateBound | None:
    if lg.Change.STATIC in (node.left.change, node.right.change):
        return None
    if isinstance(node.left.window, lg.Sliding) and isinstance(node.right.window, lg.Sliding):
        return StateBound("rows of both sides", "until the watermark passes the window's end")
    ranges = [_range_ms(i.window) for i in node.inputs]
    if all(r is not None for r in ranges):
        longest = max(r for r in ranges if r is not None)
        rows = "rows of both sides"
        if node.kind not in (JoinKind.INNER, JoinKind.CROSS):
            rows += ", matched or not,"
        return StateBound(rows, f"until the watermark is {show_ms(longest)} past them")
    return StateBound("rows of both sides", FOREVER, bounded=False)


def _range_ms(window: lg.WindowSpec | None) -> int | None:
    match window:
        case lg.TimeRange(range_ms=ms):
            return ms
        case lg.Now():
            return 0
        case _:
            return None
