"""A small engine that sends weights through a network of operators, to check the rules by.

It knows sizes and weights of batches, not their values. State goes in and comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from streamq.dsl.records import dataclass
from streamq.stdlib.fairness.batches import NOTHING, Batches, joined_up
from streamq.stdlib.fairness.operators import copied

Rule = Callable[[tuple[Batches, ...]], tuple[Batches, ...]]
"""The input of one firing, stream by stream -> one stream for all readers, or one for each."""

Waiting = Mapping[tuple[str, int], Batches]
"""The batches that wait, by operator and number of its input."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator. ``inputs``: names of the sources and operators that it reads.

    A blocking one fires as soon as ``batches`` of them wait at each input, and takes so many; the
    others fire for each batch. ``result``: the query gives out its stream though others read it.
    """

    name: str
    inputs: tuple[str, ...]
    rule: Rule
    blocking: bool = True
    batches: int = 1
    result: bool = False


@dataclass(frozen=True, slots=True)
class Network:
    """The operators of a query, each after those that it reads. What nobody reads is a result."""

    operators: tuple[Operator, ...]

    def push(self, waiting: Waiting, arrived: Mapping[str, Batches]) -> tuple[Waiting, Batches]:
        """What waits afterwards, and what came out, when the sources sent these batches."""
        return self._run(waiting, arrived, at_end=False)

    def flush(self, waiting: Waiting) -> Batches:
        """What comes out at the end: every operator fires once for all that waits, even without a partner."""
        return self._run(waiting, {}, at_end=True)[1]

    def _run(
        self, waiting: Waiting, arrived: Mapping[str, Batches], at_end: bool
    ) -> tuple[Waiting, Batches]:
        readers = self._readers()
        buffers = dict(waiting)
        results: list[Batches] = []

        def send(name: str, outputs: tuple[Batches, ...]) -> None:
            targets = readers.get(name, ())
            if len(outputs) == 1:
                outputs = copied(outputs[0], len(targets))
            for target, content in zip(targets, outputs, strict=True):
                if target is None:
                    results.append(content)
                else:
                    buffers[target] = joined_up((buffers.get(target, NOTHING), content))

        for source, content in arrived.items():
            send(source, (content,))
        for operator in self.operators:
            places = [(operator.name, i) for i in range(len(operator.inputs))]
            held = tuple(buffers.pop(p, NOTHING) for p in places)
            firings, left = _firings(operator, held)
            if at_end and any(len(c) for c in left):
                firings, left = [*firings, left], (NOTHING,) * len(left)
            buffers.update({p: c for p, c in zip(places, left, strict=True) if len(c)})
            for firing in firings:
                send(operator.name, operator.rule(firing))
        return buffers, joined_up(results)

    def _readers(self) -> dict[str, tuple[tuple[str, int] | None, ...]]:
        """Who reads each stream; None is the user."""
        found: dict[str, list[tuple[str, int] | None]] = {}
        for operator in self.operators:
            if operator.name in found:
                raise ValueError(f"`{operator.name}` stands after an operator that reads it")
            for i, name in enumerate(operator.inputs):
                found.setdefault(name, []).append((operator.name, i))
        made = {name: tuple(places) for name, places in found.items()}
        for operator in self.operators:
            if operator.result or operator.name not in made:
                made[operator.name] = (*made.get(operator.name, ()), None)
        return made


def _firings(
    operator: Operator, content: tuple[Batches, ...]
) -> tuple[list[tuple[Batches, ...]], tuple[Batches, ...]]:
    """The input of each firing that is possible now, and what is left."""
    none = (NOTHING,) * len(content)
    if not operator.blocking:
        single = [
            (*none[:i], stream.part(j, j + 1), *none[i + 1 :])
            for i, stream in enumerate(content)
            for j in range(len(stream))
        ]
        return single, none
    step = operator.batches
    times = min(len(stream) for stream in content) // step
    firings = [tuple(s.part(i * step, (i + 1) * step) for s in content) for i in range(times)]
    return firings, tuple(s.part(times * step) for s in content)
