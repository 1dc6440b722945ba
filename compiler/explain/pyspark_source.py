"""The physical plan as a PySpark program that runs on its own.

The program needs nothing but pyspark for ``file`` and ``rate`` sources, and StreamQ for the ``nexmark`` source, for
relations that move, and to read sketches. Secrets are not written into it: they are read from environment variables. A fixed shedding share
is a one-row view, as in a run. What a run finds out by looking at files is not in it: columns of a CSV header in another
order than declared, and Parquet timestamps of nanoseconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields

from streamq.compiler.explain.frames_source import (
    frame_of,
    option_lines,
    path_of,
    quoted_literal,
    secret_source,
)
from streamq.compiler.explain.kafka_source import (
    HELPERS,
    needs_helpers,
    write_lines,
)
from streamq.compiler.explain.script import Script, literal
from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.edges import EdgeStream
from streamq.compiler.ir.libraries import libraries_of
from streamq.compiler.lowering.sql import quote
from streamq.compiler.lowering.values import names_of
from streamq.dsl.diagnostics import Diagnostic
from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.secrets import holds_secret
from streamq.stdlib.sink_options import LAKES, OWN_WRITERS

SETTINGS = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.variable.substitute": "false",
    "spark.sql.shuffle.partitions": "2",
}

ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass":
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
}

HEADER = '''"""{name}: written by `streamq compile --emit pyspark`.

Run it with `python` where pyspark 4.3 is installed, or with `spark-submit`.
Arguments: [--once] [--checkpoint DIR] [--base DIR]
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from urllib.parse import quote

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def place(path):
    """The path in full; relative ones start from the folder that this runs in."""
    return path if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path) else os.path.abspath(os.path.expanduser(path))
'''

STREAM_PATH = '''

def stream_path(path):
    """Spark follows folders and patterns, not single files: a file becomes a pattern of one."""
    path = place(path)
    if not os.path.isfile(path):
        return path
    escaped = re.sub(r"([\\\\{}\\[\\]*?])", r"\\\\\\1", path)
    at = max(i for i, ch in enumerate(escaped) if ch.isalnum())
    return f"{escaped[:at]}[{escaped[at]}]{escaped[at + 1:]}"
'''

FOOTER = '''

def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--once", action="store_true", help="read what is there, then stop")
    parser.add_argument("--checkpoint", help="folder that a restart continues from")
    parser.add_argument("--base", default=".", help="folder that relative paths start from")
    options = parser.parse_args()
    checkpoint = options.checkpoint or tempfile.mkdtemp(prefix="checkpoint-")
    checkpoint = os.path.abspath(checkpoint)
    os.chdir(options.base)
    builder = SparkSession.builder.appName({app})
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
{package}    trigger = {{"availableNow": True}} if options.once else {{"processingTime": {interval}}}
    running = []
    for name, start in QUERIES.items():
        folder = quote(name, safe="").replace(".", "%2E")
        running.append(start(spark, os.path.join(checkpoint, folder), trigger))
    for query in running:
        query.awaitTermination()


if __name__ == "__main__":
    main()
'''


PACKAGE = '''    # Executors need not have StreamQ installed.
    from streamq.runtime.spark.cluster import send_package

    send_package(spark.sparkContext)
