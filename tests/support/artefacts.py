"""What tests with Kafka need from Maven: a broker, and Spark's connector, as jars in ``build/kafka``.

Maven gets them where it is there, else Ivy, which pyspark brings along. Where nothing can be reached the tests are
skipped, and say why.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyspark

from streamq.runtime.spark.java import find_java

BROKER = ("org.apache.kafka:kafka_2.13:4.1.1",)
CONNECTOR = ("org.apache.spark:spark-sql-kafka-0-10_2.13:{spark}", "org.apache.spark:spark-avro_2.13:{spark}")
PROVIDED = (
    "spark-sql_", "spark-core_", "spark-tags_", "spark-catalyst_", "scala-", "hadoop-", "slf4j-", "jsr305-", "log4j-",
    "snappy-java-", "zstd-jni-", "lz4-java-", "xz-", "avro-", "jackson-", "jakarta.", "commons-logging",
)
"""Jars that pyspark has itself; another version of them must not stand beside its own."""

FOLDER = Path(__file__).parents[2] / "build" / "kafka"
PATIENCE_S = 300.0

_POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>streamq</groupId><artifactId>tests</artifactId><version>1</version><dependencies>{dependencies}</dependencies></project>
"""


class Unreachable(Exception):
    """The artefacts are not here and cannot be got; says why."""


@dataclass(frozen=True, slots=True)
class Artefacts:
    """Folders of jars. ``spark``: the version of the connector, which may be lower than that of pyspark; ``told``: says so."""

    broker: Path
    connector: Path
    spark: str

    @property
    def jars(self) -> tuple[Path, ...]:
        return tuple(sorted(self.connector.glob("*.jar")))

    @property
    def told(self) -> str:
        if self.spark == pyspark.__version__:
            return f"connector of Spark {self.spark}"
        return f"connector of Spark {self.spark}, as that of {pyspark.__version__} is not served"


def artefacts(folder: Path = FOLDER) -> Artefacts:
    """The jars, got where they are not here yet; raises ``Unreachable``."""
    broker = folder / "broker"
    if not _complete(broker):
        _get(BROKER, broker)
    connector, mark = folder / "connector", folder / "connector.version"
    if not (_complete(connector) and mark.exists()):
        mark.write_text(_newest_connector(connector))
    return Artefacts(broker, connector, mark.read_text())


def _complete(folder: Path) -> bool:
    return any(folder.glob("*.jar"))


def _newest_connector(folder: Path) -> str:
    """The version of pyspark, else the newest lower one that is served."""
    reason = ""
    for version in _versions(pyspark.__version__):
        try:
            _get(tuple(one.format(spark=version) for one in CONNECTOR), folder, leave_out=PROVIDED)
        except Unreachable as error:
            reason = reason or str(error)
            continue
        return version
    raise Unreachable(reason)


def _versions(newest: str) -> Iterator[str]:
    major, minor, patch = (int(part) for part in newest.split(".")[:3])
    yield from (f"{major}.{minor}.{n}" for n in range(patch, -1, -1))
    yield from (f"{major}.{lower}.{n}" for lower in range(minor - 1, minor - 3, -1) for n in (2, 1, 0))


def _get(coordinates: tuple[str, ...], folder: Path, leave_out: tuple[str, ...] = ()) -> None:
    """Puts the artefacts, and what they need, into a folder, whole or not at all."""
    made = folder.with_name(f".{folder.name}")
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    maven = shutil.which("mvn")
    command = _with_ivy(coordinates, made) if maven is None else _with_maven(maven, coordinates, made)
    try:
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise Unreachable(f"{coordinates[0]} did not come in {PATIENCE_S:.0f} s") from error
    for jar in made.glob("*.jar"):
        if jar.name.startswith(leave_out) or "-sources" in jar.name or "-javadoc" in jar.name:
            jar.unlink()
    if done.returncode != 0 or not _complete(made):
        shutil.rmtree(made, ignore_errors=True)
        raise Unreachable(f"{coordinates[0]} cannot be got: {_last_error(done.stdout + done.stderr)}")
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)


def _with_maven(maven: str, coordinates: tuple[str, ...], folder: Path) -> list[str]:
    parts = (one.split(":") for one in coordinates)
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version></dependency>"
        for group, name, version in parts
    )
    (folder / "pom.xml").write_text(_POM.format(dependencies=dependencies))
    return [
        maven, "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}", "-DincludeScope=runtime",
    ]


def _with_ivy(coordinates: tuple[str, ...], folder: Path) -> list[str]:
    """Ivy's own command line, with one file of dependencies for all."""
    ivy = next(iter((Path(pyspark.__file__).parent / "jars").glob("ivy-2.*.jar")))
    parts = (one.split(":") for one in coordinates)
    dependencies = "".join(
        f'<dependency org="{group}" name="{name}" rev="{version}" conf="default->default"/>' for group, name, version in parts
    )
    (folder / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="streamq" module="tests"/><configurations><conf name="default"/>'
        f"</configurations><dependencies>{dependencies}</dependencies></ivy-module>"
    )
    java = find_java().home / "bin" / "java"
    return [
        str(java), "-cp", str(ivy), "org.apache.ivy.Main", "-ivy", str(folder / "ivy.xml"),
        "-retrieve", f"{folder}/[artifact]-[revision].[ext]", "-types", "jar", "bundle",
    ]


def _last_error(text: str) -> str:
    """A line that says why; not all of them, which may be hundreds."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    told = [line for line in lines if "ERROR" in line or "UNRESOLVED" in line or "not found" in line]
    return (told or lines or ["nothing was said"])[0][:200]
