"""The sifters of a run: which queries share one, when it is built anew, and the files that decisions read it from.

A sifter is a file beside the checkpoint of each of its queries, by its version, and the numbers that a controller
publishes name the version in force. So what a micro-batch was sifted by is known when it is run again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from streamq.compiler.ir.goals import Sift
from streamq.runtime.control.controller import Controller
from streamq.runtime.control.decisions import KEPT_FILES, Decided, DecisionLog
from streamq.runtime.control.forward import DECISIONS
from streamq.runtime.control.knobs import replace_file
from streamq.runtime.control.looked import Sampled
from streamq.runtime.control.together import Together
from streamq.runtime.metrics import QuerySample, Sifted, SiftedQuery
from streamq.stdlib.overload.hash_steps import HASH_STEPS
from streamq.stdlib.overload.ranks import SAMPLE_ROWS
from streamq.stdlib.sifters.achieved import NONE, Achieved, after
from streamq.stdlib.sifters.adapting import Adapting
from streamq.stdlib.sifters.axes import Axis, Column, WordAxis
from streamq.stdlib.sifters.boxes import LEAST, Floats
from streamq.stdlib.sifters.compact import Compact, Wish, from_json, on_axes
from streamq.stdlib.sifters.queries import Queries

FOLDER = "sifters"


def stored(checkpoint: Path, version: int) -> Compact | None:
    """The sifter of a version; None where its file is gone or broken."""
    try:
        return from_json((checkpoint / FOLDER / f"{version}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None


def store(checkpoint: Path, sifter: Compact) -> None:
    """Raises OSError where it cannot be written."""
    folder = checkpoint / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / f"{sifter.version}.json", sifter.to_json())
    (folder / f"{sifter.version - KEPT_FILES}.json").unlink(missing_ok=True)


def axis_numbers(axis: Axis) -> dict[str, object]:
    """The columns of the control relation for an axis."""
    if isinstance(axis, WordAxis):
        return {"lower": None, "scale": None, "curved": None, "salt": axis.salt}
    return {"lower": axis.lower, "scale": axis.scale, "curved": axis.curved, "salt": None}


def looked_at(decided: Decided, most: float) -> float:
    """The share of the rows of a micro-batch that are looked at: about ``SAMPLE_ROWS`` of them, and at most ``most``."""
    return min(most, SAMPLE_ROWS / max(1.0, decided.arrived * decided.throttle.counted))


def drop_of(sifter: Compact, decided: Decided) -> Floats:
    """The threshold of each region in a micro-batch: rows that are looked at stay."""
    return np.minimum(sifter.drop(decided.decision.keep), 1.0 - looked_at(decided, sifter.sampled))


def kept_of_cells(sifter: Compact, keep: float, sampled: float) -> list[int]:
    """How many of the hashes each cell keeps, so that the share ``keep`` of rows stays, and all that are looked at."""
    kept = np.maximum(HASH_STEPS - sifter.cells(sifter.drop(keep)), round(sampled * HASH_STEPS))
    found: list[int] = kept.tolist()
    return found


@dataclass(slots=True)
class Group:
    """The queries that share a sifter. ``leader``: whose rows are looked at; those of the others are the same.

    ``together``: those that have a goal for the age of results; they share a machine, and what they keep of all rows.
    ``achieved``: what they got by what the leader kept; ``placed``: they on the axes of the sifter that told that last;
    ``built``: how often one was built.
    """

    adapting: Adapting
    sift: Sift
    members: dict[str, Controller] = field(default_factory=dict)
    wishes: list[Wish] = field(default_factory=list)
    leader: str = ""
    together: Together = field(default_factory=lambda: Together(same=True))
    achieved: Achieved = NONE
    placed: tuple[Compact, Queries] | None = None
    built: int = 0

    def told(self) -> Sifted:
        """What was expected of the sifter, and what it did."""
        found = self.achieved
        return Sifted(
            self.sift.stream, self.sift.attributes, self.leader, self.built,
            found.expected_kept / found.rows, found.kept / found.rows, found.expected_quality, found.quality,
            tuple(
                SiftedQuery(name, float(expected), float(got)) for name, expected, got
                in zip(self.members, found.expected_completeness, found.completeness, strict=True)
            ),
        )


@dataclass(slots=True)
class Sifters:
    """Queries ask for the same sifter by the same stream, attributes and options."""

    groups: dict[tuple[object, ...], Group] = field(default_factory=dict)
    _of: dict[str, Group] = field(default_factory=dict)

    def join(self, query: str, controller: Controller, sift: Sift) -> None:
        """A query of the run; it goes on with the sifter that it had, until rows have been looked at."""
        group = self.groups.get(sift.group)
        if group is None:
            wishes: list[Wish] = []
            group = self.groups[sift.group] = Group(Adapting(sift.plan, wishes), sift, wishes=wishes, leader=query)
        group.members[query] = controller
        group.wishes.append(Wish(sift.wanted, sift.weight, sift.slope, sift.least))
        if controller.throttle.latency_ms > 0 and controller.throttle.fixed_share is None:
            group.together.join(query, controller, 1.0)
        self._of[query] = group
        version = controller.throttle.sifter
        before = None if version is None else stored(controller.checkpoint, version)
        newer = group.adapting.current is None or (before is not None and before.version > group.adapting.current.version)
        if before is not None and newer:
            group.adapting.current = before

    def after(self, sample: QuerySample, rows: Sampled) -> None:
        """Takes in a micro-batch of a query, and the rows that it looked at."""
        group = self._of.get(sample.query)
        if group is None:
            return
        if len(group.together.controllers) > 1 and sample.query in group.together.controllers:
            group.together.after(sample)
        if sample.query != group.leader or not rows:
            return
        columns = columns_of(rows, group)
        self._compare(group, sample, columns)
        group.built += group.adapting.after(columns)
        current = group.adapting.current
        # Also to a query that has begun anew, or that could not take it before.
        for controller in group.members.values():
            if current is not None and controller.throttle.sifter != current.version:
                _hand_over(controller, current)

    def told(self) -> tuple[Sifted, ...]:
        """Of each sifter by which rows went."""
        return tuple(group.told() for group in self.groups.values() if group.achieved.rows > 0)

    def _compare(self, group: Group, sample: QuerySample, columns: Sequence[Column]) -> None:
        """What the queries get of the leader's micro-batch, by the sifter that it went by."""
        controller, current = group.members[group.leader], group.adapting.current
        decided = DecisionLog(controller.checkpoint / DECISIONS).find(sample.batch)
        if decided is None or decided.throttle.sifter is None:
            return
        version = decided.throttle.sifter
        if group.placed is None or group.placed[0].version != version:
            known = current is not None and current.version == version
            sifter = current if known else stored(controller.checkpoint, version)
            if sifter is None or len(sifter.axes) != len(columns):
                return
            group.placed = sifter, on_axes(sifter.axes, group.wishes)
        sifter, queries = group.placed
        group.achieved = after(
            group.achieved, sifter, queries, columns, drop_of(sifter, decided), sample.kept + sample.shed, sample.kept
        )


def columns_of(rows: Sampled, group: Group) -> Sequence[Column]:
    """The attributes of rows, each as an array: numbers with NULL as minus infinity, or text."""
    found = []
    for place, text in enumerate(group.sift.text):
        values = [row.get(f"a{place}") for row in rows]
        found.append(np.array(values, dtype=object) if text else _numbers(values))
    return found


def _numbers(values: list[float | str | None]) -> Column:
    """Spark writes NaN and infinity as text. NULL is below all numbers."""
    found = np.array([-np.inf if v is None else max(float(v), LEAST) for v in values], dtype=np.float64)
    return np.where(np.isnan(found), np.inf, found)


def _hand_over(controller: Controller, sifter: Compact) -> None:
    """Where the file cannot be written the query keeps the sifter that it has; its controller tells of the folder."""
    with suppress(OSError):
        store(controller.checkpoint, sifter)
        controller.sift_by(sifter.version)
