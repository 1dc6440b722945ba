"""Where a program may drop rows: at each place, what a dropped row saves below it, and what its queries lose with it.

Places are the outputs of sources, the arms of splits, and the edges behind operators that reduce. Elsewhere an earlier
place saves more at the same loss.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamq.dsl.records import dataclass, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """What an operator does to rows. All who read it get all of its rows.

    ``cost``: of a row that it reads. ``selectivity``: rows out for a row in, of any input. ``rate``: the rows out per
    second, where they are known: always of a source. ``pairs``: it joins, so that a share lost of one input is the
    same share of its result; else each row in has its own part of the result. ``whole``: the places of inputs without
    whose rows it would put out wrong ones.
    """

    name: str
    inputs: tuple[str, ...] = ()
    cost: float = 0.0
    selectivity: float = 1.0
    rate: float | None = None
    pairs: bool = False
    whole: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """An answer, and what it is worth: it loses ``slope`` of its value with all of its completeness.

    ``operator``: gives its rows; ``cost``: of each, to put it out. ``least``: the share of its rows that it needs: 1
    where it lets none go, by SHED NONE or without QOS.
    """

    name: str
    operator: str
    weight: float = 1.0
    slope: float = 1.0
    least: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An edge that could have a shedder: behind ``operator``, and if there is a ``reader``, only on the arm to it.

    ``rate``: rows per second. ``saving``: the cost per second that goes if all rows go; ``loss``: the share of the
    value of all answers that goes with them. ``test``: what the shedder costs per second. ``most``: the largest share
    that may go. ``answers``: the queries below, with the share of their answer that comes this way. ``keepers``: those
    that let no row go, or would have wrong answers.
    """

    operator: str
    reader: str | None
    name: str
    rate: float
    saving: float
    loss: float
    test: float
    most: float
    answers: tuple[tuple[str, float], ...]
    keepers: tuple[str, ...]

    @property
    def useful(self) -> bool:
        """Whether a shedder could save more here than it costs."""
        return self.most * self.saving > self.test


@dataclass(frozen=True, slots=True)
class Places:
    """The places of a program, upper ones first. ``below``: of each, the bits of those that its rows still come to."""

    places: tuple[Place, ...]
    below: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Arm:
    """The way from an operator to one that reads it, or out; ``yields``: rows that this one makes of one; ``whole``: it
    needs all of them.
    """

    reader: str
    name: str
    cost: float
    yields: float
    out: bool
    whole: bool = False


@dataclass(frozen=True, slots=True)
class _Below:
    """What hangs on a row: its cost from here on, the share of each answer, and the places that it comes to.

    ``wrong``: the queries whose answers could be wrong without it.
    """

    gain: float
    lost: dict[str, float]
    places: int
    wrong: frozenset[str] = frozenset()


def places_of(operators: Sequence[Operator], queries: Sequence[Query], test: float = 0.0) -> Places:
    """The places for shedders; ``operators``: inputs first; ``test``: what it costs to decide on one row.

    What several paths lose or save is added up. That is exact where they are united, and where they are joined it is
    more than the truth, by the product of the shares.
    """
    rates, arms, reduced = _flow(operators, queries)
    bits: dict[tuple[str, int], int] = {}
    for operator in operators:
        count = len(arms[operator.name])
        if not operator.inputs or operator.name in reduced:
            bits[operator.name, -1] = len(bits)
        bits |= {(operator.name, i): len(bits) + i for i in range(count) if count > 1}
    after: dict[str, _Below] = {}
    made: dict[int, tuple[Place, int]] = {}
    worth = _Worth(queries, rates, test)
    for operator in reversed(operators):
        ways: list[_Below] = []
        for i, arm in enumerate(arms[operator.name]):
            way = _along(arm, after, rates[operator.name])
            bit = bits.get((operator.name, i))
            if bit is not None:
                made[bit] = worth.place(operator.name, arm, way), way.places
                way = replace(way, places=way.places | 1 << bit)
            ways.append(way)
        here = _together(ways)
        bit = bits.get((operator.name, -1))
        if bit is not None:
            made[bit] = worth.place(operator.name, None, here), here.places
            here = replace(here, places=here.places | 1 << bit)
        after[operator.name] = here
    ordered = [made[bit] for bit in range(len(made))]
    return Places(tuple(place for place, _ in ordered), tuple(below for _, below in ordered))


def _flow(
    operators: Sequence[Operator], queries: Sequence[Query]
) -> tuple[dict[str, float], dict[str, list[_Arm]], set[str]]:
    """The rows per second behind each operator, the ways from there, and the operators that reduce."""
    rates: dict[str, float] = {}
    arms: dict[str, list[_Arm]] = {o.name: [] for o in operators}
    reduced: set[str] = set()
    for operator in operators:
        total = sum(rates[i] for i in operator.inputs)
        made = operator.selectivity * total if operator.rate is None else operator.rate
        rates[operator.name] = made
        if operator.inputs and made < total:
            reduced.add(operator.name)
        for n, below in enumerate(operator.inputs):
            read = rates[below] if operator.pairs else total
            again = operator.inputs[:n].count(below)
            name = f"{below} → {operator.name}" + (f" ({again + 1})" if again else "")
            yields = made / read if read else 0.0
            arms[below].append(_Arm(operator.name, name, operator.cost, yields, out=False, whole=n in operator.whole))
    for query in queries:
        name = f"{query.operator} → {query.name}"
        arms[query.operator].append(_Arm(query.name, name, query.cost, 0.0, out=True))
    return rates, arms, reduced


def _along(arm: _Arm, after: dict[str, _Below], rate: float) -> _Below:
    """What hangs on a row on that way."""
    if arm.out:
        return _Below(arm.cost, {arm.reader: 1 / rate if rate else 0.0}, 0)
    then = after[arm.reader]
    lost = {query: arm.yields * share for query, share in then.lost.items()}
    return _Below(arm.cost + arm.yields * then.gain, lost, then.places, frozenset(lost) if arm.whole else then.wrong)


def _together(ways: Sequence[_Below]) -> _Below:
    """What hangs on a row that goes all these ways."""
    if len(ways) == 1:
        return ways[0]
    lost: dict[str, float] = {}
    places = 0
    for way in ways:
        places |= way.places
        for query, share in way.lost.items():
            lost[query] = lost.get(query, 0.0) + share
    return _Below(sum(way.gain for way in ways), lost, places, frozenset[str]().union(*(way.wrong for way in ways)))


class _Worth:
    """Makes places of what hangs on their rows; the weights of all queries come to 1."""

    def __init__(self, queries: Sequence[Query], rates: dict[str, float], test: float) -> None:
        self.rates, self.test = rates, test
        total = sum(q.weight for q in queries) or 1.0
        self.values = {q.name: q.weight * q.slope / total for q in queries}
        self.most = {q.name: 1 - q.least for q in queries}

    def place(self, operator: str, arm: _Arm | None, below: _Below) -> Place:
        rate = self.rates[operator]
        return Place(
            operator=operator, reader=None if arm is None else arm.reader,
            name=operator if arm is None else arm.name, rate=rate,
            saving=rate * below.gain, test=rate * self.test,
            loss=rate * sum(self.values[q] * share for q, share in below.lost.items()),
            most=0.0 if below.wrong else min((self.most[q] for q in below.lost), default=1.0),
            answers=tuple((q, rate * share) for q, share in below.lost.items()),
            keepers=tuple(q for q in below.lost if self.most[q] <= 0 or q in below.wrong),
        )
