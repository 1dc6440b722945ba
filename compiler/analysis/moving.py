"""Which queries have relations that gain and lose rows at any instant, so that they run on changes (ADR 0008)."""

from __future__ import annotations

from collections.abc import Iterator

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir.expr import Column, Op, columns_of, conjuncts
from streamq.compiler.ir.rewrite import walk
from streamq.dsl.ast import R2S, JoinKind

MOVES = (lg.Change.MOVING, lg.Change.UPDATE)


def runs_on_changes(root: lg.Logical) -> bool:
    """True where the result, or something that an operator below has to look into, moves.

    Below a window over the result of another query a new plan begins: it takes the rows of that result as a stream.
    """
    if root.change is lg.Change.MOVING or any(needs_changes(n) for n in _above_results(root)):
        return True
    return root.change is lg.Change.UPDATE and not _updates(root)


def frames_a_result(node: lg.Logical) -> bool:
    """True for windows of Spark's own over a stream that is made here: rows of a query, or stamped with its instants."""
    if not isinstance(node, lg.Window) or not isinstance(node.spec, lg.Sliding | lg.Session):
        return False
    return node.input.event_time is None or runs_on_changes(node.input)


def read_in_order(root: lg.Logical) -> frozenset[int]:
    """The identities of the watermarks below which each row is late by its own stamp, and not by its window's end."""
    found: set[int] = set()
    seen: set[tuple[int, bool]] = set()
    stack = [(root, runs_on_changes(root))]
    while stack:
        node, on_changes = stack.pop()
        if on_changes and node.change is lg.Change.FINAL:
            on_changes = runs_on_changes(node)
        if (id(node), on_changes) not in seen:
            seen.add((id(node), on_changes))
            if on_changes and isinstance(node, lg.Watermark):
                found.add(id(node))
            below = on_changes or frames_a_result(node)
            stack.extend((input_, below) for input_ in node.inputs)
    return frozenset(found)


def _above_results(root: lg.Logical) -> Iterator[lg.Logical]:
    """The operators down to the windows over results, each once."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            if not frames_a_result(node):
                stack.extend(node.inputs)


def _updates(root: lg.Logical) -> bool:
    """False where rows that replace each other rest on results that Spark gives only once, at the end."""
    live = [n for n in walk(root) if n.change is not lg.Change.STATIC]
    grouped = [
        n for n in live
        if isinstance(n, lg.Aggregate | lg.Sort) or frames_a_result(n)
        or (isinstance(n, lg.Distinct) and n.window is not None)
        or (isinstance(n, lg.Window) and isinstance(n.spec, lg.LastRows))
    ]
    outer = [
        n for n in live
        if isinstance(n, lg.Join) and n.kind not in (JoinKind.INNER, JoinKind.CROSS)
        and all(i.change is not lg.Change.STATIC for i in n.inputs)
    ]
    return len(grouped) < 2 and not outer


def needs_changes(node: lg.Logical) -> bool:
    """True for an operator that Spark's own cannot stand for: it has to see what comes and goes below it."""
    match node:
        case lg.Project() | lg.Scan() | lg.Watermark() | lg.Shed():  # most operators, and asked of all
            return False
        case lg.Window(spec=spec) if node.input.event_time is None:
            return not isinstance(spec, lg.Unbounded | lg.Sliding | lg.Session)
        case lg.Window(spec=lg.LastRows(rows=1, slide=None, range_ms=None)):
            return False
        case lg.Window(spec=lg.LastRows()):
            return True
        case lg.Distinct() if node.approx is not None:
            return True
        case lg.Aggregate() | lg.Distinct() | lg.Sort():
            return node.input.change in MOVES
        case lg.Filter():
            return node.change is lg.Change.UPDATE
        case lg.ToStream(op=R2S.DSTREAM) | lg.Compare():
            return True
        case lg.ToStream(op=R2S.ISTREAM):
            return node.input.change in (lg.Change.FINAL, lg.Change.UPDATE)
        case lg.ToStream():
            return node.input.change is lg.Change.UPDATE
        case lg.Join():
            return _joins_changes(node)
        case lg.Union():
            changes = {b.change for b in node.branches}
            mixed = len(changes - {lg.Change.STATIC}) > 1
            return mixed or (changes == {lg.Change.FINAL} and node.window is None)
        case _:
            return False


def _joins_changes(node: lg.Join) -> bool:
    if node.selects is not None:
        return True
    left, right = node.left.change, node.right.change
    if lg.Change.UPDATE in (left, right):
        return True
    if lg.Change.STATIC in (left, right):
        return False
    if lg.Change.FINAL in (left, right):
        return node.left.window != node.right.window or left is not right
    ranged = all(isinstance(i.window, lg.TimeRange) for i in node.inputs)
    outer = node.kind not in (JoinKind.INNER, JoinKind.CROSS)
    if any(None in stamps_of(i) for i in node.inputs):
        return True
    # Spark tells a row of an outer join once, at the end, and a row without a counterpart may have had none before.
    return not key_pairs(node) or (outer and (node.anti or not ranged))


def stamps_of(node: lg.Logical) -> tuple[str | None, ...]:
    """The columns with the event times of the rows that ``[RANGE t]`` and ``[NOW]`` hold; None: it was not selected.

    Spark's join of streams bounds the distance of such rows by these columns.
    """
    match node:
        case lg.Window(spec=lg.TimeRange() | lg.Now()):
            return (node.input.event_time,)
        case lg.Filter():
            return stamps_of(node.input)
        case lg.Project():
            named = {e.name: n for n, e in reversed(node.items) if isinstance(e, Column)}
            return tuple(None if t is None else named.get(t) for t in stamps_of(node.input))
        case lg.Join():
            return tuple(t for i in node.inputs for t in stamps_of(i))
        case _:
            return ()


def key_pairs(node: lg.Join) -> tuple[Op, ...]:
    """The conditions ``a = b`` with a of one side and b of the other."""
    left = {f.name for f in node.left.schema}
    right = {f.name for f in node.right.schema}
    found = []
    for part in conjuncts(node.condition):
        if isinstance(part, Op) and part.op == "=":
            a, b = (columns_of(arg) for arg in part.args)
            if a and b and ((a <= left and b <= right) or (a <= right and b <= left)):
                found.append(part)
    return tuple(found)
