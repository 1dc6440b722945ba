"""The numbers that the controller publishes for the decisions to come, as a file that is replaced at once."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamq.runtime.control.throttle import HEADROOM, LEAST_HEADROOM, MOST_HEADROOM, Throttle
from streamq.stdlib.overload.batch_time import Cost, CostModel
from streamq.stdlib.overload.steps import Step

_NUMBERS = ("latency_ms", "least", "counted", "most_kept")
_COST = ("fixed", "read", "work")
_OPTIONAL = ("share", "fixed_share", "newest", "sifter", "sampled", "read_until")
RANKS, STEPS = "ranks", "steps"


def publish(path: Path, throttle: Throttle) -> None:
    """Replaces the file; OSError where it cannot be written."""
    replace_file(path, json.dumps(to_numbers(throttle)))


def published(path: Path) -> Throttle | None:
    """What the file says; None where it is not there, or broken in any part."""
    found = read_numbers(path)
    return None if found is None else from_numbers(found)


def to_numbers(throttle: Throttle) -> dict[str, Any]:
    """What decisions need of it: not the micro-batches behind the cost."""
    model = throttle.model
    found: dict[str, Any] = {
        "latency_ms": throttle.latency_ms, "least": throttle.least, "counted": throttle.counted,
        "most_kept": model.most_kept, "rows_per_s": throttle.rows_per_s, "coverage": throttle.coverage,
        "late": throttle.late, "headroom": throttle.headroom, "held": throttle.held, "holding": throttle.holding,
        "counted_spared": throttle.counted_spared,
    }
    for name in _OPTIONAL:
        if (value := getattr(throttle, name)) is not None:
            found[name] = value
    if throttle.vain:
        found["vain"] = throttle.vain
    if throttle.needed:
        found["needed"] = throttle.needed
    if throttle.window_ms:
        found |= {"window_ms": throttle.window_ms, "late_ms": throttle.late_ms, "seen": throttle.seen}
    if throttle.read_until is not None:
        found |= {"unread": throttle.unread, "seen": throttle.seen}
    if throttle.steps:
        found[STEPS] = [number for step in throttle.steps for number in (step.since, step.share)]
    if throttle.ranks:
        found[RANKS] = list(throttle.ranks)
    cost = model.cost
    return found if cost is None else found | {name: getattr(cost, name) for name in (*_COST, "hold")}


def from_numbers(found: Mapping[str, Any]) -> Throttle | None:
    """The same back; None where numbers are missing or out of range."""
    if any(name not in found for name in _NUMBERS):
        return None
    given = [found[name] for name in _COST if name in found]
    if len(given) not in (0, len(_COST)):
        return None
    if given:
        given.append(found.get("hold", 0.0))
    numbers = [found[name] for name in _NUMBERS]
    rate = found.get("rows_per_s", 0.0)
    share, fixed, newest, sifter, sampled, read_until = (found.get(name) for name in _OPTIONAL)
    coverage, late = found.get("coverage", 1.0), found.get("late", 0.0)
    needed, held, holding = (found.get(name, 0.0) for name in ("needed", "held", "holding"))
    spared, vain = found.get("counted_spared", 1.0), found.get("vain", 0.0)
    if min(*numbers, *given, rate, share or 0.0, fixed or 0.0, coverage, late, needed, held, holding, spared, vain) < 0:
        return None
    if max(found["least"], share or 0.0, fixed or 0.0, coverage, needed, vain) > 1:
        return None
    if fixed is None and found["latency_ms"] == rate == 0:
        return None
    model = CostModel(Cost(*given) if given else None, (), int(found["most_kept"]))
    headroom = min(MOST_HEADROOM, max(LEAST_HEADROOM, found.get("headroom", HEADROOM)))
    pairs = found.get(STEPS, [])
    steps = tuple(Step(int(since), kept) for since, kept in zip(pairs[::2], pairs[1::2], strict=False))
    return Throttle(
        found["latency_ms"], model, found["least"], found["counted"], rate, share, coverage, int(late), fixed,
        tuple(found.get(RANKS, ())), newest, headroom, int(found.get("window_ms", 0)),
        int(found.get("late_ms", 0)), steps, int(found.get("seen", -1)), None if sifter is None else int(sifter),
        needed, sampled, int(held), holding, spared, read_until, int(found.get("unread", 0)), vain,
    )


def read_numbers(path: Path) -> dict[str, Any] | None:
    """The numbers of a JSON object in a file; None where there is none, or something else than numbers in it.

    ``ranks`` and ``steps`` alone are lists of them.
    """
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    lists = {name: found.pop(name) for name in (RANKS, STEPS) if name in found}
    if not all(isinstance(values, list) and all(map(_is_number, values)) for values in lists.values()):
        return None
    if not all(map(_is_number, found.values())):
        return None
    numbers: dict[str, Any] = {name: float(value) for name, value in found.items()}
    return numbers | {name: [float(value) for value in values] for name, values in lists.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def replace_file(path: Path, text: str) -> None:
    """Puts a new file in the place of the old one; whoever reads sees one of them whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)
