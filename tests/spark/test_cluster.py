"""Programs on a standalone cluster of two workers: the same answers as by definition, also when a worker is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyspark
import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.reference.engine import EvaluateOptions, evaluate
from streamq.runtime.reference.values import to_instant
from streamq.runtime.spark.cluster import LOOPBACK, package_zip
from streamq.runtime.spark.java import find_java
from streamq.runtime.spark.spark_home import spark_home
from tests.support.cluster import Cluster, wait_until
from tests.support.streams import at, write_batches

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds child processes in /proc"),
]

FILES, ROWS = 6, 40
TIMEOUT_S = 600

QUICK = {
    "spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1", "spark.driver.memory": "1g",
}
"""Queries here end before compiled code would pay."""

SOURCE = """
CREATE STREAM s (n BIGINT, k STRING, v INT, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL 2 SECONDS)
  WITH (connector = 'file', path = 'in', format = 'json', max_files_per_trigger = {files});
"""
COUNTED = """
CREATE SINK windows_out WITH (connector = 'file', format = 'json', path = 'out/windows');
CREATE SINK moving_out WITH (connector = 'file', format = 'json', path = 'out/moving');
CREATE QUERY windows INTO windows_out AS
  SELECT k, COUNT(*) AS n, SUM(v) AS total, WINDOW_END AS until FROM s [TUMBLE 10 SECONDS] GROUP BY k;
CREATE QUERY moving INTO moving_out AS SELECT ISTREAM(k, AVG(v) AS mean) FROM s [PARTITION BY k ROWS 3] GROUP BY k;
"""
JOINED = """
CREATE TABLE t (k STRING, name STRING) WITH (connector = 'file', path = 'tables', format = 'json');
CREATE SINK named_out WITH (connector = 'file', format = 'json', path = 'out/named');
CREATE SINK near_out WITH (connector = 'file', format = 'json', path = 'out/near');
CREATE QUERY named INTO named_out AS SELECT n, name FROM s JOIN t ON s.k = t.k;
CREATE QUERY near INTO near_out AS
  SELECT ISTREAM(a.n, b.n AS m) FROM s [RANGE 3 SECONDS] a JOIN s [RANGE 3 SECONDS] b ON ABS(a.v - b.v) <= 1 AND a.n < b.n;
"""
OTHERS = """
CREATE FUNCTION doubled (x BIGINT) RETURNS BIGINT AS 'beside:doubled';
CREATE FUNCTION origin (x BIGINT) RETURNS STRING AS 'beside:origin';
CREATE SINK called_out WITH (connector = 'file', format = 'json', path = 'out/called');
CREATE SINK sketched_out WITH (connector = 'file', format = 'json', path = 'out/sketched');
CREATE QUERY called INTO called_out AS SELECT n, doubled(n) AS twice, origin(n) AS origin FROM s;
CREATE STREAM bid (auction BIGINT) WITH (connector = 'nexmark', table = 'bid', events = 100);
CREATE SINK bids_out WITH (connector = 'file', format = 'json', path = 'out/bids');
CREATE QUERY bids INTO bids_out AS SELECT auction FROM bid;
CREATE QUERY sketched INTO sketched_out AS SELECT SELF_JOIN_SIZE(k) AS f2 FROM s [TUMBLE 10 SECONDS];
"""
SHED = """
CREATE SINK few_out WITH (connector = 'file', format = 'json', path = 'out/few');
CREATE QUERY few INTO few_out AS SELECT n FROM s SHED RANDOM TO RATE 20 ROWS PER SECOND;
"""
BESIDE = """
import pyarrow as pa
from helping import twice

def doubled(x):
    return twice(x)

def origin(x):
    import streamq
    return pa.array([streamq.__file__ + " " + __file__] * len(x))
