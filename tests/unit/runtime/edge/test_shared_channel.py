"""Three edges that share a channel: it is never exceeded, all rows land once, and what was shed comes back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamq.dsl.records import dataclass, field
from streamq.runtime.edge.at_run.channel import PERIOD_S
from streamq.runtime.edge.at_run.incoming import Incoming
from streamq.runtime.edge.at_run.reception import Reception
from streamq.runtime.edge.at_run.server import Server
from streamq.runtime.edge.at_source.folder_sender import FolderSender
from streamq.runtime.edge.at_source.http_sender import HttpSender
from streamq.runtime.edge.at_source.site import Site
from streamq.runtime.edge.plan import LEAST_BUCKET, EdgePlan
from streamq.runtime.edge.transport import Reply, Transport
from streamq.stdlib.attributes.lookalike import weather
from tests.unit.runtime.edge.support import (
    COLUMNS,
    KEYS,
    Clock,
    Fed,
    lines_of,
    most_above,
    plan_of,
    site_of,
)

CHANNEL_KBPS = 90.0
CYCLES = {"north": 60, "south": 60, "west": 40}
PERIODS = {"north": 1.0, "south": 1.0, "west": 1.5}


@dataclass(slots=True)
class Noted:
    """A transport, and when how many bytes went."""

    to: Transport
    clock: Clock
    went: list[tuple[float, int]]

    @property
    def extra(self) -> int:
        return self.to.extra

    def send(self, message: bytes) -> Reply:
        self.went.append((self.clock(), len(message) + self.extra))
        return self.to.send(message)


@dataclass(slots=True)
class World:
    folder: Path
    over: str
    clock: Clock = field(default_factory=Clock)
    rows: dict[str, pa.RecordBatch] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    went: list[tuple[float, int]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    reception: Any = None
    server: Any = None

    def __post_init__(self) -> None:
        plans = {name: plan_of(stream=name, capacity_kbps=1000.0) for name in CYCLES}
        shed = frozenset(COLUMNS[1:])
        incoming = [Incoming(plan=plan, synopsis=shed, channel="uplink", wait_s=60.0) for plan in plans.values()]
        self.reception = Reception(
            self.folder / "central", incoming, {"uplink": CHANNEL_KBPS}, told=self.told.append, clock=self.clock,
            listen=("127.0.0.1", 0) if self.over == "http" else None,
        )
        # Of what a reception starts only the port: what lands, and when, is for the clock of the test to say.
        self.server = Server(self.reception.central, "secret-token")
        self.server.start()
        for seed, (name, plan) in enumerate(plans.items()):
            self.sites[name] = self._site(name, seed, plan)

    def _site(self, name: str, seed: int, plan: EdgePlan) -> Site:
        """Its source brings a cycle at a time."""
        found = weather(CYCLES[name], KEYS, seed).rows()
        self.rows[name] = pa.record_batch({column: pa.array(found[column]) for column in COLUMNS})
        lines = lines_of(self.rows[name])
        blocks = [
            (self.clock() + (c + 1) * PERIODS[name], b"".join(lines[c * KEYS : (c + 1) * KEYS])) for c in range(CYCLES[name])
        ]
        http = HttpSender(self.server.address, "secret-token")
        to = http if self.over == "http" else FolderSender(self.folder / "central", plan)
        return site_of(plan, Fed(self.clock, blocks), self.folder / name, Noted(to, self.clock, self.went), self.clock, self.told.append)

    def tick(self, active: str) -> None:
        for name in active.split():
            self.sites[name].turn(last=True)
        self.reception.turn()
        self.clock.now += 0.05

    def landed(self, name: str) -> pa.Table:
        files = sorted((self.folder / "central" / name / "rows").glob("*.parquet"))
        return pa.concat_tables([pq.read_table(file) for file in files])

    def restart(self, name: str) -> None:
        """The process of an edge is killed, and another begins where it was."""
        old = self.sites[name]
        old.store.close()
        began = old.counts.rows
        self.sites[name] = site_of(
            plan_of(stream=name, capacity_kbps=1000.0), old.source, self.folder / name, old.transport, self.clock, old.told
        )
        self.sites[name].counts.rows = began

    def given(self, name: str) -> float:
        return self.reception.central.desks[name].plan.capacity_kbps

    def shares(self) -> dict[str, float]:
        return {name: site.plan.capacity_kbps for name, site in self.sites.items()}


@pytest.mark.parametrize("over", ["http", "folder"])
def test_three_edges_share_a_channel(tmp_path: Path, over: str) -> None:
    world = World(tmp_path, over)
    began = world.clock()
    while world.clock() < began + 25:
        world.tick("north south west")
    # Each has a part in proportion to what it is offered, and sheds.
    rates = {name: site._offered_kbps() for name, site in world.sites.items()}
    total = sum(rates.values())
    assert total > 1.2 * CHANNEL_KBPS
    for name, kbps in world.shares().items():
        assert abs(kbps - CHANNEL_KBPS * rates[name] / total) < 0.05 * CHANNEL_KBPS
    assert sum(world.shares().values()) <= CHANNEL_KBPS

    # One is gone: others get what it had within two periods.
    before = world.shares()
    gone = world.clock()
    while sum(world.shares()[name] for name in ("north", "south")) < CHANNEL_KBPS - 2:
        world.tick("north south")
        assert world.clock() - gone <= 2 * PERIOD_S
    assert all(world.shares()[name] > before[name] * 1.2 for name in ("north", "south"))

    # Then all of it comes, of the third one too once it is back.
    while world.clock() < gone + 20:
        world.tick("north south")
    assert world.shares()["west"] == before["west"] > world.given("west") == 1.0
    world.restart("west")
    back = world.clock()
    while world.given("west") < 15:
        world.tick("north south west")
        assert world.clock() - back <= 2 * PERIOD_S
    for _ in range(20_000):
        world.tick("north south west")
        if all(site.done for site in world.sites.values()) and all(one.idle for one in world.reception._landings.values()):
            break
    else:
        raise AssertionError("it goes on and on")
    assert world.told == []
    assert most_above(world.went, CHANNEL_KBPS) <= CHANNEL_KBPS * 125 + len(CYCLES) * LEAST_BUCKET

    for name, rows in world.rows.items():
        table, counts = world.landed(name), world.reception.counts()[name]
        assert counts.rows == table.num_rows == rows.num_rows == world.sites[name].counts.rows
        assert table["location"].combine_chunks().equals(rows.column("location"))
        assert counts.shed == counts.recovered + counts.late + counts.not_retained > rows.num_rows
        assert counts.not_retained == 0
        for column in COLUMNS[1:]:
            original = rows.column(column).to_numpy()
            low, high = (table[f"{column}_{end}"].to_numpy() for end in ("lo", "hi"))
            there = ~np.isnan(low)
            assert np.all((low <= original) & (original <= high) | ~there)
            shed = np.array([column in names for names in table["shed_columns"].to_pylist()])
            assert np.all(table[column].to_numpy()[~shed] == original[~shed])
            assert np.all((low == original)[~shed] & (high == original)[~shed])
            assert np.all(there[~shed])
            assert np.array_equal(table[column].is_valid().to_numpy(), there)
    # The one that was gone answered when it was back.
    assert all(counts.late == 0 for counts in world.reception.counts().values())
    world.server.stop()
    world.reception.stop()
    for site in world.sites.values():
        site.store.close()
