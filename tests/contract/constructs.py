"""What the language has, by its grammar, and which cases of the contract suite show it.

``python -m tests.contract.constructs`` prints the list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamq.dsl.tables import ParseTables, load_tables
from tests.contract.by_hand import BY_HAND, MEANINGLESS
from tests.contract.case import DIFFERS, REFUSED, UNBOUND
from tests.contract.cases import CASES
from tests.contract.grammar import Form, Symbols, forms_in

QUERIES = frozenset({"query", "inner_query"})

WINDOWS, OPERATORS = "windows", "relation to stream"


@dataclass(frozen=True)
class Construct:
    """One thing that can be said, in the words that the grammar has for it."""

    area: str
    form: Form
    text: str


@dataclass(frozen=True)
class Sample:
    """A query of the suite: who answers it, and the forms that it is written in."""

    name: str
    answered_by: str
    forms: frozenset[Form]


BOTH, REFERENCE, NOBODY, NO_MEANING = "both", "the reference", "nobody yet", "no meaning"


def constructs(tables: ParseTables) -> list[Construct]:
    """Windows, relation-to-stream and set operators, joins, and tests that ask a query."""
    symbols = Symbols(tables)
    asking = symbols.reached("expr", without=QUERIES)
    areas = {
        WINDOWS: symbols.inside("window"),
        OPERATORS: {"r2s"},
        "set operators": {"additive_set", "intersect"},
        "joins": {"from", "join_kind"},
        "tests that ask a query": {"quantifier"},
    }
    texts: dict[tuple[str, Form], list[str]] = {}
    for production in symbols.productions:
        form = production.form
        if form is None:
            continue
        parts = {part for symbol in production.symbols for part in symbols.opened(symbol)}
        asks = production.origin in asking and parts & QUERIES
        for area, origins in areas.items():
            if production.origin in origins or (asks and "quantifier" in origins):
                texts.setdefault((area, form), []).append(symbols.written(production))
    order = list(areas)
    found = [Construct(area, form, " | ".join(sorted(ways))) for (area, form), ways in texts.items()]
    return sorted(found, key=lambda c: (order.index(c.area), c.text))


def samples(tables: ParseTables) -> list[Sample]:
    """All queries of the suite."""
    by_word = {"": BOTH, REFUSED: REFERENCE, DIFFERS: REFERENCE, UNBOUND: NOBODY}
    queries = [
        *((name, query, BOTH) for name, (query, _) in CASES.items()),
        *((name, case.query, by_word[case.waits]) for name, case in BY_HAND.items()),
        *((name, query, NO_MEANING) for name, (query, _) in MEANINGLESS.items()),
    ]
    return [Sample(name, who, frozenset(forms_in(tables, query))) for name, query, who in queries]


def showing(forms: Iterable[Form], of: Iterable[Sample]) -> list[Sample]:
    """The samples that are written in all of the forms."""
    wanted = set(forms)
    return [sample for sample in of if wanted <= sample.forms]


def table() -> Iterator[str]:
    """Each construct with the number of cases that show it, by who answers them, and the first of them."""
    tables = load_tables()
    known = samples(tables)
    area = ""
    for construct in constructs(tables):
        if construct.area != area:
            area = construct.area
            yield f"\n{area:<58}{'reference':>10}{'Spark':>7}  first case"
        found = showing([construct.form], known)
        on = [sample.answered_by for sample in found]
        reference = on.count(BOTH) + on.count(REFERENCE)
        first = next((s for who in (BOTH, REFERENCE, NOBODY, NO_MEANING) for s in found
                      if s.answered_by == who), None)
        note = "" if first is None or reference else f" ({first.answered_by})"
        shown = "none" if first is None else f"{first.name}{note}"
        yield f"  {construct.text:<56}{reference:>10}{on.count(BOTH):>7}  {shown}"


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in table())
