"""Knobs and decisions as files: written whole, read back, broken in every way."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.runtime.control.decisions import KEPT_FILES, Decided, DecisionLog
from streamq.runtime.control.knobs import publish, published
from streamq.runtime.control.throttle import Decision, Throttle
from streamq.stdlib.overload.batch_time import BatchTime, Cost, CostModel

THROTTLE = Throttle(2000.0, CostModel(Cost(150.0, 0.0005, 0.004), (), 70_000), 0.25)


def test_knobs_come_back(tmp_path: Path) -> None:
    path = tmp_path / "knobs.json"
    assert published(path) is None
    ranked = Throttle(0.0, fixed_share=0.5, ranks=(0.25, 1.0, 1.0), newest=1_704_067_200_000_001.0)
    for throttle in (THROTTLE, Throttle(500.0), Throttle(500.0, vain=0.064), ranked):
        publish(path, throttle)
        assert published(path) == throttle
    assert [p.name for p in tmp_path.iterdir()] == ["knobs.json"]


def test_measured_micro_batches_are_not_published(tmp_path: Path) -> None:
    model = CostModel().after(BatchTime(1000, 1000, 300.0))
    publish(tmp_path / "k", Throttle(2000.0, model))
    found = published(tmp_path / "k")
    assert found is not None
    assert found.model == CostModel(model.cost, (), 1000)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "7", "null", '{"latency_ms": 2000}', "\x00\xff",
        '{"latency_ms": "2000", "least": 0, "counted": 1, "most_kept": 1}',
        '{"latency_ms": 0, "least": 0, "counted": 1, "most_kept": 1}',
        '{"latency_ms": 2000, "least": 2, "counted": 1, "most_kept": 1}',
        '{"latency_ms": 2000, "least": 0, "counted": 1, "most_kept": 1, "fixed": 3}',
        '{"latency_ms": 2000, "least": 0, "counted": 1, "most_kept": 1, "fixed": -3, "read": 1, "work": 1}',
        '{"latency_ms": NaN, "least": 0, "counted": 1, "most_kept": 1}',
        '{"latency_ms": Infinity, "least": 0, "counted": 1, "most_kept": 1}',
    ],
)
def test_broken_knobs_are_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "k").write_text(text, "latin-1")
    assert published(tmp_path / "k") is None


def decided(keep: float, at: float = 1000.0) -> Decided:
    return Decided(Decision(keep, 12.5, True), 100, at, THROTTLE)


def test_a_decision_is_made_once(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions")
    seen: list[Decided | None] = []

    def make(before: Decided | None) -> Decided:
        seen.append(before)
        return decided(0.5)

    assert log.decide(7, make) == decided(0.5)
    assert log.decide(7, lambda _: decided(0.1)) == decided(0.5)
    assert log.decide(8, make) == decided(0.5)
    assert seen == [None, decided(0.5)]
    assert sorted(p.name for p in (tmp_path / "decisions").iterdir()) == ["7", "8"]


@pytest.mark.parametrize("text", ["", "{}", '{"keep": 3, "rate": 0, "reachable": 1, "arrived": 1, "decided_ms": 1}'])
def test_a_broken_decision_is_made_again(tmp_path: Path, text: str) -> None:
    (tmp_path / "7").write_text(text)
    log = DecisionLog(tmp_path)
    assert log.decide(7, lambda _: decided(0.5)) == decided(0.5)
    assert log.find(7) == decided(0.5)


def test_old_decisions_go(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path)
    for batch in range(KEPT_FILES + 5):
        log.decide(batch, lambda _: decided(0.5))
    assert len(list(tmp_path.iterdir())) == KEPT_FILES
    assert log.find(0) is None


def test_where_nothing_can_be_written_the_decision_holds(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    log = DecisionLog(tmp_path / "file")
    assert log.decide(3, lambda _: decided(0.25)) == decided(0.25)
