"""Verdicts on the queries of a program whose folder of checkpoints is there; what happens to those moved aside."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.physical import PhysicalPlan
from streamq.runtime.checkpoint import folder_of, record
from streamq.runtime.evolution import gone_queries, move_aside, refusal, verdicts
from tests.unit.runtime.test_checkpoint import COUNTS, PROGRAM, ROWS, begin


def plan(text: str) -> PhysicalPlan:
    return compile_program(PROGRAM + text).require()


def ran(root: Path, text: str, partitions: int = 2) -> None:
    for query in plan(text).queries:
        record(query, folder_of(root, query.name), partitions=partitions)
        begin(folder_of(root, query.name))


def kinds(root: Path, text: str) -> dict[str, str]:
    return {v.query: v.kind for v in verdicts(plan(text).queries, root)}


def test_each_query_has_a_verdict_of_its_own(tmp_path: Path) -> None:
    ran(tmp_path, COUNTS + ROWS)
    changed = COUNTS.replace("10", "20") + ROWS + ROWS.replace("rows", "more").replace("k FROM", "x FROM")
    assert kinds(tmp_path, changed) == {"counts": "needs a new checkpoint", "rows": "compatible", "more": "new"}


def test_a_query_by_another_name_would_lose_what_the_old_one_knows(tmp_path: Path) -> None:
    ran(tmp_path, COUNTS)
    (verdict,) = verdicts(plan(COUNTS.replace("counts", "totals")).queries, tmp_path)
    assert verdict.kind == "state lost"
    assert f"rename `{tmp_path / 'counts'}` to `totals`" in verdict.blocking[0].help
    (tmp_path / "counts").rename(tmp_path / "totals")
    assert kinds(tmp_path, COUNTS.replace("counts", "totals")) == {"totals": "compatible"}


def test_a_query_that_runs_beside_is_not_taken_for_one_that_is_gone(tmp_path: Path) -> None:
    ran(tmp_path, COUNTS)
    both = plan(COUNTS + COUNTS.replace("counts", "totals"))
    (verdict,) = verdicts(both.queries[1:], tmp_path, all_of=("counts", "totals"))
    assert verdict.kind == "new"
    assert gone_queries(("totals",), tmp_path) == ("counts",)


def test_a_checkpoint_that_nothing_is_known_of_is_refused(tmp_path: Path) -> None:
    begin(tmp_path / "counts")
    (query,) = plan(COUNTS).queries
    (verdict,) = verdicts((query,), tmp_path)
    found = refusal(verdict, query, tmp_path)
    assert found is not None
    assert found.code == "SQ0805"
    assert "nothing that this version of StreamQ can read" in found.notes[0]


def test_a_refusal_says_what_at_which_place_and_what_to_do(tmp_path: Path) -> None:
    ran(tmp_path, COUNTS)
    (query,) = plan(COUNTS.replace("10", "20")).queries
    (verdict,) = verdicts((query,), tmp_path)
    found = refusal(verdict, query, tmp_path)
    assert found is not None
    assert found.span.start > len(PROGRAM)
    assert found.help.startswith("`--fresh counts` moves the old checkpoint aside")
    (note,) = found.notes
    assert note.startswith("counts.aggregate: groups rows by other windows (now a window of 20 seconds, no longer a window of 10 seconds)")


def test_state_keeps_the_parts_that_it_was_cut_into(tmp_path: Path) -> None:
    ran(tmp_path, COUNTS, partitions=2)
    (verdict,) = verdicts(plan(COUNTS).queries, tmp_path, partitions=4)
    assert verdict.ok
    assert [r.what for r in verdict.reasons] == ["goes on with the 2 shuffle partitions that it began with, not with 4"]


def test_a_checkpoint_moved_aside_is_kept_and_the_query_is_new(tmp_path: Path) -> None:
    ran(tmp_path, COUNTS)
    (query,) = plan(COUNTS).queries
    told = move_aside(query, tmp_path)
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("counts.")
    assert (kept / "offsets" / "0").is_file()
    assert kept.name in told
    assert "`s`: all files that are there are read again" in told
    assert kinds(tmp_path, COUNTS.replace("10", "20")) == {"counts": "new"}


@pytest.mark.parametrize("name", ["s", "r"])
def test_a_query_without_a_checkpoint_has_none_to_move(tmp_path: Path, name: str) -> None:
    (query,) = plan(ROWS.replace("rows", name)).queries
    assert move_aside(query, tmp_path) == "starts for the first time"
