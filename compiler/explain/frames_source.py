"""The steps of a plan as the lines of a PySpark program: a frame for each, and the options of sources."""

from __future__ import annotations

import re

from streamq.compiler.explain.kafka_source import parse_lines, read_lines
from streamq.compiler.explain.script import Script, literal
from streamq.compiler.ir import physical as ph
from streamq.compiler.lowering.sql import quote
from streamq.stdlib.connector_specs import SPARK_OPTIONS, SPARK_UNITS
from streamq.stdlib.connectors import EVENT_TIME, find_connector
from streamq.stdlib.secrets import redacted, reference


def frame_of(step: ph.Step, script: Script) -> str:
    """Adds the lines of a step and gives the variable that holds its frame."""
    match step:
        case ph.ScanStream(connector="kafka"):
            return read_lines(step, script)
        case ph.Parse():
            return parse_lines(step, frame_of(step.input, script), script)
        case ph.ScanStream():
            return _scan(step, script)
        case ph.ScanTable():
            return _scan(step, script)
        case ph.Join():
            left, right = frame_of(step.left, script), frame_of(step.right, script)
            return script.frame(
                f"{left}.join({right}, F.expr({literal(step.condition)}), {literal(step.kind)})"
            )
        case ph.Stateful():
            script.add("from streamq.runtime.spark.stateful import with_operator")
            below = frame_of(step.input, script)
            made = f"{step.operator!r}, {dict(step.params)!r}, {step.kinds!r}, {step.results!r}"
            return script.frame(f"with_operator({below}, {made})")
        case ph.WindowJoin():
            script.add("from streamq.runtime.spark.window_join import with_window_join")
            below = frame_of(step.input, script)
            made = f"{step.condition!r}, {step.grids!r}, {step.kinds!r}, {step.left}, {step.sampled!r}, {step.worths}"
            return script.frame(f"with_window_join({below}, {made})")
        case ph.UnionAll():
            frames = [frame_of(i, script) for i in step.inputs]
            return script.frame(".union(".join(frames) + ")" * (len(frames) - 1))
        case _:
            below = frame_of(ph.inputs_of(step)[0], script)
            return script.frame(f"{below}{_call(step)}")


def _call(step: ph.Step) -> str:
    match step:
        case ph.Select():
            return f".select(\n{_columns(step.items)}    )"
        case ph.Where():
            return f".where(F.expr({literal(step.condition)}))"
        case ph.Observe():
            return f".observe({literal(step.name)},\n{_columns(step.metrics)}    )"
        case ph.WithWatermark():
            delay = literal(f"{step.delay_ms} milliseconds")
            return f".withWatermark({quoted_literal(step.column)}, {delay})"
        case ph.AssignWindow():
            length, slide = f"{step.range_ms} milliseconds", f"{step.slide_ms} milliseconds"
            return (
                f'.select("*", F.window(F.col({quoted_literal(step.ts)}), '
                f"{literal(length)}, {literal(slide)}).alias({literal(step.column)}))"
            )
        case ph.Aggregate():
            return _aggregate(step)
        case ph.DropDuplicates():
            return f".dropDuplicates([{', '.join(literal(c) for c in step.columns)}])"
        case _:
            raise TypeError(f"not a step with one input: {type(step).__name__}")


def _aggregate(step: ph.Aggregate) -> str:
    keys = [f"        F.expr({literal(s)}).alias({literal(n)}),\n" for n, s in step.keys]
    if step.session is not None:
        column, ts, gap = step.session
        keys.append(
            f"        F.session_window(F.col({quoted_literal(ts)}), {literal(f'{gap} microseconds')})"
            f".alias({literal(column)}),\n"
        )
    calls = _columns(step.aggregates) or '        F.expr("count(1)").alias("__any_row"),\n'
    tail = "" if step.aggregates else '.drop("__any_row")'
    return f".groupBy(\n{''.join(keys)}    ).agg(\n{calls}    ){tail}"


