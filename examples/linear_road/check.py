"""The answers of ``linear_road.cql``, worked out a second time from the tables of the simulation, in pandas.

Nothing of StreamQ is used here. Where the program keeps relations that change, this looks back: at which times
a car stood, from when to when there was an accident, what a mile was like in the minute before.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from examples.linear_road.simulation import Traffic

MINUTE = pd.Timedelta(minutes=1)
DELAY = pd.Timedelta(seconds=10)
"""So long the program waits for reports that are under way."""

ROAD = ["xway", "dir"]
MILE = [*ROAD, "seg"]
PLACE = ["xway", "dir", "lane", "seg", "pos"]
STANDS_AFTER = 4
WAY_OUT = 4


def expected(traffic: Traffic) -> dict[str, pd.DataFrame]:
    """The rows of every query, by its name; of ``balances`` the last ones."""
    reports = traffic.reports.drop(columns="file")
    found = accidents(standing(reports))
    entering = entries(reports)
    warned = _approaching(entering, found)
    tolls = _tolls(entering, statistics(reports), traffic.segments, warned)
    return {
        "statistics": _closed(statistics(reports), reports),
        "new_accidents": found[PLACE],
        "cleared_accidents": found[PLACE],
        "warnings": warned[["ts", "car", *MILE, "lane", "accident_seg", "pos"]],
        "tolls": tolls,
        "balances": tolls.groupby("car", as_index=False).agg(
            balance=("toll", "sum"), tolls=("toll", "size")
        ),
        "travel_times": _travel_times(traffic),
    }


def _closed(table: pd.DataFrame, stream: pd.DataFrame) -> pd.DataFrame:
    """The rows of windows that are over: those that end later have no final result."""
    over = table["until"] <= stream["ts"].max() - DELAY
    found: pd.DataFrame = table[over]
    return found


def statistics(reports: pd.DataFrame) -> pd.DataFrame:
    """Each mile at the end of each minute: speed over five minutes, cars of the last one."""
    minute = reports["ts"].dt.floor("min") + MINUTE
    spread = pd.concat([reports.assign(until=minute + k * MINUTE) for k in range(5)])
    speeds = spread.groupby(["until", *MILE])["speed"].mean().rename("mean_speed")
    cars = reports.assign(until=minute).groupby(["until", *MILE])["car"].nunique().rename("cars")
    table = speeds.to_frame().join(cars)
    table["cars"] = table["cars"].fillna(0).astype("int64")
    return table.reset_index()


def standing(reports: pd.DataFrame) -> pd.DataFrame:
    """The times in which a car stands: four reports within two minutes from one place."""
    table = reports.sort_values(["car", "ts"], ignore_index=True)
    first = table.shift(STANDS_AFTER - 1)
    stands = pd.Series(data=True, index=table.index)
    for back in range(STANDS_AFTER):
        earlier = table.shift(back)
        stands &= (earlier["car"] == table["car"]) & (earlier["speed"] == 0)
        stands &= (earlier[PLACE] == table[PLACE]).all(axis=1)
    runs_out = first["ts"] + 2 * MINUTE
    stands &= table["ts"] < runs_out
    following = table["ts"].shift(-1).where(table["car"].shift(-1) == table["car"])
    until = runs_out.where(following.isna() | (runs_out < following), following)
    return table.assign(since=table["ts"], until=until)[stands][["car", *PLACE, "since", "until"]]


def accidents(stands: pd.DataFrame) -> pd.DataFrame:
    """The times in which two cars or more stand in one place."""
    rows = []
    for place, group in stands.groupby(PLACE):
        times = group[["since", "until"]].itertuples(index=False, name=None)
        rows += [(*place, since, until) for since, until in _crowded(times)]
    return pd.DataFrame(rows, columns=[*PLACE, "since", "until"])


def _crowded(
    times: Iterable[tuple[pd.Timestamp, pd.Timestamp]],
) -> Iterable[tuple[pd.Timestamp, pd.Timestamp]]:
    """The stretches in which at least two of the times hold."""
    steps: dict[pd.Timestamp, int] = {}
    for since, until in times:
        steps[since] = steps.get(since, 0) + 1
        steps[until] = steps.get(until, 0) - 1
    held, began = 0, None
    for moment in sorted(steps):
        held += steps[moment]
        if held >= 2 and began is None:
            began = moment
        elif held < 2 and began is not None:
            yield began, moment
            began = None


def entries(reports: pd.DataFrame) -> pd.DataFrame:
    """Reports from another mile than the car's last one, or after a minute without any."""
    table = reports.sort_values(["car", "ts"], ignore_index=True)
    last = table.shift(1)
    known = (last["car"] == table["car"]) & (table["ts"] - last["ts"] < MINUTE)
    new = ~known | (last["seg"] != table["seg"])
    return table[new & (table["lane"] != WAY_OUT)][["ts", "car", *MILE]]


def _approaching(entering: pd.DataFrame, found: pd.DataFrame) -> pd.DataFrame:
    """Entries with each accident that there is then in the mile or the next four."""
    pairs = entering.merge(found.rename(columns={"seg": "accident_seg"}), on=ROAD)
    ahead = (pairs["accident_seg"] - pairs["seg"]).where(
        pairs["dir"] == 0, pairs["seg"] - pairs["accident_seg"]
    )
    there = (pairs["since"] <= pairs["ts"]) & (pairs["ts"] < pairs["until"])
    return pairs[there & ahead.between(0, 4)]


def _tolls(
    entering: pd.DataFrame, stats: pd.DataFrame, segments: pd.DataFrame, warned: pd.DataFrame
) -> pd.DataFrame:
    """What each entry costs, by the last full minute; nothing where an accident is ahead."""
    table = entering.assign(until=entering["ts"].dt.floor("min"))
    table = table.merge(stats, on=["until", *MILE]).merge(segments, on=MILE)
    free = pd.MultiIndex.from_frame(warned[["ts", "car"]])
    held_back = pd.MultiIndex.from_frame(table[["ts", "car"]]).isin(free)
    dense = (table["mean_speed"] < table["free_speed"]) & (table["cars"] > table["free_cars"])
    table = table[dense & ~held_back]
    table = table.assign(toll=2 * (table["cars"] - table["free_cars"]) ** 2)
    return table[["ts", "car", *MILE, "mean_speed", "cars", "toll"]]


def _travel_times(traffic: Traffic) -> pd.DataFrame:
    """The miles of each trip that was asked for, summed up."""
    asked = traffic.trips.assign(until=traffic.trips["ts"].dt.floor("10s") + DELAY)
    asked = _closed(asked, traffic.trips)
    pairs = asked.merge(traffic.history, on=[*ROAD, "day"])
    low = pairs[["from_seg", "to_seg"]].min(axis=1)
    high = pairs[["from_seg", "to_seg"]].max(axis=1)
    pairs = pairs[pairs["seg"].between(low, high)]
    pairs = pairs.assign(seconds=3600 / pairs["speed"])
    return pairs.groupby("trip", as_index=False).agg(
        seconds=("seconds", "sum"), toll=("toll", "sum"), miles=("seg", "size")
    )
