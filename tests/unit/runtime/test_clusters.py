"""Masters, and what sessions on them are told; the zip files that executors are sent."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import pytest

from streamq.compiler.driver import compile_program
from streamq.runtime.run import RunOptions, SilentListener
from streamq.runtime.spark import session
from streamq.runtime.spark.cluster import (
    PYTHON_PATH,
    before_start,
    is_local,
    level_when_submitted,
    no_shared_folder,
    on_this_machine,
    package_zip,
    settings_of,
)
from streamq.runtime.spark.java import JavaHome
from streamq.runtime.spark.runner import run_plan
from streamq.runtime.spark.session import resolve_settings
from streamq.runtime.spark.watching import Watch


@pytest.mark.parametrize(
    ("master", "local", "here"),
    [
        ("local", True, True),
        ("local[*]", True, True),
        ("local[2, 3]", True, True),
        ("local-cluster[2,1,1024]", False, True),
        ("spark://localhost:7077", False, True),
        ("spark://127.0.0.1:7077", False, True),
        ("spark://[::1]:7077", False, True),
        ("spark://127.0.0.1:7077,other:7077", False, False),
        ("spark://host:7077", False, False),
        ("spark://localhost.example.org:7077", False, False),
        ("spark://127.example.org:7077", False, False),
        ("spark://[::1", False, False),
        ("spark://", False, False),
        ("", False, False),
        ("yarn", False, False),
        ("k8s://https://host:443", False, False),
    ],
)
def test_where_a_master_is(master: str, local: bool, here: bool) -> None:
    assert (is_local(master), on_this_machine(master)) == (local, here)
    told = settings_of(master)
    assert ("spark.driver.host" in told) == here
    assert (PYTHON_PATH in told) == (not local)
    assert (no_shared_folder(master) is None) == here


def test_what_the_user_says_of_addresses_and_paths_holds() -> None:
    chosen = {"spark.master": "spark://localhost:1", "spark.driver.host": "10.0.0.1", PYTHON_PATH: "/more"}
    told = resolve_settings(chosen, [])
    assert told["spark.driver.host"] == "10.0.0.1"
    assert told["spark.driver.bindAddress"] == "127.0.0.1"
    assert told[PYTHON_PATH] == f"{package_zip().name}:/more"


def test_under_spark_submit_spark_says_little_unless_it_is_told_how_to_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert level_when_submitted({}) == {}
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    (tmp_path / "log4j2.properties.template").touch()
    assert level_when_submitted({"spark.driver.extraJavaOptions": "-Xss4m"}) == {"spark.log.level": "WARN"}
    assert level_when_submitted({"spark.driver.extraJavaOptions": "-Dlog4j2.configurationFile=mine"}) == {}
    (tmp_path / "log4j2.properties").touch()
    assert level_when_submitted({}) == {}


@pytest.mark.parametrize(("told", "level"), [({}, "WARN"), ({"spark.log.level": "INFO"}, "INFO")])
def test_the_level_of_a_submitted_session(
    told: dict[str, str], level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to the moment in which the session would be made."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setattr(session, "submitted_settings", lambda: told)
    seen: dict[str, object] = {}

    def stop(chosen: dict[str, object], *_: object, **__: object) -> None:
        seen.update(chosen)
        raise InterruptedError

    monkeypatch.setattr(session, "resolve_settings", stop)
    with pytest.raises(InterruptedError):
        session.create_session({}, java=JavaHome(tmp_path, tmp_path, 21, "PATH"), jvm_flags=())
    assert seen == {"spark.log.level": level}


def test_a_run_on_a_master_elsewhere_needs_a_checkpoint() -> None:
    plan = compile_program(
        "SET spark.master = 'spark://nowhere.invalid:7077';"
        "CREATE STREAM s (timestamp TIMESTAMP, value BIGINT) WITH (connector = 'rate');"
        "SELECT value FROM s;"
    ).require()
    report = run_plan(plan, RunOptions(once=True))
    assert [d.code for d in report.diagnostics] == ["SQ0820"]


def test_a_master_that_does_not_answer_is_told_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        found = before_start(f"spark://127.0.0.1:{port}", has_checkpoint=False)
        assert found is not None
        assert (found.code, found.message) == ("SQ0801", f"no Spark master answers at spark://127.0.0.1:{port}")
        page, section = re.findall(r"^(\S+), `(.+)`, says how", found.notes[0])[0]
        assert f"\n### {section}\n" in (Path(__file__).parents[3] / page).read_text(encoding="utf-8")
        closed.listen()
        assert before_start(f"spark://127.0.0.1:1,127.0.0.1:{port}", has_checkpoint=False) is None
    assert before_start("spark://localhost", has_checkpoint=False) is not None
    assert before_start("local[2]", has_checkpoint=False) is None


@pytest.mark.parametrize(("executors", "told"), [(0, 1), (1, 0)])
def test_a_cluster_that_gives_no_executor_may_have_no_worker(executors: int, told: int) -> None:
    said: list[str] = []

    class Hears(SilentListener):
        def notice(self, query: str, text: str) -> None:
            said.append(text)

    run = Watch(RunOptions(duration_s=0.0), Hears(), threading.Event(), executors=lambda: executors)
    run.watch(time.monotonic() - 60)
    assert ["no worker has registered with the master" in text for text in said] == [True] * told


def test_the_package_works_from_its_zip_file_alone(tmp_path: Path) -> None:
    """Data files are in it, and what was imported from it makes the same file again."""
    archive = package_zip()
    names = zipfile.ZipFile(archive).namelist()
    assert "streamq/runtime/spark/log4j2-quiet.properties" in names
    assert not [name for name in names if "__pycache__" in name]
    script = (
        f"import sys; sys.path.insert(0, {str(archive)!r})\n"
        "import streamq; assert '.zip' in streamq.__file__\n"
        "assert streamq.compile_program('SELECT 1').diagnostics\n"
        "from streamq.runtime.spark.cluster import package_zip\n"
        "print(package_zip())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(archive)
