"""APPROX DISTINCT with SHED in a run that is killed: as if it had not been, and within the rate that it states."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from streamq.compiler.ir.physical import BUCKETS
from streamq.stdlib.sketches.lookalike import crawl
from streamq.stdlib.sketches.membership_plan import part_of, plan_stable
from tests.spark.test_restart import (
    command,
    committed,
    finish,
    kill_after,
    leave_unfinished,
    rows_of,
    start,
    undo,
)

__all__ = ["start"]
FILES, ROWS = 5, 1500
FP, MEMORY = 0.05, 2048
PROGRAM = f"""\
CREATE STREAM urls (url BIGINT, n INT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'in', format = 'json', max_files_per_trigger = 1);
CREATE SINK fresh WITH (connector = 'file', path = 'fresh', format = 'json');
CREATE SINK gone WITH (connector = 'file', path = 'gone', format = 'json');
CREATE QUERY news INTO fresh AS
  SELECT APPROX DISTINCT url FROM urls WITHIN FP {FP:.0%} MEMORY {MEMORY} BYTES
  SHED RANDOM BY 30 PERCENT RECOVER DROPPED INTO gone;
CREATE QUERY sizes INTO sizes AS SELECT WINDOW_END, SELF_JOIN_SIZE(url) AS size FROM urls [TUMBLE 3 SECONDS];
CREATE SINK sizes WITH (connector = 'file', path = 'sizes', format = 'json');
""".replace("%", " PERCENT")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A crawl: addresses of which half were there before, a file per micro-batch, a thousand to the second."""
    (tmp_path / "in").mkdir()
    urls = crawl(FILES * ROWS, 0.5, seed=8).astype(np.int64).tolist()
    for file in range(FILES):
        path = tmp_path / "in" / f"{file:03}.json"
        path.write_text("".join(row(n, urls[n]) for n in range(file * ROWS, (file + 1) * ROWS)))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    (tmp_path / "p.cql").write_text(PROGRAM)
    return tmp_path


def row(n: int, url: int) -> str:
    return json.dumps({"url": url, "n": n, "ts": f"2024-01-01T00:00:{n // 1000:02}.{n % 1000:03}Z"}) + "\n"


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds child processes in /proc")
def test_killed_in_the_middle_the_stated_rate_holds(
    folder: Path, start: Callable[..., subprocess.Popen[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    kill_after(2, folder, start(), "fresh")
    assert committed(folder, "fresh") < FILES
    leave_unfinished(folder / "fresh")
    undo(folder, "news")
    last = start("--once")
    output = finish(last)
    assert last.returncode == 0, output
    fresh = [int(str(r["url"])) for r in rows_of(folder, "fresh")]

    whole = tmp_path_factory.mktemp("whole")
    shutil.copytree(folder / "in", whole / "in")
    (whole / "p.cql").write_text(PROGRAM)
    unbroken = subprocess.run(command("--once"), cwd=whole, text=True, capture_output=True, check=False)
    assert unbroken.returncode == 0, unbroken.stdout
    assert Counter(fresh) == Counter(int(str(r["url"])) for r in rows_of(whole, "fresh"))
    sizes = rows_of(folder, "sizes")
    assert sizes
    assert sorted(map(str, sizes)) == sorted(map(str, rows_of(whole, "sizes")))

    rows = [json.loads(line) for path in sorted((folder / "in").iterdir()) for line in path.read_text().splitlines()]
    files = (folder / "gone" / "urls").glob("batch-*/*.json")
    gone = Counter(json.loads(line)["n"] for file in files for line in file.read_text().splitlines())
    assert set(gone.values()) == {1}
    kept = {r["url"] for r in rows if r["n"] not in gone}
    assert abs(len(gone) - 0.3 * len(rows)) < 5 * sqrt(0.21 * len(rows))
    lost = kept - set(fresh)
    bound = part_of(plan_stable(MEMORY * 8, FP), BUCKETS).fp_bound
    assert set(fresh) <= kept
    assert len(lost) <= bound * len(kept) + 4 * sqrt(bound * len(kept))
    assert lost, "the filter is too small to be right each time"
