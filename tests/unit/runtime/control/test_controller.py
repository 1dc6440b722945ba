"""What a controller learns, and what it tells its user, once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamq.compiler.ir.goals import Goal
from streamq.runtime.control.controller import PATIENCE, Controller
from streamq.runtime.control.decisions import Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import published
from streamq.runtime.control.throttle import (
    LEAST_KEEP,
    PROBE_ROWS,
    Decision,
    Throttle,
    first_throttle,
)
from streamq.runtime.metrics import QuerySample


def sample(batch: int, *, kept: int = 50, late: int = 0) -> QuerySample:
    return QuerySample(
        "q", batch, 100.0 + batch, rows_in=100, kept=kept, shed=100 - kept, batch_ms=500, late=late
    )


def decided(folder: Path, batch: int, throttle: Throttle, *, reachable: bool) -> None:
    made = Decided(Decision(throttle.least, 1.0, reachable), 100, 0.0, throttle)
    DecisionLog(folder / DECISIONS).decide(batch, lambda _: made)


def test_a_goal_out_of_reach_is_told_once_and_only_when_it_stays_so(tmp_path: Path) -> None:
    throttle = first_throttle(Goal(latency_ms=1500))
    controller = Controller(tmp_path, throttle)
    told: list[tuple[str, ...]] = []
    for batch in range(2 * PATIENCE + 2):
        decided(tmp_path, batch, throttle, reachable=batch == 1)
        told.append(controller.after(sample(batch)))
    assert [len(texts) for texts in told] == [0] * (PATIENCE + 1) + [1] + [0] * PATIENCE
    assert told[PATIENCE + 1][0].startswith("results no older than 1.5 s are out of reach")


def test_a_completeness_that_stands_in_the_way_is_named(tmp_path: Path) -> None:
    throttle = first_throttle(Goal(latency_ms=1500, least=0.25))
    assert throttle.least == 0.25 > LEAST_KEEP
    controller = Controller(tmp_path, throttle)
    for batch in range(PATIENCE):
        decided(tmp_path, batch, throttle, reachable=False)
        told = controller.after(sample(batch))
    assert "completeness of 0.25" in told[0]


def test_a_first_micro_batch_of_a_few_rows_says_nothing_of_their_cost(tmp_path: Path) -> None:
    """Its seconds went into compiling; the next one counts, whatever its size."""
    controller = Controller(tmp_path, Throttle(2000.0))
    controller.after(replace(sample(0), batch_ms=3000))
    assert controller.throttle.model.cost is None
    controller.after(sample(1))
    assert controller.throttle.model.cost is not None
    large = Controller(tmp_path, Throttle(2000.0))
    large.after(replace(sample(0), rows_in=PROBE_ROWS, kept=PROBE_ROWS))
    assert large.throttle.model.cost is not None


def test_a_folder_that_cannot_be_written_is_told_once_and_learning_goes_on(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("a file where the folder should be")
    controller = Controller(tmp_path / "q", Throttle(2000.0))
    assert len(controller.after(sample(0))) == 1
    assert controller.after(sample(1)) == ()
    assert controller.throttle.model.cost is not None
    controller.give(0.5)
    assert controller.throttle.share == 0.5


@pytest.mark.parametrize("text", [None, "", '{"latency_ms": 2000'])
def test_numbers_that_are_lost_are_told_once_and_written_again(tmp_path: Path, text: str | None) -> None:
    controller = Controller(tmp_path, Throttle(2000.0))
    assert controller.after(sample(0)) == ()
    for batch, told in ((1, 1), (2, 0)):
        if text is None:
            (tmp_path / KNOBS).unlink()
        else:
            (tmp_path / KNOBS).write_text(text)
        found = controller.after(sample(batch))
        assert [KNOBS in notice for notice in found] == [True] * told
        assert published(tmp_path / KNOBS) is not None


def test_coverage_is_that_of_the_last_seconds_and_late_rows_add_up(tmp_path: Path) -> None:
    controller = Controller(tmp_path, Throttle(2000.0), window_s=2.5)
    for batch, kept in enumerate((100, 100, 20, 40, 60)):
        controller.after(sample(batch, kept=kept, late=batch))
    found = published(tmp_path / KNOBS)
    assert found is not None
    assert found.coverage == 0.4
    assert found.late == 10


def test_the_state_of_a_micro_batch_is_that_after_the_one_before_and_what_it_will_be_follows(tmp_path: Path) -> None:
    """50 rows are kept each second, so 0.05 each millisecond, and 4,000 rows of state come of that."""
    controller = Controller(tmp_path, Throttle(2000.0))
    for batch in range(3):
        controller.after(replace(sample(batch), state_rows=4000 + batch))
    assert [one.held for one in controller.throttle.model.batches] == [4000, 4001]
    assert controller.throttle.held == 4002
    before = controller.throttle.holding
    assert before == pytest.approx(4000 / 0.05, rel=0.5)
    controller.after(replace(sample(3, kept=0), state_rows=5))
    known = published(tmp_path / KNOBS)
    assert known is not None
    assert (known.held, known.holding) == (5, controller.throttle.holding)


def test_a_join_that_selects_is_known_by_what_rows_are_compared_with(tmp_path: Path) -> None:
    """All rows are kept, and what a micro-batch cost is put down to the share of the window; its state does not change with it."""
    throttle = first_throttle(Goal(latency_ms=1500, selects=True))
    controller = Controller(tmp_path, throttle, selects=True)
    for batch, keep in enumerate((0.5, 0.25, 0.5)):
        made = Decided(Decision(keep, 1.0), 100, 0.0, throttle)
        DecisionLog(tmp_path / DECISIONS).decide(batch, lambda _, made=made: made)
        controller.after(replace(sample(batch, kept=100), state_rows=400))
    assert [batch.kept for batch in controller.throttle.model.batches] == [25, 50]
    assert (controller.throttle.held, controller.throttle.holding) == (0, 0.0)
    assert controller.throttle.coverage == 1


def test_a_join_whose_rows_alone_take_too_long_says_so(tmp_path: Path) -> None:
    throttle = first_throttle(Goal(latency_ms=1500, selects=True))
    controller = Controller(tmp_path, throttle, selects=True)
    for batch in range(PATIENCE):
        decided(tmp_path, batch, throttle, reachable=False)
        told = controller.after(sample(batch, kept=100))
    assert "however little they are compared with" in told[0]
