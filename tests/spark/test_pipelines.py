"""Exported projects run under ``spark-pipelines``, with the answers of the definition."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from datetime import datetime
from pathlib import Path

import pyarrow.dataset as ds
import pyspark
import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.ir.logical import LogicalPlan
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from streamq.runtime.spark.cluster import LOOPBACK
from streamq.runtime.spark.java import find_java
from tests.support.streams import at, write_batches

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio"),
]

WINDOWS = """
CREATE STREAM s (n BIGINT, k STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 'in', format = 'json');
CREATE SINK out WITH (connector = 'file', format = 'json', path = 'out');
CREATE QUERY windows INTO out AS
  SELECT k, COUNT(*) AS n, WINDOW_END AS until FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS] WHERE k <> 'it''s "x"\\' GROUP BY k;
"""
NAMED = """
CREATE STREAM s (n BIGINT, k STRING) WITH (connector = 'file', path = 'in/0000.json', format = 'json');
CREATE TABLE t (k STRING, name STRING) WITH (connector = 'file', path = 't.csv', format = 'csv');
CREATE QUERY named AS SELECT n, name FROM s JOIN t ON s.k = t.k;
CREATE QUERY some AS SELECT n FROM s SHED RANDOM BY 50 PERCENT;
"""
ROWS = [(n, f"k{n % 3}", datetime.fromisoformat(at(n)).replace(tzinfo=None)) for n in range(60)]
TABLE = [("k0", "zero"), ("k1", "one")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shown = [{"n": n, "k": k, "ts": at(n)} for n, k, _ in ROWS]
    write_batches(tmp_path / "in", [shown[:40], shown[40:]])
    (tmp_path / "t.csv").write_text("k,name\nk0,zero\nk1,one\n")
    return tmp_path


def test_flows_into_folders(folder: Path) -> None:
    export(folder, "windows", WINDOWS)
    pipelines(folder, "dry-run")
    assert not (folder / "out").exists()
    pipelines(folder, "run")
    answer = evaluate(require(WINDOWS), {"s": [ROWS[:40], ROWS[40:]]}, EvaluateOptions(closed=False))["windows"].rows()
    meant = Counter((k, n, f"{until.isoformat(timespec='microseconds')}Z") for k, n, until in answer.elements())
    lines = [line for part in (folder / "out").glob("*.json") for line in part.read_text().splitlines()]
    assert Counter(tuple(json.loads(line).values()) for line in lines) == meant
    assert meant.total() > 20


def test_tables(folder: Path) -> None:
    export(folder, "named", NAMED)
    pipelines(folder, "run")
    inputs = {"s": [[row[:2] for row in ROWS[:40]]], "t": [TABLE]}
    meant = evaluate(require(NAMED), inputs, EvaluateOptions(closed=False))["named"].rows()
    assert Counter(map(tuple, table(folder, "named"))) == meant
    some = [n for (n,) in table(folder, "some")]
    assert 0 < len(some) == len(set(some)) < 40


def require(program: str) -> LogicalPlan:
    plan = compile_program(program).meant
    assert plan is not None
    return plan


def table(folder: Path, name: str) -> list[tuple[object, ...]]:
    """The rows of a streaming table."""
    parts = sorted((folder / "pipeline" / "spark-warehouse" / name).glob("*.parquet"))
    return [tuple(row.values()) for row in ds.dataset(parts, format="parquet").to_table().to_pylist()]


def export(folder: Path, name: str, program: str) -> None:
    (folder / f"{name}.cql").write_text(program)
    command = [sys.executable, "-m", "streamq", "compile", f"{name}.cql", "--emit", "pipelines", "-o", "pipeline"]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def pipelines(folder: Path, command: str) -> None:
    """Runs the command in the project, without StreamQ on the path."""
    home = Path(pyspark.__file__).parent
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
        "SPARK_HOME": str(home), "JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": LOOPBACK,
        # Two of them can run at a time: the port of Spark Connect is any that is free.
        "SPARK_TESTING": "1",
    }
    settings = (f"spark.driver.host={LOOPBACK}", f"spark.connect.grpc.binding.address={LOOPBACK}")
    done = subprocess.run(
        [str(home / "bin" / "spark-pipelines"), *(part for s in settings for part in ("--conf", s)), command],
        cwd=folder / "pipeline", env=environment, text=True, capture_output=True, timeout=300, check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
