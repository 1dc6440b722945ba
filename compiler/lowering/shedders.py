"""Shedders: which rows are kept is a test of the hash of a row, whose numbers are data in the control relation."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.goals import Goal, Selects, Sift, control_view, dropped_view
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.lowering import sifting
from streamq.compiler.lowering.sql import quote, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.dsl.records import replace
from streamq.stdlib.overload.hash_steps import HASH_BITS, HASH_MASK, HASH_STEPS
from streamq.stdlib.overload.steps import MOST

KEEP, NUMBERS, RANK, SAMPLED, STANDS_FOR = "__keep", "__numbers", "__rank", "__sampled", "__stands_for"
GOLDEN = 648_055
"""2**20 over the golden ratio, as an odd number, so that all places are taken."""
HASH_SEED = 42


def lower_shed(node: lg.Shed, below: Lowered, context: LowerContext) -> Lowered:
    """Keeps a row where its hash lies under the query's threshold.

    The threshold is a number in the control relation, read once per micro-batch; the plan never changes. Where rows
    have a rank, one above the number ``cut`` is kept, and the hash decides among those that have just that.
    """
    control = control_of(node, context)
    step_id = context.step_id(node, "shed")
    name = f"{step_id}@{context.query}"
    step: ph.Step
    if node.spared:
        counts: tuple[ph.Named, ...] = (("arrived", "count(1)"), ("spared", "count(1)"))
        return below.over(ph.Observe(below.step, name, counts, id=step_id, origin=node.origin), below.names)
    # Spark interprets what is observed row by row: an expression there costs more than the test itself.
    if context.lone and node.rank is None and node.sift is None and node.window_ms is None:
        time = node.time if node.time in below.names and node.time not in node.keys else None
        test = _test(node, control, time)
        kept = ph.Where(below.step, test, id=step_id, origin=node.origin)
        step = ph.Observe(kept, name, ((_kept(node), "count(1)"),), id=step_id, origin=node.origin)
    else:
        marked, counts = _marked(node, below, control, step_id)
        observed = ph.Observe(marked, name, counts, id=step_id, origin=node.origin)
        step = ph.Where(observed, quote(KEEP), id=step_id, origin=node.origin)
    weight = f"{HASH_STEPS}D / {_threshold(control)}" if node.sift is None else quote(STANDS_FOR)
    weights = ((node.weight, weight),) if node.weight else ()
    names = _visible(below)
    plain = ph.Select(step, (*below.passed(names), *weights), id=step_id, origin=node.origin)
    return below.over(plain, (*names, *(name for name, _ in weights)))


def dropped_rows(node: lg.Shed, below: Lowered, context: LowerContext) -> ph.Dropped:
    """What the shedder lets go of ``below``, the same rows with all their columns."""
    control = replace(control_of(node, context), view=dropped_view(node.query))
    step_id = context.step_id(node, "dropped")
    marked, _ = _marked(node, below, control, step_id)
    gone = ph.Where(marked, f"NOT {quote(KEEP)}", id=step_id, origin=node.origin)
    items = tuple((n, quote(n)) for n in _visible(below))
    return ph.Dropped(_stream(node), ph.Select(gone, items, id=step_id, origin=node.origin), control)


def _stream(node: lg.Shed) -> str:
    return next(n.source.name for n in walk(node) if isinstance(n, lg.Scan))


def _visible(below: Lowered) -> tuple[str, ...]:
    return tuple(n for n in below.names if n != lg.ROW)


def _marked(
    node: lg.Shed, below: Lowered, control: ph.ControlRelation, step_id: str
) -> tuple[ph.Select, tuple[ph.Named, ...]]:
    """The rows, with whether each is kept, and what is counted of them."""
    counts: tuple[ph.Named, ...] = (
        ("arrived", "count(1)"), (_kept(node), f"count_if({quote(KEEP)})")
    )
    if node.sift is not None:
        return _sifted(node, node.sift, below, control, step_id), (*counts, ("sample_of_rows", f"collect_list({quote(SAMPLED)})"))
    if node.rank is None:
        step = below.step
        if _in_steps(control):
            counts += (("newest", f"max(unix_micros({quote(node.time)}))"),)
            read = f"(SELECT steps FROM {quote(control.view)})"
            step = ph.Select(step, (*below.passed(below.names), (NUMBERS, read)), id=step_id, origin=node.origin)
        items = (*below.passed(_visible(below)), (KEEP, _test(node, control)))
        return ph.Select(step, items, id=step_id, origin=node.origin), counts
    counts += (("ranks", f"collect_list({quote(SAMPLED)})"),)
    if node.rank.older_ms is not None:
        counts += (("newest", f"max(unix_micros({quote(node.time)}))"),)
    return _ranked(node, below, _hash(node), control, step_id), counts


def _kept(node: lg.Shed) -> str:
    """What those are called that are kept: of records whose values nobody has read, some may be no rows."""
    return "drawn" if node.unread else "kept"


def _hash(node: lg.Shed) -> str:
    return f"xxhash64({', '.join(map(quote, node.keys or (lg.ROW,)))}, {HASH_SEED})"


def _test(node: lg.Shed, control: ph.ControlRelation, time: str | None = None) -> str:
    """Whether a row is kept, where all rows are alike.

    Spark moves a test below the watermark, which would then stand still where nothing is kept, unless it reads the
    ``time``; so it does, to no effect.
    """
    # A row without time is in no window, and none loses it.
    low = f"({_hash(node)} & {HASH_MASK}L)" if node.window_ms is None else f"coalesce({_place_of_window(node)}, -1L)"
    if time is not None:
        low = f"({low} | xxhash64({quote(time)}) & 0L)"
    steps = _in_steps(control)
    read = _threshold_of_window(node) if steps else _threshold(control)
    return f"{low} < {read}"


def _threshold(control: ph.ControlRelation) -> str:
    """The number below which a row's hash has to lie."""
    asked = f"SELECT threshold FROM {quote(control.view)}"
    if not control.may_be_empty:
        return f"({asked})"
    # With a filter it is asked anew whenever a micro-batch is planned, and so may be empty then (``PlannedReader``).
    return f"coalesce(({asked} WHERE threshold >= 0), {HASH_STEPS}L)"


