"""Makes the data of this example: cars on expressways in a rush hour, with jams, breakdowns and accidents.

Cars move second by second. The more cars in a mile, the slower they drive; past an accident they crawl. The
same seed makes the same files.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DATA = Path(__file__).parent / "data"

MILE = 5280
"""Feet. A segment is a mile."""

SEGMENTS = 100

START = pd.Timestamp("2024-05-03 07:00:00")
REPORT_EVERY_S = 30
LATEST_S = 10
"""A report arrives less than this after it was made."""

AFTER_S = 3600
"""So long after the last car one more report comes, to tell that all before it is over."""

WAY_IN, WAY_OUT = 0, 4

REPORT = ("ts", "car", "speed", "xway", "lane", "dir", "seg", "pos")

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Plan:
    """What is simulated. ``cars``: how many each expressway has; ``free_cars``: how many a mile of it bears.

    ``room``: so many cars stand bumper to bumper on a mile. ``accidents`` and ``breakdowns``: how many there
    are in all; a breakdown is a single car that stands. ``trips``: questions of drivers. ``file_s``: a file
    holds what arrived in so many seconds.
    """

    seed: int = 1
    minutes: int = 40
    cars: tuple[int, ...] = (900, 400)
    free_cars: tuple[int, ...] = (50, 20)
    room: int = 120
    accidents: int = 12
    breakdowns: int = 20
    trips: int = 200
    file_s: int = 300


@dataclass(frozen=True)
class Traffic:
    """What was simulated: a table per stream, in order of arrival with the ``file`` each row is in, and the tables."""

    reports: pd.DataFrame
    trips: pd.DataFrame
    segments: pd.DataFrame
    history: pd.DataFrame


def simulate(plan: Plan) -> Traffic:
    """The traffic of a plan."""
    rng = np.random.default_rng(plan.seed)
    reports = pd.concat([_Road(plan, rng).drive(), _service_car(plan)], ignore_index=True)
    return Traffic(
        reports=_arrived(reports, plan, rng), trips=_arrived(_trips(plan, rng), plan, rng),
        segments=_segments(plan), history=_history(plan, rng),
    )


def write(traffic: Traffic, folder: Path) -> None:
    """Writes the files below ``folder``; what an earlier run left there is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, table in (("reports", traffic.reports), ("trips", traffic.trips)):
        (folder / name).mkdir(parents=True)
        for number, rows in table.groupby("file"):
            file = folder / name / f"{number:04}.csv"
            rows.drop(columns="file").to_csv(file, index=False, lineterminator="\n")
            # A stream over a folder takes the oldest file first.
            order = int(START.timestamp()) + int(str(number))
            os.utime(file, (order, order))
    for name, table in (("segments", traffic.segments), ("history", traffic.history)):
        table.to_csv(folder / f"{name}.csv", index=False, lineterminator="\n")


@dataclass
class _Stop:
    """Cars that stand in a place until it is cleared. ``comes``: the car that will run into the first one."""

    place: float
    lane: int
    until: int
    cars: list[int]
    comes: int | None = None


