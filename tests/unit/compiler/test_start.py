"""What compiling loads: a check of a program must not wait for libraries that only runs need."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ["numpy", "pandas", "pyarrow", "networkx", "lark", "pyspark", "py4j", "rich", "asyncio", "unittest"]
PROGRAM = """
CREATE STREAM s (i INT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');
CREATE QUERY a AS SELECT i, COUNT(*) AS c FROM s [TUMBLE 1 MINUTE] GROUP BY i SHED RANDOM BY 5 PERCENT;
CREATE QUERY b AS SELECT nothing FROM s;
"""
USES = {
    "importing": "import streamq.compiler.driver",
    "compiling": f"from streamq.compiler.driver import compile_program; compile_program({PROGRAM!r})",
    "explaining": "from streamq.compiler.driver import compile_program\n"
    "from streamq.compiler.explain import render\n"
    f"result = compile_program({PROGRAM.replace('nothing', 'i')!r})\n"
    "assert result.ok, result.diagnostics\n"
    "[render(result, stage) for stage in ('logical', 'annotated', 'physical', 'spark')]",
}


@pytest.mark.parametrize("script", USES.values(), ids=USES)
def test_nothing_heavy_is_loaded(script: str) -> None:
    script += f"\nimport sys\nprint([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "[]"
