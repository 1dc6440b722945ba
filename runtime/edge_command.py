"""``streamq edge``: the process at the source of a stream, which sends its rows to the run. It has no Spark."""

from __future__ import annotations

import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from streamq.dsl.records import dataclass
from streamq.runtime.arguments import Arguments
from streamq.runtime.output import (
    OK,
    PROGRAM_ERROR,
    RUN_FAILED,
    UsageError,
    exit_code_of_refusal,
    load,
    print_error,
)
from streamq.runtime.paths import file_name

if TYPE_CHECKING:
    from streamq.compiler.ir.edges import EdgeStream
    from streamq.runtime.edge.at_source.site import Site
    from streamq.runtime.edge.at_source.source import Source
    from streamq.runtime.edge.plan import EdgePlan
    from streamq.runtime.edge.transport import Transport

IDLE_S = 0.2
"""How long a source that has nothing now is left alone."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """``plan``: what to do; ``read``: what is read, ``-`` for standard input; ``to``: where messages go."""

    plan: EdgePlan
    read: str
    to: str


def edge(args: Arguments) -> int:
    """Reads a stream at its source and sends it, until it is stopped, or with ``--once`` to its end."""
    from streamq.dsl.diagnostics import Abort
    from streamq.runtime.edge.at_source.site import Site
    from streamq.runtime.edge.at_source.store import BadStore, Store
    from streamq.runtime.edge.plan import BadPlan
    from streamq.runtime.edge.transport import Refused

    try:
        asked = _from_plan(args) if args.file.endswith(".json") else _from_program(args)
        if asked is None:
            return PROGRAM_ERROR
        plan = asked.plan
        path = args.store or Path(f"{file_name(plan.stream)}.edge")
        with Store(path, plan) as store:
            progress = _Progress(plan.stream, args.quiet)
            # What comes through a pipe ends with it; a file may grow, and a folder have more of them.
            to_the_end = args.once or asked.read == "-"
            # What is there once and for all is in no hurry.
            patient = args.once and asked.read != "-"
            site = Site(plan, _source(asked, args.once), store, _transport(asked), time.time, time.monotonic, progress.say, patient=patient)
            progress.begin(f"reads {asked.read}, sends to {asked.to}; its synopsis and what is on its way are in {path}")
            site.start()
            _work(site, progress, to_the_end, args.stay)
    except Abort as stop:
        print_error(f"streamq: {stop.diagnostic.message}; {stop.diagnostic.help}")
        return exit_code_of_refusal((stop.diagnostic,))
    except (BadPlan, BadStore, Refused) as error:
        print_error(f"streamq: {error}")
        return RUN_FAILED
    except OSError as error:
        print_error(f"streamq: {error.filename or 'the source'}: {(error.strerror or str(error)).lower()}")
        return RUN_FAILED
    return OK


def _from_plan(args: Arguments) -> _Asked:
    from streamq.dsl.records import replace
    from streamq.runtime.edge.plan_file import read_plan

    plan = read_plan(Path(args.file))
    if args.read is None or args.to is None:
        raise UsageError("a plan does not say where its edge is: give --from and --to")
    if args.stream is not None and args.stream.casefold() != plan.stream.casefold():
        raise UsageError(f"{args.file} is the plan of stream `{plan.stream}`")
    token = args.token_file.read_text("utf-8").strip() if args.token_file is not None else plan.token
    return _Asked(replace(plan, token=token), args.read, args.to)


def _from_program(args: Arguments) -> _Asked | None:
    from streamq.runtime.edge.at_run.compiled import edge_plan, token_of
    from streamq.stdlib.edge_options import address

    program = load(args.file)
    if program.result is None or not program.ok:
        return None
    plan = program.result.require()
    found = chosen(plan.edges, args.stream)
    options = dict(found.options)
    base = Path(plan.base_dir)
    read = args.read or options.get("read")
    if read is None:
        raise UsageError(f"nothing says what the edge of `{found.stream}` reads: give --from, or WITH (read = '…')")
    if args.read is None and read != "-":
        read = str(base / str(read))
    to = args.to
    if to is None and "listen" in options:
        host, port = address(str(options["listen"])) or ("", 0)
        if host in ("0.0.0.0", "::") or port == 0:
            raise UsageError(f"`{options['listen']}` is no address to send to: give --to http://host:port")
        to = f"http://{host}:{port}"
    first = edge_plan(found, plan.edges, token_of(found, plan.base_dir, args.token_file))
    return _Asked(first, str(read), to or str(base / str(options["folder"])))


def chosen(edges: tuple[EdgeStream, ...], name: str | None) -> EdgeStream:
    """The stream of this name, or the only one. UsageError."""
    names = ", ".join(edge.stream for edge in edges)
    if not edges:
        raise UsageError("no query of the program reads a stream with connector = 'edge'")
    if name is None and len(edges) > 1:
        raise UsageError(f"say which stream with --stream: {names}")
    found = next((e for e in edges if name is None or e.stream.casefold() == name.casefold()), None)
    if found is None:
        raise UsageError(f"no stream `{name}` comes from an edge and is read; {names} does")
    return found


def _source(asked: _Asked, once: bool) -> Source:
    from streamq.runtime.edge.at_source.source import Files, Pipe

    header = asked.plan.format == "csv"
    if asked.read == "-":
        return Pipe(sys.stdin.fileno(), header)
    path = Path(asked.read)
    if not path.exists():
        raise UsageError(f"'{path}' is not there: it is what the edge is to read")
    return Files(path, header, follow=not once)


def _transport(asked: _Asked) -> Transport:
    from streamq.runtime.edge.at_source.folder_sender import FolderSender
    from streamq.runtime.edge.at_source.http_sender import HttpSender

    if not asked.to.startswith(("http://", "https://")):
        if "://" in asked.to:
            raise UsageError(f"messages go to http://host:port, or into a folder, and not to {asked.to}")
        return FolderSender(Path(asked.to), asked.plan)
    try:
        return HttpSender(asked.to, asked.plan.token)
    except ValueError as error:
        raise UsageError(f"{error}; give --to, and --token-file") from error


def _work(site: Site, progress: _Progress, to_the_end: bool, stay_s: float) -> None:
    """Turn after turn, until a signal, or the end, and then for ``stay_s`` more, in which it answers."""
    stop = threading.Event()
    before = {sig: signal.signal(sig, lambda *_: stop.set()) for sig in (signal.SIGINT, signal.SIGTERM)}
    try:
        ended = None
        while not stop.is_set():
            wait = site.turn(last=to_the_end)
            if site.done and to_the_end:
                ended = time.monotonic() if ended is None else ended
                if time.monotonic() - ended >= stay_s:
                    break
            progress.tick(site)
            if wait:
                stop.wait(min(wait, IDLE_S))
        # What came through a pipe is not there any more.
        site.keep()
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)
        progress.end(site)


class _Progress:
    """How an edge fares, on standard error: a line that changes on a terminal, else one now and then."""

    def __init__(self, stream: str, quiet: bool) -> None:
        self.stream, self.quiet, self.terminal = stream, quiet, sys.stderr.isatty()
        self.every_s = 1.0 if self.terminal else 10.0
        self.at_s, self.sent, self.open = time.monotonic(), 0, False

    def begin(self, text: str) -> None:
        """What it is about to do."""
        if not self.quiet:
            self.say(text)

    def say(self, text: str) -> None:
        """Something that its user should know."""
        if self.open:
            sys.stderr.write("\n")
            self.open = False
        print_error(f"{self.stream}: {text}")

    def tick(self, site: Site) -> None:
        """Tells how it goes, where it is time."""
        passed = time.monotonic() - self.at_s
        if self.quiet or passed < self.every_s:
            return
        kbps = (site.counts.sent - self.sent) * 8 / 1000 / passed
        self.at_s, self.sent = time.monotonic(), site.counts.sent
        text = f"{_counts(site)}; {kbps:.3g} of {site.plan.capacity_kbps:.3g} kbit/s; {_shed(site)}"
        if self.terminal:
            sys.stderr.write(f"\r\x1b[K{self.stream}: {text}")
            sys.stderr.flush()
            self.open = True
        else:
            print_error(f"{self.stream}: {text}")

    def end(self, site: Site) -> None:
        """The whole of it."""
        if not self.quiet:
            self.say(f"{_counts(site)}; {site.counts.messages:,} messages of {site.counts.sent:,} bytes; {_shed(site)}")


def _counts(site: Site) -> str:
    counts = site.counts
    text = f"{counts.rows:,} rows"
    text += f", {counts.dropped:,} of them shed" if counts.dropped else ""
    text += f", {counts.malformed:,} malformed" if counts.malformed else ""
    text += f", {counts.answers:,} answers" if counts.answers else ""
    waiting = site.store.waiting_bytes()
    return text + (f", {waiting:,} bytes wait" if waiting else "")


def _shed(site: Site) -> str:
    if site.plan.sift is not None:
        return f"{site.counts.rows - site.counts.dropped:,} sent"
    state = site.progress.shedding
    shed = () if state is None else state.plan.attrs
    return f"shed: {', '.join(shed)}" if shed else "nothing shed"
