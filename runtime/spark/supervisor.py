"""Takes care of queries that fail: starts them again, puts a micro-batch aside, gives them up, and tells of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql.streaming.query import StreamingQuery

from streamq.compiler.ir.physical import PhysicalQuery
from streamq.dsl.diagnostics import Diagnostic
from streamq.runtime.disk import not_written, of_error, reason_in
from streamq.runtime.metrics import QueryTotals
from streamq.runtime.run import Event, Happened
from streamq.runtime.spark.errors import text_of
from streamq.runtime.spark.letters import FAILURES, NotReadAgain, write_input
from streamq.runtime.spark.progress import ProgressReader
from streamq.runtime.spark.starting import NotStarted, Starter
from streamq.runtime.supervise.letters import (
    Aside,
    list_aside,
    note_of,
    put_aside,
    unfinished,
    write_letters,
)
from streamq.runtime.supervise.policy import Failure, GiveUp, Kind, Quarantine, Restart, decide
from streamq.runtime.supervise.settings import Supervision

NEVER = float("inf")
PUT_ASIDE = "`SET dead_letters = 'folder'` puts the rows of such a batch aside, and the query goes on"


@dataclass(slots=True)
class Running:
    """A query of the run and what is known of it so far.

    ``handle`` and ``reader``: of the last start that worked. ``failures``: since a micro-batch was done. ``restart_at``:
    when it is started again. ``done``: by itself; ``given_up``: for good.
    """

    plan: PhysicalQuery
    totals: QueryTotals
    handle: StreamingQuery | None = None
    reader: ProgressReader | None = None
    failures: list[Failure] = field(default_factory=list)
    restart_at: float = NEVER
    done: bool = False
    given_up: bool = False

    @property
    def over(self) -> bool:
        return self.done or self.given_up


@dataclass(slots=True)
class Supervisor:
    """``tell`` hears of what happens. ``diagnostics``: of the queries that were given up. ``now``: seconds of any clock."""

    starter: Starter
    rules: Supervision
    tell: Callable[[Happened], None]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    now: Callable[[], float] = time.monotonic

    def start(self, one: Running) -> NotStarted | None:
        """Starts the query; gives the failure where it does not start."""
        one.restart_at = NEVER
        self.starter.feed.failures.pop(one.plan.name, None)
        try:
            handle = self.starter.start(one.plan)
        except NotStarted as failure:
            return failure
        aside = put_aside(self.starter.folder(one.plan))
        one.handle = handle
        # Rows of the next micro-batch wait since the last one took its input, before the failure.
        one.reader = ProgressReader(handle, one.plan.name, aside, None if one.reader is None else one.reader.input_taken)
        return None

    def restart(self, one: Running) -> None:
        """Starts the query again, if its time has come."""
        if one.over or self.now() < one.restart_at:
            return
        failure = self.start(one)
        if failure is None:
            self.tell(Happened(event=Event.RESTART, query=one.plan.name, text="started again"))
        else:
            self.failed(one, failure)

    def failed(self, one: Running, failure: NotStarted) -> None:
        """Decides what follows a failure, and does it."""
        query, found = one.plan.name, failure.diagnostic
        folder = self.starter.folder(one.plan)
        batch = unfinished(folder)
        aside = None if batch is None else put_aside(folder).get(batch)
        emptied = aside is not None and not aside.refused
        now = self.now()
        one.failures.append(Failure(now, failure.kind, batch, emptied, failure.refused))
        match decide(tuple(one.failures), self.rules.rules(query), now):
            case Restart(after_s=seconds):
                one.restart_at = now + seconds
                self._tell_failure(one, found, batch, seconds)
            case Quarantine(batch=number, refused=refused):
                self._tell_failure(one, found, number, None)
                self._put_aside(one, number, refused, found)
            case GiveUp(failures=times):
                self._tell_failure(one, found, batch, None)
                why = "it fails without its rows too" if emptied else ""
                self.give_up(one, found, times, batch, why)

    def give_up(self, one: Running, last: Diagnostic, times: int, batch: int | None, why: str = "") -> None:
        """Ends the query for good; one that failed once is told with what it failed of alone."""
        one.given_up, one.restart_at = True, NEVER
        rows_at_fault = batch is not None and one.failures[-1].kind in (Kind.DATA, Kind.UNKNOWN)
        advice = PUT_ASIDE if rows_at_fault and self.rules.letters is None else ""
        found = last if times == 1 and not why else _given_up(one.plan, last, times, batch, why, advice)
        self.diagnostics.append(found)
        self.tell(Happened(
            event=Event.GIVEN_UP, query=one.plan.name, batch=batch, diagnostic=found, text=f"given up: {found.message}",
        ))

    def _put_aside(self, one: Running, batch: int, refused: bool, error: Diagnostic) -> None:
        """Writes the letters of a micro-batch and starts the query without them; what cannot be read again ends it."""
        query, folder, letters = one.plan, self.starter.folder(one.plan), self.rules.letters
        assert letters is not None
        note = note_of(
            query.name, batch, error, self.starter.since[query.name], "output" if refused else "input", time.time()
        )
        try:
            if refused:
                # Its rows exist only where the sink is called: the next try writes them (``letters_instead``).
                place = letters
                list_aside(folder, batch, Aside(str(place), True, note))
            else:
                place = write_letters(
                    letters, note, lambda draft: write_input(query, batch, folder, draft, self.starter.context)
                )
                list_aside(folder, batch, Aside(str(place)))
        except NotReadAgain as error_again:
            self.give_up(one, error, len(one.failures), batch, str(error_again))
            return
        except OSError as no_room:
            self._again(one, batch, of_error(no_room, f"query `{query.name}`", letters, query.origin))
            return
        except FAILURES as not_copied:
            if reason := reason_in(text_of(not_copied), (str(letters),)):
                self._again(one, batch, not_written(f"query `{query.name}`", reason, str(letters), query.origin))
                return
            self.give_up(one, error, len(one.failures), batch, f"its rows could not be put aside: {_first_line(not_copied)}")
            return
        what = "rows that its sink would not take" if refused else "its input"
        self.tell(Happened(
            event=Event.QUARANTINE, query=query.name, batch=batch, folder=str(place), diagnostic=error,
            text=f"batch {batch} is put aside, {what} goes to {place}; it failed: {error.code} {_told(error)}",
        ))
        one.restart_at = self.now()

    def _again(self, one: Running, batch: int, found: Diagnostic) -> None:
        """The letters could not be written: the query fails once more, of that."""
        self.failed(one, NotStarted(found, Kind.AWAY))

    def _tell_failure(self, one: Running, found: Diagnostic, batch: int | None, wait_s: float | None) -> None:
        where = "" if batch is None else f" in batch {batch}"
        then = "" if wait_s is None else f"; starts again in {wait_s:.1f} s"
        self.tell(Happened(
            event=Event.FAILURE, query=one.plan.name, batch=batch, wait_s=wait_s, diagnostic=found,
            text=f"failed{where}: {found.code} {_told(found)}{then}",
        ))


def _given_up(
    query: PhysicalQuery, last: Diagnostic, times: int, batch: int | None, why: str, advice: str
) -> Diagnostic:
    at = "before it read a batch" if batch is None else f"at batch {batch}"
    often = "once" if times == 1 else f"{times} times"
    return Diagnostic(
        "SQ0810", f"query `{query.name}` was given up: it failed {often} {at}", last.span,
        notes=(f"the last time: {last.message} ({last.code})", *last.notes, *((why,) if why else ())),
        help="; ".join(filter(None, (last.help, advice))),
    )


def _told(found: Diagnostic) -> str:
    """What a diagnostic says, with the reason where that is a note."""
    return ": ".join((found.message, *found.notes[:1]))


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


