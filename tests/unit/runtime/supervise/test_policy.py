"""What follows a failure: a function of numbers, so every case takes microseconds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamq.runtime.supervise.kinds import kind_of
from streamq.runtime.supervise.policy import (
    JITTER,
    LONGEST_DELAY_S,
    Failure,
    GiveUp,
    Kind,
    Quarantine,
    Restart,
    Rules,
    decide,
)

RULES = Rules(tries=3, first_delay_s=1.0, seed="q")


def failed(*batches: int | None, kind: Kind = Kind.DATA) -> tuple[Failure, ...]:
    return tuple(Failure(float(place), kind, batch) for place, batch in enumerate(batches))


def test_the_first_failures_lead_to_restarts_each_after_twice_the_time() -> None:
    delays = []
    for failures in (failed(4), failed(4, 4)):
        found = decide(failures, RULES, failures[-1].at)
        assert isinstance(found, Restart)
        delays.append(found.after_s)
    assert delays == [pytest.approx(1.0, rel=JITTER), pytest.approx(2.0, rel=JITTER)]
    assert delays[1] != 2 * delays[0], "no jitter"


def test_time_that_passed_counts() -> None:
    whole = decide(failed(4), RULES, 0.0)
    assert isinstance(whole, Restart)
    assert decide(failed(4), RULES, 0.25) == Restart(whole.after_s - 0.25)
    assert decide(failed(4), RULES, 99.0) == Restart(0.0)


def test_the_same_query_waits_the_same_time_and_another_one_another() -> None:
    assert decide(failed(4), RULES, 0.0) == decide(failed(4), RULES, 0.0)
    assert decide(failed(4), RULES, 0.0) != decide(failed(4), replace(RULES, seed="r"), 0.0)


def test_a_batch_that_fails_as_often_as_allowed_ends_the_query_or_is_put_aside() -> None:
    assert decide(failed(4, 4, 4), RULES, 2.0) == GiveUp(3)
    assert decide(failed(4, 4, 4), replace(RULES, letters=True), 2.0) == Quarantine(4)
    assert decide(failed(4), replace(RULES, tries=1, letters=True), 0.0) == Quarantine(4)
    refused = (*failed(4, 4), Failure(2.0, Kind.DATA, 4, refused=True))
    assert decide(refused, replace(RULES, letters=True), 2.0) == Quarantine(4, refused=True)


def test_failures_are_counted_by_batch() -> None:
    assert isinstance(decide(failed(4, 4, 5), RULES, 2.0), Restart)
    assert decide(failed(4, 5, 5, 5), RULES, 3.0) == GiveUp(3)


def test_without_a_planned_batch_there_is_nothing_to_put_aside() -> None:
    assert decide(failed(None, None, None), replace(RULES, letters=True), 2.0) == GiveUp(3)


def test_a_batch_that_fails_without_its_rows_too_ends_the_query() -> None:
    failures = (*failed(4, 4, 4), Failure(3.0, Kind.UNKNOWN, 4, emptied=True))
    assert decide(failures, replace(RULES, letters=True), 3.0) == GiveUp(1)
    away = (*failed(4, 4, 4), Failure(3.0, Kind.AWAY, 4, emptied=True))
    assert isinstance(decide(away, replace(RULES, letters=True), 3.0), Restart)


def test_what_lasts_is_not_tried_again() -> None:
    assert decide(failed(4, kind=Kind.FINAL), replace(RULES, letters=True), 0.0) == GiveUp(1)


@given(st.integers(1, 200))
def test_what_is_away_is_waited_for_without_end_but_not_by_runs_that_are_to_end(failures: int) -> None:
    away = failed(*[4] * failures, kind=Kind.AWAY)
    found = decide(away, replace(RULES, letters=True), away[-1].at)
    assert isinstance(found, Restart)
    assert found.after_s <= LONGEST_DELAY_S * (1 + JITTER)
    hasty = decide(away, replace(RULES, patient=False, letters=True), away[-1].at)
    # Rows that nobody found fault with are not put aside.
    assert isinstance(hasty, Restart) if failures < 3 else hasty == GiveUp(failures)


def test_a_server_that_was_away_does_not_count_against_the_rows() -> None:
    away = failed(4, 4, 4, kind=Kind.AWAY)
    assert isinstance(decide((*away, Failure(4.0, Kind.DATA, 4)), RULES, 4.0), Restart)


@pytest.mark.parametrize(
    ("code", "text", "kind"),
    [
        ("SQ0804", "", Kind.DATA),
        ("SQ0801", "[PYTHON_EXCEPTION] ValueError: no", Kind.DATA),
        ("SQ0801", "[DIVIDE_BY_ZERO]", Kind.UNKNOWN),
        ("SQ0801", "ExecutorLostFailure (executor 1 exited)", Kind.AWAY),
        ("SQ0801", "[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] x", Kind.FINAL),
        ("SQ0801", "org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired", Kind.AWAY),
        ("SQ0808", "", Kind.AWAY),
        ("SQ0806", "", Kind.FINAL),
        ("SQ0809", "No space left on device", Kind.AWAY),
        ("SQ0805", "", Kind.FINAL),
        ("SQ0802", "", Kind.FINAL),
        ("SQ0705", "", Kind.FINAL),
    ],
)
def test_kinds(code: str, text: str, kind: Kind) -> None:
    assert kind_of(code, text) is kind
