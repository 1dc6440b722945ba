"""The numbers that the controller publishes for the decisions to come, as a file that is replaced at once."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from streamq.runtime.control.throttle import Throttle
from streamq.stdlib.overload.batch_time import Cost, CostModel

_NUMBERS = ("latency_ms", "least", "counted", "most_kept")
_COST = ("fixed", "read", "work")


def publish(path: Path, throttle: Throttle) -> None:
    """Replaces the file; OSError where it cannot be written."""
    replace_file(path, json.dumps(to_numbers(throttle)))


def published(path: Path) -> Throttle | None:
    """What the file says; None where it is not there, or broken in any part."""
    found = read_numbers(path)
    return None if found is None else from_numbers(found)


def to_numbers(throttle: Throttle) -> dict[str, float]:
    """What decisions need of it: not the micro-batches behind the cost."""
    model = throttle.model
    found = {
        "latency_ms": throttle.latency_ms, "least": throttle.least, "counted": throttle.counted,
        "most_kept": model.most_kept, "rows_per_s": throttle.rows_per_s, "coverage": throttle.coverage,
        "late": throttle.late,
    }
    if throttle.share is not None:
        found["share"] = throttle.share
    cost = model.cost
    return found if cost is None else found | {name: getattr(cost, name) for name in _COST}


def from_numbers(found: Mapping[str, float]) -> Throttle | None:
    """The same back; None where numbers are missing or out of range."""
    if any(name not in found for name in _NUMBERS):
        return None
    given = [found[name] for name in _COST if name in found]
    if len(given) not in (0, len(_COST)):
        return None
    numbers = [found[name] for name in _NUMBERS]
    rate = found.get("rows_per_s", 0.0)
    share, coverage, late = found.get("share"), found.get("coverage", 1.0), found.get("late", 0.0)
    if min(*numbers, *given, rate, share or 0.0, coverage, late) < 0:
        return None
    if max(found["least"], share or 0.0, coverage) > 1:
        return None
    if found["latency_ms"] == rate == 0:
        return None
    model = CostModel(Cost(*given) if given else None, (), int(found["most_kept"]))
    return Throttle(found["latency_ms"], model, found["least"], found["counted"], rate, share, coverage, int(late))


def read_numbers(path: Path) -> dict[str, float] | None:
    """The numbers of a JSON object in a file; None where there is none, or something else than numbers in it."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    numbers = {
        name: float(value) for name, value in found.items()
        if isinstance(value, int | float) and math.isfinite(value)
    }
    return numbers if len(numbers) == len(found) else None


def replace_file(path: Path, text: str) -> None:
    """Puts a new file in the place of the old one; whoever reads sees one of them whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)
