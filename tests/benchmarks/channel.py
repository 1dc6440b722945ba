"""Three edges on one channel: what each sends, that all together never send more, and how soon it is split anew.

Three streams of the look-alike of the thesis's weather, offered in the proportion 1 : 2 : 3, twice as much as the channel has. Each
edge sends through a wire of its own that counts. Then the third falls silent, and later its edge is killed.

Run from the root of the repository::

    python -m tests.benchmarks.channel [--seconds 60]

Ends with 1 where more went in any stretch of time than the channel has and a bucket for each edge, where a row is missing, where the
parts that edges are given are not in proportion to what is offered (the largest and the least, by rate, more than 15 % apart), or
where the others have not been given the part of the silent one two periods after its last row.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from streamq.runtime.edge.at_run.channel import PERIOD_S
from streamq.runtime.edge.at_run.folder_desk import found_plan
from streamq.stdlib.attributes.lookalike import weather
from tests.benchmarks.uplink import (
    COLUMNS,
    ROW_BYTES,
    count,
    free_port,
    listening,
    started,
    stop,
    wait_until,
)
from tests.benchmarks.wire import Station, Wire, kbps_of, most_above

KBPS, BUCKET, LOAD = 120.0, 8_192, 2.0
PARTS = {"first": 1, "second": 2, "third": 3}
APART = 0.15

STREAM = """
CREATE STREAM {name} (location STRING, {columns}, ts TIMESTAMP, WATERMARK FOR ts)
SHED ATTRIBUTES
WITH (connector = 'edge', folder = 'inbox', listen = '127.0.0.1:{port}', token = 'env:STREAMQ_EDGE_TOKEN', read = '{name}.jsonl',
  bucket = {bucket}, cycle_rows = 75, channel = 'uplink');
CREATE SINK {name}_rows WITH (connector = 'noop');
CREATE QUERY of_{name} INTO {name}_rows AS SELECT * FROM {name};
"""


def program(port: int) -> str:
    columns = ", ".join(f"{c} DOUBLE" for c in COLUMNS)
    streams = (STREAM.format(name=name, columns=columns, port=port, bucket=BUCKET) for name in PARTS)
    return f"CREATE CHANNEL uplink CAPACITY {KBPS} KBPS;\n" + "".join(streams)


def main(argv: Sequence[str] | None = None) -> int:
    """One run, in four stretches: starting, all three, two of them, two of them and the third killed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of each stretch")
    args = parser.parse_args(argv)
    with TemporaryDirectory(prefix="streamq-channel-") as folder:
        return _measured(Path(folder), args.seconds)


def _measured(folder: Path, seconds: float) -> int:
    port = free_port()
    (folder / "channel.cql").write_text(program(port))
    run = started(folder, "run", "channel.cql", "--checkpoint", "state", "-q")
    listening(port)
    wires = {name: Wire(("127.0.0.1", port)) for name in PARTS}
    stations: dict[str, Station] = {}
    edges = {}
    for name, part in PARTS.items():
        rate = LOAD * KBPS * 125 / ROW_BYTES * part / sum(PARTS.values())
        lasts = 4 * seconds if name != "third" else 2 * seconds
        (folder / f"{name}.jsonl").touch()
        stations[name] = Station(weather(int(lasts * rate / 75), seed=part), folder / f"{name}.jsonl", rate)
        wires[name].__enter__()
        edges[name] = started(folder, "edge", "channel.cql", "--stream", name, "--to", wires[name].address)
    given: list[tuple[float, dict[str, float]]] = []
    began = time.monotonic()
    for station in stations.values():
        station.start()
    while stations["third"].is_alive():
        given.append((time.monotonic(), parts(folder)))
        stations["third"].join(0.1)
    silent = time.monotonic()
    while time.monotonic() < silent + seconds:
        given.append((time.monotonic(), parts(folder)))
        time.sleep(0.1)
    os.kill(edges["third"].pid, signal.SIGKILL)
    edges["third"].wait()
    for name in ("first", "second"):
        stations[name].join()
    ended = time.monotonic()
    for name in PARTS:
        wait_until(lambda n=name: count(folder / "inbox" / n / "rows") >= stations[n].written, 60)  # type: ignore[misc]
    for name in ("first", "second"):
        stop(edges[name])
    stop(run)
    came = {name: count(folder / "inbox" / name / "rows") for name in PARTS}
    for wire in wires.values():
        wire.__exit__()
    wrong = _split(given, silent)
    return _judged(wires, stations, came, (began + seconds, silent, silent + 2 * PERIOD_S, ended), wrong)


def parts(folder: Path) -> dict[str, float]:
    """What the plan in force gives each edge, kbit/s."""
    found = {}
    for name in PARTS:
        plan = found_plan(folder / "inbox" / name)
        found[name] = 0.0 if plan is None else plan.capacity_kbps
    return found


def _split(given: list[tuple[float, dict[str, float]]], silent: float) -> list[str]:
    """What is wrong with the parts that edges are given."""
    wrong = []
    before = [part for at, part in given if at < silent][-1]
    print("given before: " + ", ".join(f"{name} {kbps:.1f}" for name, kbps in before.items()))
    each = [before[name] / part for name, part in PARTS.items()]
    if max(each) > (1 + APART) * min(each):
        wrong.append("the parts are not in proportion to what is offered")
    soon = next((at - silent for at, part in given if at > silent and part["first"] + part["second"] >= 0.97 * KBPS), float("inf"))
    print(f"split anew {soon:.1f} s after the last row of the third, of two periods of {PERIOD_S:g} s")
    if soon > 2 * PERIOD_S:
        wrong.append("the others have not been given the part of the silent one two periods later")
    return wrong


def _judged(
    wires: dict[str, Wire], stations: dict[str, Station], came: dict[str, int], times: tuple[float, float, float, float], wrong: list[str]
) -> int:
    settled, silent, split, ended = times
    for title, since, until in (("all three", settled, silent), ("the third silent", split, ended)):
        rates = {name: kbps_of(wire.went, since, until) for name, wire in wires.items()}
        print(f"{title:>18}: " + ", ".join(f"{n} {r:.1f}" for n, r in rates.items()) + f", together {sum(rates.values()):.1f} of {KBPS:g} kbit/s")
    together = sorted(at for wire in wires.values() for at in wire.went)
    above = most_above(together, KBPS)
    print(f"most above the channel in any stretch of time: {above:.0f} bytes, of three buckets of {BUCKET}")
    if above > 3 * BUCKET:
        wrong.append("more went than the channel has")
    for name, station in stations.items():
        print(f"{name}: {station.written:,} rows offered, {came[name]:,} came")
        if came[name] != station.written:
            wrong.append(f"rows of {name} are missing, or there twice")
    for text in wrong:
        print(f"NO: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
