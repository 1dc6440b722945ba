"""Random programs with places for shedders, and all their plans, tried one by one."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from streamq.compiler.analysis.shed_places import Operator, Place, Places, Query, places_of

Program = tuple[list[Operator], list[Query], float]


def random_program(rng: random.Random) -> Program:
    """Sources, then operators over any of what is there: prefixes are shared, and diamonds come about."""
    operators = [
        Operator(name=f"s{i}", rate=rng.choice([10.0, 100.0, rng.uniform(1, 1000)]))
        for i in range(rng.randint(1, 3))
    ]
    for i in range(rng.randint(2, 8)):
        names = [o.name for o in operators]
        kind = rng.choice(["filter", "filter", "map", "join", "join", "union", "explode"])
        count = 2 if kind in ("join", "union") else 1
        selectivity = {"filter": rng.uniform(0.01, 0.9), "explode": 2.5, "join": rng.uniform(0.05, 3)}
        operators.append(Operator(
            name=f"o{i}", inputs=tuple(rng.choice(names) for _ in range(count)), pairs=kind == "join",
            selectivity=selectivity.get(kind, 1.0),
            cost=rng.uniform(5, 50) if kind == "join" else rng.choice([0.0, 1.0, 3.0, rng.uniform(0, 5)]),
        ))
    read = {name for o in operators for name in o.inputs}
    roots = [o.name for o in operators if o.name not in read]
    roots += [rng.choice(operators).name for _ in range(rng.randint(0, 3))]
    queries = [
        Query(
            name=f"q{i}", operator=root, weight=rng.choice([1.0, 1.0, rng.uniform(0, 5)]),
            slope=rng.choice([1.0, rng.uniform(0.1, 1)]), cost=rng.choice([0.0, 1.0, 4.0]),
            least=rng.choice([0.0] * 8 + [0.25, 0.6, 0.9, 1.0]),
        )
        for i, root in enumerate(roots)
    ]
    return operators, queries, rng.choice([0.0, 0.01, 0.1, 0.5])


def small_programs(count: int, most: int = 12) -> Iterator[tuple[Program, Places]]:
    """Random programs with at most so many places."""
    rng = random.Random(20240)
    while count:
        program = random_program(rng)
        places = places_of(*program)
        if 1 <= len(places.places) <= most:
            count -= 1
            yield program, places


class Tried:
    """All antichains of a program's places, from the paths that rows take; nothing of it is in the planner."""

    def __init__(self, program: Program, places: Places) -> None:
        self.operators, self.queries, test = program
        self.rates: dict[str, float] = {}
        for o in self.operators:
            read = sum(self.rates[i] for i in o.inputs)
            self.rates[o.name] = o.selectivity * read if o.rate is None else o.rate
        weights = sum(q.weight for q in self.queries)
        numbers = []
        for place in places.places:
            rows = self.rates[place.operator]
            saving = loss = 0.0
            most = 1.0
            for path, share in self.paths(place.operator, rows, place):
                *_, last = path
                saving += share[-1] * last.cost if isinstance(last, Operator | Query) else 0.0
                if isinstance(last, Query):
                    there = self.rates[last.operator]
                    loss += last.weight / weights * last.slope * (share[-1] / there if there else 0.0)
                    most = min(most, 1 - last.least)
            numbers.append((saving, loss, rows * test, most))
        self.saving, self.loss, self.test, self.most = np.array(numbers).T
        self.sets = np.array(list(self.antichains(places.places)))

    def paths(
        self, name: str, rows: float, place: Place | None = None
    ) -> Iterator[tuple[tuple[Operator | Query, ...], tuple[float, ...]]]:
        """Each way that begins behind an operator, also those that end on it, with the rows that come to each step."""
        steps: list[tuple[Operator | Query, float, str]] = []
        for o in self.operators:
            for n, below in enumerate(o.inputs):
                if below == name:
                    again = f" ({n + 1})" if below in o.inputs[:n] else ""
                    steps.append((o, rows, f"{name} → {o.name}{again}"))
        steps += [(q, rows, f"{name} → {q.name}") for q in self.queries if q.operator == name]
        for step, arriving, arm in steps:
            if place is not None and place.reader is not None and arm != place.name:
                continue
            yield (step,), (arriving,)
            if isinstance(step, Operator):
                read = self.rates[name] if step.pairs else sum(self.rates[i] for i in step.inputs)
                made = arriving * self.rates[step.name] / read if read else 0.0
                for path, share in self.paths(step.name, made):
                    yield (step, *path), (arriving, *share)

    def reaches(self, upper: Place, lower: Place) -> bool:
        """Whether rows come from one place to the other."""
        if upper.operator == lower.operator:
            return upper.reader is None and lower.reader is not None
        return any(
            path[-1].name == lower.operator for path, _ in self.paths(upper.operator, 1.0, upper)
        )

    def antichains(self, places: tuple[Place, ...]) -> Iterator[list[bool]]:
        """Each set in which no place lies below another, as a row of yes and no."""
        apart = [[not self.reaches(a, b) and not self.reaches(b, a) for b in places] for a in places]

        def more(chosen: list[int], start: int) -> Iterator[list[int]]:
            yield chosen
            for i in range(start, len(places)):
                if all(apart[i][j] for j in chosen):
                    yield from more([*chosen, i], i + 1)

        for chosen in more([], 0):
            yield [i in chosen for i in range(len(places))]

    def least(self, needed: float) -> float:
        """The least loss of a saving, by the dual of the linear program of each set; infinite where there is none."""
        whole = needed + self.sets @ self.test
        able = self.sets @ (self.most * self.saving) >= whole * (1 - 1e-12)
        worth = self.saving > 0
        prices = np.append(self.loss[worth] / self.saving[worth], 0.0)
        gains = np.maximum(0.0, np.outer(self.saving, prices) - self.loss[:, None]) * self.most[:, None]
        losses = (np.outer(whole, prices) - self.sets @ gains).max(axis=1)
        return float(losses[able].min(initial=np.inf))

    @property
    def able(self) -> float:
        """All that can be saved."""
        return float((self.sets @ (self.most * self.saving - self.test)).max())
