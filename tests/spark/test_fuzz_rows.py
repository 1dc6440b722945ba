"""A share of the search for rows that a run cannot take; ``python -m tests.fuzz.rows`` looks longer."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.docs.pages import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["json", "csv", "parquet"])
def test_damaged_rows(kind: str) -> None:
    """In a process of its own, as runs stop the session that they find."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.rows", "--count", "1000", "--seed", "7", "--format", kind], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "build/typing"), str(ROOT)])}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "all is well" in done.stdout
