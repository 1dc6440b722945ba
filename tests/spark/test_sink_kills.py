"""``streamq run`` into databases, killed again and again at random moments: the result is that of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from tests.support.postgres import postgres_server

FILES, ROWS, KILLS = 10, 40, 3
DEADLINE_S = 600.0

PROGRAM = """\
CREATE STREAM numbers (n BIGINT, k BIGINT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 'in', format = 'json', max_files_per_trigger = 1);
CREATE SINK all_of_them WITH (connector = 'postgres', uri = 'env:PG_URI', table = 'numbers');
CREATE SINK counts WITH (connector = 'postgres', uri = 'env:PG_URI', table = 'counts');
CREATE SINK local WITH (connector = 'duckdb', path = 'out.duckdb', table = 'numbers');
CREATE QUERY a INTO all_of_them AS SELECT n FROM numbers;
CREATE QUERY b INTO counts AS SELECT k, COUNT(*) AS c, SUM(n) AS s FROM numbers GROUP BY k;
CREATE QUERY c INTO local AS SELECT n FROM numbers;
"""


@pytest.mark.long
def test_killed_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for file in range(FILES):
        numbers = range(file * ROWS, (file + 1) * ROWS)
        path = tmp_path / "in" / f"{file:03}.json"
        path.write_text("".join(json.dumps({"n": n, "k": n % 7, "ts": "2024-01-01T00:00:00Z"}) + "\n" for n in numbers))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    (tmp_path / "p.cql").write_text(PROGRAM)
    draw, pause = random.Random(20), threading.Event()
    with postgres_server() as server:
        environment = {**os.environ, "PG_URI": server.uri()}

        def start() -> subprocess.Popen[str]:
            return subprocess.Popen(
                [sys.executable, "-m", "streamq", "run", "p.cql", "--once", "--checkpoint", "state", "-q"],
                cwd=tmp_path, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )

        killed_at: list[int] = []
        while len(killed_at) < KILLS:
            before = batches(tmp_path)
            process = start()
            deadline = time.monotonic() + DEADLINE_S
            while batches(tmp_path) < before + 3 and process.poll() is None:
                assert time.monotonic() < deadline
                pause.wait(0.02)
            pause.wait(draw.uniform(0.0, 0.6))
            process.kill()
            output, _ = process.communicate(timeout=DEADLINE_S)
            assert "error" not in output, output[-2000:]
            killed_at.append(batches(tmp_path))
        process = start()
        output, _ = process.communicate(timeout=DEADLINE_S)
        assert process.returncode == 0, output[-2000:]
        total = range(FILES * ROWS)
        assert sorted(n for (n,) in server.query("SELECT n FROM numbers")) == list(total)
        counts = Counter(n % 7 for n in total)
        assert {k: (c, s) for k, c, s in server.query("SELECT k, c, s FROM counts")} == {
            k: (c, sum(n for n in total if n % 7 == k)) for k, c in counts.items()
        }
        assert server.query("SELECT count(*) FROM pg_class WHERE relname LIKE 'streamq_stage%'") == [(0,)]
    with duckdb.connect(str(tmp_path / "out.duckdb")) as db:
        assert sorted(n for (n,) in db.execute("SELECT n FROM numbers").fetchall()) == list(total)


def batches(folder: Path) -> int:
    """Micro-batches that all queries together have begun."""
    return sum(len([p for p in (folder / "state" / q / "offsets").glob("*") if p.name.isdigit()]) for q in "abc")
