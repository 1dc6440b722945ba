"""Sources: scans with only the columns that are read, malformed rows counted, and shedders."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.expr import Column
from streamq.compiler.ir.goals import control_view, dropped_view
from streamq.compiler.ir.rewrite import walk, with_inputs
from streamq.compiler.lowering.sql import quote, spark_type, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered
from streamq.dsl.records import replace
from streamq.dsl.types import BIGINT
from streamq.stdlib.overload.steps import MOST

CORRUPT = "__corrupt"
KEEP, NUMBERS, RANK, SAMPLED = "__keep", "__numbers", "__rank", "__sampled"
HASH_BITS = 20
HASH_MASK = (1 << HASH_BITS) - 1
GOLDEN = 648_055
"""2**20 over the golden ratio, as an odd number, so that all places are taken."""
HASH_SEED = 42
ROW_OF_FILE = "xxhash64(_metadata.file_name, _metadata.file_size, _metadata.row_index)"
"""Spark has all of them without looking into a row."""


def lower_scan(node: lg.Scan, wanted: tuple[str, ...], context: LowerContext) -> Lowered:
    """A scan of the wanted columns.

    CSV rows are positional, so a CSV scan asks for the whole declared schema. Rows that cannot be parsed, that
    have no event time or NULL in a NOT NULL column are malformed: counted and left out. Rows of a table
    are not counted, nor are Parquet rows without event time: a count costs a third of such a scan.
    """
    source = node.source
    options = dict(source.options)
    checked = source.connector == "file"
    text = checked and not source.is_table and options.get("format") in ("json", "csv")
    required = {f.name for f in source.fields if not f.nullable}
    if source.event_time is not None and text:
        required |= {f.name for f in source.fields if f.name == source.event_time}
    counts = text and options.get("on_error") != "fail"
    whole = options.get("format") == "csv"
    names = set(wanted) | (required if checked else set())
    if (counts or lg.ROW in names) and names <= {lg.ROW}:
        names.add(source.fields[0].name)
    schema = tuple(
        (f.name, spark_type(f.type)) for f in source.fields if whole or f.name in names
    )
    if lg.ROW in wanted and source.connector == "nexmark":
        schema = (*schema, (lg.ROW, "BIGINT"))
    step_id = context.step_id(node, "scan")
    if source.is_table:
        table = ph.ScanTable(
            table=source.name, connector=source.connector, schema=schema, options=source.options,
            id=step_id, origin=node.origin,
        )
        kept: ph.Step = table
        if checked and required:
            test = " AND ".join(f"{quote(n)} IS NOT NULL" for n in sorted(required))
            kept = ph.Where(table, test, id=f"{source.name}.well_formed", origin=node.origin)
        return Lowered(_narrow(kept, schema, wanted, node, context), wanted)
    scan = ph.ScanStream(
        stream=source.name, connector=source.connector, schema=schema, options=source.options,
        corrupt_column=CORRUPT if counts else None, id=step_id, origin=node.origin,
    )
    missing = [f"{quote(n)} IS NULL" for n in sorted(required)] if checked else []
    step: ph.Step = scan
    if counts or missing:
        step = _drop_malformed(scan, counts, missing, node, context)
    return Lowered(_narrow(step, schema, wanted, node, context, bool(counts)), wanted)


def gives_event_time(node: lg.Watermark) -> bool:
    """True where every row of the source has an event time when it comes to the watermark."""
    source = next((n.source for n in walk(node) if isinstance(n, lg.Scan)), None)
    if source is None:
        return False
    text = source.connector == "file" and dict(source.options).get("format") in ("json", "csv")
    own = any(f.name == node.column for f in source.fields)
    return own and (text or source.connector in ("nexmark", "rate"))


def _narrow(
    step: ph.Step, schema: tuple[ph.Named, ...], wanted: tuple[str, ...], node: lg.Scan,
    context: LowerContext, extra: bool = False,
) -> ph.Step:
    if not extra and tuple(n for n, _ in schema) == wanted:
        return step
    made = frozenset(n for n, _ in schema)
    items = tuple((n, ROW_OF_FILE if n == lg.ROW and n not in made else quote(n)) for n in wanted)
    return ph.Select(step, items, id=context.step_id(node, "columns"), origin=node.origin)


def _drop_malformed(
    step: ph.ScanStream, corrupt: bool, missing: list[str], node: lg.Scan, context: LowerContext
) -> ph.Step:
    """Lets what is well-formed pass, and counts.

    A marker is NULL for a good row. It reads a column beside the malformed text, which Spark refuses to read alone.
    Spark interprets what is observed row by row, and an expression costs more than a row: where all that Spark
    says it read comes from this scan, the rows that pass are counted, and what is malformed is the rest. That takes a
    test that Spark does not move into the reader, where rows that fail would not even be counted as input: one of the
    malformed text together with other columns. A test of NULL alone is moved there, so it stands above the count.
    """
    marker = f"IF({' OR '.join(missing)}, '', {quote(CORRUPT) if corrupt else 'NULL'})"
    if corrupt and not missing:
        marker = f"coalesce({quote(CORRUPT)}, {_leaning(quote(CORRUPT), step)})"
    name, step_id = f"{context.step_id(node, 'intake')}@{context.query}", f"{node.source.name}.intake"
    good, test = f"{node.source.name}.well_formed", f"{marker} IS NULL"
    if context.lone and corrupt:
        passed = ph.Where(step, test, id=good, origin=node.origin)
        return ph.Observe(passed, name, (("well_formed", "count(1)"),), id=step_id, origin=node.origin)
    counts = (("malformed", f"count({marker})"),)
    observed = ph.Observe(step, name, counts, id=step_id, origin=node.origin)
    return ph.Where(observed, test, id=good, origin=node.origin)


def _leaning(text: str, step: ph.ScanStream) -> str:
    return f"IF({quote(step.schema[0][0])} IS NULL, NULL, {text})"


def with_rows(node: lg.Shed, stream: lg.Logical) -> lg.Logical:
    """The stream below a shedder, with the column ROW where the hash of that decides."""
    return stream if node.keys or node.window_ms is not None else _with_rows(stream)


def _with_rows(node: lg.Logical) -> lg.Logical:
    match node:
        case lg.Scan():
            return replace(node, rows=True)
        case lg.Project():
            item = (lg.ROW, Column(name=lg.ROW, type=BIGINT, nullable=False))
            return replace(node, input=_with_rows(node.input), items=(*node.items, item))
        case _:
            return with_inputs(node, tuple(_with_rows(i) for i in node.inputs))


def lower_shed(node: lg.Shed, below: Lowered, context: LowerContext) -> Lowered:
    """Keeps a row where its hash lies under the query's threshold.

    The threshold is a number in the control relation, read once per micro-batch; the plan never changes. Where rows
    have a rank, one above the number ``cut`` is kept, and the hash decides among those that have just that.
    """
    control = control_of(node, context)
    step_id = context.step_id(node, "shed")
    name = f"{step_id}@{context.query}"
    step: ph.Step
    # Spark interprets what is observed row by row: an expression there costs more than the test itself.
    if context.lone and node.rank is None and node.window_ms is None:
        time = node.time if node.time in below.names and node.time not in node.keys else None
        test = _test(node, control, time)
        kept = ph.Where(below.step, test, id=step_id, origin=node.origin)
        step = ph.Observe(kept, name, (("kept", "count(1)"),), id=step_id, origin=node.origin)
    else:
        marked, counts = _marked(node, below, control, step_id)
        observed = ph.Observe(marked, name, counts, id=step_id, origin=node.origin)
        step = ph.Where(observed, quote(KEEP), id=step_id, origin=node.origin)
    weight = f"{1 << HASH_BITS}D / {_threshold(control)}"
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
    stream = next(n.source.name for n in walk(node) if isinstance(n, lg.Scan))
    return ph.Dropped(stream, ph.Select(gone, items, id=step_id, origin=node.origin), control)


def _visible(below: Lowered) -> tuple[str, ...]:
    return tuple(n for n in below.names if n != lg.ROW)


def _marked(
    node: lg.Shed, below: Lowered, control: ph.ControlRelation, step_id: str
) -> tuple[ph.Select, tuple[ph.Named, ...]]:
    """The rows, with whether each is kept, and what is counted of them."""
    counts: tuple[ph.Named, ...] = (
        ("arrived", "count(1)"), ("kept", f"count_if({quote(KEEP)})")
    )
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
    return f"coalesce(({asked} WHERE threshold >= 0), {1 << HASH_BITS}L)"


def _in_steps(control: ph.ControlRelation) -> bool:
    return control.goal is not None and control.goal.window_ms is not None


def _place_of_window(node: lg.Shed) -> str:
    """A number below 2**20 for the window of a row, by which kept windows lie evenly among those that go.

    Multiples of the golden ratio, without their whole part, are spread as evenly as can be, however many there are.
    """
    number = f"({_start_of_window(node)} div {node.window_ms}000L)"
    return f"pmod({number} * {GOLDEN}L, {1 << HASH_BITS}L)"


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


def control_of(node: lg.Shed, context: LowerContext) -> ph.ControlRelation:
    """The control relation of the query, made on first use."""
    if node.query not in context.controls:
        goal = node.goal
        keep = 1.0 - (goal.percent or 0.0) / 100.0
        context.controls[node.query] = ph.ControlRelation(
            view=control_view(node.query), query=node.query,
            knobs=(ph.Knob("keep", keep, 0.0, 1.0),), goal=goal if goal.steered else None,
            may_be_empty=goal.steered and not (goal.ranked or goal.window_ms or context.asks_control),
        )
    return context.controls[node.query]
