"""The books of memory tell a leak from noise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.endurance.memory import MIB, held, kind, least_in_use, proportional_bytes, tree, trend

SECONDS = np.arange(0.0, 1800.0, 5.0)


def saw(seed: int, leak_mib: float) -> np.ndarray:
    """400 MiB with the teeth of a collector of garbage, noise, and a leak of so much over the time."""
    random = np.random.default_rng(seed)
    return MIB * (400 + 60 * (SECONDS % 47) / 47 + random.normal(0, 8, len(SECONDS)) + leak_mib * SECONDS / SECONDS[-1])


def test_noise_is_flat_in_nearly_all_cases_and_a_leak_never() -> None:
    """Bounds of 95 %: one-sided 2.5 % of flat series are told to grow, of 200 at most 14 (mean 5, 4 sigma above)."""
    wrong = sum(not trend(SECONDS, saw(seed, 0.0)).flat for seed in range(200))
    assert wrong <= 14
    assert not any(trend(SECONDS, saw(seed, 30.0)).flat for seed in range(200))


def test_growth_is_what_it_is() -> None:
    found = trend(SECONDS, saw(1, 100.0))
    assert found.low <= 100 * MIB <= found.high
    assert found.growth == pytest.approx(100 * MIB, rel=0.1)


def test_what_follows_the_load_is_no_leak_and_a_leak_under_a_load_is_one() -> None:
    """A load that rises by half in the middle third, and does not come back all the way."""
    load = np.interp(SECONDS, [0, 600, 900, 1200, 1800], [1.0, 1.0, 1.6, 1.3, 1.3])
    follows = saw(3, 0.0) + 60 * MIB * load
    assert not trend(SECONDS, follows).flat
    assert trend(SECONDS, follows, load).flat
    leaks = trend(SECONDS, saw(3, 30.0) + 60 * MIB * load, load)
    assert not leaks.flat
    assert leaks.low <= 30 * MIB <= leaks.high


def test_the_books_of_this_process() -> None:
    child = subprocess.Popen([sys.executable, "-c", "x = bytearray(50 << 20); input()"], stdin=subprocess.PIPE)
    try:
        assert child.pid in tree(os.getpid())
        assert kind(child.pid) == "driver"
        assert kind(0) == ""
        while proportional_bytes(child.pid) < 50 << 20:
            assert child.poll() is None
        assert held([child.pid])["driver"] >= 50 << 20
    finally:
        child.communicate(b"\n", timeout=30)
    assert proportional_bytes(child.pid) == 0


LOG = """[0.011s] Using G1
[9.500s] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 33M->9M(512M) 5.123ms
[200.100s] GC(1) Pause Young (Concurrent Start) (Metadata GC Threshold) 330M->120M(512M) 5.123ms
[200.200s] GC(2) Concurrent Mark Cycle 40.301ms
[210.001s] GC(2) Pause Remark 130M->80M(512M) 2.015ms
[285.400s] GC(3) Pause Young (Mixed) (G1 Evacuation Pause) 300M->95M(512M) 8.123ms
"""


def test_the_least_that_was_in_use_lately(tmp_path: Path) -> None:
    log = tmp_path / "7.log"
    assert least_in_use(log) == 0
    log.write_text(LOG.partition("[9.5")[0])
    assert least_in_use(log) == 0
    log.write_text(LOG)
    assert least_in_use(log) == 80 * MIB
    log.write_text(LOG + "[299.999s] GC(4) Pause Full (System.gc()) 300M->90M(512M) 8.123ms\n[300.100s] GC(5) Pau")
    assert least_in_use(log) == 80 * MIB
    log.write_text(LOG + "[300.010s] GC(4) Pause Full (System.gc()) 300M->90M(512M) 8.123ms\n")
    assert least_in_use(log) == 90 * MIB
