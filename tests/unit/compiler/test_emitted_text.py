"""The text of emitted PySpark programs: what is not written into it, and names of any kind."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from streamq.compiler.driver import compile_program
from streamq.compiler.explain.pyspark_source import to_pyspark
from streamq.runtime import cli
from streamq.stdlib.secrets import has_password, holds_secret, is_secret, redacted

SECRETS = """
SET spark.hadoop.fs.s3a.secret.key = 'env:S3_SECRET';
SET spark.hadoop.fs.s3a.access.key = 'file:s3.key';
CREATE STREAM s (k STRING, ts TIMESTAMP, WATERMARK FOR ts)
  WITH (connector = 'file', format = 'json', path = 's3a://hush-3@bucket/in');
CREATE SINK out WITH (connector = 'file', format = 'json', path = 's3a://hush-4@bucket/out');
CREATE QUERY q INTO out AS SELECT k FROM s;
"""


@pytest.mark.parametrize(
    "argv",
    [
        ["compile", "--emit", "pyspark"], ["compile"], ["check"], ["explain"],
        *(["explain", "--stage", stage] for stage in ("logical", "physical", "spark")),
        ["explain", "--format", "json"], ["explain", "--format", "mermaid"],
    ],
)
def test_secrets_are_shown_nowhere(
    argv: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.cql").write_text(SECRETS)
    assert cli.main([*argv, "p.cql"]) == 0
    shown = capsys.readouterr()
    assert "hush" not in shown.out + shown.err


def test_the_program_takes_secrets_from_the_environment() -> None:
    text = to_pyspark(compile_program(SECRETS).require())
    ast.parse(text)
    for name in (
        "S3_SECRET", "SPARK_HADOOP_FS_S3A_ACCESS_KEY", "S_SCAN_PATH", "OUT_PATH"
    ):
        assert f'os.environ["{name}"]' in text


def test_what_is_a_secret() -> None:
    for key in ("spark.hadoop.fs.s3a.secret.key", "fs.azure.account.key.x", "sasl.PASSWORD", "api_token"):
        assert is_secret(key)
        assert holds_secret(key)
    for key in ("spark.hadoop.fs.s3a.aws.credentials.provider", "spark.kubernetes.authenticate.oauthTokenFile", "ssl.keyPassword.enabled"):
        assert is_secret(key)
        assert not holds_secret(key)
    for key in ("spark.sql.shuffle.partitions", "spark.driver.memory", "path"):
        assert not is_secret(key)
    assert redacted("s3a://a:b@c/d and hdfs://e/f@g") == "s3a://***@c/d and hdfs://e/f@g"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("s3a://key:word@bucket/in", True), ("postgres://me:p%40ss@host/db", True), ("jdbc:postgresql://h/db?user=u&password=p", True),
        ("https://h/x;AccountKey=abc", True), ("abfss://container@account.dfs.core.windows.net/x", False), ("s3a://bucket/a:b@c", False),
        ("hdfs://host:8020/x", False), ("data/in", False), ("https://h/x?token=", False),
    ],
)  # fmt: skip
def test_passwords_in_addresses(text: str, expected: bool) -> None:
    assert has_password(text) is expected


def test_names_of_any_kind_are_quoted() -> None:
    program = """
    CREATE STREAM "a s" (k STRING, "t.s" TIMESTAMP, WATERMARK FOR "t.s")
      WITH (connector = 'file', format = 'json', path = 'in');
    CREATE FUNCTION f(x STRING) RETURNS STRING AS 'm:spark';
    CREATE QUERY "my query" AS SELECT f(k) AS k, COUNT(*) AS n FROM "a s" [TUMBLE 1 MINUTE] GROUP BY f(k)
      SHED RANDOM BY 20 PERCENT;
    """
    text = to_pyspark(compile_program(program).require())
    ast.parse(text)
    assert '.withWatermark("`t.s`",' in text
    assert '.createOrReplaceTempView("`streamq_control_my query`")' in text
    assert "from m import spark as udf" in text


@pytest.mark.parametrize("name", ["plain.json", "a[1]{b}*?.json", "1.csv", "_x.json"])
def test_a_single_file_becomes_a_pattern_of_itself(name: str, tmp_path: Path) -> None:
    program = "CREATE STREAM s (k STRING) WITH (connector = 'file', format = 'json', path = 'x'); SELECT k FROM s;"
    tree = ast.parse(to_pyspark(compile_program(program).require()))
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in ("place", "stream_path")]
    known: dict[str, Any] = {}
    exec("\n".join(["import os, re", *map(ast.unparse, functions)]), known)
    (tmp_path / name).write_text("{}")
    from streamq.runtime.paths import spark_path

    path = str(tmp_path / name)
    assert known["stream_path"](path) == spark_path(path)
    assert known["stream_path"](str(tmp_path)) == str(tmp_path)
