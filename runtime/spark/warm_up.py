"""``python -m streamq.runtime.spark.warm_up``: makes the archive of classes that sessions start from.

A training run in a process of its own does what queries do; its JVM writes the archive as it exits.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from streamq.runtime.spark.class_archive import archive_path, record_flags
from streamq.runtime.spark.java import JavaHome, JavaNotFound, find_java
from streamq.runtime.spark.session import create_session

TRAINING_EVENTS = 20_000
TIMEOUT_SECONDS = 600


class WarmUpFailed(Exception):
    """The training run ended without an archive; the message is the end of its output."""


def warm_up(java: JavaHome, *, again: bool = False) -> Path:
    """The archive of this Java, made now if there is none or ``again``. Takes about a minute.

    Raises :class:`WarmUpFailed`.
    """
    target = archive_path(java)
    if target.is_file() and not again:
        return target
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        aside = Path(folder) / target.name
        command = [sys.executable, "-m", "streamq.runtime.spark.warm_up", "--train", str(aside)]
        try:
            ran = subprocess.run(
                command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
            )
        except subprocess.TimeoutExpired as late:
            raise WarmUpFailed(f"no archive after {TIMEOUT_SECONDS} s") from late
        if ran.returncode != 0 or not aside.is_file():
            raise WarmUpFailed((ran.stderr or ran.stdout)[-2000:])
        # Sessions may be looking for it right now.
        os.replace(aside, target)
    return target


def train(target: Path) -> None:
    """Runs a few queries on a JVM that writes its classes to ``target``, and waits until it has."""
    from streamq.runtime.spark.nexmark_source import NexmarkSource

    java = find_java()
    spark = create_session({}, java=java, jvm_flags=record_flags(java, target))
    gateway = spark.sparkContext._gateway
    spark.dataSource.register(NexmarkSource)
    with tempfile.TemporaryDirectory() as folder:
        options = {"table": "bid", "events": str(TRAINING_EVENTS)}
        stream = spark.readStream.format(NexmarkSource.name()).options(**options).load()
        stream.createOrReplaceTempView("bid")
        query = """
            SELECT window.start AS opened, auction, count(*) AS bids, avg(price) AS price
            FROM bid WATERMARK dateTime DELAY OF INTERVAL 1 SECOND
            WHERE price > 1000 GROUP BY window(dateTime, '1 second'), auction
        """
        writer = spark.sql(query).writeStream.format("noop").outputMode("update")
        writer = writer.trigger(availableNow=True)
        writer.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()
        table = spark.read.format(NexmarkSource.name()).options(**options).load()
        table.limit(100).write.parquet(f"{folder}/parquet")
        spark.read.parquet(f"{folder}/parquet").orderBy("price").collect()
    spark.stop()
    if gateway is None or gateway.proc is None:
        raise WarmUpFailed("the training run did not start a JVM of its own")
    # The JVM exits when its standard input ends, and writes the archive before it does.
    gateway.proc.stdin.close()
    gateway.proc.wait()


def main(arguments: list[str]) -> int:
    """``[--train FILE | --again]``: 0 when the archive is there, 1 with a reason on standard error."""
    if arguments[:1] == ["--train"]:
        train(Path(arguments[1]))
        return 0
    began = time.monotonic()
    try:
        java = find_java()
        archive = warm_up(java, again="--again" in arguments)
    except (JavaNotFound, WarmUpFailed) as failure:
        print(f"no class archive: {failure}", file=sys.stderr)
        return 1
    size = archive.stat().st_size / 1e6
    print(f"{archive} ({size:.0f} MB, Java {java.version}, {time.monotonic() - began:.0f} s)")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
