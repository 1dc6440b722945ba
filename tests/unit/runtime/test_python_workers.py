"""The process from which Python workers are forked, without Spark."""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

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


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the heap of this system cannot be trimmed",
)
def test_the_memory_of_a_task_goes_back_to_the_system_when_it_is_done() -> None:
    """Of 200 MiB in small pieces; without it, the piece that stays holds most of them."""
    kept, given = (
        int(subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True).stdout)
        for how in ("keeps", "gives")
    )
    assert kept > 100
    assert given < 20