'''


def refusals(plan: ph.PhysicalPlan) -> tuple[Diagnostic, ...]:
    """What a program of its own could not see to: goals that somebody has to steer for while it runs."""
    return tuple(
        Diagnostic(
            "SQ0601", f"a PySpark program cannot follow the goal of `{query.name}`", query.origin,
            label=f"drops {control.goal.words}",
            help="`--emit submit` writes a script that can; or shed a fixed share, SHED RANDOM BY n PERCENT",
        )
        for query in plan.queries for control in query.controls if control.goal is not None
    ) + tuple(
        Diagnostic(
            "SQ0601", f"a PySpark program cannot keep what `{query.name}` sheds", query.origin,
            help="`--emit submit` writes a script that can; or leave RECOVER DROPPED out",
        )
        for query in plan.queries if query.dropped
    ) + tuple(
        Diagnostic(
            "SQ0501", f"a PySpark program cannot write into `{query.sink.name}`: Spark has no {query.sink.connector} sink of its own",
            query.sink.origin, help="run it with `streamq run`, or write files",
        )
        for query in plan.queries if query.sink.connector in OWN_WRITERS
    )


def to_pyspark(plan: ph.PhysicalPlan, name: str = "program") -> str:
    """The text of the program; one function per query."""
    settings = settings_of(plan)
    parts = [HEADER.format(name=re.sub(r"[^\w .-]", "_", name)), STREAM_PATH, "\n\n", *map(_edge, plan.edges), *map(_library, libraries_of(plan))]
    parts += [HELPERS] * needs_helpers(plan)
    parts.append("SETTINGS = {\n")
    parts += [
        f"    {literal(k)}: {secret_source(k, v) if holds_secret(k) else literal(v)},\n"
        for k, v in settings.items()
    ]
    parts.append("}\n")
    functions: list[str] = []
    for i, query in enumerate(plan.queries):
        function = f"query_{i + 1}"
        functions.append(f"    {literal(query.name)}: {function},\n")
        parts.append("\n\n" + _query(query, function, plan))
    parts.append("\n\nQUERIES = {\n" + "".join(functions) + "}\n")
    interval = dict(plan.settings).get("trigger_interval", 0)
    parts.append(FOOTER.format(
        app=literal(name), interval=literal(f"{interval} milliseconds" if interval else "0 seconds"),
        package=PACKAGE if _imports_streamq(plan) else "",
    ))
    return "".join(parts)


def _imports_streamq(plan: ph.PhysicalPlan) -> bool:
    """Whether an operator or a source of ours is in the program, or a reading of sketches."""
    return any(query.readers for query in plan.queries) or any(
        isinstance(step, ph.Stateful | ph.WindowJoin) or (isinstance(step, ph.ScanStream) and step.connector == "nexmark")
        for query in plan.queries for step in ph.walk(query.root)
    )


def settings_of(plan: ph.PhysicalPlan) -> dict[str, str]:
    """What the session of the program is told, secrets included."""
    return {**SETTINGS, **_state_store(plan), **_settings(plan)}


def _edge(edge: EdgeStream) -> str:
    return (
        f"# The rows of stream {literal(edge.stream)} come from an edge: the files that are read here are written by `streamq run`,\n"
        "# which has to be at work beside this program.\n"
    )


def _library(name: str) -> str:
    return f"# Needs `--packages org.apache.spark:{name}_2.13:` with the version of Spark, or its jars.\n"


def _state_store(plan: ph.PhysicalPlan) -> dict[str, str]:
    """The state store that operators over changes need."""
    steps = (step for query in plan.queries for step in ph.walk(query.root))
    return dict(ROCKSDB) if any(isinstance(step, ph.Stateful | ph.WindowJoin) for step in steps) else {}


def _settings(plan: ph.PhysicalPlan) -> dict[str, str]:
    settings: dict[str, str] = {}
    for key, value in plan.settings:
        if key == "shuffle_partitions":
            settings["spark.sql.shuffle.partitions"] = str(value)
        elif key.startswith("spark."):
            settings[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return settings


def _query(query: ph.PhysicalQuery, function: str, plan: ph.PhysicalPlan) -> str:
    script = Script()
    for control in query.controls:
        script.add(f"{control_frame(control)}.createOrReplaceTempView({quoted_literal(control.view)})")
    for source in _used_functions(query, plan):
        module, _, attribute = source.target.partition(":")
        udf = script.variable("udf")
        script.add(f"from {module} import {attribute} as {udf}")
        script.add(f"spark.udf.register({literal(source.name)}, "
                   f"F.arrow_udf({udf}, {literal(source.return_type)}))")
    root = frame_of(query.root, script)
    script.add(f"writer = {root}.writeStream.queryName({literal(query.name)})")
    script.add(f"writer = writer.outputMode({literal(query.mode)}).trigger(**trigger)")
    script.add('writer = writer.option("checkpointLocation", checkpoint)')
    for line in write_lines(query) if query.sink.connector == "kafka" else _sink(query.sink):
        script.add(line)
    body = "\n".join(f"    {line}" for line in script.lines)
    return f"def {function}(spark, checkpoint, trigger):\n{body}\n"


def control_frame(control: ph.ControlRelation) -> str:
    """The relation of one row that says which fixed share is kept."""
    knobs = ", ".join(
        f"CAST({k.initial!r} AS DOUBLE) AS {k.name}, CAST({round(k.initial * HASH_STEPS)} AS BIGINT) AS threshold"
        for k in control.knobs
    )
    return f"spark.sql({literal('SELECT ' + knobs)})"


def _used_functions(
    query: ph.PhysicalQuery, plan: ph.PhysicalPlan
) -> tuple[ph.FunctionSource, ...]:
    texts = tuple(text for step in ph.walk(query.root) for text in _texts(step))
    called = (f for f in plan.functions if any(f"{quote(f.name)}(" in text for text in texts))
    return (*called, *query.readers)


def _texts(value: object) -> Iterator[str]:
    """All texts that a step holds, but for those of the steps below it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from () if isinstance(item, ph.Step) else _texts(item)
    elif isinstance(value, ph.Step):
        for field in fields(value):
            item = getattr(value, field.name)
            yield from () if isinstance(item, ph.Step) else _texts(item)


def _sink(sink: ph.SinkSpec) -> list[str]:
    options = dict(sink.options)
    columns = names_of(options, "partition_by")
    partitions = [f"writer = writer.partitionBy({', '.join(map(literal, columns))})"] * bool(columns)
    if sink.connector == "file":
        lines = [f"writer = writer.format({literal(str(options['format']))})", *partitions]
        path = path_of(str(sink.name), options)
        lines += option_lines("writer", sink.connector, options)
        return [*lines, f"return writer.start(place({path}))"]
    if sink.connector in LAKES:
        lines = [f"writer = writer.format({literal(sink.connector)})", *partitions]
        if "table" in options:
            return [*lines, f"return writer.toTable({literal(str(options['table']))})"]
        return [*lines, f"return writer.start(place({path_of(str(sink.name), options)}))"]
    kind = {"memory": "memory", "noop": "noop"}.get(sink.connector, "console")
    shown = ['writer = writer.option("truncate", "false")'] if kind == "console" else []
    return [f"writer = writer.format({literal(kind)})", *shown, "return writer.start()"]

