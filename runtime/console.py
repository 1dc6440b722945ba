"""What a run looks like on a terminal, in a pipe and as JSON lines."""

from __future__ import annotations

import json
import os
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TextIO

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from streamq.dsl.source import SourceMap
from streamq.dsl.visible import escaped, visible
from streamq.runtime.cells import LONGEST, cell_text, is_number, json_cell
from streamq.runtime.metrics import QuerySample, QueryTotals, ResultRows, RunReport
from streamq.runtime.report.joined import words
from streamq.runtime.run import Event, Happened, SilentListener
from streamq.runtime.waiting import Waiting

RATE_SECONDS = 5.0
"""Rates are means over the batches that ended in this stretch of time."""

PLAIN_SECONDS = 3.0
"""How often a run that does not write to a terminal says how it goes."""

JSON_VERSION = 1

WIDE = 240
"""Columns of what goes to a file or a pipe: nobody has to read a row of it in two lines."""

DROPPED = ("date", "out/s", "in/s", "batch", "watermark", "coverage", "goal", "late", "malformed", "rows in", "keep", "put aside")
"""What a narrow screen goes without, in this order: the date of watermarks, then columns. Digits are never cut."""

NAME_CELLS = 24
"""A query's name is cut to so much where that keeps a column."""

_ENDINGS = {
    "finished": "all input read",
    "duration": "time is up",
    "limit": "limit of rows reached",
    "signal": "stopped",
    "failed": "failed",
}


