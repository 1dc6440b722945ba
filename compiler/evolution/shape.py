"""What of a query matters to its checkpoint: its sources, its operators with state in Spark's order, its output.

A shape is plain data that is kept beside the checkpoint, and is compared with that of the query as it is later.
"""

from __future__ import annotations

from collections.abc import Mapping

from streamq.dsl.records import dataclass, field
from streamq.dsl.source import NO_SPAN, Span

Fact = str | int | float | bool | tuple[str, ...]
"""A property as JSON can hold it; texts in their order."""


@dataclass(frozen=True, slots=True)
class Part:
    """A source, an operator or the output. ``id``: what the program calls it; ``facts``: what may be different later."""

    id: str
    kind: str
    facts: tuple[tuple[str, Fact], ...]
    origin: Span = field(default=NO_SPAN, compare=False, repr=False)

    def fact(self, name: str) -> Fact | None:
        return dict(self.facts).get(name)

    def to_dict(self) -> dict[str, object]:
        return {"id": self.id, "kind": self.kind, "facts": dict(self.facts)}


@dataclass(frozen=True, slots=True)
class Shape:
    """``states``: in Spark's order, the operator nearest to the output first.

    ``between``: what stands between them and keeps nothing, a part for each operator with state, ``before …``, and one for the
    output. ``names``: Spark knows the sources by their names.
    """

    query: str
    sources: tuple[Part, ...]
    states: tuple[Part, ...]
    between: tuple[Part, ...]
    output: Part
    names: bool = False

    def to_dict(self) -> dict[str, object]:
        return {
            "query": self.query, "names": self.names,
            "sources": [p.to_dict() for p in self.sources], "states": [p.to_dict() for p in self.states],
            "between": [p.to_dict() for p in self.between], "output": self.output.to_dict(),
        }


def shape_from(data: object) -> Shape | None:
    """The shape that ``to_dict`` wrote; None where it is none."""
    try:
        assert isinstance(data, Mapping)
        return Shape(
            str(data["query"]), _parts(data["sources"]), _parts(data["states"]), _parts(data["between"]),
            _part(data["output"]), bool(data["names"]),
        )
    except (AssertionError, KeyError, TypeError, ValueError):
        return None


def _parts(data: object) -> tuple[Part, ...]:
    assert isinstance(data, list)
    return tuple(_part(item) for item in data)


def _part(data: object) -> Part:
    assert isinstance(data, Mapping)
    facts = data["facts"]
    assert isinstance(facts, Mapping)
    return Part(str(data["id"]), str(data["kind"]), tuple((str(k), _fact(v)) for k, v in facts.items()))


def _fact(value: object) -> Fact:
    if isinstance(value, list):
        return tuple(str(item) for item in value)
    assert isinstance(value, str | int | float | bool)
    return value
