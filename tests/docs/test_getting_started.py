"""``docs/getting-started.md`` is followed line by line, in an empty folder.

Blocks with ``file=`` are written, ``sh`` blocks are run one after another. The block behind a command says what
it prints: ``output`` exactly, ``sorted`` exactly but in any order, ``matching`` lines of regular expressions, of
which each must be found in a line of the output once its blanks are taken together. ``fails``: the command ends with an error.
``spark``: it needs Spark. ``install``: not run, since this test runs in what it makes; its make targets are
looked up by ``test_links.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, Block, Page, read_page

PAGE = read_page(DOCS / "getting-started.md")
DEADLINE_SECONDS = 300


def _run(block: Block, folder: Path) -> str:
    """The standard output of the block's commands; fails where their exit code is not as said."""
    environment = {**os.environ, "NO_COLOR": "1"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", block.text], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=DEADLINE_SECONDS, check=False,
    )
    assert (done.returncode != 0) == block.has("fails"), f"{PAGE.place(block)}: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def _compare(told: Block, printed: str) -> None:
    if told.has("output"):
        assert printed.strip() == told.text.strip(), PAGE.place(told)
    elif told.has("sorted"):
        assert sorted(printed.splitlines()) == sorted(told.text.splitlines()), PAGE.place(told)
    elif told.has("matching"):
        lines = [" ".join(line.split()) for line in printed.splitlines()]
        for pattern in told.text.splitlines():
            assert any(re.search(pattern, line) for line in lines), f"{pattern} in\n{printed}"


def _follow(page: Page, folder: Path, *, spark: bool) -> int:
    """Does what the page says, without Spark's part unless asked for; returns the commands run."""
    ran = 0
    for block, after in zip(page.blocks, (*page.blocks[1:], None), strict=True):
        if "file" in block.values:
            target = folder / block.values["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        if block.language != "sh" or block.has("install") or (block.has("spark") and not spark):
            continue
        printed = _run(block, folder)
        ran += 1
        if after is not None and after.language == "text":
            _compare(after, printed)
    return ran


def test_commands_without_spark(tmp_path: Path) -> None:
    assert _follow(PAGE, tmp_path, spark=False) >= 4


@pytest.mark.spark
@pytest.mark.slow
def test_every_command(tmp_path: Path) -> None:
    assert _follow(PAGE, tmp_path, spark=True) >= 7