@dataclass
class _Road:
    """All cars, one place in each array per car. Cars that are not on the road wait for their next trip."""

    plan: Plan
    rng: np.random.Generator
    stops: list[_Stop] = field(default_factory=list)

    def __post_init__(self) -> None:
        rng, count = self.rng, sum(self.plan.cars)
        self.xway = np.repeat(np.arange(len(self.plan.cars)), self.plan.cars)
        self.dir = (rng.random(count) < 0.3).astype(np.int64)
        self.ahead = 1.0 - 2.0 * self.dir
        self.likes: Floats = rng.normal(62, 6, count)
        self.phase = rng.integers(0, REPORT_EVERY_S, count)
        self.starts: Ints = rng.integers(0, self.plan.minutes * 36, count)
        self.driving: Flags = np.zeros(count, dtype=bool)
        self.pos: Floats = np.zeros(count)
        self.goal: Floats = np.zeros(count)
        self.speed: Floats = np.zeros(count)
        self.lane: Ints = np.zeros(count, dtype=np.int64)

    def drive(self) -> pd.DataFrame:
        """The reports of the whole time."""
        seconds = self.plan.minutes * 60
        accidents = self._moments(self.plan.accidents, 0.2, 0.7)
        breakdowns = self._moments(self.plan.breakdowns, 0.1, 0.9)
        reports = []
        for now in range(seconds):
            self._enter(now)
            for _ in range(accidents.count(now)):
                self._stop(now, int(self.rng.integers(240, 600)), accident=True)
            for _ in range(breakdowns.count(now)):
                self._stop(now, int(self.rng.integers(30, 300)), accident=False)
            self._move(now)
            self.stops = [stop for stop in self.stops if stop.until > now]
            reports.append(self._reports(now))
        return pd.DataFrame(np.concatenate(reports), columns=list(REPORT))

    def _moments(self, count: int, first: float, last: float) -> list[int]:
        seconds = self.plan.minutes * 60
        moments = self.rng.integers(int(seconds * first), int(seconds * last), count)
        return [int(moment) for moment in moments]

    def _enter(self, now: int) -> None:
        """Cars begin their trips: some miles to the middle of the expressway and past it."""
        new = np.flatnonzero(~self.driving & (self.starts <= now))
        if not len(new):
            return
        away = self.rng.uniform(1, 4, len(new))
        miles = away + self.rng.uniform(0.5, 3, len(new))
        self.driving[new] = True
        self.pos[new] = (50 - self.ahead[new] * away) * MILE
        self.goal[new] = self.pos[new] + self.ahead[new] * miles * MILE
        self.lane[new] = WAY_IN
        self.speed[new] = 30

    def _move(self, now: int) -> None:
        """One second: how fast the traffic lets everyone go, who arrives, who has to stop."""
        where = (self.xway * 2 + self.dir) * SEGMENTS + self._segments()
        count = np.bincount(where[self.driving], minlength=len(self.plan.cars) * 2 * SEGMENTS)
        pace = np.clip(1 - count[where] / self.plan.room, 0.25, 1)
        for stop in self.stops:
            pace[self._behind(stop) < MILE] *= 0.4
        self.speed = np.maximum(self.likes * pace, 2)
        before = self.pos
        self.pos = before + self.ahead * self.speed * MILE / 3600 * self.driving
        self._hold(before)
        left = self.ahead * (self.goal - self.pos)
        changes = self.driving & (self.speed > 0) & (self.rng.random(len(left)) < 0.02)
        stays = changes & (left > MILE / 2)
        self.lane[stays] = self.rng.integers(1, 4, int(stays.sum()))
        self.lane[changes & ~stays] = WAY_OUT
        arrived = self.driving & (left <= 0)
        self.driving[arrived] = False
        self.starts[arrived] = now + self.rng.integers(120, 1500, int(arrived.sum()))

    def _hold(self, before: Floats) -> None:
        """Cars that stand stay where they are, and who comes for a place stops there."""
        for stop in self.stops:
            comes = stop.comes
            if comes is not None and self._passes(comes, stop.place, before):
                stop.cars.append(comes)
                stop.comes = None
                self.lane[comes] = stop.lane
            self.pos[stop.cars] = stop.place
            self.speed[stop.cars] = 0

    def _passes(self, car: int, place: float, before: Floats) -> bool:
        ahead = self.ahead[car]
        return bool(ahead * before[car] < ahead * place <= ahead * self.pos[car])

    def _stop(self, now: int, seconds: int, *, accident: bool) -> None:
        """A car comes to a stop; in an accident the next one behind it runs into it."""
        able = self.driving & (self.lane != WAY_IN) & (self.lane != WAY_OUT) & (self.speed > 0)
        if not able.any():
            return
        car = int(self.rng.choice(np.flatnonzero(able)))
        stop = _Stop(float(self.pos[car]), int(self.lane[car]), now + seconds, [car])
        self.stops.append(stop)
        if accident:
            distance = self._behind(stop)
            goes_past = self.ahead * (self.goal - stop.place) > 0
            distance[~able | ~goes_past | (distance <= 0)] = np.inf
            if np.isfinite(distance).any():
                stop.comes = int(np.argmin(distance))

    def _behind(self, stop: _Stop) -> Floats:
        """How far each car has to go to the place; infinite for those that do not come to it."""
        first = stop.cars[0]
        same = self.driving & (self.xway == self.xway[first]) & (self.dir == self.dir[first])
        distance = self.ahead * (stop.place - self.pos)
        return np.where(same & (distance >= 0), distance, np.inf)

    def _segments(self) -> Ints:
        return (self.pos // MILE).astype(np.int64)

    def _reports(self, now: int) -> Ints:
        """The reports of a second, a column for each name in ``REPORT``."""
        due = np.flatnonzero(self.driving & (self.phase == now % REPORT_EVERY_S))
        speed, pos = np.rint(self.speed[due]), np.floor(self.pos[due])
        return np.column_stack([
            np.full(len(due), now), due + 1, speed, self.xway[due], self.lane[due], self.dir[due],
            self._segments()[due], pos,
        ]).astype(np.int64)


def _service_car(plan: Plan) -> pd.DataFrame:
    """Long after the last car one more comes by: all that was before it is over."""
    row = (plan.minutes * 60 + AFTER_S, 0, 50, 0, 1, 0, 0, 100)
    return pd.DataFrame([row], columns=list(REPORT))


def _trips(plan: Plan, rng: np.random.Generator) -> pd.DataFrame:
    """Questions for the time of a trip, and at the end one that tells that all before it is over."""
    count = plan.trips
    away, beyond = rng.integers(1, 30, (2, count))
    east = rng.random(count) < 0.5
    asked = pd.DataFrame({
        "ts": np.sort(rng.integers(0, plan.minutes * 60, count)),
        "trip": np.arange(1, count + 1),
        "xway": rng.integers(0, len(plan.cars), count),
        "dir": np.where(east, 0, 1),
        "from_seg": np.where(east, 50 - away, 50 + away),
        "to_seg": np.where(east, 50 + beyond, 50 - beyond),
        "day": rng.integers(1, 8, count),
    })
    last = asked.iloc[-1:].assign(ts=plan.minutes * 60 + AFTER_S, trip=0)
    return pd.concat([asked, last], ignore_index=True)


def _segments(plan: Plan) -> pd.DataFrame:
    table = _product(xway=range(len(plan.cars)), dir=(0, 1), seg=range(SEGMENTS))
    return table.assign(free_cars=np.array(plan.free_cars)[table["xway"]], free_speed=40.0)


def _product(**columns: Iterable[int]) -> pd.DataFrame:
    """All combinations of the values of some columns."""
    return pd.DataFrame(product(*columns.values()), columns=list(columns))


def _history(plan: Plan, rng: np.random.Generator) -> pd.DataFrame:
    """Each mile on each day of the week: slower and dearer near the middle, but not at the weekend."""
    table = _product(xway=range(len(plan.cars)), dir=(0, 1), seg=range(SEGMENTS), day=range(1, 8))
    busy = np.exp(-(((table["seg"] - 50) / 8) ** 2)) * table["day"].between(2, 6)
    table["speed"] = (62 - 30 * busy + rng.normal(0, 2, len(table))).round(1)
    table["toll"] = (busy * rng.uniform(0, 200, len(table))).round()
    return table


def _arrived(table: pd.DataFrame, plan: Plan, rng: np.random.Generator) -> pd.DataFrame:
    """The rows in order of arrival, a few seconds after their time, with the file that each is in."""
    arrives = table["ts"] + rng.integers(0, LATEST_S, len(table))
    table = table.assign(file=arrives // plan.file_s, ts=START + pd.to_timedelta(table["ts"], unit="s"))
    table["ts"] = table["ts"].astype("datetime64[us]")
    return table.iloc[np.argsort(arrives, kind="stable")].reset_index(drop=True)


def main(arguments: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Makes the data of the Linear Road example.")
    parser.add_argument("folder", nargs="?", type=Path, default=DATA, help="where (default: data/)")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--minutes", type=int, default=Plan.minutes)
    options = parser.parse_args(None if arguments is None else list(arguments))
    traffic = simulate(Plan(seed=options.seed, minutes=options.minutes))
    write(traffic, options.folder)
    print(f"{len(traffic.reports):,} reports in {options.folder / 'reports'}")


if __name__ == "__main__":
    main()
