"""Which files of an output folder count, and what a killed run may leave behind."""

from __future__ import annotations

import json
import os
from pathlib import Path
from uuid import uuid4

import pytest

from streamq.runtime.sink_log import LOG_FOLDER, files_that_count, has_log, remove_unfinished

FIRST_START = 1_000_000.0


def part(folder: Path, written: float = FIRST_START + 1) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"part-00000-{uuid4()}-c000.snappy.parquet"
    file.write_text("")
    os.utime(file, (written, written))
    return file


def log(folder: Path, name: str, *files: Path) -> None:
    (folder / LOG_FOLDER).mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"path": file.as_uri(), "action": "add"}) for file in files]
    (folder / LOG_FOLDER / name).write_text("\n".join(["v1", *lines]))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "my out"


def test_batches_and_compact_batches_count(out: Path) -> None:
    first, second, third = part(out), part(out / "day=1 2"), part(out)
    log(out, "9.compact", first, second)
    log(out, "10", third)
    log(out, ".11.tmp", part(out))
    assert files_that_count(out) == {first.name, second.name, third.name}


def test_only_unfinished_files_of_this_query_go(out: Path) -> None:
    kept, older = part(out), part(out, written=FIRST_START - 1)
    log(out, "0", kept)
    lost = [part(out), part(out / "day=1")]
    crc = out / f".{lost[0].name}.crc"
    crc.write_text("")
    note = out / "part-of-the-docs.txt"
    note.write_text("")
    assert remove_unfinished(out, FIRST_START) == 2
    assert not any(file.exists() for file in (*lost, crc))
    assert all(file.exists() for file in (kept, older, note))


def test_a_folder_without_a_log_is_left_alone(out: Path) -> None:
    file = part(out)
    assert not has_log(out)
    assert remove_unfinished(out, 0) == 0
    assert file.exists()


def test_a_moved_folder_keeps_its_files(out: Path, tmp_path: Path) -> None:
    kept = part(out)
    log(out, "0", kept)
    moved = out.rename(tmp_path / "moved")
    assert remove_unfinished(moved, 0) == 0
    assert (moved / kept.name).exists()
