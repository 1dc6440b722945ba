"""Where rows lie that were put aside, and the list beside the checkpoint."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, SinkSpec
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.supervise.letters import (
    LIST,
    Aside,
    list_aside,
    note_of,
    put_aside,
    to_come,
    unfinished,
    write_letters,
)
from streamq.runtime.supervise.policy import Rules
from streamq.runtime.supervise.settings import no_place_for_letters, supervision

ERROR = Diagnostic("SQ0801", "query `q` failed: no", NO_SPAN)


def note(batch: int = 3, since: float = 1.5, query: str = "q") -> dict[str, object]:
    return note_of(query, batch, ERROR, since, "input", 0.0)


def fill(draft: Path) -> None:
    (draft / "rows").write_text("1\n")


def plan_batch(checkpoint: Path, planned: int, done: int) -> None:
    for log, last in (("offsets", planned), ("commits", done)):
        (checkpoint / log).mkdir(exist_ok=True)
        for batch in range(last + 1):
            (checkpoint / log / str(batch)).write_text("v1\n")


def test_letters_have_a_note_and_are_written_once(tmp_path: Path) -> None:
    place = write_letters(tmp_path, note(), fill)
    assert place == tmp_path / "q" / "batch-3"
    assert (place / "rows").read_text() == "1\n"
    found = json.loads((place / "note.json").read_text())
    assert found | {"notes": None} == {
        "query": "q", "batch": 3, "rows": "input", "code": "SQ0801", "error": "query `q` failed: no", "notes": None,
        "time": "1970-01-01T00:00:00+00:00", "checkpoint": 1.5,
    }

    def again(draft: Path) -> None:
        raise AssertionError

    assert write_letters(tmp_path, note(), again) == place


def test_letters_of_another_run_stay(tmp_path: Path) -> None:
    first = write_letters(tmp_path, note(), fill)
    other = write_letters(tmp_path, note(since=2.5), fill)
    assert other != first
    assert write_letters(tmp_path, note(since=2.5), fill) == other
    assert len(list((tmp_path / "q").iterdir())) == 2


def test_who_dies_while_writing_leaves_no_letters(tmp_path: Path) -> None:
    def dies(draft: Path) -> None:
        fill(draft)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_letters(tmp_path, note(), dies)
    assert not list(tmp_path.glob("q/batch-*"))
    assert (write_letters(tmp_path, note(), fill) / "rows").exists()
    assert [p.name for p in (tmp_path / "q").iterdir()] == ["batch-3"]


@pytest.mark.parametrize("name", ["../up", ".", "..", "_hidden", "a/b", "ä b"])
def test_names_of_queries_stay_inside(tmp_path: Path, name: str) -> None:
    place = write_letters(tmp_path, note(query=name), fill)
    assert place.parent.parent == tmp_path
    assert place.parent.resolve().parent == tmp_path.resolve()
    assert not place.parent.name.startswith((".", "_"))


def test_the_list(tmp_path: Path) -> None:
    assert put_aside(tmp_path) == {}
    list_aside(tmp_path, 7, Aside("there"))
    list_aside(tmp_path, 9, Aside("here", True, {"query": "q"}))
    assert put_aside(tmp_path) == {7: Aside("there"), 9: Aside("here", True, {"query": "q"})}
    (tmp_path / LIST).write_text("{")
    assert put_aside(tmp_path) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"batches": {"3": {}}}', "\x00\xff"])
def test_a_broken_list_is_kept_beside_the_new_one(tmp_path: Path, text: str) -> None:
    (tmp_path / LIST).write_text(text)
    assert put_aside(tmp_path) == {}
    list_aside(tmp_path, 5, Aside("place"))
    assert put_aside(tmp_path) == {5: Aside("place")}
    assert (tmp_path / f"{LIST}.broken").read_text() == text


def test_a_list_that_cannot_be_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / LIST).mkdir()
    with pytest.raises(OSError, match="directory"):
        list_aside(tmp_path, 5, Aside("place"))


@pytest.mark.parametrize(
    ("planned", "done", "batch", "closed"),
    [(7, 6, 7, True), (7, 7, None, False), (8, 7, 8, False), (-1, -1, None, False), (0, -1, 0, False)],
)
def test_the_gate_is_closed_for_a_batch_that_is_yet_to_run(
    tmp_path: Path, planned: int, done: int, batch: int | None, closed: bool
) -> None:
    list_aside(tmp_path, 7, Aside("there"))
    plan_batch(tmp_path, planned, done)
    assert unfinished(tmp_path) == batch
    assert to_come(tmp_path) == closed


def test_the_gate_stays_open_where_only_results_were_refused(tmp_path: Path) -> None:
    list_aside(tmp_path, 7, Aside("there", refused=True))
    plan_batch(tmp_path, 7, 6)
    assert not to_come(tmp_path)


def test_settings_become_rules(tmp_path: Path) -> None:
    found = supervision({"dead_letters": "dead", "restart_delay": 250}, str(tmp_path), once=False)
    assert found.letters == tmp_path / "dead"
    assert found.rules("q") == Rules(3, True, True, 0.25, 60.0, "q")
    once = supervision({}, str(tmp_path), once=True)
    assert (once.rules("q").tries, once.rules("q").patient, once.letters) == (1, False, None)
    assert supervision({"tries": 5}, "", once=True).tries == 5


@pytest.mark.parametrize(
    ("folder", "recursive", "refused"),
    [
        ("in/dead", True, "reads"), ("in", True, "reads"), ("in/dead", False, ""), ("dead", True, ""),
        ("inner", True, ""), ("s3a://bucket/dead", False, "no folder of this machine"),
    ],
)
def test_letters_do_not_become_input_again(tmp_path: Path, folder: str, recursive: bool, refused: str) -> None:
    options = (("path", "in"), ("format", "json"), ("recursive", recursive))
    scan = ScanStream(id="s", stream="s", connector="file", schema=(("n", "INT"),), options=options)
    query = PhysicalQuery("q", scan, "append", SinkSpec(None, "noop"), ())
    found = no_place_for_letters({"dead_letters": folder}, (query,), str(tmp_path))
    assert [d.code for d in found] == (["SQ0703"] if refused else [])
    assert all(refused in d.message for d in found)
    assert no_place_for_letters({}, (query,), str(tmp_path)) == ()
