"""A run takes the rows of its edges: one reception for all of them, from what the program says."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from streamq.compiler.ir.edges import EdgeStream
from streamq.compiler.ir.physical import PhysicalPlan, PhysicalQuery, ScanStream, walk
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.source import Span
from streamq.runtime.edge.at_run.channel import ChannelRule
from streamq.runtime.edge.at_run.compiled import link_plan, token_of
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.reception import Reception
from streamq.runtime.metrics import Received
from streamq.stdlib.edge_options import address

LOOK_S = 0.2
"""How often it is looked whether all has landed."""


def receive(
    plan: PhysicalPlan, queries: tuple[PhysicalQuery, ...], told: Callable[[str], None], stack: ExitStack, start: bool
) -> Reception | None:
    """The reception of the edges that these queries read, until the stack ends; None where they read none. Abort.

    ``start``: it takes rows from now on. One that listens does so anyhow, as nobody could answer it else.
    """
    read = {step.stream for query in queries for step in walk(query.root) if isinstance(step, ScanStream)}
    edges = tuple(edge for edge in plan.edges if edge.stream in read)
    if not edges:
        return None
    try:
        reception = _reception_of(plan, told)
        stack.callback(reception.stop)
        if start or reception.listens:
            reception.start()
    except (OSError, ValueError) as error:
        named = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        said = named + (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise Abort(no_reception(said, edges[0].origin)) from error
    return reception


def no_reception(said: str, span: Span) -> Diagnostic:
    """What is told where rows of edges do not come in."""
    return Diagnostic(
        "SQ0807", f"rows of edges cannot be received: {said}", span,
        help="look at `folder`, `listen` and `token_file` of the streams with connector = 'edge'",
    )


def land_all(reception: Reception, plan: PhysicalPlan, stop: threading.Event) -> None:
    """Lands what has come, with what answers there is time for."""
    patience_s = max(int(dict(edge.options)["wait"]) for edge in plan.edges) / 1000
    if not reception.listens:
        reception.once(patience_s)
        return
    until = time.monotonic() + patience_s + LOOK_S
    while not reception.idle and time.monotonic() < until and not stop.wait(LOOK_S):
        pass


def received(reception: Reception) -> tuple[Received, ...]:
    """What came, by stream."""
    return tuple(replace(counts, stream=stream) for stream, counts in reception.counts().items())


def _reception_of(plan: PhysicalPlan, told: Callable[[str], None]) -> Reception:
    """Of all streams together, which share a folder and a port, as the compiler checked. OSError, ValueError."""
    edges = plan.edges
    options = dict(edges[0].options)
    listen = options.get("listen")
    channels = {e.channel.name: e.channel for e in edges if e.channel is not None}
    return Reception(
        Path(plan.base_dir) / str(options["folder"]), [_incoming(edge) for edge in edges],
        {c.name: ChannelRule(c.kbps, "weighted" if c.weighted else "proportional") for c in channels.values()},
        token_of(edges[0], plan.base_dir), None if listen is None else address(str(listen)), told,
        keep_s=int(options["keep"]) / 1000,
    )


def _incoming(edge: EdgeStream) -> Incoming:
    options = dict(edge.options)
    return Incoming(
        plan=link_plan(edge), synopsis=frozenset(name for name, _ in edge.synopsis), nearest=frozenset(edge.nearest),
        bounded=frozenset(edge.bounded),
        wait_s=int(options["wait"]) / 1000, channel="" if edge.channel is None else edge.channel.name,
        weight=float(options["weight"]),
    )
