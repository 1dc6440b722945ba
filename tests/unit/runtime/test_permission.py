"""What programs bring is run by nobody who has not allowed it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.dsl.diagnostics import Abort
from streamq.dsl.source import NO_SPAN
from streamq.runtime import cli
from streamq.runtime.permission import VARIABLE
from streamq.runtime.python_functions import find_function
from streamq.stdlib.code_settings import brings_code

MODULE = "from pathlib import Path\nPath({mark!r}).write_text('imported')\ndef f(x): return x\n"
PROGRAM = """\
CREATE STREAM s (n BIGINT, ts TIMESTAMP, WATERMARK FOR ts AS ts) WITH (connector = 'file', path = 's', format = 'json');
CREATE FUNCTION mine(n BIGINT) RETURNS BIGINT AS '{module}:f';
CREATE QUERY q AS SELECT mine(n) AS n FROM s;
"""
TEST = """\
- test: one
  input: {s: {columns: [n, ts], rows: [[1, 2024-01-01 00:00:01]]}}
  expect: {q: {rows: [{n: 1}]}}
"""


@pytest.fixture
def mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is there when somebody has imported what the program in the current folder names."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    mark = tmp_path / "mark"
    module = f"brought_{tmp_path.parent.name.replace('-', '_')}_{tmp_path.name}"
    Path(f"{module}.py").write_text(MODULE.format(mark=str(mark)))
    Path("p.cql").write_text(PROGRAM.format(module=module))
    Path("p.test.yaml").write_text(TEST)
    Path("s").mkdir()
    return mark


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "p.cql"], ["check", "--format", "json", "p.cql"], ["explain", "p.cql"], ["explain", "--stage", "spark", "p.cql"], ["explain", "--shed", "p.cql"],
        ["fmt", "--check", "p.cql"], ["compile", "p.cql"],
    ],
)  # fmt: skip
def test_looking_at_a_program_imports_nothing(argv: list[str], mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli.main(argv)
    assert not mark.exists()
    assert "SQ0710" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    "argv", [["run", "p.cql", "--once"], ["run", "p.cql", "--once", "--json"], ["test"], ["compile", "p.cql", "--emit", "pyspark"]]
)
def test_nothing_is_imported_without_permission(argv: list[str], mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(argv) == 1
    shown = "".join(capsys.readouterr())
    assert "SQ0710" in shown
    assert "--allow-functions" in shown
    assert not mark.exists()


def test_the_command_line_allows_it(mark: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    assert cli.main(["test", "--allow-functions"]) == 0
    assert mark.exists()


def test_the_environment_allows_it(mark: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    assert cli.main(["test"]) == 0
    assert mark.exists()


@pytest.mark.parametrize("value", ["", "0", "no", "true"])
def test_nothing_else_does(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(Abort) as stopped:
        find_function("f", "os:system", ".", NO_SPAN)
    assert stopped.value.diagnostic.code == "SQ0710"


BRINGING = (
    "spark.jars", "spark.jars.packages", "spark.jars.ivySettings", "spark.driver.extraJavaOptions", "spark.driver.extraClassPath", "spark.driver.defaultJavaOptions",
    "spark.executor.extraJavaOptions", "spark.executor.extraClassPath", "spark.executor.extraLibraryPath", "spark.driver.userClassPathFirst", "spark.plugins",
    "spark.submit.pyFiles", "spark.sql.extensions", "spark.extraListeners", "spark.sql.catalog.x", "spark.sql.catalog.spark_catalog.uri", "spark.python.daemon.module",
    "spark.python.worker.module", "spark.pyspark.python", "spark.PYSPARK.driver.python", "spark.executorEnv.LD_PRELOAD", "spark.master", "spark.remote", "spark.archives",
    "spark.files", "spark.driver.bindAddress", "spark.driver.host", "spark.ui.enabled", "spark.ui.filters", "spark.redaction.regex", "spark.sql.redaction.options.regex",
    "spark.hadoop.fs.x.impl", "spark.sql.queryExecutionListeners", "spark.sql.streaming.streamingQueryListeners", "spark.home",
    "spark.worker.resource.gpu.discoveryScript", "spark.connect.grpc.binding.port", "spark.yarn.dist.jars", "spark.kubernetes.container.image",
)  # fmt: skip
TUNING = (
    "spark.sql.shuffle.partitions", "spark.driver.memory", "spark.executor.memory", "spark.sql.streaming.stateStore.providerClass", "spark.executor.instances",
    "spark.hadoop.fs.s3a.secret.key", "spark.hadoop.fs.s3a.endpoint", "spark.sql.adaptive.enabled", "spark.scheduler.mode", "spark.default.parallelism",
    "spark.sql.files.maxPartitionBytes", "spark.sql.catalogImplementation",
)  # fmt: skip


@pytest.mark.parametrize("key", BRINGING)
def test_settings_that_bring_code(key: str, mark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert brings_code(key)
    Path("t.cql").write_text(
        "CREATE STREAM s (n BIGINT) WITH (connector = 'file', path = 's', format = 'json');\n" f"SET {key} = 'x';\nSELECT n FROM s;\n"
    )
    assert cli.main(["run", "--once", "t.cql"]) == 1
    shown = capsys.readouterr().err
    assert "SQ0710" in shown
    assert "t.cql:2:1" in shown


@pytest.mark.parametrize("key", TUNING)
def test_settings_that_tune(key: str) -> None:
    assert not brings_code(key)


@pytest.mark.parametrize("option", ["kafka.metric.reporters", "kafka.config.providers", "Kafka.sasl.login.callback.handler.class"])
def test_no_code_by_an_option_of_the_client_of_kafka(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    Path("p.cql").write_text(
        f"CREATE STREAM s (n INT) WITH (connector = 'kafka', bootstrap_servers = '127.0.0.1:1', topic = 't', '{option}' = 'x', "
        "kafka.client.id = 'me');\nSELECT n FROM s;\n"
    )
    assert cli.main(["run", "p.cql", "--once"]) == 1
    said = "".join(capsys.readouterr())
    assert "SQ0710" in said
    assert f"`{option}`" in said
    assert "`kafka.client.id`" not in said
