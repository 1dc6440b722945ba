"""A checkpoint fits the query that wrote it, with other knobs and pace, and no other query."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streamq.compiler.ir.physical import (
    AssignWindow,
    ControlRelation,
    Knob,
    PhysicalQuery,
    ScanStream,
    SinkSpec,
    UnionAll,
    Where,
)
from streamq.dsl.source import Span
from streamq.runtime import checkpoint


def scan(**options: int) -> ScanStream:
    return ScanStream(
        id="bid", stream="bid", connector="file", schema=(("a", "INT"), ("ts", "TIMESTAMP")),
        options=(("path", "in"), *options.items()),
    )


def make(slide_ms: int = 5_000, **options: int) -> PhysicalQuery:
    window = AssignWindow(scan(**options), "w", "ts", 10_000, slide_ms, id="hot.window")
    root = Where(window, "`a` > (SELECT keep FROM c)", id="hot.shed")
    return PhysicalQuery("hot", root, "append", SinkSpec(None, "console"), (("a", "INT"),))


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A checkpoint folder in which a batch was started."""
    checkpoint.record(make(), tmp_path)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1\n")
    return tmp_path


def test_the_same_query_fits(used: Path) -> None:
    assert checkpoint.check(make(), used) is None


def test_what_may_change_between_runs(used: Path) -> None:
    control = ControlRelation("c", "hot", (Knob("keep", 0.5, 0.0, 1.0),))
    tuned = replace(
        make(max_files_per_trigger=3), controls=(control,), time_column="until",
        origin=Span("other.cql", 1, 2),
    )
    assert checkpoint.check(tuned, used) is None


def test_a_changed_window_does_not_fit(used: Path) -> None:
    found = checkpoint.check(make(slide_ms=2_000), used)
    assert found is not None
    assert (found.code, found.notes) == ("SQ0805", ("changed or new: hot.window",))


def test_operators_that_come_and_go_are_named(used: Path) -> None:
    less = replace(make(), root=UnionAll((scan(), scan()), id="hot.union"))
    found = checkpoint.check(less, used)
    assert found is not None
    assert found.notes == (
        "changed or new: bid, hot.union", "no longer there: hot.window, hot.shed",
    )


def test_another_sink_does_not_fit(used: Path) -> None:
    moved = replace(make(), sink=SinkSpec("out", "file", (("path", "out"),)))
    assert checkpoint.check(moved, used) is not None


def test_a_checkpoint_that_holds_nothing_fits_all(tmp_path: Path) -> None:
    checkpoint.record(make(), tmp_path)
    assert checkpoint.check(make(slide_ms=1_000), tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", '{"version": 99}', '{"version": 1}'])
def test_a_checkpoint_of_something_else(used: Path, text: str) -> None:
    (used / checkpoint.FILE_NAME).write_text(text)
    found = checkpoint.check(make(), used)
    assert found is not None
    assert found.code == "SQ0805"


def test_how_brokers_are_reached_may_change_and_topics_may_not(tmp_path: Path) -> None:
    def made(**options: str | int) -> PhysicalQuery:
        step = ScanStream("s", "kafka", (), tuple({"topic": "a", **options}.items()), id="s.scan")
        return PhysicalQuery("hot", step, "append", SinkSpec("out", "kafka", step.options), ())

    checkpoint.record(made(bootstrap_servers="a:1", password="env:A", fail_on_data_loss="true"), tmp_path)
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text("v1\n")
    other = made(bootstrap_servers="b:1,c:1", password="file:p", max_rows_per_trigger=5, starting="latest", **{"kafka.client.id": "me"})
    assert checkpoint.check(other, tmp_path) is None
    for changed in (made(topic="b"), made(format="csv")):
        assert checkpoint.check(changed, tmp_path) is not None
