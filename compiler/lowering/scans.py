"""Sources: scans with only the columns that are read, malformed rows counted, and shedders."""

from __future__ import annotations

from streamq.compiler.ir import logical as lg
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.goals import control_view
from streamq.compiler.ir.rewrite import walk
from streamq.compiler.lowering.sql import quote, spark_type, to_sql
from streamq.compiler.lowering.state import LowerContext, Lowered

CORRUPT = "__corrupt"
KEEP, NUMBERS, RANK, SAMPLED = "__keep", "__numbers", "__rank", "__sampled"
HASH_BITS = 20
HASH_MASK = (1 << HASH_BITS) - 1
GOLDEN = 648_055
"""2**20 over the golden ratio, as an odd number, so that all places are taken."""
HASH_SEED = 42


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
    if counts and not names:
        names = {source.fields[0].name}
    schema = tuple(
        (f.name, spark_type(f.type)) for f in source.fields if whole or f.name in names
    )
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
    items = tuple((n, quote(n)) for n in wanted)
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


def lower_shed(node: lg.Shed, below: Lowered, context: LowerContext) -> Lowered:
    """Keeps a row where a hash of its columns lies under the query's threshold.

    The threshold is a number in the control relation, read once per micro-batch; the plan never changes. Where rows
    have a rank, one above the number ``cut`` is kept, and the hash decides among those that have just that.
    """
    control = control_of(node, context)
    hashed = f"xxhash64({', '.join(quote(k) for k in node.keys)}, {HASH_SEED})"
    low = f"({hashed} & {HASH_MASK}L)" if node.window_ms is None else _place_of_window(node)
    step_id = context.step_id(node, "shed")
    counts: tuple[ph.Named, ...] = (
        ("arrived", "count(1)"), ("kept", f"count_if({quote(KEEP)})")
    )
    if node.rank is None:
        test = f"{low} < (SELECT first(threshold) FROM {quote(control.view)})"
        marked = ph.Select(
            below.step, (*below.passed(below.names), (KEEP, test)), id=step_id, origin=node.origin
        )
    else:
        marked = _ranked(node, below, hashed, control, step_id)
        counts += (("ranks", f"collect_list({quote(SAMPLED)})"),)
        if node.rank.older_ms is not None:
            counts += (("newest", f"max(unix_micros({quote(node.time)}))"),)
    observed = ph.Observe(marked, f"{step_id}@{context.query}", counts, id=step_id,
                          origin=node.origin)
    kept = ph.Where(observed, quote(KEEP), id=step_id, origin=node.origin)
    weight = f"{1 << HASH_BITS}D / (SELECT first(threshold) FROM {quote(control.view)})"
    weights = ((node.weight, weight),) if node.weight else ()
    names = (*below.names, *(name for name, _ in weights))
    plain = ph.Select(
        kept, (*below.passed(below.names), *weights), id=step_id, origin=node.origin
    )
    return below.over(plain, names)


def _place_of_window(node: lg.Shed) -> str:
    """A number below 2**20 for the window of a row, by which kept windows lie evenly among those that go.

    Multiples of the golden ratio, without their whole part, are spread as evenly as can be, however many there are.
    """
    time = quote(node.time)
    micros, length = f"unix_micros({time})", f"{node.window_ms}000L"
    number = f"(({micros} - pmod({micros}, {length})) div {length})"
    return f"pmod({number} * {GOLDEN}L, {1 << HASH_BITS}L)"


def _ranked(
    node: lg.Shed, below: Lowered, hashed: str, control: ph.ControlRelation, step_id: str
) -> ph.Select:
    """The rows, whether each is kept, and the ranks of the few that are looked at to learn what there is."""
    assert node.rank is not None
    passed, numbers = below.passed(below.names), quote(NUMBERS)
    read = f"(SELECT first(struct(threshold, cut, `at`, `sample`, newest)) FROM {quote(control.view)})"
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
        )
    return context.controls[node.query]
