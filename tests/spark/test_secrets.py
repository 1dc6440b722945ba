"""A secret that Spark gets is in nothing that a run leaves behind or shows, and in no list of processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import ROOT

SECRET = "Xq7+hush\\ =:#!é€\U0001f511/9"
"""Signs that files of properties and shells give a meaning to."""

SESSION = """
import sys, os
from hashlib import sha256
from pathlib import Path
from streamq.runtime.spark.session import create_session
secret = os.environ.pop("S3_SECRET")
spark = create_session(
    {"spark.hadoop.fs.s3a.secret.key": secret, "spark.logConf": True}, fast_start=True, log_file=Path("spark.log"), log_level="info"
)
conf = spark.sparkContext._jsc.hadoopConfiguration()
print(conf.get("fs.s3a.secret.key") == secret, spark.conf.get("spark.hadoop.fs.s3a.secret.key") == secret)
for place in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        if secret[4:8].encode() in place.read_bytes():
            print("seen in", place)
    except OSError:
        pass
print([name for name in os.listdir(os.environ["TMPDIR"]) if name.endswith(".properties")])
"""

PROGRAM = """
SET spark.hadoop.fs.s3a.secret.key = 'env:S3_SECRET';
SET spark.hadoop.fs.s3a.session.token = 'file:token.txt';
CREATE STREAM s (n BIGINT) WITH (connector = 'file', path = 'in', format = 'json');
CREATE SINK out WITH (connector = 'file', format = 'json', path = 'out');
CREATE QUERY q INTO out AS SELECT n + 1 AS n FROM s WHERE n > 0;
CREATE QUERY shown AS SELECT n FROM s SHED RANDOM BY 1 PERCENT;
"""


def _python(*arguments: str, folder: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    temporary.mkdir()
    environment = {**os.environ, "S3_SECRET": SECRET, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join([str(ROOT / "build/typing"), str(ROOT)])}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_spark_gets_it_and_nobody_else(tmp_path: Path) -> None:
    done = _python("-c", SESSION, folder=tmp_path, temporary=tmp_path / "tmp")
    assert done.stdout.splitlines() == ["True True", "[]"], done.stderr[-2000:]
    log = (tmp_path / "spark.log").read_text()
    assert "fs.s3a.secret.key" in log, "the log does not list the settings, so nothing is shown"
    assert "hush" not in log + done.stderr


def test_nothing_that_a_run_leaves_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.json").write_text('{"n": 1}\n{"n": "no number"}\n')
    (folder / "p.cql").write_text(PROGRAM)
    (folder / "token.txt").write_text("hush-token\n")
    done = _python(
        "-m", "streamq", "run", "p.cql", "--once", "--json", "--checkpoint", "checkpoint", "--report", "report.html", "--report", "report.json",
        "--log-file", "spark.log", "--set", "spark.hadoop.fs.s3a.access.key=env:S3_SECRET", folder=folder, temporary=tmp_path / "tmp",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "hush" not in done.stdout + done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "token.txt"]
    assert {"streamq.json", "report.html", "report.json", "metadata"} <= {path.name for path in left}
    assert [str(path) for path in left if b"hush" in path.read_bytes()] == []


def test_a_secret_that_is_not_there_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "p.cql").write_text(PROGRAM.replace("env:S3_SECRET", "env:NOT_SET_ANYWHERE"))
    done = _python("-m", "streamq", "run", "p.cql", "--once", folder=tmp_path, temporary=tmp_path / "tmp")
    assert done.returncode != 0
    assert "SQ0709" in done.stderr
    assert "NOT_SET_ANYWHERE" in done.stderr
    assert "Traceback" not in done.stderr
