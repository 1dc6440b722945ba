"""Compares the shape that a checkpoint was written with and the one that a query has now.

What Spark makes of each difference was found out by restarting (``docs/evolution.md`` has the table): it checks the number
of sources and the types of keys and values of a state, and nothing of what these mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import SequenceMatcher

from streamq.compiler.evolution.lineage import POLICY
from streamq.compiler.evolution.shape import Fact, Part, Shape
from streamq.compiler.evolution.verdict import (
    COMPATIBLE,
    NEW_CHECKPOINT,
    STATE_LOST,
    Reason,
    Verdict,
)
from streamq.compiler.ir.durations import show_ms
from streamq.dsl.records import replace
from streamq.dsl.source import Span

OPEN_KEEP = "windows that are open keep what they have"
BEGINS = "starting = "
"""How the option begins that says where a new checkpoint does; one that is there goes on where it was."""

FRESH = "`--fresh {query}` moves the old checkpoint aside and starts anew; or take the change back"

SHED_NOTHING = "SHED RANDOM BY 0 PERCENT keeps the state and sheds nothing"

_KINDS = {
    "aggregate": "an aggregate", "distinct": "DISTINCT", "session": "an aggregate over sessions", "join": "a join of streams",
    "duplicates": "the removal of duplicates", "window join": "a join of windows",
}

_COLUMN = re.compile(r"`([^`]+?) [A-Z][^`]*`")
_VALUE = re.compile(r"\.__value( BINARY)?\.")
"""Where a column is in the value of a record, which is no part of its name."""

_WINDOW = re.compile(r"window\(`[^`]*`, (\d+), (\d+)\)")


def compare(stored: Shape, now: Shape) -> Verdict:
    """The verdict on a query of which ``stored`` was kept with its checkpoint."""
    reasons: list[Reason] = []
    stored = _with_new_names(stored, now)
    _compare_sources(stored, now, reasons)
    _compare_states(stored, now, reasons)
    if tuple(p.kind for p in stored.states) == tuple(p.kind for p in now.states):
        for old, new in zip(stored.between, now.between, strict=True):
            _compare_between(old, new, now, reasons)
    _compare_output(stored.output, now, reasons)
    return Verdict(now.query, tuple(reasons))


def same_work(stored: Shape, now: Shape) -> bool:
    """True where the shapes are those of one query under two names."""
    verdict = compare(stored, now)
    return verdict.ok and [(s.kind, s.facts) for s in stored.states] == [(s.kind, s.facts) for s in now.states] and (
        [(s.id, s.kind) for s in stored.sources] == [(s.id, s.kind) for s in now.sources]
        and stored.between[-1].facts == now.between[-1].facts
    )


def _with_new_names(stored: Shape, now: Shape) -> Shape:
    """The stored shape with the names that its streams have now, where Spark knows them by their places only."""
    if stored.names or len(stored.sources) != len(now.sources):
        return stored
    names = {old.id: new.id for old, new in zip(stored.sources, now.sources, strict=True) if old.id != new.id}
    if not names or names.keys() & {s.id for s in now.sources}:
        return stored

    def text(value: str) -> str:
        return _COLUMN.sub(lambda found: f"`{_of(names, found[0][1:])}", value)

    def part(old: Part) -> Part:
        facts = tuple((k, tuple(map(text, v)) if isinstance(v, tuple) else text(v) if isinstance(v, str) else v) for k, v in old.facts)
        return replace(old, facts=facts)

    return replace(stored, states=tuple(map(part, stored.states)), between=tuple(map(part, stored.between)))


def _of(names: Mapping[str, str], column: str) -> str:
    """The name of a column with that of its stream as it is now."""
    old = next((name for name in names if column.startswith(f"{name}.")), None)
    return column if old is None else names[old] + column.removeprefix(old)


def _fresh(query: str) -> str:
    return FRESH.format(query=query)


def _compare_sources(stored: Shape, now: Shape, reasons: list[Reason]) -> None:
    was, are = [s.id for s in stored.sources], [s.id for s in now.sources]
    named = stored.names and (now.names or was == are)
    if was != are and named:
        for gone in (s for s in was if s not in are):
            reasons.append(Reason(gone, "is not read any more: where it was read up to is forgotten with the next micro-batches"))
        for part in (p for p in now.sources if p.id not in was):
            same = next((s for s in stored.sources if s.id not in are and (s.kind, s.fact("identity")) == (part.kind, part.fact("identity"))), None)
            if same is None:
                reasons.append(Reason(part.id, "is read from its beginning", origin=part.origin))
            else:
                reasons.append(Reason(
                    part.id, f"is `{same.id}` under another name: Spark knows it by its name, and would read all of it again", NEW_CHECKPOINT,
                    f"call it `{same.id}` as before; or {_fresh(now.query)}", part.origin,
                ))
    elif sorted(was) == sorted(are) and was != are:
        reasons.append(Reason(
            now.query, f"reads its sources in another order: {', '.join(are)} where it was {', '.join(was)}; Spark would read one on "
            "from where the other was", NEW_CHECKPOINT, _fresh(now.query), now.between[-1].origin,
        ))
    elif len(was) != len(are):
        reasons.append(Reason(
            now.query, f"reads {_listed(are)} where it read {_listed(was)}; Spark knows the sources of this checkpoint by their "
            "places, which must stay as they were", NEW_CHECKPOINT, _fresh(now.query), now.between[-1].origin,
        ))
    for place, new in enumerate(now.sources):
        old = next((p for p in stored.sources if p.id == new.id), None)
        if old is None and not named and len(was) == len(are) and sorted(was) != sorted(are):
            old = stored.sources[place]
        if old is not None:
            _compare_source(old, new, now, reasons)


def _compare_source(old: Part, new: Part, now: Shape, reasons: list[Reason]) -> None:
    def tell(what: str, verdict: str = COMPATIBLE) -> None:
        reasons.append(Reason(new.id, what, verdict, "" if verdict == COMPATIBLE else _fresh(now.query), new.origin))

    if old.kind != new.kind:
        tell(f"comes from connector '{new.kind}' where it was '{old.kind}': where the old one was read up to says nothing of it",
             NEW_CHECKPOINT)
        return
    if old.fact("identity") != new.fact("identity"):
        tell(f"reads {_changed(old, new, 'identity')}: rows that are there too would be read again, and others never", NEW_CHECKPOINT)
    elif old.id != new.id:
        tell(f"was called `{old.id}`")
    changed = [told for told in _changes(old, new, "options") if not told.startswith(BEGINS)]
    if changed:
        tell(f"is read with {', '.join(changed)}, from the next rows on")
    elif old.fact("options") != new.fact("options"):
        tell("says otherwise where a new checkpoint begins: this one goes on where it was")
    columns = _difference(old.fact("columns"), new.fact("columns"))
    if columns:
        tell(f"is read with other columns ({columns}), from the next rows on")


def _compare_states(stored: Shape, now: Shape, reasons: list[Reason]) -> None:
    was, are = [s.kind for s in stored.states], [s.kind for s in now.states]
    pairs: list[tuple[Part, Part]] = []
    for tag, i, j, k, m in SequenceMatcher(None, was, are, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(stored.states[i:j], now.states[k:m], strict=True)
            continue
        for gone in stored.states[i:j]:
            reasons.append(Reason(
                gone.id, f"{_kind(gone)} is not there any more: its state would be dropped", STATE_LOST, _fresh(now.query),
                now.between[-1].origin,
            ))
        for new in now.states[k:m]:
            reasons.append(Reason(
                new.id, f"{_kind(new)} is new, and knows nothing of the rows that were read", NEW_CHECKPOINT, _fresh(now.query),
                new.origin,
            ))
    for old, new in pairs:
        for name, fact in new.facts:
            before = old.fact(name)
            if before == fact:
                continue
            what = _STATE.get(name, _other)(old, new, name)
            if what:
                help_ = _fresh(now.query) + (f"; {SHED_NOTHING}" if name == "aggregates" and "no longer keeps" in what else "")
                reasons.append(Reason(new.id, what, NEW_CHECKPOINT, help_, new.origin))


def _compare_between(old: Part, new: Part, now: Shape, reasons: list[Reason]) -> None:
    """What keeps nothing: it is different from the next rows on."""
    last = new.id == "result"
    below = any(part.id.startswith("before ") for part in now.between)
    keep = "" if last and not below else f"; {OPEN_KEEP}" if not last else ""
    where = now.query if last else new.id.removeprefix("before ")
    for name, words in (
        ("filters", "results are chosen by" if last and below else "rows are chosen by"), ("joins", "rows are joined with tables by"),
        ("tables", "tables are"),
    ):
        told = _difference(old.fact(name), new.fact(name))
        if told:
            reasons.append(Reason(where, f"{words} something else ({told}), from now on{keep}", origin=new.origin))
    told = _difference(old.fact("watermarks"), new.fact("watermarks"))
    if told:
        reasons.append(Reason(where, f"rows may be late by another time ({told}), from now on{keep}", origin=new.origin))
    told = _columns(_texts(old.fact("columns")), _texts(new.fact("columns"))) if last else ""
    if told:
        reasons.append(Reason(where, f"has other columns ({told}), from the next results on", origin=new.origin))
    # Checkpoints of before have nothing about it.
    told = _difference(old.fact("sheds"), new.fact("sheds")) if old.fact("sheds") is not None else ""
    if told:
        reasons.append(Reason(where, f"sheds by another rule ({told}), from the next micro-batch on", origin=new.origin))


def _compare_output(old: Part, now: Shape, reasons: list[Reason]) -> None:
    new = now.output
    origin: Span = new.origin

    def tell(what: str, verdict: str = COMPATIBLE) -> None:
        reasons.append(Reason(f"{now.query} (output)", what, verdict, "" if verdict == COMPATIBLE else _fresh(now.query), origin))

    if old.fact("mode") != new.fact("mode"):
        words = {"append": "a stream of rows that stay", "update": "a relation whose rows change"}
        tell(f"is {words[str(new.fact('mode'))]}, and was {words[str(old.fact('mode'))]}", NEW_CHECKPOINT)
    if (old.kind, old.fact("identity")) != (new.kind, new.fact("identity")):
        tell(f"goes to {_place(new)} and no longer to {_place(old)}: results from now on go there, and earlier ones stay where they are")
    elif old.fact("options") != new.fact("options"):
        tell(f"is written with {_changed(old, new, 'options')}, from the next results on")
    if old.fact("keys") != new.fact("keys"):
        tell(f"rows of the result are told apart by other columns ({_difference(old.fact('keys'), new.fact('keys'))})")


def _place(part: Part) -> str:
    identity = _texts(part.fact("identity"))
    return f"'{part.kind}'" + (f" ({', '.join(identity)})" if identity else "")


def _kind(part: Part) -> str:
    return _KINDS.get(part.kind, f"the operator '{part.kind}'")


def _keys(old: Part, new: Part, name: str) -> str:
    return f"groups are made by something else ({_difference(old.fact(name), new.fact(name))}): groups that are open would have no other rows"


def _window(old: Part, new: Part, name: str) -> str:
    return f"groups rows by other windows ({_difference((str(old.fact(name)),), (str(new.fact(name)),))}): open windows would be taken for windows of the new kind"


def _aggregates(old: Part, new: Part, name: str) -> str:
    was, are = _texts(old.fact(name)), _texts(new.fact(name))
    if sorted(was) == sorted(are):
        return "has the same aggregates in another order, in which Spark keeps them"
    differs = {*was} ^ {*are}
    if all(_of_policies(text) for text in differs):
        kept, verb = ("now keeps", "did not before") if len(are) > len(was) else ("no longer keeps", "did before")
        return f"{kept} what estimates and measures of shed rows are made of, and {verb}"
    own = [tuple(t for t in texts if not _of_policies(t)) for texts in (was, are)]
    return f"has other aggregates ({_difference(*own)}): for windows that are open there is nothing of them"


def _of_policies(aggregate: str) -> bool:
    """True for a sum that the compiler adds for RECOVER ESTIMATE, COMPLETENESS() and the like."""
    return POLICY in aggregate or aggregate.startswith("sum(1.0D)")


def _join_condition(old: Part, new: Part, name: str) -> str:
    return f"pairs rows by something else ({_difference((str(old.fact(name)),), (str(new.fact(name)),))}): rows that wait are kept by the old condition"


def _join_side(old: Part, new: Part, name: str) -> str:
    return f"keeps other columns of its {name} rows ({_difference(old.fact(name), new.fact(name))}): rows that wait do not have them"


def _buckets(old: Part, new: Part, name: str) -> str:
    return f"has its state in {new.fact(name)} parts where it was {old.fact(name)}"


def _other(old: Part, new: Part, name: str) -> str:
    return f"{_kind(new)} was made with other {name}, and has its state in their form"


_STATE: dict[str, Callable[[Part, Part, str], str]] = {
    "keys": _keys, "window": _window, "aggregates": _aggregates, "condition": _join_condition, "left": _join_side,
    "right": _join_side, "buckets": _buckets,
}


def _texts(fact: Fact | None) -> tuple[str, ...]:
    return fact if isinstance(fact, tuple) else () if fact is None else (str(fact),)


def _changed(old: Part, new: Part, name: str) -> str:
    return ", ".join(_changes(old, new, name))


def _changes(old: Part, new: Part, name: str) -> list[str]:
    """Options that are not as they were: ``path = 'b' (was 'a')``."""
    was = dict(text.split(" = ", 1) for text in _texts(old.fact(name)))
    are = dict(text.split(" = ", 1) for text in _texts(new.fact(name)))
    told = [f"{k} = {v} (was {was.get(k, 'not set')})" for k, v in are.items() if was.get(k) != v]
    return [*told, *(f"no {k}" for k in was if k not in are)]


def _difference(was: Fact | None, are: Fact | None) -> str:
    """What came and what went, in a few words; empty where nothing did."""
    old, new = _texts(was), _texts(are)
    if old == new:
        return ""
    came, went = [t for t in new if t not in old], [t for t in old if t not in new]
    # Types only matter where nothing else is different.
    plain = _plain if {_plain(t) for t in came}.isdisjoint(map(_plain, went)) else _typed
    told = [f"now {plain(t)}" for t in came] + [f"no longer {plain(t)}" for t in went]
    if not told:
        return "in another order"
    return ", ".join(told[:4]) + (f", and {len(told) - 4} more" if len(told) > 4 else "")


def _columns(was: tuple[str, ...], are: tuple[str, ...]) -> str:
    """How the columns of a result differ, by their names alone; empty where they do not."""
    if was == are:
        return ""
    old, new = (dict(text.split(" = ", 1) for text in texts) for texts in (was, are))
    gone = {name: text for name, text in old.items() if name not in new}
    told = [f"`{name}` is worked out in another way" for name in new if name in old and new[name] != old[name]]
    for name in (n for n in new if n not in old):
        before = next((n for n, text in gone.items() if text == new[name]), None)
        told.append(f"`{name}` is new" if before is None else f"`{name}` was `{before}`")
        gone.pop(before or "", None)
    return ", ".join([*told, *(f"no `{name}`" for name in gone)]) or "in another order"


def _plain(text: str) -> str:
    """SQL of a plan as a person reads it."""
    return _typed(_COLUMN.sub(r"\1", _WINDOW.sub(_in_words, text)))


def _in_words(window: re.Match[str]) -> str:
    length, slide = int(window[1]), int(window[2])
    return f"a window of {show_ms(length)}" + ("" if length == slide else f" every {show_ms(slide)}")


def _typed(text: str) -> str:
    shown = _VALUE.sub(".", text.replace("`", ""))
    return shown if len(shown) <= 80 else f"{shown[:79]}…"


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names) if len(names) < 3 else ", ".join(f"`{name}`" for name in names)