def _scan(step: ph.ScanStream | ph.ScanTable, script: Script) -> str:
    stream = isinstance(step, ph.ScanStream)
    options = dict(step.options)
    name = script.variable("reader")
    corrupt = step.corrupt_column if isinstance(step, ph.ScanStream) else None
    match step.connector:
        case "rate":
            script.add(f'{name} = spark.readStream.format("rate")')
        case "nexmark":
            script.add("from streamq.runtime.spark.nexmark_source import NexmarkSource")
            script.add("spark.dataSource.register(NexmarkSource)")
            script.add(f"{name} = spark.readStream.format(NexmarkSource.name())")
            script.add(f"{name} = {name}.schema({literal(_ddl(step.schema))})")
        case _:
            _file_reader(step, name, corrupt, script)
    for line in option_lines(name, step.connector, options):
        script.add(line)
    place = "stream_path" if stream else "place"
    path = f"{place}({path_of(step.id, options)})" if "path" in options else ""
    frame = script.frame(f"{name}.load({path})")
    if step.connector != "rate":
        return frame
    time = EVENT_TIME["rate"]
    items = tuple(
        (n, f"CAST({quote(n if n.casefold() == 'value' else time)} AS {t})")
        for n, t in step.schema
    )
    return script.frame(f"{frame}.select(\n{_columns(items)}    )")


def _file_reader(
    step: ph.ScanStream | ph.ScanTable, name: str, corrupt: str | None, script: Script
) -> None:
    options = dict(step.options)
    data_format = str(options.get("format", "json"))
    schema = step.schema if corrupt is None else (*step.schema, (corrupt, "STRING"))
    reader = "spark.readStream" if isinstance(step, ph.ScanStream) else "spark.read"
    script.add(f"{name} = {reader}.format({literal(data_format)}).schema({literal(_ddl(schema))})")
    if data_format == "csv" and options.get("header"):
        script.add(f'{name} = {name}.option("enforceSchema", "false")')
    if data_format != "parquet":
        script.add(f'{name} = {name}.option("mode", "{"FAILFAST" if corrupt is None else "PERMISSIVE"}")')
    if corrupt is not None:
        script.add(f'{name} = {name}.option("columnNameOfCorruptRecord", {literal(corrupt)})')


def option_lines(
    variable: str, connector: str, options: dict[str, ph.OptionValue]
) -> list[str]:
    """One line per option that Spark's own readers and writers have."""
    return [
        f"{variable} = {variable}.option({literal(name)}, {shown})"
        for name, shown in options_of(connector, options).items()
    ]


def options_of(connector: str, options: dict[str, ph.OptionValue]) -> dict[str, str]:
    """The options that Spark's own readers and writers have, by their names there, with the code of their values."""
    roles = ("stream", "table", "sink")
    specs = [s for role in roles if (s := find_connector(connector, role)) is not None]
    found = {}
    for key, value in options.items():
        secret = any(o.secret for s in specs if (o := s.option(key)) is not None)
        name = SPARK_OPTIONS.get(key, "" if connector != "nexmark" else key)
        if not name:
            continue
        unit, size = SPARK_UNITS.get(key, ("", 1))
        if secret:
            shown = secret_source(key, str(value))
        elif isinstance(value, bool):
            shown = literal(str(value).lower())
        else:
            shown = literal(f"{int(value) // size}{unit}" if unit else str(value))
        found[name] = shown
    return found


def path_of(owner: str, options: dict[str, ph.OptionValue]) -> str:
    """The path; one with a password in it comes from the environment."""
    path = str(options["path"])
    return literal(path) if redacted(path) == path else from_environment(f"{owner} path")


def from_environment(name: str) -> str:
    """Where the program finds a value that is not written into it."""
    return f"os.environ[{literal(re.sub(r'[^A-Z0-9]+', '_', name.upper()).strip('_'))}]"


def secret_source(key: str, value: str) -> str:
    """Where the program finds a secret: in the variable that the program's text names, else in one named for the option."""
    where = reference(value)
    return f"os.environ[{literal(where[1])}]" if where is not None and where[0] == "env" else from_environment(key)


def quoted_literal(name: str) -> str:
    """A Python string that holds a quoted name."""
    return literal(quote(name))


def _columns(items: tuple[ph.Named, ...]) -> str:
    return "".join(f"        {_column(n, s)},\n" for n, s in items)


def _column(name: str, sql: str) -> str:
    if sql == f"`{name}`" and name.isidentifier():
        return literal(name)
    return f"F.expr({literal(sql)}).alias({literal(name)})"


def _ddl(schema: tuple[ph.Named, ...]) -> str:
    return ", ".join(f"{quote(n)} {t}" for n, t in schema)