def _in_steps(control: ph.ControlRelation) -> bool:
    return control.goal is not None and control.goal.window_ms is not None


def _place_of_window(node: lg.Shed) -> str:
    """A number below 2**20 for the window of a row, by which kept windows lie evenly among those that go."""
    return _evenly(f"({_start_of_window(node)} div {node.window_ms}000L)")


def _evenly(number: str) -> str:
    """A number below 2**20 for the place of something, by which what is kept lies evenly among what goes.

    Multiples of the golden ratio, without their whole part, are spread as evenly as can be, however many there are.
    """
    return f"((({number} & {HASH_MASK}L) * {GOLDEN}L) & {HASH_MASK}L)"


def _start_of_window(node: lg.Shed) -> str:
    micros = f"unix_micros({quote(node.time)})"
    return f"({micros} - pmod({micros}, {node.window_ms}000L))"


def _threshold_of_window(node: lg.Shed) -> str:
    """The threshold of the last step that begins at the window of a row, or before it."""
    steps = quote(NUMBERS)
    start = _start_of_window(node)
    cases = (f"WHEN {start} >= get({steps}, {i}).since THEN get({steps}, {i}).threshold" for i in range(MOST - 1, -1, -1))
    return f"CASE {' '.join(cases)} ELSE get({steps}, 0).threshold END"


