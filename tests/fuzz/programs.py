"""Mutated programs through ``check`` and ``fmt``: no traceback, no hang, bounded memory, a formatter that is stable.

``python -m tests.fuzz.programs --count 200000 --seed 1``. Program number n of a seed is the same on every machine:
``--only n`` tries it again, and prints it. Failing programs are made small and stored in the folder of ``--into``.
"""

from __future__ import annotations

import argparse
import faulthandler
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.queues import Queue
from pathlib import Path
from random import Random

from tests.fuzz.corpus import corpus
from tests.fuzz.mutations import mutate
from tests.fuzz.shrink import smallest
from tests.fuzz.tries import Outcome, tried

ADDRESS_SPACE = 1 << 30
"""Bytes that a process of the search may have in all; past it Python raises MemoryError, which is a fault."""

STUCK = 60.0
"""Seconds after which a program that does not even hear a signal ends the search."""

BATCH = 250


@dataclass(slots=True)
class Tally:
    """What was found so far. ``faults``: by text and place, the numbers of their programs."""

    programs: int = 0
    clean: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    slowest: list[tuple[float, int]] = field(default_factory=list)
    most_bytes: int = 0
    faults: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, number: int, outcome: Outcome) -> None:
        self.programs += 1
        self.codes.update(outcome.codes)
        self.clean += not outcome.codes and not outcome.fault
        self.slowest = sorted([*self.slowest, (outcome.seconds, number)], reverse=True)[:5]
        if outcome.fault:
            self.faults.setdefault((outcome.fault, outcome.place), []).append(number)

    def merge(self, other: Tally) -> None:
        self.programs += other.programs
        self.clean += other.clean
        self.codes += other.codes
        self.slowest = sorted([*self.slowest, *other.slowest], reverse=True)[:5]
        self.most_bytes = max(self.most_bytes, other.most_bytes)
        for fault, numbers in other.faults.items():
            self.faults.setdefault(fault, []).extend(numbers)


def program(seed: int, number: int) -> bytes:
    """That mutated program."""
    return mutate(Random(f"{seed}:{number}"), corpus())


def search(seed: int, numbers: range) -> Tally:
    """Tries these programs, in a folder of its own that stays empty."""
    tally = Tally()
    for number in numbers:
        faulthandler.dump_traceback_later(STUCK, exit=True)
        tally.add(number, tried(program(seed, number)))
    faulthandler.cancel_dump_traceback_later()
    tally.most_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return tally


def _worker(seed: int, ranges: list[range], told: Queue[Tally | None]) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    for numbers in ranges:
        told.put(search(seed, numbers))
    told.put(None)


def _all(seed: int, first: int, count: int, processes: int) -> Tally:
    """Splits the programs over processes and tells how it goes."""
    ranges = [range(n, min(n + BATCH, first + count)) for n in range(first, first + count, BATCH)]
    told: Queue[Tally | None] = multiprocessing.Queue()
    workers = [multiprocessing.Process(target=_worker, args=(seed, ranges[i::processes], told)) for i in range(processes)]
    for worker in workers:
        worker.start()
    tally, began, said, busy = Tally(), time.monotonic(), 0.0, processes
    while busy:
        found = told.get()
        if found is None:
            busy -= 1
            continue
        tally.merge(found)
        if time.monotonic() - said >= 10:
            said = time.monotonic()
            rate = tally.programs / (said - began)
            print(f"{tally.programs:,} of {count:,}, {rate:,.0f} programs/s, {len(tally.faults)} faults", flush=True)
    for worker in workers:
        worker.join()
        if worker.exitcode:
            tally.faults[(f"a process ended with {worker.exitcode}", "see above")] = []
    return tally


def _tell(tally: Tally, seconds: float) -> None:
    print(f"{tally.programs:,} programs in {seconds:,.0f} s ({tally.programs / seconds:,.0f}/s), {tally.clean:,} of them without a finding")
    codes = sorted(tally.codes.items(), key=lambda c: -c[1])
    for at in range(0, len(codes), 10):
        print("  " + "  ".join(f"{code} {n}" for code, n in codes[at : at + 10]))
    print("slowest: " + ", ".join(f"{s:.2f} s (--only {n})" for s, n in tally.slowest))
    print(f"most memory of a process: {tally.most_bytes / 1e6:,.0f} MB, of {ADDRESS_SPACE / 1e6:,.0f} MB that it may have")
    print(f"faults: {len(tally.faults)}")
    for (fault, place), numbers in tally.faults.items():
        print(f"  {len(numbers)}x {fault} at {place} (--only {', '.join(map(str, numbers[:3]))})")


def _store(seed: int, tally: Tally, folder: Path) -> None:
    """The smallest program of each fault, found anew."""
    for index, ((fault, place), numbers) in enumerate(tally.faults.items()):
        for number in numbers[:1]:
            small = smallest(program(seed, number), lambda data, at=place: tried(data).place == at)
            path = folder / f"fault-{index + 1}.cql"
            path.write_bytes(small)
            print(f"{path}: {len(small)} bytes, program {number}: {fault}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--only", type=int, help="try this program alone, and print it")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--into", type=Path, help="folder for failing programs; a new one if left out")
    args = parser.parse_args()
    corpus()
    folder = (args.into or Path(tempfile.mkdtemp(prefix="streamq-fuzz-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if args.only is not None:
        data = program(args.seed, args.only)
        sys.stdout.buffer.write(data + b"\n")
        print(tried(data))
        return 0
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        began = time.monotonic()
        tally = _all(args.seed, args.first, args.count, args.processes)
        _tell(tally, time.monotonic() - began)
        _store(args.seed, tally, folder)
        os.chdir("/")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
