"""What joins that select have learned: at which ages of the rows in a window partners are found, over all buckets.

Each bucket learns for itself and tells what it knows at the end of each of its periods; here the counts of all are added up,
and kept beside the checkpoint for whoever asks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from streamq.compiler.ir.physical import PhysicalQuery, WindowJoin, walk
from streamq.runtime.control.knobs import replace_file
from streamq.runtime.metrics import Selected, SelectedWindow

JOINED = "joined.json"
"""The file beside the checkpoint."""

SECOND = 1_000_000
"""Microseconds."""


def selecting(query: PhysicalQuery) -> WindowJoin | None:
    """The join of a query that compares with a part of a window, if it has one."""
    return next((s for s in walk(query.root) if isinstance(s, WindowJoin) and s.sampled is not None), None)


@dataclass(slots=True)
class Learned:
    """One query's. ``bw_s``: the length of a basic window in seconds; ``latest``: of each bucket what it told last.

    ``found``: pairs of all periods that ended, by basic window, of the left and of the right window; those of the run before it
    too. They are the pairs that the operator finds, before Spark tests what is left of a condition.
    """

    query: str
    checkpoint: Path
    bw_s: float
    latest: dict[int, dict[str, Any]] = field(default_factory=dict)
    found: list[np.ndarray[Any, Any]] = field(default_factory=list)

    def after(self, told: Iterable[str]) -> None:
        """Takes in what buckets told, and writes it down; a folder that cannot be written keeps the last."""
        new = [json.loads(text) for text in told]
        for one in new:
            self.latest[one["bucket"]] = one
            parts = [np.array(window["found"]) for window in one["windows"]]
            self.found = [a + b for a, b in zip(self.found, parts, strict=True)] if self.found else parts
        selected = self.selected()
        if new and selected is not None:
            with suppress(OSError):
                replace_file(self.checkpoint / JOINED, json.dumps(selected.to_dict()))

    def selected(self) -> Selected | None:
        """What all buckets know together; None before any of them told."""
        if not self.latest:
            return None
        windows = []
        for place, found in enumerate(self.found):
            told = [one["windows"][place] for one in self.latest.values()]
            matches, compared = (sum(np.array(one[name]) for one in told) for name in ("matches", "compared"))
            match_p = np.divide(matches, compared, out=np.zeros(len(found)), where=np.asarray(compared) > 0)
            frac = float(np.mean([one["frac_dir"][place] for one in self.latest.values()]))
            windows.append(SelectedWindow(frac, tuple(match_p.tolist()), tuple(found.tolist())))
        frac = float(np.mean([one["frac"] for one in self.latest.values()]))
        return Selected(self.query, frac, self.bw_s, (windows[0], windows[1]))


def stored(checkpoint: Path, query: str) -> Selected | None:
    """What the last run of a query wrote down; None where there is nothing, or something else."""
    try:
        found = json.loads((checkpoint / JOINED).read_text("utf-8"))
        windows = [
            SelectedWindow(float(w["frac"]), tuple(map(float, w["match_p"])), tuple(map(int, w["found"]))) for w in found["windows"]
        ]
        return Selected(query, float(found["frac"]), float(found["bw_s"]), (windows[0], windows[1]))
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None


@dataclass(slots=True)
class Joins:
    """Those of a run."""

    _learned: dict[str, Learned] = field(default_factory=dict)

    def join(self, query: PhysicalQuery, checkpoint: Path) -> None:
        """A query of the run; one without such a join has nothing to tell."""
        step = selecting(query)
        if step is None:
            return
        learned = self._learned[query.name] = Learned(query.name, checkpoint, step.grids[0][1] / SECOND)
        before = stored(checkpoint, query.name)
        if before is not None and before.bw_s == learned.bw_s:
            learned.found = [np.array(window.found) for window in before.windows]

    def after(self, query: str, told: Iterable[str]) -> None:
        """Takes in what a micro-batch of a query told."""
        if query in self._learned:
            self._learned[query].after(told)

    def told(self) -> tuple[Selected, ...]:
        """What is known of each."""
        found = (one.selected() for one in self._learned.values())
        return tuple(one for one in found if one is not None)
