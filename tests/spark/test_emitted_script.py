"""``compile --emit pyspark`` writes a program that runs without StreamQ and gives the same rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from streamq.compiler.driver import compile_program
from streamq.compiler.explain.pyspark_source import to_pyspark
from streamq.runtime.spark.java import find_java
from streamq.runtime.spark.session import FAST_START, FAST_START_JVM_FLAGS
from tests.support.streams import at, run_once, write_batches

PROGRAM = """
CREATE STREAM s (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS)
  WITH (connector = 'file', path = 's', format = 'json');
CREATE STREAM c (k STRING, n INT) WITH (connector = 'file', path = 'c.csv');
CREATE TABLE t (k STRING, name STRING) WITH (connector = 'file', path = 't', format = 'json');
CREATE SINK per_window WITH (connector = 'file', path = 'out/per_window', format = 'json');
CREATE SINK named WITH (connector = 'file', path = 'out/named', format = 'json');
CREATE SINK copied WITH (connector = 'file', path = 'out/copied', format = 'json');
CREATE QUERY per_window INTO per_window AS
  SELECT k, COUNT(*) AS n, COUNT(DISTINCT v) AS d, WINDOW_END AS until
  FROM s [TUMBLE 10 SECONDS] WHERE k <> 'it''s "odd"\\' GROUP BY k;
CREATE QUERY named INTO named AS
  SELECT name, v FROM s JOIN t ON s.k = t.k SHED RANDOM BY KEY (k) BY 30 PERCENT;
CREATE QUERY copied INTO copied AS SELECT k, n * 2 AS twice FROM c;
"""


def test_the_script_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"k": f"k{i % 7}", "v": i % 5, "ts": at(i)} for i in range(100)]
    write_batches(tmp_path / "s", [[*rows[:50], "{broken"], rows[50:]])
    write_batches(tmp_path / "t", [[{"k": f"k{i}", "name": f"name {i}"} for i in range(7)]])
    (tmp_path / "c.csv").write_text("k,n\na,1\nb,2\n")
    script = tmp_path / "program.py"
    script.write_text(to_pyspark(compile_program(PROGRAM).require()))
    assert "streamq" not in script.read_text().split('"""', 2)[2].replace("streamq_control", "")
    run(script, tmp_path)
    expected = run_once(spark, PROGRAM, tmp_path)
    for name in ("per_window", "named", "copied"):
        found = written(tmp_path / "out" / name)
        assert len(found) == len(expected[name].rows) > 0
        # The end of a window, which comes last, is a text in the file.
        columns = 3 if name == "per_window" else None
        rows_found = [tuple(r.values())[:columns] for r in found]
        assert sorted(map(repr, rows_found)) == sorted(repr(row[:columns]) for row in expected[name].rows)


def run(script: Path, base: Path) -> None:
    quick = " ".join(f"--conf {key}={str(value).lower()}" for key, value in FAST_START.items())
    environment = {
        **os.environ, "JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # As the session of the tests: what the script sets itself holds all the same.
        "PYSPARK_SUBMIT_ARGS": f"{quick} pyspark-shell",
        "JDK_JAVA_OPTIONS": " ".join(FAST_START_JVM_FLAGS),
    }
    done = subprocess.run(
        [sys.executable, str(script), "--once", "--base", str(base)], cwd="/",
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]


def written(folder: Path) -> list[dict[str, Any]]:
    parts = sorted(folder.glob("*.json"))
    return [json.loads(line) for p in parts for line in p.read_text().splitlines()]


MOVING = """
CREATE STREAM s (k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 's', format = 'json');
CREATE SINK out WITH (connector = 'file', path = 'out', format = 'json');
CREATE QUERY means INTO out AS
  SELECT k, AVG(v) AS mean, MAX(k) AS most FROM s [PARTITION BY k ROWS 3] GROUP BY k;
"""


def test_relations_that_move_run_in_workers_that_are_not_ours(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [{"k": f"k{i % 3}", "v": None if i % 7 == 0 else i % 5, "ts": at(i)} for i in range(40)]
    write_batches(tmp_path / "s", [rows[:20], rows[20:]])
    script = tmp_path / "program.py"
    script.write_text(to_pyspark(compile_program(MOVING).require()))
    run(script, tmp_path)
    expected = run_once(spark, MOVING, tmp_path)["means"].rows
    found = [tuple(r.get(n) for n in ("k", "mean", "most", "change")) for r in written(tmp_path / "out")]
    assert sorted(found, key=repr) == sorted((row[:4] for row in expected), key=repr)
    assert len(found) > 40


JOINED = """
CREATE STREAM s (n INT, tags ARRAY<STRING>, w MAP<STRING, DOUBLE>, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', path = 's', format = 'json');
CREATE SINK out WITH (connector = 'file', path = 'out', format = 'json');
CREATE QUERY alike INTO out AS
  SELECT ISTREAM(a.n, b.n AS m, a.tags, a.ts AS t, b.ts AS u) FROM s [RANGE 10 SECONDS] a JOIN s [RANGE 20 SECONDS] b
  ON INNER_PRODUCT(a.w, b.w) >= 1 AND a.n <> b.n;
"""


def test_joins_of_windows_run_in_workers_that_are_not_ours(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"n": i, "tags": [f"t{i % 3}", None], "w": {f"t{i % 3}": i % 4, "t": None}, "ts": at(i)} for i in range(40)
    ]
    rows[5] |= {"w": None, "tags": None}
    write_batches(tmp_path / "s", [rows[:20], rows[20:]])
    script = tmp_path / "program.py"
    script.write_text(to_pyspark(compile_program(JOINED).require()))
    run(script, tmp_path)
    expected = run_once(spark, JOINED, tmp_path)["alike"].rows
    found = [(r["n"], r["m"], tuple(r["tags"])) for r in written(tmp_path / "out")]
    assert sorted(found, key=repr) == sorted(((n, m, tuple(tags)) for n, m, tags, *_ in expected), key=repr)
    assert len(found) > 40


@pytest.mark.parametrize("text", ['a"b', "a\\b", "a'b", "a\nb", "`;DROP", "ünï \U0001f600"])
def test_strings_cannot_end_their_literals(text: str) -> None:
    quoted = text.replace("'", "''")
    program = (
        "CREATE STREAM s (k STRING) WITH (connector = 'file', path = 's', format = 'json');"
        f"SELECT k FROM s WHERE k = '{quoted}';"
    )
    script = to_pyspark(compile_program(program).require())
    compile(script, "program.py", "exec")