"""
HELPING = "import pyarrow.compute as pc\n\ndef twice(x):\n    return pc.multiply(x, 2)\n"

NUMBERS = range(FILES * ROWS)
INPUT = [{"n": n, "k": f"k{n % 5}", "v": n % 7, "ts": at(n / 4)} for n in NUMBERS]
TABLE = [{"k": f"k{i}", "name": f"name {i}"} for i in range(5)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_batches(tmp_path / "in", [INPUT[i * ROWS : (i + 1) * ROWS] for i in range(FILES)])
    write_batches(tmp_path / "tables", [TABLE])
    (tmp_path / "beside.py").write_text(BESIDE)
    (tmp_path / "helping.py").write_text(HELPING)
    return tmp_path


def start(folder: Path, program: str, *arguments: str) -> subprocess.Popen[str]:
    (folder / "p.cql").write_text(program)
    quick = [text for key, value in QUICK.items() for text in ("--set", f"{key}={value}")]
    return subprocess.Popen(
        [sys.executable, "-m", "streamq", "run", "p.cql", "--once", "--json", *quick, *arguments], cwd=folder,
        text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )


def finish(run: subprocess.Popen[str]) -> dict[str, dict[str, Any]]:
    """What the run's summary says of each query; fails where the run did."""
    output, _ = run.communicate(timeout=TIMEOUT_S)
    assert run.returncode == 0, output[-3000:]
    summary = json.loads(output.splitlines()[-1])
    return {query["query"]: query for query in summary["queries"]}


def written(folder: Path, query: str) -> list[dict[str, Any]]:
    parts = sorted((folder / "out" / query).glob("*.json"))
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def bag(rows: list[dict[str, Any]]) -> Counter[tuple[object, ...]]:
    return Counter(tuple(row.values()) for row in rows)


def by_definition(program: str, query: str) -> Counter[tuple[object, ...]]:
    """What the reference evaluator answers until the last watermark, as the sink writes it."""
    plan = compile_program(program).meant
    assert plan is not None
    rows = [(r["n"], r["k"], r["v"], datetime.fromisoformat(str(r["ts"])).replace(tzinfo=None)) for r in INPUT]
    inputs = {
        "s": [rows[i * ROWS : (i + 1) * ROWS] for i in range(FILES)],
        "t": [[(row["k"], row["name"]) for row in TABLE]],
    }
    until = None if query == "named" else to_instant(rows[-1][-1] - timedelta(seconds=2))
    answer = evaluate(plan, inputs, EvaluateOptions(closed=False))[query].at(until)
    return Counter(tuple(_plain(value) for value in row) for row in answer.elements())


def _plain(value: object) -> object:
    return f"{value.isoformat(timespec='microseconds')}Z" if isinstance(value, datetime) else value


def committed(folder: Path, query: str) -> int:
    log = folder / "state" / query / "commits"
    return sum(p.name.isdecimal() for p in log.iterdir()) if log.is_dir() else 0


def decisions(folder: Path) -> dict[str, str]:
    log = folder / "state" / "few" / "decisions"
    return {p.name: p.read_text() for p in log.iterdir() if p.name.isdecimal()} if log.is_dir() else {}


def holds_what_it_promised(folder: Path, counts: dict[str, Any]) -> None:
    """Each row is kept or shed, what is kept is written once, and each micro-batch has one decision."""
    kept = [row["n"] for row in written(folder, "few")]
    assert 0 < len(kept) == len(set(kept)) < len(NUMBERS)
    assert (counts["kept"], counts["shed"]) == (len(kept), len(NUMBERS) - len(kept))
    batches = {p.name for p in (folder / "state" / "few" / "offsets").iterdir() if p.name.isdecimal()}
    assert set(decisions(folder)) == batches


