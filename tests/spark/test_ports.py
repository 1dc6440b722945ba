"""Whatever listens in a run, in all its processes, does so on this machine alone."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

PROGRAM = """
SET shuffle_partitions = 1;
CREATE STREAM ticks (value BIGINT, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'rate', rows_per_second = 5);
CREATE STREAM weather (place STRING, celsius DOUBLE) WITH (connector = 'edge', folder = 'inbox', listen = ':0', token = 'env:EDGE_TOKEN');
CREATE SINK nowhere WITH (connector = 'noop');
CREATE QUERY q INTO nowhere AS SELECT value FROM ticks;
CREATE QUERY w INTO nowhere AS SELECT place FROM weather;
"""
LISTENS = "0A"
LOOPBACK = re.compile(r"0100007F|0{24}01000000|0{16}FFFF00000100007F")


def processes_of(root: int) -> set[int]:
    """The process and all that it started."""
    parents: dict[int, int] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(place.parent.name)] = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {root}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(processes: set[int]) -> set[tuple[str, int]]:
    """Address, in hexadecimal digits as the system has it, and port of each socket that they listen on."""
    inodes = set()
    for process in processes:
        for place in Path(f"/proc/{process}/fd").glob("*"):
            try:
                inodes.add(os.readlink(place))
            except OSError:
                continue
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            parts = line.split()
            if parts[3] == LISTENS and f"socket:[{parts[9]}]" in inodes:
                address, port = parts[1].split(":")
                found.add((address, int(port, 16)))
    return found


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="needs Linux's list of sockets")
def test_all_ports_are_on_loopback(tmp_path: Path) -> None:
    (tmp_path / "p.cql").write_text(PROGRAM)
    environment = {**os.environ, "EDGE_TOKEN": "geheim", "PYTHONPATH": os.pathsep.join([str(ROOT / "build/typing"), str(ROOT)])}
    command = [sys.executable, "-m", "streamq", "run", "p.cql", "--json", "--for", "120s", "--metrics", ":0", "--set", "spark.ui.enabled=true"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
        try:
            assert run.stdout is not None
            kinds = (json.loads(line)["type"] for line in run.stdout)
            assert "sample" in kinds, "the run ended before its first micro-batch"
            found = listening(processes_of(run.pid))
        finally:
            run.send_signal(signal.SIGINT)
            run.stdout.read()
    # Metrics, edges, Spark's UI, and what its parts talk to one another by.
    assert len(found) >= 4
    assert [address for address, _ in found if not LOOPBACK.fullmatch(address)] == []
