"""What a run needs to take the rows of its edges: one reception for all of them, from what the program says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from streamq.compiler.ir.edges import EdgeStream
from streamq.runtime.edge.channel import ChannelRule
from streamq.runtime.edge.compiled import link_plan, token_of
from streamq.runtime.edge.incoming import Incoming
from streamq.runtime.edge.reception import Reception
from streamq.runtime.metrics import Received
from streamq.stdlib.edge_options import address


def reception_of(edges: tuple[EdgeStream, ...], base_dir: str, told: Callable[[str], None]) -> Reception:
    """The reception of streams that share a folder, as the compiler checked. OSError, ValueError: see ``Reception``."""
    options = dict(edges[0].options)
    listen = options.get("listen")
    channels = {e.channel.name: e.channel for e in edges if e.channel is not None}
    return Reception(
        Path(base_dir) / str(options["folder"]), [_incoming(edge) for edge in edges],
        {c.name: ChannelRule(c.kbps, "weighted" if c.weighted else "proportional") for c in channels.values()},
        token_of(edges[0], base_dir), None if listen is None else address(str(listen)), told,
        keep_s=int(options["keep"]) / 1000,
    )


def received(reception: Reception) -> tuple[Received, ...]:
    """What came, by stream."""
    return tuple(
        Received(
            stream, rows=c.rows, dropped=c.dropped, messages=c.messages, shed=c.shed, recovered=c.recovered, late=c.late,
            not_retained=c.not_retained, bad=c.bad,
        )
        for stream, c in reception.counts().items()
    )


def patience_s(edges: tuple[EdgeStream, ...]) -> float:
    """How long rows wait for answers at most."""
    return max(int(dict(edge.options)["wait"]) for edge in edges) / 1000


def _incoming(edge: EdgeStream) -> Incoming:
    options = dict(edge.options)
    return Incoming(
        plan=link_plan(edge), synopsis=frozenset(name for name, _ in edge.synopsis), nearest=frozenset(edge.nearest),
        wait_s=int(options["wait"]) / 1000, channel="" if edge.channel is None else edge.channel.name,
        weight=float(options["weight"]),
    )