def test_answers_are_those_of_the_definition(cluster: Cluster, folder: Path) -> None:
    """Windows, operators of ours, joins, functions beside the program, a sketch and shedding, from what executors are sent."""
    source = SOURCE.format(files=FILES)
    program = source + COUNTED + JOINED + OTHERS + SHED
    asked = ("--allow-functions", "--checkpoint", "state")
    told = finish(start(folder, program, "--master", cluster.master, *asked))
    for query in ("windows", "moving", "named", "near"):
        meant = by_definition(source + COUNTED + JOINED, query)
        assert bag(written(folder, query)) == meant, query
        assert meant.total() >= 25
    called = written(folder, "called")
    assert sorted((row["n"], row["twice"]) for row in called) == [(n, 2 * n) for n in NUMBERS]
    # From the zip files alone: the folders that they were made from can be seen there as well.
    places = {place for row in called for place in row["origin"].split()}
    assert [place for place in places if ".zip/" not in place] == []
    assert len(written(folder, "bids")) == 92
    assert {row["f2"] for row in written(folder, "sketched")} == {5 * (ROWS // 5) ** 2}
    holds_what_it_promised(folder, told["few"])


def test_a_worker_and_an_executor_that_are_killed_change_no_answer(cluster: Cluster, folder: Path) -> None:
    """Here executors ask what is kept: a task that is tried again finds the decision that the first one wrote."""
    program = SOURCE.format(files=1) + COUNTED + SHED
    asked = ("--set", "spark.sql.python.filterPushdown.enabled=false", "--checkpoint", "state")
    run = start(folder, program, "--master", cluster.master, *asked)
    wait_until(lambda: committed(folder, "moving") >= 1 or run.poll() is not None, "the first micro-batch", TIMEOUT_S)
    before = decisions(folder)
    cluster.kill_worker(0)
    cluster.kill_executor(0)
    assert committed(folder, "moving") < FILES
    cluster.start_worker()
    told = finish(run)
    for query in ("windows", "moving"):
        assert bag(written(folder, query)) == by_definition(SOURCE.format(files=1) + COUNTED, query), query
    holds_what_it_promised(folder, told["few"])
    assert decisions(folder).items() >= before.items()


def test_scripts_run_by_spark_submit(cluster: Cluster, folder: Path) -> None:
    """A script with a goal that StreamQ steers, and one of Spark's calls alone with an operator of ours."""
    program = SOURCE.format(files=FILES)
    _compiled(folder, "steered", program + SHED, "submit")
    _compiled(folder, "alone", program + COUNTED, "pyspark")
    runs = [
        _submit(folder, cluster, "steered.py", "--checkpoint", str(folder / "state"), "--json"),
        _submit(folder, cluster, "alone.py", "--checkpoint", str(folder / "alone")),
    ]
    outputs = [run.communicate(timeout=TIMEOUT_S)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], "".join(outputs)[-3000:]
    summary = next(line for line in outputs[0].splitlines() if '"type": "summary"' in line)
    holds_what_it_promised(folder, json.loads(summary)["queries"][0])
    for query in ("windows", "moving"):
        assert bag(written(folder, query)) == by_definition(program + COUNTED, query), query


def _compiled(folder: Path, name: str, program: str, emit: str) -> None:
    (folder / f"{name}.cql").write_text(program)
    command = [sys.executable, "-m", "streamq", "compile", f"{name}.cql", "--emit", emit, "-o", f"{name}.py"]
    done = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def _submit(folder: Path, cluster: Cluster, script: str, *arguments: str) -> subprocess.Popen[str]:
    """The script on one core of the cluster, started from another folder."""
    home = spark_home(Path(pyspark.__file__).parent)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | {
        "SPARK_HOME": str(home), "JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": LOOPBACK,
    }
    return subprocess.Popen(
        [
            str(home / "bin" / "spark-submit"), "--master", cluster.master, "--total-executor-cores", "1",
            "--conf", f"spark.driver.host={LOOPBACK}", "--conf", "spark.log.level=ERROR",
            *(text for key, value in QUICK.items() for text in ("--conf", f"{key}={value}")),
            "--py-files", str(package_zip()), str(folder / script), "--once", "--base", str(folder), *arguments,
        ],
        cwd="/", env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