def _ranked(
    node: lg.Shed, below: Lowered, hashed: str, control: ph.ControlRelation, step_id: str
) -> ph.Select:
    """The rows, whether each is kept, and the ranks of the few that are looked at to learn what there is."""
    assert node.rank is not None
    passed, numbers = below.passed(below.names), quote(NUMBERS)
    read = f"(SELECT struct(threshold, cut, `at`, `sample`, newest) FROM {quote(control.view)})"
    step = ph.Select(below.step, (*passed, (NUMBERS, read)), id=step_id, origin=node.origin)
    if node.rank.utility is not None:
        worth = to_sql(node.rank.utility, frozenset(below.names))
        rank = f"coalesce(nanvl(CAST({worth} AS DOUBLE), 0D), 0D)"
    else:
        time = quote(node.time)
        rank = f"IF(unix_micros({time}) < {numbers}.newest - {node.rank.older_ms}000L, 0D, 1D)"
    ranked = ph.Select(
        step, (*passed, (NUMBERS, numbers), (RANK, rank)), id=step_id, origin=node.origin
    )
    own, low = quote(RANK), f"({hashed} & {HASH_MASK}L)"
    keep = (
        f"CASE WHEN {numbers}.cut IS NULL THEN {low} < {numbers}.threshold "
        f"ELSE {own} > {numbers}.cut OR ({own} = {numbers}.cut AND {low} < {numbers}.`at`) END"
    )
    # Other bits of the hash, so that rows are looked at whether they are kept or not.
    other = f"(shiftright({hashed}, {HASH_BITS}) & {HASH_MASK}L)"
    # As long as the newest time is not known no row is old, which is nothing to learn from.
    known = "" if node.rank.older_ms is None else f" AND {numbers}.newest IS NOT NULL"
    sampled = f"IF({other} < {numbers}.`sample`{known}, {own}, NULL)"
    return ph.Select(
        ranked, (*passed, (KEEP, keep), (SAMPLED, sampled)), id=step_id, origin=node.origin
    )


def _sifted(
    node: lg.Shed, sift: Sift, below: Lowered, control: ph.ControlRelation, step_id: str
) -> ph.Select:
    """The rows, whether each is kept, for how many it stands, and the attributes of the few that are looked at."""
    passed, read = below.passed(below.names), quote(NUMBERS)
    step = ph.Select(below.step, (*passed, (NUMBERS, sifting.numbers(sift, control))), id=step_id, origin=node.origin)
    placed = ph.Select(
        step, (*passed, (NUMBERS, read), (sifting.CELL, sifting.cell(sift, read))),
        id=step_id, origin=node.origin,
    )
    low = _evenly(quote(lg.ROW)) if sift.plan.counted else f"({_hash(node)} & {HASH_MASK}L)"
    attributes = ", ".join(
        f"CAST({quote(name)} AS {'STRING' if text else 'DOUBLE'}) AS a{place}"
        for place, (name, text) in enumerate(zip(sift.attributes, sift.text, strict=True))
    )
    # Those that are looked at are the first to be kept, so that each row has one chance to be, wherever it lies.
    items = [(KEEP, sifting.kept(read, low)), (SAMPLED, f"IF({low} < {read}.`sample`, struct({attributes}), NULL)")]
    if node.weight:
        items.append((STANDS_FOR, sifting.weight(read, HASH_STEPS)))
    return ph.Select(placed, (*passed, *items), id=step_id, origin=node.origin)


def share_of(selects: Selects, context: LowerContext) -> str:
    """SQL of the share of the other window with which rows are compared, 0 to 1."""
    return f"{_threshold(_control(selects.query, selects.goal, context))} / {HASH_STEPS}D"


def control_of(node: lg.Shed, context: LowerContext) -> ph.ControlRelation:
    """The control relation of the query, made on first use."""
    control = _control(node.query, node.goal, context)
    if node.spared and _stream(node) not in control.spared:
        context.controls[node.query] = replace(control, spared=(*control.spared, _stream(node)))
    if node.sift is not None and control.sift is None:
        context.controls[node.query] = replace(control, goal=node.goal, sift=node.sift, may_be_empty=False)
    return context.controls[node.query]


def _control(query: str, goal: Goal, context: LowerContext) -> ph.ControlRelation:
    if query not in context.controls:
        keep = 1.0 - (goal.percent or 0.0) / 100.0
        context.controls[query] = ph.ControlRelation(
            view=control_view(query), query=query,
            knobs=(ph.Knob("keep", keep, 0.0, 1.0),), goal=goal if goal.steered else None,
            may_be_empty=goal.steered and not (goal.ranked or goal.window_ms or context.asks_control),
        )
    return context.controls[query]
