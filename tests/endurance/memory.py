"""What the processes of a run hold in memory, from the system's own books, and whether it grows."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

MIB = 1 << 20
BLOCKS = 24
"""Parts of a series whose medians are taken for independent of each other: collections of garbage are seconds apart."""
RECENT_S = 90.0
"""The time in which a JVM has a collection that leaves next to no garbage."""
_COLLECTION = re.compile(r"^\[([\d.]+)s\].* Pause .* \d+M->(\d+)M\(", re.MULTILINE)


def tree(root: int) -> list[int]:
    """The process and all that came from it."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text("utf-8", "replace")
        except OSError:
            continue
        children.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(stat.parent.name))
    found, ahead = [], [root]
    while ahead:
        one = ahead.pop()
        found.append(one)
        ahead += children.get(one, [])
    return found


def kind(pid: int) -> str:
    """``driver``, its ``jvm``, ``executors``, ``workers`` (Python below a JVM), ``daemons`` of a cluster; empty where it is gone."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
    except OSError:
        return ""
    if b"java" in command.split(b" ")[0]:
        if b"CoarseGrainedExecutorBackend" in command:
            return "executors"
        return "daemons" if b"spark.deploy.worker.Worker" in command else "jvm"
    if b"python_workers" in command or b"pyspark.daemon" in command or b"pyspark.worker" in command:
        return "workers"
    return "driver" if b"python" in command.split(b" ")[0] else ""


def proportional_bytes(pid: int) -> int:
    """What the process has of memory; of what it shares with others its part (PSS). 0 where it is gone."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def held(roots: list[int]) -> dict[str, int]:
    """Bytes by kind, of these processes and all that came from them."""
    found: dict[str, int] = {}
    for pid in {p for root in roots for p in tree(root)}:
        if name := kind(pid):
            found[name] = found.get(name, 0) + proportional_bytes(pid)
    return found


def logged(folder: Path) -> dict[str, str]:
    """What the environment of a run has to have, so that each JVM of it logs its collections in the folder, by its process number."""
    folder.mkdir(parents=True, exist_ok=True)
    # Read after the options of the command line, which turn logs off.
    return {"_JAVA_OPTIONS": f"-Xlog:gc:file={folder}/%p.log:uptime"}


def live(roots: list[int], folder: Path) -> dict[str, int]:
    """Bytes of Java that are in use, by kind of process; of the driver empty without a JDK's ``jcmd``.

    A heap that may be 2 GB is touched bit by bit until it is, however little of it lives: only this tells a leak. The driver has little,
    and is asked, which collects all of it. To ask an executor stops it for two seconds, and results would be late for being
    looked at: it counts what it has after its own collections, in the log of each in the folder.
    """
    found: dict[str, int] = {}
    for pid in {p for root in roots for p in tree(root)}:
        name = kind(pid)
        size = _live_bytes(pid) if name == "jvm" else least_in_use(folder / f"{pid}.log") if name == "executors" else 0
        if size:
            found[name] = found.get(name, 0) + size
    return found


def _live_bytes(pid: int) -> int:
    try:
        jcmd = Path(os.readlink(f"/proc/{pid}/exe")).with_name("jcmd")
        said = subprocess.run([str(jcmd), str(pid), "GC.class_histogram"], capture_output=True, text=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return 0
    last = said.split()[-3:]
    return int(last[2]) if len(last) == 3 and last[0] == "Total" else 0


def least_in_use(log: Path) -> int:
    """The least in use after a collection in the last ``RECENT_S`` of a JVM's log, in bytes; 0 where there is none in it."""
    try:
        text = log.read_text("utf-8", "replace")
    except OSError:
        return 0
    after = [(float(seconds), int(size) * MIB) for seconds, size in _COLLECTION.findall(text)]
    return min((size for seconds, size in after if seconds >= after[-1][0] - RECENT_S), default=0)


@dataclass(frozen=True, slots=True)
class Trend:
    """Growth over the whole series, in its unit, with the bounds that hold in 95 of 100 cases; ``size``: its median."""

    growth: float
    low: float
    high: float
    size: float

    @property
    def flat(self) -> bool:
        """True where growth is within noise: its bounds have 0 between them, or it is below a hundredth of the size."""
        return self.low <= 0 or self.growth < 0.01 * self.size

    def __str__(self) -> str:
        word = "flat" if self.flat else "GROWS"
        return f"{self.size / MIB:8.1f} MiB, {self.growth / MIB:+7.2f} MiB over the time ({self.low / MIB:+.2f} to {self.high / MIB:+.2f}): {word}"


def trend(
    seconds: NDArray[np.float64], values: NDArray[np.float64], load: NDArray[np.float64] | None = None, blocks: int = BLOCKS,
) -> Trend:
    """The line through the medians of blocks of equal length (Student's t with their number less that of parameters).

    ``load``: what goes on at each of the seconds. Growth is then that at equal load: what is held by a process that has
    more to do is no leak.
    """
    edges = np.linspace(seconds[0], seconds[-1], blocks + 1)
    which = np.clip(np.searchsorted(edges, seconds, side="right") - 1, 0, blocks - 1)
    filled = [b for b in range(blocks) if (which == b).any()]

    def medians(series: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([np.median(series[which == b]) for b in filled])

    x, y = medians(seconds), medians(values)
    columns = [x - x.mean(), np.ones_like(x)]
    if load is not None and np.ptp(medians(load)) > 0:
        columns.append(medians(load) / np.abs(medians(load)).max())
    matrix = np.stack(columns, axis=1)
    found, *_ = np.linalg.lstsq(matrix, y, rcond=None)
    free = max(1, len(x) - len(columns))
    variance = float(np.sum((y - matrix @ found) ** 2)) / free * float(np.linalg.pinv(matrix.T @ matrix)[0, 0])
    span = float(seconds[-1] - seconds[0])
    width = float(stats.t.ppf(0.975, free)) * float(np.sqrt(variance)) * span
    growth = float(found[0]) * span
    return Trend(growth, growth - width, growth + width, float(np.median(values)))
