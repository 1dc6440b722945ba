"""A program as a project of Spark Declarative Pipelines, which ``spark-pipelines run`` runs without StreamQ.

A query with a file sink is a flow into that sink; one without a sink is a streaming table of its name. Tables of the program are
read where they lie.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from streamq.compiler.explain.frames_source import frame_of, options_of, path_of, quoted_literal
from streamq.compiler.explain.pyspark_source import STREAM_PATH, control_frame, settings_of
from streamq.compiler.explain.script import Script, literal
from streamq.compiler.ir import physical as ph
from streamq.dsl.diagnostics import Diagnostic
from streamq.stdlib.secrets import is_secret

SPEC = "spark-pipeline.yml"
CONNECTORS = frozenset({"file", "rate"})
"""Sources that Spark has of its own, and that pipelines were seen to read."""

PLAIN_NAME = re.compile(r"[A-Za-z0-9_]+")

HEADER = '''"""{name}: written by `streamq compile --emit pipelines`. Run it with `spark-pipelines run`, pyspark 4.3."""

from __future__ import annotations

import os
import re

from pyspark import pipelines as dp
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()

BASE = os.environ.get("PROGRAM_FOLDER", {base})


def place(path):
    """The path in full; relative ones start from the program's folder."""
    remote = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", path)
    return path if remote else os.path.normpath(os.path.join(BASE, os.path.expanduser(path)))
'''


def refusals(plan: ph.PhysicalPlan) -> tuple[Diagnostic, ...]:
    """SQ0504 for all that a pipeline does not have."""
    return tuple(
        Diagnostic(
            "SQ0504", f"query `{query.name}` cannot be exported to a pipeline", query.origin, label=why, help=way_out
        )
        for query in plan.queries for why, way_out in _reasons(query, plan)
    )


def to_pipelines(plan: ph.PhysicalPlan, name: str, base: str, storage: str) -> dict[str, str]:
    """The files of the project, path to text. ``base``: the program's folder; ``storage``: an address for checkpoints."""
    parts = [HEADER.format(name=name.replace('"', "'").replace("\\", "/"), base=literal(base)), STREAM_PATH]
    parts += [_query(query, i + 1) for i, query in enumerate(plan.queries)]
    return {SPEC: _spec(plan, name, storage), "transformations/queries.py": "".join(parts)}


def _spec(plan: ph.PhysicalPlan, name: str, storage: str) -> str:
    """YAML whose strings are those of JSON."""
    settings = settings_of(plan)
    lines = [f"name: {json.dumps(name)}", f"storage: {json.dumps(storage)}", "configuration:"]
    lines += [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in settings.items() if not is_secret(key)]
    lines += [f"  # a secret, to be given with --conf: {json.dumps(key)}" for key in settings if is_secret(key)]
    return "\n".join([*lines, "libraries:", "  - glob:", "      include: transformations/**", ""])


def _query(query: ph.PhysicalQuery, number: int) -> str:
    script, parts = Script(), []
    for i, control in enumerate(query.controls):
        parts.append(
            f"\n\n@dp.temporary_view(name={quoted_literal(control.view)})\n"
            f"def control_{number}_{i + 1}():\n    return {control_frame(control)}\n"
        )
    root = frame_of(query.root, script)
    body = "".join(f"    {line}\n" for line in [*script.lines, f"return {root}"])
    if query.sink.connector == "file":
        options = dict(query.sink.options)
        sink = f"sink_{number}"
        shown = {"path": f"place({path_of(str(query.sink.name), options)})"} | options_of("file", options)
        pairs = "".join(f"    {literal(key)}: {value},\n" for key, value in shown.items())
        parts.append(
            f"\n\ndp.create_sink({literal(sink)}, format={literal(str(options['format']))}, options={{\n{pairs}}})\n"
            f"\n\n@dp.append_flow(target={literal(sink)}, name={literal(query.name)})\n"
        )
    else:
        parts.append(f"\n\n@dp.table(name={literal(query.name)})\n")
    return "".join([*parts, f"def query_{number}():\n{body}"])


def _reasons(query: ph.PhysicalQuery, plan: ph.PhysicalPlan) -> Iterator[tuple[str, str]]:
    """Why a query cannot be part of a pipeline, each with a way out."""
    script = "`--emit submit` writes a script for spark-submit that can do all that `streamq run` does"
    steps = ph.walk(query.root)
    if any(control.goal is not None for control in query.controls) or query.dropped:
        yield "nobody steers what it sheds there", "shed a fixed share, SHED RANDOM BY n PERCENT; " + script
    if any(isinstance(step, ph.Stateful | ph.WindowJoin) for step in steps):
        yield "it needs an operator of StreamQ's", "a window that ends, TUMBLE or SLIDE, needs none; " + script
    if query.mode != "append":
        yield "its rows replace each other, and a streaming table only grows", "give it a window, or ISTREAM"
    if query.readers or any(f"`{f.name}`(" in repr(query.root) for f in plan.functions):
        yield "pipelines register no functions of Python", script
    edges = {edge.stream for edge in plan.edges}
    for scan in steps:
        if isinstance(scan, ph.ScanStream | ph.ScanTable) and scan.connector not in CONNECTORS:
            yield f"it reads by connector '{scan.connector}'", f"connectors that can be exported: {', '.join(sorted(CONNECTORS))}"
        if isinstance(scan, ph.ScanStream) and scan.stream in edges:
            yield f"the rows of `{scan.stream}` come from an edge", script
    if query.sink.connector not in ("file", "console"):
        yield f"it writes by connector '{query.sink.connector}'", "leave INTO out: the query becomes a table"
    if dict(query.sink.options).get("partition_by"):
        yield "sinks of pipelines have no folders by column", "leave partition_by out"
    if PLAIN_NAME.fullmatch(query.name) is None:
        yield "tables have plain names there", "give it a name of letters, digits and _, CREATE QUERY name AS …"
