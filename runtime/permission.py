"""Whether programs may bring code with them: Python functions, and settings of Spark that load things.

A program may come from anyone. Without a permission nothing of it but queries is carried out.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from streamq.dsl import ast
from streamq.dsl.diagnostics import Diagnostic, DiagnosticSink
from streamq.dsl.parser import parse_program
from streamq.dsl.records import replace
from streamq.dsl.source import SourceMap, Span
from streamq.runtime.kafka_servers import places
from streamq.stdlib.code_settings import brings_code, client_brings_code

if TYPE_CHECKING:
    from streamq.runtime.programs import Loaded

VARIABLE = "STREAMQ_ALLOW_FUNCTIONS"
"""Set to 1 it allows what ``--allow-functions`` allows."""


def allow() -> None:
    """Allows functions for the rest of this process, and for those that it starts."""
    os.environ[VARIABLE] = "1"


def allowed() -> bool:
    return os.environ.get(VARIABLE, "") == "1"


def no_function(name: str, origin: Span) -> Diagnostic:
    """What is said of a function that is not allowed."""
    return Diagnostic(
        "SQ0710", f"function `{name}` is Python code, and functions are not allowed here", origin,
        label="would be imported, and called",
        help=f"look at the code, then allow it with `--allow-functions`, or with {VARIABLE}=1 in the environment",
    )


def limited(program: Loaded, *, functions: bool) -> Loaded:
    """The program, with what it asks for and is not allowed to among its errors. ``functions``: the command allows it."""
    if functions:
        allow()
    return replace(program, diagnostics=(*program.diagnostics, *_refused(program)))


def _refused(program: Loaded) -> tuple[Diagnostic, ...]:
    """All that a program without errors asks for and is not allowed to, each with its place."""
    if allowed() or program.result is None or program.result.plan is None:
        return ()
    plan = program.result.plan
    clients = (name for _, (options, _) in places(plan.queries) for name in options)
    if not plan.functions and not any(brings_code(key) for key, _ in plan.settings) and not any(map(client_brings_code, clients)):
        return ()
    found = sorted(_found(program.sources), key=lambda d: d.span)
    return tuple(found) or tuple(no_function(f.name, f.origin) for f in plan.functions)


def _found(sources: SourceMap) -> Iterator[Diagnostic]:
    for source in sources.files.values():
        for node in parse_program(source, DiagnosticSink()).statements:
            if isinstance(node, ast.CreateFunction):
                yield no_function(node.name.text, node.span)
            elif isinstance(node, ast.SetOption) and brings_code(node.key):
                yield Diagnostic(
                    "SQ0710", f"a program may not set `{node.key}` by itself", node.span,
                    label="loads code, starts processes, or says who may reach the run",
                    help=f"give it on the command line, `--set {node.key}=…`; or allow what this program brings with `--allow-functions`",
                )
            elif isinstance(node, ast.CreateStream | ast.CreateSink):
                for option in node.options:
                    if client_brings_code(option.key):
                        yield Diagnostic(
                            "SQ0710", f"a program may not set `{option.key}` by itself", option.span,
                            label="names code that the client of Kafka loads",
                            help="look at what it names, then allow it with `--allow-functions`, or leave it out",
                        )
