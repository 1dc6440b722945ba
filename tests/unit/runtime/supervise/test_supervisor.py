"""What a supervisor does about failures, with a starter that starts nothing and a clock that stands still."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, SinkSpec
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.metrics import QueryTotals
from streamq.runtime.run import Event, Happened
from streamq.runtime.spark import supervisor as module
from streamq.runtime.spark.letters import NotReadAgain
from streamq.runtime.spark.starting import NotStarted
from streamq.runtime.spark.supervisor import Running, Supervisor
from streamq.runtime.supervise.letters import put_aside
from streamq.runtime.supervise.policy import Kind
from streamq.runtime.supervise.settings import Supervision

QUERY = PhysicalQuery(
    "q", ScanStream(id="s", stream="s", connector="rate", schema=(("n", "INT"),), options=()), "append", SinkSpec(None, "noop"), ()
)
POISON = NotStarted(Diagnostic("SQ0801", "query `q` failed: 13", NO_SPAN), Kind.DATA)
AWAY = NotStarted(Diagnostic("SQ0808", "no server", NO_SPAN), Kind.AWAY)


class Fixture:
    """A supervisor of one query whose micro-batch 4 is planned and not done."""

    def __init__(self, folder: Path, letters: bool = True) -> None:
        self.now = 0.0
        self.events: list[Happened] = []
        self.starts: list[NotStarted | None] = []
        self.checkpoint = folder / "state" / "q"
        for log, last in (("offsets", 4), ("commits", 3)):
            (self.checkpoint / log).mkdir(parents=True)
            (self.checkpoint / log / str(last)).write_text("v1\n")
        starter: Any = SimpleNamespace(
            folder=lambda query: self.checkpoint, start=self._start, feed=SimpleNamespace(failures={}), since={"q": 1.0},
            context=None,
        )
        rules = Supervision(tries=2, first_delay_s=1.0, letters=folder / "dead" if letters else None)
        self.made = Supervisor(starter, rules, self.events.append, now=lambda: self.now)
        self.one = Running(QUERY, QueryTotals("q"))

    def _start(self, query: PhysicalQuery) -> Any:
        failure = self.starts.pop(0) if self.starts else None
        if failure is not None:
            raise failure
        return SimpleNamespace()

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.made.restart(self.one)

    @property
    def kinds(self) -> list[Event]:
        return [e.event for e in self.events]


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException | None], None]:
    """Makes the writing of letters fail, or leave a file."""

    def ends(error: BaseException | None) -> None:
        def write(query: object, batch: int, checkpoint: Path, folder: Path, context: object) -> None:
            if error is not None:
                raise error
            (folder / "rows").write_text("13\n")

        monkeypatch.setattr(module, "write_input", write)

    return ends


def test_it_is_not_started_before_its_time(tmp_path: Path) -> None:
    case = Fixture(tmp_path)
    case.made.failed(case.one, POISON)
    wait = case.events[0].wait_s
    assert wait is not None
    case.later(wait * 0.9)
    assert case.kinds == [Event.FAILURE]
    case.later(wait * 0.2)
    assert case.kinds == [Event.FAILURE, Event.RESTART]
    assert case.one.restart_at == float("inf")


def test_a_start_that_fails_is_a_failure(tmp_path: Path) -> None:
    case = Fixture(tmp_path)
    case.starts = [AWAY] * 20
    case.made.failed(case.one, AWAY)
    for _ in range(20):
        case.later(100)
    case.later(100)
    assert case.kinds == [Event.FAILURE] * 21 + [Event.RESTART]
    assert not case.one.over


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), Py4JError("java.io.IOException: No space left on device")]
)
def test_a_disk_without_room_for_letters_is_waited_for(
    tmp_path: Path, letters: Callable[[BaseException | None], None], error: Exception
) -> None:
    case = Fixture(tmp_path)
    letters(error)
    for _ in range(2):
        case.made.failed(case.one, POISON)
        case.later(100)
    assert put_aside(case.checkpoint) == {}
    assert not case.one.over
    codes = [e.diagnostic.code for e in case.events if e.diagnostic is not None]
    assert codes == ["SQ0801", "SQ0801", "SQ0809"]
    letters(None)
    case.made.failed(case.one, POISON)
    assert list(put_aside(case.checkpoint)) == [4]
    assert (tmp_path / "dead" / "q" / "batch-4" / "rows").read_text() == "13\n"
    case.later(0)
    assert case.kinds[-2:] == [Event.QUARANTINE, Event.RESTART]


def test_what_cannot_be_read_again_is_not_put_aside(
    tmp_path: Path, letters: Callable[[BaseException | None], None]
) -> None:
    case = Fixture(tmp_path)
    letters(NotReadAgain("rows of stream `s` (connector 'rate') cannot be read again"))
    for _ in range(2):
        case.made.failed(case.one, POISON)
        case.later(100)
    assert case.one.given_up
    assert put_aside(case.checkpoint) == {}
    (found,) = case.made.diagnostics
    assert found.code == "SQ0810"
    assert found.notes[-1] == "rows of stream `s` (connector 'rate') cannot be read again"
    case.later(1000)
    assert case.kinds[-1] is Event.GIVEN_UP


def test_a_batch_that_fails_without_its_rows_too_ends_the_query(
    tmp_path: Path, letters: Callable[[BaseException | None], None]
) -> None:
    case = Fixture(tmp_path)
    letters(None)
    for _ in range(2):
        case.made.failed(case.one, POISON)
        case.later(100)
    case.made.failed(case.one, POISON)
    assert case.one.given_up
    assert "it fails without its rows too" in case.made.diagnostics[0].notes


def test_one_failure_that_lasts_is_told_as_it_is(tmp_path: Path) -> None:
    case = Fixture(tmp_path, letters=False)
    lasting = Diagnostic("SQ0803", "column `x` is not there", NO_SPAN)
    case.made.failed(case.one, NotStarted(lasting, Kind.FINAL))
    assert case.made.diagnostics == [lasting]


def test_what_is_told_of_a_failure_has_its_reason(tmp_path: Path) -> None:
    case = Fixture(tmp_path)
    case.made.failed(case.one, NotStarted(Diagnostic("SQ0808", "the server cannot be reached", NO_SPAN, notes=("it answers 429",)), Kind.AWAY))
    assert case.events[0].text.startswith("failed in batch 4: SQ0808 the server cannot be reached: it answers 429; starts again in ")
