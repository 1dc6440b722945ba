"""A checkpoint has one run at a time."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from streamq.runtime.one_run import hold


def test_one_at_a_time_and_then_the_next(tmp_path: Path) -> None:
    root = tmp_path / "state"
    with ExitStack() as first:
        assert hold(root, first) is None
        with ExitStack() as second:
            found = hold(root, second)
            assert found is not None
            assert (found.code, found.message) == ("SQ0805", f"checkpoint `{root}` is that of a run which has not ended")
        with ExitStack() as third:
            assert hold(root, third) is not None
    with ExitStack() as next_one:
        assert hold(root, next_one) is None


def test_what_cannot_be_made_is_told_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with ExitStack() as stack:
        assert hold(tmp_path / "file" / "state", stack) is None
