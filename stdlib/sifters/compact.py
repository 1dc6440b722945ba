"""A sifter as it goes to where rows are sifted: axes, cuts on their steps, and what its regions hold and are worth.

From it the thresholds for any share of rows follow in a moment, so the share can be decided for each micro-batch.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np

from streamq.dsl.records import dataclass, replace
from streamq.stdlib.sifters.axes import Axis, Column, NumberAxis, WordAxis, axis
from streamq.stdlib.sifters.boxes import Boxes, Floats, Ints, boxes
from streamq.stdlib.sifters.counting import units
from streamq.stdlib.sifters.grid import steps_for
from streamq.stdlib.sifters.hits import hits
from streamq.stdlib.sifters.plans import Plan
from streamq.stdlib.sifters.predicates import Predicate
from streamq.stdlib.sifters.queries import Queries, Wanted, queries_of
from streamq.stdlib.sifters.regions import Cuts, Regions
from streamq.stdlib.sifters.sifter import drop_for, sifter

Columns = Sequence[Column]
"""The values of each attribute, one for each row."""

DIGITS = 6
"""That count, of what regions hold and are worth; a sample of some thousand rows knows no more."""


@dataclass(frozen=True, slots=True)
class Compact:
    """``cuts``: in steps of the ``axes``. By region: ``share`` of rows, and what is ``wanted`` of it.

    ``sampled``: the largest share of rows that is looked at. ``version``: rises with each new partitioning. ``asked``: a
    hash of the options, and of what the queries wish.
    """

    version: int
    axes: tuple[Axis, ...]
    cuts: Cuts
    share: Floats
    wanted: Wanted
    fairness: float = 1.0
    sampled: float = 0.0
    asked: int = 0

    def drop(self, keep: float) -> Floats:
        """The threshold of each region, 0 to 1, with which the share ``keep`` of rows is kept; all 0 where that is 1."""
        return np.zeros(len(self.share)) if keep >= 1 else drop_for(self.wanted, self.share, keep, 0.0, self.fairness)

    def cells(self, drop: Floats) -> Ints:
        """The threshold of each cell, in ``HASH_STEPS``; the last attribute runs fastest."""
        return units(drop)[self.regions_of_cells()]

    def regions_of_cells(self) -> Ints:
        grid = np.indices([a.steps for a in self.axes]).reshape(len(self.axes), -1).T
        return self.cuts.find(grid.astype(np.float64) + 0.5)

    @property
    def regions(self) -> Regions:
        """In the domain 0 to 1."""
        lo, hi = self.cuts.bounds(np.zeros(len(self.axes)), np.array([float(a.steps) for a in self.axes]))
        steps = float(self.axes[0].steps)
        return Regions(lo / steps, hi / steps, self.cuts)

    def find(self, columns: Columns) -> Ints:
        """The region of each row."""
        cells = [a.cells(column).astype(np.float64) + 0.5 for a, column in zip(self.axes, columns, strict=True)]
        return self.cuts.find(np.stack(cells, axis=1))

    def shares(self, columns: Columns) -> Floats:
        """The share of rows that each region has."""
        return np.bincount(self.find(columns), minlength=len(self.share)) / max(1, len(columns[0]))

    def to_json(self) -> str:
        cuts = self.cuts
        table = [cuts.attribute.tolist(), cuts.cut.astype(int).tolist(), cuts.below.tolist(), cuts.above.tolist()]
        return json.dumps(
            {
                "version": self.version, "axes": [_axis_to_json(a) for a in self.axes], "cuts": table,
                "share": self.share.tolist(), "quality": self.wanted.quality.tolist(),
                "some": self.wanted.some.astype(int).tolist(),
                "most": [] if np.all(self.wanted.most >= 1) else self.wanted.most.tolist(), "fairness": self.fairness, "sampled": self.sampled, "asked": self.asked,
            },
            separators=(",", ":"),
        )


def from_json(text: str) -> Compact:
    """What ``to_json`` gave. Raises ValueError for anything else."""
    try:
        made = _from_json(text)
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError("this is no sifter") from error
    if not _is_whole(made):
        raise ValueError("this is no sifter")
    return made


def _is_whole(made: Compact) -> bool:
    """Whether the parts belong together, and each cut leads to a later one or to a region."""
    cuts, regions = made.cuts, len(made.share)
    columns = (cuts.attribute, cuts.cut, cuts.below, cuts.above)
    numbers = (made.share, made.wanted.quality, made.wanted.some, made.wanted.most)
    children = np.concatenate([cuts.below, cuts.above])
    later = np.tile(np.arange(len(cuts.cut)), 2)
    return (
        bool(made.axes) and {a.steps for a in made.axes} == {steps_for(len(made.axes))} and regions == len(cuts.cut) + 1
        and all(len(c) == regions - 1 for c in columns) and all(n.shape == (regions,) for n in numbers)
        and bool(np.all(np.isfinite(np.concatenate([n.astype(np.float64) for n in numbers]))))
        and bool(np.all((children < regions - 1) & (children >= -regions) & ((children < 0) | (children > later))))
        and bool(np.all((cuts.attribute >= 0) & (cuts.attribute < len(made.axes))))
    )


def _from_json(text: str) -> Compact:
    found = json.loads(text)
    attribute, cut, below, above = (np.array(column, dtype=np.int64) for column in found["cuts"])
    return Compact(
        int(found["version"]), tuple(map(_axis_from_json, found["axes"])),
        Cuts(attribute, cut.astype(np.float64), below, above), np.array(found["share"], dtype=np.float64),
        Wanted(
            np.array(found["quality"], dtype=np.float64), np.array(found["some"], dtype=bool),
            np.array(found["most"] or [1.0] * len(found["share"]), dtype=np.float64),
        ),
        float(found["fairness"]), float(found["sampled"]), int(found["asked"]),
    )


def _axis_to_json(one: Axis) -> list[object]:
    if isinstance(one, WordAxis):
        return [one.salt, one.steps]
    return [one.lower, one.scale, int(one.curved), one.steps]


def _axis_from_json(found: list[Any]) -> Axis:
    if len(found) == 2:
        salt, steps = found
        return WordAxis(int(salt), int(steps))
    lower, scale, curved, steps = found
    return NumberAxis(float(lower), float(scale), bool(curved), int(steps))


@dataclass(frozen=True, slots=True)
class Wish:
    """A query: the rows it may want, its ``weight`` against the others, the quality that it loses with all of them, and
    the ``least`` share of them that it needs.
    """

    predicate: Predicate
    weight: float = 1.0
    slope: float = 1.0
    least: float = 0.0


def built(plan: Plan, columns: Columns, wishes: Sequence[Wish], version: int) -> Compact:
    """A sifter for a sample, ``columns`` of equal length with the attributes of its rows, and what queries wish of them."""
    steps = steps_for(len(columns))
    axes = tuple(axis(column, steps) for column in columns)
    middles = np.stack([(a.cells(c) + 0.5) / steps for a, c in zip(axes, columns, strict=True)], axis=1)
    points = np.stack([a.points(c) for a, c in zip(axes, columns, strict=True)], axis=1)
    queries = on_axes(axes, wishes)
    made = sifter(replace(plan, lines=steps), middles, queries, 1.0, hits(points, queries.lo, queries.hi))
    found = made.regions.cuts
    wanted = replace(made.wanted, quality=_rounded(made.wanted.quality))
    return Compact(
        version, axes, replace(found, cut=np.rint(found.cut * steps)), _rounded(made.share), wanted, plan.fairness,
        plan.sampled, asked(plan, wishes),
    )


@lru_cache(maxsize=20_000)
def _raw_boxes(predicate: Predicate, attributes: int) -> Boxes:
    """Those of numbers alone are the same each time a sifter is built anew."""
    return boxes(predicate, attributes)


def asked(plan: Plan, wishes: Sequence[Wish]) -> int:
    """The same number for the same options and wishes, in another process too."""
    return crc32(repr((plan, wishes)).encode())


def on_axes(axes: Sequence[Axis], wishes: Sequence[Wish]) -> Queries:
    """The queries with their boxes in the domain 0 to 1."""
    words = {d: a.step for d, a in enumerate(axes) if isinstance(a, WordAxis)}
    placed = []
    for wish in wishes:
        one = boxes(wish.predicate, len(axes), words) if words else _raw_boxes(wish.predicate, len(axes))
        bounds = [a.bounds(one.lo[:, d], one.hi[:, d]) for d, a in enumerate(axes)]
        placed.append(Boxes(np.stack([lo for lo, _ in bounds], axis=1), np.stack([hi for _, hi in bounds], axis=1)))
    return queries_of(placed, [w.weight for w in wishes], [w.slope for w in wishes], [w.least for w in wishes])


def _rounded(values: Floats) -> Floats:
    return np.array([float(f"{value:.{DIGITS}g}") for value in values.tolist()])
