"""A plan as a JSON object: what ``compile`` writes, the edge reads, and the central side sends when it changes.

Whatever is read is checked before it is used; what is not known is an error, so that no setting is without effect.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from streamq.dsl.records import replace
from streamq.runtime.edge.plan import BadPlan, CycleRule, EdgePlan
from streamq.runtime.edge.sift_file import sift_of, sift_to_json
from streamq.stdlib.attributes.kinds import Dispersion, Scope, TextRanking
from streamq.stdlib.attributes.ranking import Ranking
from streamq.stdlib.attributes.reevaluation import Schedule

VERSION = 1
MOST_BYTES = 1 << 20

_RANKING = ("dispersion", "scope", "text", "alpha", "seed", "seed_rows")
_WORDS = {"dispersion": get_args(Dispersion), "scope": get_args(Scope), "text": get_args(TextRanking)}
_CYCLE = ("length", "training_rows", "min_cycles", "tolerance")
_SCHEDULE = ("base_s", "factor", "max_s")
_NUMBERS = (
    "capacity_kbps", "bucket_bytes", "utilisation", "error_pct", "retain_s", "synopsis_bytes", "linger_s", "revision", "lease_s",
    "floor_kbps",
)
_WHOLE = {"length", "training_rows", "min_cycles", "seed_rows", "bucket_bytes", "synopsis_bytes", "revision"}
_TEXTS = ("stream", "format", "unit", "denominator")


def read_plan(path: Path) -> EdgePlan:
    """The plan in a file. BadPlan, which names the file, where there is none or it is wrong."""
    try:
        with path.open("rb") as stream:
            text = stream.read(MOST_BYTES + 1)
        return parsed(text)
    except OSError as error:
        raise BadPlan(f"{path.name} cannot be read: {error.strerror}") from None
    except BadPlan as error:
        raise BadPlan(f"{path.name}: {error}") from None


def parsed(text: bytes) -> EdgePlan:
    """The plan of a JSON text. BadPlan, which never shows the text itself: it may have a token in it."""
    if len(text) > MOST_BYTES:
        raise BadPlan(f"a plan has at most {MOST_BYTES} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise BadPlan("a plan is a JSON object") from None
    return from_json(found)


def to_json(plan: EdgePlan, token: bool = True) -> dict[str, Any]:
    """The plan as a JSON object, with its ``token`` or without."""
    ranking, cycle, schedule = plan.ranking, plan.cycle, plan.reevaluation
    found: dict[str, Any] = {"version": VERSION}
    found |= {name: getattr(plan, name) for name in (*_TEXTS, *_NUMBERS)}
    found |= {"columns": [[name, type_] for name, type_ in plan.columns.items()], "errors": dict(plan.errors)}
    found |= {"protected": sorted(plan.protected | ranking.protect), "unread": sorted(plan.unread)}
    found |= {"error_auto": plan.error_auto, "error_cap_pct": plan.error_cap_pct}
    found["sift"] = None if plan.sift is None else sift_to_json(plan.sift)
    found["retained"] = None if plan.retained is None else sorted(plan.retained)
    found["cycle"] = {"key": list(cycle.key)} | {name: getattr(cycle, name) for name in _CYCLE}
    found["reevaluation"] = {name: getattr(schedule, name) for name in _SCHEDULE}
    found["ranking"] = {name: getattr(ranking, name) for name in _RANKING}
    found["ranking"] |= {"clock": sorted(ranking.clock), "scale": dict(ranking.scale)}
    return found | ({"token": plan.token} if token and plan.token else {})


def from_json(found: object) -> EdgePlan:
    """The plan of a JSON object; what is left out is as in ``EdgePlan``. BadPlan for what cannot be."""
    given = dict(_object("a plan", found))
    version = given.pop("version", None)
    if version != VERSION:
        raise BadPlan(f"this is a plan of version {version!r:.20}, and not {VERSION}")
    try:
        return _plan(given)
    except KeyError as error:
        raise BadPlan(f"a plan has a {error.args[0]}") from None
    except ValueError as error:
        raise BadPlan(str(error)) from None


def _plan(given: dict[str, Any]) -> EdgePlan:
    columns = given.pop("columns")
    if not isinstance(columns, list) or not all(_is_pair(pair) for pair in columns):
        raise BadPlan("columns are pairs of a name and an Arrow type")
    if len({name for name, _ in columns}) < len(columns):
        raise BadPlan("two columns have the same name")
    cycle = _object("cycle", given.pop("cycle"))
    ranking = _object("ranking", given.pop("ranking", {}))
    schedule = _object("reevaluation", given.pop("reevaluation", {}))
    key = _names("the key of a cycle", cycle.pop("key", []))
    clock = _names("clock", ranking.pop("clock", []))
    scale = _numbers_by_name("scale", ranking.pop("scale", {}))
    errors = _numbers_by_name("errors", given.pop("errors", {}))
    protected, unread = (frozenset(_names(place, given.pop(place, []))) for place in ("protected", "unread"))
    retained, cap = given.pop("retained", None), given.pop("error_cap_pct", None)
    auto, sift = given.pop("error_auto", False), given.pop("sift", None)
    if not isinstance(auto, bool):
        raise BadPlan("error_auto is true or false")
    token = _text("token", given.pop("token", ""))
    made = EdgePlan(
        columns=dict(columns),
        cycle=CycleRule(key=key, **_checked("cycle", cycle, _CYCLE, _number)),
        reevaluation=Schedule(**_checked("reevaluation", schedule, _SCHEDULE, _number)),
        ranking=Ranking(clock=frozenset(clock), scale=scale, **_checked("ranking", ranking, _RANKING, _option)),
        protected=protected, unread=unread, errors=errors, token=token,
        error_auto=auto, error_cap_pct=None if cap is None else _number("error_cap_pct", cap),
        sift=None if sift is None else sift_of(sift),
        retained=None if retained is None else frozenset(_names("retained", retained)),
        **_checked("a plan", given, (*_TEXTS, *_NUMBERS), lambda n, v: (_text if n in _TEXTS else _number)(n, v)),
    )
    if made.denominator not in ("sv", "mv"):
        raise BadPlan("an error is relative to sv or mv")
    return replace(made, ranking=replace(made.ranking, protect=frozenset()))


def _checked(
    place: str, given: dict[str, Any], known: tuple[str, ...], check: Callable[[str, Any], Any]
) -> dict[str, Any]:
    if unknown := sorted(set(given) - set(known)):
        raise BadPlan(f"{place} has no {', '.join(unknown)[:200]}")
    return {name: check(name, value) for name, value in given.items()}


def _object(place: str, found: object) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise BadPlan(f"{place} is a JSON object")
    return dict(found)


def _number(name: str, value: Any) -> Any:
    kinds = int if name in _WHOLE else int | float
    if isinstance(value, bool) or not isinstance(value, kinds):
        raise BadPlan(f"{name} is a {'whole ' if name in _WHOLE else ''}number")
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadPlan(f"{name} is a text")
    return value


def _option(name: str, value: Any) -> Any:
    """Of ranking: a word, or a number; a seed is either."""
    if name in _WORDS:
        if value not in _WORDS[name]:
            raise BadPlan(f"{name} is one of {', '.join(_WORDS[name])}")
        return value
    if (name == "seed" and value in ("FIRST", "ZERO", "SMA")) or (name == "seed_rows" and value is None):
        return value
    return _number(name, value)


def _names(place: str, found: object) -> tuple[str, ...]:
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise BadPlan(f"{place} is a list of columns")
    return tuple(found)


def _numbers_by_name(place: str, found: object) -> dict[str, float]:
    return {name: float(_number(f"{place} of {name}", value)) for name, value in _object(place, found).items()}


def _is_pair(pair: object) -> bool:
    return isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair)
