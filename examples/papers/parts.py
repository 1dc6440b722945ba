"""Programs of experiments: the parts that are asked for, how far they are, and lines of tables."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import TypeVar

from examples.papers.figures import add_figures
from streamq.dsl.records import dataclass

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Options:
    """``seeds``: of each trial. ``quick``: fewer points. ``figures``: a folder to draw into, or None."""

    seeds: int
    quick: bool
    figures: Path | None


def main(doc: str | None, parts: Mapping[str, Callable[[Options], bool]], seeds: int = 2) -> int:
    """Runs the parts that are asked for; 1 where a statement does not come out."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--quick", action="store_true", help="fewer points")
    add_figures(parser)
    args = parser.parse_args()
    outcomes = [parts[name](Options(args.seeds, args.quick, args.figures)) for name in args.only]
    return 0 if all(outcomes) else 1


def row(label: str, values: Iterable[float], form: str = "9.2f") -> str:
    return f"  {label:30}" + "".join(f"{v:{form}}" for v in values)


def counted(label: str, items: Iterable[Item]) -> Iterator[Item]:
    """The items; while they are worked on stderr is told every two seconds how many are done."""
    todo, began, done, over = list(items), time.monotonic(), [0], Event()

    def tell() -> None:
        while not over.wait(2):
            so_far = f"{done[0]} of {len(todo)} done, {time.monotonic() - began:.0f} s"
            print(f"  … {label}: {so_far}", file=sys.stderr, flush=True)

    Thread(target=tell, daemon=True).start()
    try:
        for item in todo:
            yield item
            done[0] += 1
    finally:
        over.set()
