"""The capacity of an edge on a shared channel is lent: where nobody acknowledges anything only a floor is left of it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from streamq.runtime.edge.frames import Kind
from streamq.runtime.edge.transport import Reply
from tests.unit.runtime.edge.support import Wire, most_above, small_plan
from tests.unit.runtime.edge.test_site import Harness, line

KBPS, FLOOR, LEASE_S, DOWN = 40.0, 0.5, 20.0, 1010.0


def harness_of(folder: Path, lease_s: float = LEASE_S, until: float = DOWN + 600) -> Harness:
    """Rows all the time; nothing is acknowledged from ``DOWN`` until then, and messages are lost, or only their replies."""
    blocks = [(1000.0 + i, b"".join(line("ab"[j % 2], i * 1.5 + j) for j in range(200))) for i in range(1, 750)]
    harness = Harness(folder, small_plan(capacity_kbps=KBPS, lease_s=lease_s, floor_kbps=FLOOR), blocks)
    harness.site.chance = lambda: 0.0
    broken = {False: "before", True: "after"}
    harness.wire.down = lambda: broken[len(harness.wire.went) % 3 == 0] if DOWN <= harness.clock.now < until else ""
    return harness


def went(harness: Harness, since: float, until: float) -> list[tuple[float, int]]:
    while harness.clock.now < until:
        harness.clock.now += max(min(harness.site.turn(), 0.25), 1e-3)
    return [(at, size) for at, size in harness.wire.went if since <= at < until]


def test_without_acknowledgements_only_the_floor_is_left(tmp_path: Path) -> None:
    harness = harness_of(tmp_path)
    before = went(harness, 1000.0, DOWN)
    assert sum(size for _, size in before) * 8 / 1000 > 10 * FLOOR * 10
    heard = before[-1][0]
    after = went(harness, heard + LEASE_S, DOWN + 600)
    assert len(after) > 3
    assert most_above(after, FLOOR) <= max(size for _, size in after)
    # Then it is as before.
    back = went(harness, DOWN + 600, DOWN + 720)
    first = next(at for at, _ in back)
    assert sum(size for at, size in back if at < first + 40) * 8 / 1000 > 10 * FLOOR * 40
    assert most_above(harness.wire.went, KBPS) <= harness.plan.bucket


def test_a_capacity_that_is_not_lent_stays(tmp_path: Path) -> None:
    harness = harness_of(tmp_path, lease_s=0.0)
    after = went(harness, DOWN + LEASE_S, DOWN + 600)
    assert most_above(after, FLOOR) > max(size for _, size in after)


def test_a_lease_ends_after_a_restart(tmp_path: Path) -> None:
    harness = harness_of(tmp_path)
    went(harness, 1000.0, DOWN)
    harness.killed()
    after = went(harness, DOWN, DOWN + LEASE_S - 1)
    assert most_above(after, FLOOR) <= max(size for _, size in after)


class Slow(Wire):
    """Replies come much later than messages go."""

    def send(self, message: bytes) -> Reply:
        reply = Wire.send(self, message)
        self.clock.now += 8.0
        return reply


def test_a_lease_is_from_when_a_message_went(tmp_path: Path) -> None:
    harness = harness_of(tmp_path)
    slow = Slow(harness.central, harness.clock)
    harness.site.transport = slow
    harness.clock.now += 1
    harness.site.turn()
    sent = slow.went[-1][0]
    assert harness.clock.now >= sent + 8
    harness.clock.now = sent + LEASE_S - 0.1
    assert harness.site._bucket_wait(100, 100, harness.clock.now) == 0.0
    assert harness.site._bucket.kbps == KBPS
    harness.clock.now = sent + LEASE_S
    harness.site._bucket_wait(100, 100, harness.clock.now)
    assert harness.site._bucket.kbps == FLOOR


@pytest.mark.parametrize("lease_s", [0.0, LEASE_S])
def test_an_idle_edge_keeps_its_lease(tmp_path: Path, lease_s: float) -> None:
    harness = Harness(tmp_path, small_plan(capacity_kbps=KBPS, lease_s=lease_s, floor_kbps=FLOOR), [])
    while harness.clock.now < 1100:
        harness.clock.now += max(min(harness.site.turn(), 0.25), 1e-3)
    assert set(harness.wire.kinds) == {Kind.POLL}
    assert len(harness.wire.went) > 90
    assert harness.site._bucket.kbps == KBPS


def test_a_message_that_waits_long_costs_no_lease_and_goes_at_last(tmp_path: Path) -> None:
    lines = b"".join(line("ab"[j % 2], j * 1.5) for j in range(200))
    harness = Harness(tmp_path, small_plan(capacity_kbps=1.0, lease_s=5.0, floor_kbps=1.0), [(1000.0 + i, lines) for i in range(3)])
    harness.wire.extra = harness.site.transport.extra = 300
    sent = went(harness, 1000.0, 1600.0)
    assert harness.wire.kinds.count(Kind.ROWS) >= 2
    assert sum(row["seq"] >= 1 for row in harness.rows()) > 200
    times = [at for at, _ in sent]
    assert max(b - a for a, b in pairwise(times)) < 5.0
    assert most_above(sent, 1.0) <= max(harness.plan.bucket, *(size for _, size in sent))