@dataclass(slots=True)
class QueryView:
    """The latest of one query, and its rates."""

    totals: QueryTotals
    latest: QuerySample | None = None
    _recent: deque[QuerySample] = field(default_factory=deque)

    def add(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.totals, self.latest = totals, sample
        self._recent.append(sample)
        while self._recent and self._recent[0].ended < sample.ended - RATE_SECONDS:
            self._recent.popleft()

    def recent(self) -> tuple[int, int]:
        """Rows that were kept and shed in the recent batches."""
        return sum(s.kept for s in self._recent), sum(s.shed for s in self._recent)

    def rates(self) -> tuple[float, float]:
        """Rows in and rows out per second over the recent batches."""
        if not self._recent:
            return 0.0, 0.0
        first, last = self._recent[0], self._recent[-1]
        seconds = max(last.ended - first.ended + first.batch_ms / 1000, 0.001)
        return (
            sum(s.rows_in for s in self._recent) / seconds,
            sum(s.rows_out for s in self._recent) / seconds,
        )


STARTING = "starting Spark …"

_TOLD = (Event.FAILURE, Event.RESTART, Event.QUARANTINE, Event.GIVEN_UP, Event.STOPPING)
"""What is told when it happens; the other events are seen from the progress."""


def happened_text(what: Happened, queries: int) -> str:
    """An event as a line of text; empty where nobody needs to be told, or what comes next says it too.

    ``queries``: of the run. Where the only one is given up the run ends with the diagnostic.
    """
    told = what.event in _TOLD and not (what.event is Event.FAILURE and what.wait_s is None)
    if not told or (what.event is Event.GIVEN_UP and queries == 1):
        return ""
    return visible(f"{what.query}: {what.text}" if what.query else what.text)


class _Views(SilentListener):
    """Keeps a view per query for the listeners that show progress, and says that Spark starts. Use as a context manager."""

    def __init__(self, console: Console) -> None:
        self.views: dict[str, QueryView] = {}
        self._console = console
        self._waiting: Waiting | None = None

    def __exit__(self, *exc: object) -> None:
        self._print()

    def preparing(self) -> None:
        self._print()
        terminal = self._console.is_terminal and not self._console.is_dumb_terminal
        self._waiting = Waiting(self._console.file, STARTING, terminal=terminal)

    def _print(self, *things: RenderableType, soft_wrap: bool = False) -> None:
        """Prints, where the line that counts has been."""
        if self._waiting is not None:
            self._waiting.end()
            self._waiting = None
        for thing in things:
            self._console.print(thing, soft_wrap=soft_wrap)

    def started(self, queries: tuple[str, ...]) -> None:
        self._print()
        self.views = {name: QueryView(QueryTotals(name)) for name in queries}

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.views[sample.query].add(sample, totals)


class LiveListener(_Views):
    """A table that is redrawn in place; result rows scroll above it."""

    def __init__(self, console: Console, goals_ms: Mapping[str, int] | None = None) -> None:
        super().__init__(console)
        self._goals = goals_ms or {}
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveListener:
        return self

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        self._live.stop()

    def started(self, queries: tuple[str, ...]) -> None:
        super().started(queries)
        self._live.start()

    def rows(self, rows: ResultRows) -> None:
        self._print(rows_table(rows))

    def notice(self, query: str, text: str) -> None:
        self._print(Text(visible(f"{query}: {text}"), style="yellow"))

    def happened(self, what: Happened) -> None:
        if text := happened_text(what, len(self.views)):
            self._print(Text(text, style="yellow"))

    def tick(self, seconds: float) -> None:
        note = Text(f"{seconds:.0f} s · Ctrl-C stops", style="dim")
        self._live.update(Group(progress_table(self.views, self._console.width, self._goals), note))


class PlainListener(_Views):
    """Result rows as tables and a line per query every few seconds, for pipes and files."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._next = PLAIN_SECONDS
        self._told: dict[str, int] = {}

    def __enter__(self) -> PlainListener:
        return self

    def rows(self, rows: ResultRows) -> None:
        self._print(rows_table(rows))

    def notice(self, query: str, text: str) -> None:
        self._say(f"{query}: {text}")

    def happened(self, what: Happened) -> None:
        if text := happened_text(what, len(self.views)):
            self._say(text)

    def tick(self, seconds: float) -> None:
        if seconds < self._next:
            return
        self._next = seconds + PLAIN_SECONDS
        for name, view in self.views.items():
            latest = view.latest
            if latest is not None and self._told.get(name) == latest.batch:
                self._say(f"{seconds:5.0f} s  {name}: no micro-batch done since batch {latest.batch}, in {view.totals.rows_in:,}")
                continue
            if latest is not None:
                self._told[name] = latest.batch
            self._say(f"{seconds:5.0f} s  {name}: {progress_line(view)}")

    def _say(self, text: str) -> None:
        self._print(Text(visible(text)), soft_wrap=True)


class QuietListener(SilentListener):
    """Result rows and nothing else; what goes wrong on the way is told on standard error."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._queries = 0

    def started(self, queries: tuple[str, ...]) -> None:
        self._queries = len(queries)

    def __enter__(self) -> QuietListener:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def rows(self, rows: ResultRows) -> None:
        self._console.print(rows_table(rows))

    def happened(self, what: Happened) -> None:
        if what.event is not Event.STOPPING and (text := happened_text(what, self._queries)):
            sys.stderr.write(text + "\n")


class JsonListener(SilentListener):
    """One JSON object per line: ``started``, ``sample``, ``rows``, ``event`` and, at the end, ``summary``."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __enter__(self) -> JsonListener:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def started(self, queries: tuple[str, ...]) -> None:
        self.write({"type": "started", "version": JSON_VERSION, "queries": list(queries)})

    def sample(self, sample: QuerySample, totals: QueryTotals) -> None:
        self.write({"type": "sample", **sample.to_dict()})

    def rows(self, rows: ResultRows) -> None:
        self.write(
            {
                "type": "rows", "query": rows.query, "batch": rows.batch, "total": rows.total,
                "columns": list(rows.columns),
                "rows": [[json_cell(cell) for cell in row] for row in rows.rows],
                **({"truncated": True} if len(rows.rows) < rows.total else {}),
            }
        )

    def notice(self, query: str, text: str) -> None:
        self.write({"type": "notice", "query": query, "text": text})

    def happened(self, what: Happened) -> None:
        if what.event in _TOLD:
            code = {} if what.diagnostic is None else {"code": what.diagnostic.code}
            self.write({
                "type": "event", "event": what.event.value, "query": what.query, "batch": what.batch, "text": what.text, **code,
            })

    def summary(self, report: RunReport, sources: SourceMap) -> None:
        self.write(
            {
                "type": "summary", "ended_by": report.ended_by,
                "seconds": round(report.seconds, 3),
                "queries": [totals.to_dict() for totals in report.totals],
                "diagnostics": [d.to_dict(sources) for d in report.diagnostics],
                **({"given_up": list(report.given_up)} if report.given_up else {}),
                **({"edges": [one.to_dict() for one in report.received]} if report.received else {}),
            }
        )

    def write(self, record: dict[str, object]) -> None:
        self._out.write(escaped(json.dumps(record, ensure_ascii=False)) + "\n")
        self._out.flush()


def make_console(stream: TextIO | None = None) -> Console:
    """A console on standard output; rich honours NO_COLOR and FORCE_COLOR."""
    console = Console(file=stream or sys.stdout, highlight=False, emoji=False, markup=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console


def rows_table(rows: ResultRows) -> Group:
    """A batch of result rows under a title that says how many there are."""
    count = f"{rows.total:,} row{'s' if rows.total != 1 else ''}"
    if len(rows.rows) < rows.total:
        count = f"{len(rows.rows):,} of {count}"
    kind = "changed " if rows.update else ""
    table = _table()
    for index, name in enumerate(rows.columns):
        present = [row[index] for row in rows.rows if row[index] is not None]
        numeric = bool(present) and all(is_number(cell) for cell in present)
        table.add_column(Text(visible(name)), justify="right" if numeric else "left", overflow="fold")
    longest = sys.maxsize if rows.whole else LONGEST
    for row in rows.rows:
        table.add_row(*(Text(cell_text(cell, longest)) for cell in row))
    title = f"{rows.query} · batch {rows.batch} · {kind}{count}"
    return Group(Text(visible(title), style="bold"), table)


_RARE = {"malformed": "malformed", "put aside": "dead"}
"""Columns that are there where there are such rows, and the total of each."""


def progress_table(
    views: dict[str, QueryView], width: int = 100, goals_ms: Mapping[str, int] | None = None
) -> Table:
    """One line per query: what came in, what was kept, how fast, how old.

    Rows that are malformed or were put aside have a column where there are any, as have the share that is kept (of the last micro-batch, and of
    the last seconds) and the age that is asked for. ``width``: of the screen; what does not fit is left out (``DROPPED``).
    """
    goals = goals_ms or {}
    rare = {n: f for n, f in _RARE.items() if any(getattr(view.totals, f) for view in views.values())}
    columns = {"query": [visible(name) for name in views]}
    for name, view in views.items():
        for column, cell in _cells(view, goals.get(name), rare).items():
            if goals or column not in _OF_GOALS:
                columns.setdefault(column, []).append(cell)
    for what in DROPPED:
        if _needed(columns) <= width:
            break
        if what == "date":
            columns["watermark"] = [text.partition(" ")[2] for text in columns.get("watermark", [])]
        else:
            columns.pop(what, None)
    others = {name: cells for name, cells in columns.items() if name != "query"}
    table = _table()
    for name in columns:
        longest = max(1, width - _needed(others) - GAP) if name == "query" else None
        table.add_column(
            name, justify="left" if name in ("query", "watermark") else "right", no_wrap=True, max_width=longest
        )
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(Text, row))
    return table


_OF_GOALS = ("keep", "coverage", "goal")
GAP = 2
"""Cells between two columns, and at both ends together."""


def _cells(view: QueryView, goal_ms: int | None, rare: Mapping[str, str]) -> dict[str, str]:
    """What the table says of a query, by column."""
    totals, latest = view.totals, view.latest
    rate_in, rate_out = view.rates()
    return {
        "rows in": _count(totals.rows_in), "kept": _count(totals.kept), "shed": _count(totals.shed),
        "keep": _percent(latest.kept, latest.shed) if latest else "",
        "coverage": _percent(*view.recent()) if latest else "",
        "in/s": _count(rate_in), "out/s": _count(rate_out),
        "batch": _duration(latest.batch_ms) if latest else "",
        "age": _duration(latest.result_age_ms) if latest else "",
        "goal": "" if goal_ms is None else _duration(goal_ms), "late": _count(totals.late),
        **{name: _count(getattr(totals, of)) for name, of in rare.items()},
        "watermark": short_time(totals.watermark),
    }


def _needed(columns: Mapping[str, list[str]]) -> int:
    """Cells of a screen that a table of these columns takes."""
    widths = {name: max(map(cell_len, (name, *cells))) for name, cells in columns.items()}
    if "query" in widths:
        widths["query"] = min(widths["query"], NAME_CELLS)
    return sum(widths.values()) + GAP * len(widths)


def progress_line(view: QueryView) -> str:
    """The same as one line of text."""
    totals, latest = view.totals, view.latest
    if latest is None:
        return "no batch done yet"
    rate_in, rate_out = view.rates()
    parts = [
        f"in {totals.rows_in:,} ({rate_in:,.0f}/s)", f"kept {totals.kept:,}",
        f"shed {totals.shed:,}", f"out {totals.rows_out:,} ({rate_out:,.0f}/s)",
        f"batch {_duration(latest.batch_ms)}", f"age {_duration(latest.result_age_ms)}",
        f"late {totals.late:,}", f"malformed {totals.malformed:,}",
    ]
    if totals.dead:
        parts.append(f"put aside {totals.dead:,}")
    if totals.watermark:
        parts.append(f"watermark {short_time(totals.watermark)}")
    return ", ".join(parts)


def summary_text(report: RunReport) -> Text:
    """The sums of a run, two lines per query: where its rows went, and how fast."""
    ended = f"{_ENDINGS[report.ended_by]} after {report.seconds:.1f} s"
    if report.ended_by == "duration" and report.timed_s is not None:
        ended = f"time is up {report.timed_s:g} s after the first micro-batch, {report.seconds:.1f} s after the start"
    lines = [Text(ended, style="bold")]
    seconds = max(report.seconds, 0.001)
    for t in report.totals:
        went = [f"{t.kept:,} kept", f"{t.shed:,} shed"]
        if t.malformed:
            went.append(f"{t.malformed:,} malformed")
        if t.dead:
            went.append(f"{t.dead:,} put aside")
        late = f"; of the kept ones at least {t.late:,} came late" if t.late else ""
        lines.append(Text(visible(f"{t.query}: {t.rows_in:,} rows in = {' + '.join(went)}{late}")))
        facts = [
            f"{t.rows_out:,} rows out", f"{t.rows_in / seconds:,.0f} rows/s in",
            f"{t.batches:,} batch{'es' if t.batches != 1 else ''}",
            f"worst age {_duration(t.worst_age_ms)}",
        ]
        if t.latency_goal_ms is not None and t.batches:
            facts.append(f"goal {t.latency_goal_ms / 1000:g} s: missed in {t.missed_goal:,} of {t.batches:,} micro-batches")
        if t.refused:
            facts.append(f"{t.refused:,} that the sink would not take put aside")
        if t.backlog_rows:
            facts.append(f"{t.backlog_rows:,} records unread, up to {_duration(t.backlog_age_ms)} old")
        if t.state_rows:
            facts.append(f"{t.state_rows:,} rows of state")
        if t.watermark:
            facts.append(f"watermark {short_time(t.watermark)}")
        lines.append(Text(f"  {', '.join(facts)}"))
    for one in report.sifted:
        lines.append(Text(visible(
            f"sifter on {one.stream} ({', '.join(one.attributes)}): kept {one.keep:.1%} of the rows (expected "
            f"{one.expected_keep:.1%}), quality of all answers {one.quality:.1%} (expected {one.expected_quality:.1%})"
        )))
    lines += [Text(visible(f"{name}: given up"), style="bold") for name in report.given_up]
    lines += [Text(visible(words(one))) for one in report.selected]
    lines += [Text(visible(one.words)) for one in report.received]
    return Text("\n").join(lines)


def short_time(iso: str) -> str:
    """``2024-01-01T00:00:04.000Z`` as ``2024-01-01 00:00:04``."""
    return iso.replace("T", " ").removesuffix("Z").removesuffix(".000")


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="")


def _count(number: float) -> str:
    """A number in at most seven characters."""
    if number < 100_000:
        return f"{number:,.0f}"
    if number < 1_000_000:
        return f"{number / 1e3:.1f}k"
    return f"{number / 1e6:.2f}M" if number < 1e9 else f"{number / 1e9:.2f}G"


def _percent(kept: int, shed: int) -> str:
    return f"{kept / (kept + shed):.0%}" if kept + shed else ""


def _duration(ms: int) -> str:
    return f"{ms} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
