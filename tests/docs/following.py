"""Follows a page line by line, in an empty folder.

Blocks with ``file=`` are written, ``sh`` blocks are run one after another. ``text`` blocks behind a command say what
it prints: ``output`` exactly, ``sorted`` exactly but in any order, ``lines`` these lines among others, ``like`` these
lines but for the time that something took, ``shaped`` these lines but for all numbers. ``fails``: the command ends
with an error. ``--accept`` renews ``output`` blocks. ``spark``: the command needs Spark. ``install``: not run, since
the test runs in what it makes; its make targets are looked up by ``test_links.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import Block, Page, replace_block

DEADLINE_SECONDS = 300


def _run(page: Page, block: Block, folder: Path) -> str:
    """The standard output of the block's commands; fails where their exit code is not as said."""
    environment = {**os.environ, "NO_COLOR": "1"}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", block.text], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=DEADLINE_SECONDS, check=False,
    )
    assert (done.returncode != 0) == block.has("fails"), f"{page.place(block)}: {done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout


def _compare(page: Page, told: Block, printed: str) -> None:
    if told.has("output"):
        assert printed.strip() == told.text.strip(), page.place(told)
    elif told.has("sorted"):
        assert sorted(printed.splitlines()) == sorted(told.text.splitlines()), page.place(told)
    elif told.has("lines"):
        assert set(told.text.splitlines()) <= set(printed.splitlines()), page.place(told)
    elif told.has("like"):
        assert _without_times(told.text) <= _without_times(printed), f"{page.place(told)}:\n{printed}"
    elif told.has("shaped"):
        assert _shapes(told.text) <= _shapes(printed), f"{page.place(told)}:\n{printed}"
    else:
        assert not told.words, page.place(told)


def _without_times(text: str) -> set[str]:
    """The lines without blanks that only align, and with 0 for each number that has a unit of time."""
    return {
        re.sub(r"\b\d+(\.\d+)?(?= (s|ms|seconds?)\b)", "0", " ".join(line.split()))
        for line in text.splitlines()
    }


def _shapes(text: str) -> set[str]:
    """The lines without blanks that only align, and with one digit for each number."""
    return {re.sub(r"\d+", "0", " ".join(line.split())) for line in text.splitlines()}


def follow(page: Page, folder: Path, *, spark: bool, accept: bool) -> int:
    """Does what the page says, without Spark's part unless asked for; returns the commands run."""
    ran = 0
    renewed: list[tuple[Block, str]] = []
    printed: str | None = None
    for block in page.blocks:
        if "file" in block.values:
            target = folder / block.values["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            skipped = block.has("install") or (block.has("spark") and not spark)
            printed = None if skipped else _run(page, block, folder)
            ran += not skipped
        elif printed is not None and accept and block.has("output"):
            renewed.append((block, printed))
        elif printed is not None:
            _compare(page, block, printed)
    for told, text in reversed(renewed):
        replace_block(page, told, text)
    return ran
