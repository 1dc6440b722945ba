"""The process from which Python workers are forked, without Spark."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamq.runtime.spark.python_workers import ONE_HEAP

PROGRAM = """
import io, resource, sys
from pathlib import Path
from types import SimpleNamespace
from streamq.runtime.spark.python_workers import give_back

MIB = 1 << 20
left = []

def task(infile, outfile):
    # Small enough for the heap; the last of them stays, and all before it stay with it.
    blocks = [bytearray(64 << 10) for _ in range(3200)]
    left.append(blocks[-1])
    outfile.write(b"done")

def held():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // MIB

worker = SimpleNamespace(main=task)
if sys.argv[1] == "gives":
    give_back(worker)
before, out = held(), io.BytesIO()
worker.main(io.BytesIO(), out)
assert out.getvalue() == b"done"
print(held() - before)
"""


glibc = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the heap of this system cannot be trimmed",
)


@glibc
def test_the_memory_of_a_task_goes_back_to_the_system_when_it_is_done() -> None:
    """Of 200 MiB in small pieces; without it, the piece that stays holds most of them."""
    kept, given = (
        int(subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True).stdout)
        for how in ("keeps", "gives")
    )
    assert kept > 100
    assert given < 20


@glibc
@pytest.mark.parametrize("chosen", [{}, {"PYTHONMALLOC": "pymalloc"}], ids=["nothing chosen", "chosen by the user"])
def test_all_that_workers_allocate_comes_from_the_heap_that_is_trimmed(chosen: dict[str, str]) -> None:
    """The process from which they are forked starts anew for that, and Spark that waits for it sees nothing of it."""
    environment = {name: value for name, value in os.environ.items() if name not in ONE_HEAP} | chosen
    command = [sys.executable, "-m", "streamq.runtime.spark.python_workers", "pyspark.worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        port = process.stdout.read(4)
        found = dict(entry.split("=", 1) for entry in Path(f"/proc/{process.pid}/environ").read_text().split("\0") if "=" in entry)
        process.stdin.close()
        process.wait()
    assert 0 < int.from_bytes(port, "big") < 1 << 16
    assert {name: found[name] for name in ONE_HEAP} == ONE_HEAP | chosen
