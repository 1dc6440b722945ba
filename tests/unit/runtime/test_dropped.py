"""What is noted of the rows that queries shed and kept, and the answers of a backfill."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.compiler.backfill import backfill_plan
from streamq.runtime.control.decisions import Decided
from streamq.runtime.control.throttle import Decision, Throttle
from streamq.runtime.dropped import NOTE, Note, noted
from streamq.runtime.spark.control_source import control_row, keeps_all, row_of
from streamq.stdlib.overload.steps import BEGINNING, Step
from tests.support.compiling import compile_text


def test_a_note_is_read_back_with_the_share_of_each_missing_micro_batch(tmp_path: Path) -> None:
    note = Note(keep=0.7).after(0, True, 0.7).after(1, False, 0.7).after(2, False, 0.5)
    note.write(tmp_path)
    assert noted(tmp_path) == Note(2, {1: 0.7, 2: 0.5}, 0.7)
    assert note.after(1, True, 0.7).missing == {2: 0.5}


@pytest.mark.parametrize("text", ["", "[]", '{"last": 1, "missing": [1], "keep": null}', '{"last": "x"}'])
def test_a_broken_note_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / NOTE).write_text(text)
    assert noted(tmp_path) is None


def test_windows_that_are_open_still_lose_rows_when_the_load_is_over() -> None:
    steps = (Step(BEGINNING, 0.3), Step(10_000, 1.0))
    throttle = Throttle(2000.0, window_ms=10, steps=steps)
    assert not keeps_all(row_of(Decided(Decision(1.0), 10, 0.0, throttle), Path()))
    assert keeps_all(row_of(Decided(Decision(1.0), 10, 0.0, Throttle(2000.0, window_ms=10, steps=steps[1:])), Path()))
    assert keeps_all(control_row(1.0, 1.0))
    assert not keeps_all(control_row(0.999, 1.0))


PROGRAM = """
CREATE SINK gone WITH (connector = 'file', format = 'parquet', path = 'gone');
CREATE SINK answers WITH (connector = 'file', format = 'json', path = 'answers');
CREATE SINK lines WITH (connector = 'file', format = 'csv', path = 'lines');
CREATE QUERY q AS SELECT i, tags FROM s SHED RANDOM BY 5 PERCENT RECOVER DROPPED INTO gone;
"""


@pytest.mark.parametrize(("sink", "code"), [("gone", "SQ0602"), ("GONE", "SQ0602"), ("lines", "SQ0502"), ("no", "SQ0206")])
def test_sinks_that_cannot_take_the_answers(sink: str, code: str) -> None:
    plan, found = backfill_plan(compile_text(PROGRAM), "q", sink, "folder", "")
    assert plan is None
    assert [d.code for d in found] == [code]


def test_the_answers_of_each_call_lie_in_a_folder_of_their_own() -> None:
    plan, found = backfill_plan(compile_text(PROGRAM), "q", "answers", "folder", "", "backfill-1")
    assert plan is not None
    assert not found
    assert dict(plan.queries[0].sink.options)["path"] == "answers/backfill-1"
