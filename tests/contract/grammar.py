"""The productions of the grammar, read back from the parse tables, and which of them a text is made with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streamq.dsl.build import Build
from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.lexer import tokenize
from streamq.dsl.machine import Action, Grammar, Machine
from streamq.dsl.parser import ACTIONS, split_statements
from streamq.dsl.source import SourceFile
from streamq.dsl.tables import ABSENT, TOKEN_KINDS, ParseTables, Rule

Form = tuple[str, str, tuple[bool, ...]]
"""What a text tells the compiler: a symbol, the function that reads it, and which of its parts are there.

Two productions of one form differ only in words without a meaning: ``LEFT JOIN`` and ``LEFT OUTER JOIN``.
"""


@dataclass(frozen=True)
class Production:
    """One way to write a symbol. ``form`` is None where it only passes on what one of its parts is."""

    origin: str
    symbols: tuple[str, ...]
    form: Form | None


def form_of(rule: Rule) -> Form | None:
    if not rule.action:
        return None
    return rule.origin, rule.action, tuple(pick != ABSENT for pick in rule.picks)


def productions(tables: ParseTables) -> list[Production]:
    """All productions, with the symbols that they are made of.

    The tables do not keep the symbols. But a state is entered by one symbol only, and all ways that lead to a
    state in which a rule ends spell that rule: so they are read from one such way, backwards.
    """
    entered_by: dict[int, str] = {}
    before: dict[int, list[int]] = defaultdict(list)
    ends_in: dict[int, int] = {}
    for state, row in enumerate(tables.rows):
        for symbol, step in row.items():
            if step < 0:
                ends_in.setdefault(~step, state)
            else:
                entered_by[step] = symbol
                before[step].append(state)
    found = []
    for number, state in sorted(ends_in.items()):
        rule = tables.rules[number]
        symbols: list[str] = []
        for _ in range(rule.size):
            symbols.append(entered_by[state])
            state = before[state][0]
        found.append(Production(rule.origin, tuple(reversed(symbols)), form_of(rule)))
    return found


class Symbols:
    """The symbols of a grammar, by what they are made of."""

    def __init__(self, tables: ParseTables) -> None:
        self.productions = productions(tables)
        self.by_origin: dict[str, list[Production]] = defaultdict(list)
        for production in self.productions:
            self.by_origin[production.origin].append(production)

    def reached(self, start: str, without: Collection[str] = ()) -> set[str]:
        """The symbols that a text of ``start`` may hold, where some of them may not be used."""
        found: set[str] = set()
        waiting = [start]
        while waiting:
            symbol = waiting.pop()
            if symbol in found or symbol in without or symbol not in self.by_origin:
                continue
            found.add(symbol)
            waiting += [part for p in self.by_origin[symbol] for part in p.symbols]
        return found

    def inside(self, symbol: str, start: str = "statement") -> set[str]:
        """The symbol and those that can stand nowhere but in it."""
        return self.reached(start) - self.reached(start, without={symbol})

    def written(self, production: Production) -> str:
        """The production as text; parts that only have another name are written out."""
        parts = (part for symbol in production.symbols for part in self.opened(symbol))
        return " ".join(part.removeprefix("_") for part in parts) or "(nothing)"

    def opened(self, symbol: str) -> Iterable[str]:
        """What a symbol stands for, where it can be written in one way and is only a name for that."""
        ways = self.by_origin.get(symbol, ())
        if len(ways) != 1 or symbol.startswith("_"):
            return [symbol]
        is_word = not any(part in self.by_origin or part in TOKEN_KINDS for part in ways[0].symbols)
        if ways[0].form is None or is_word:
            return [part for inner in ways[0].symbols for part in self.opened(inner)]
        return [symbol]


def forms_in(tables: ParseTables, program: str) -> set[Form]:
    """The forms that a program is written in."""
    seen: set[Form] = set()
    grammar = _Watched(tables, ACTIONS, seen)
    sink = DiagnosticSink()
    lexed = tokenize(SourceFile("program.cql", program), sink)
    assert lexed is not None
    for tokens, _ in split_statements(lexed.tokens, len(program)):
        Machine(grammar, "statement", Build("program.cql", sink)).run(tokens)
    assert not sink.has_errors
    return seen


class _Watched(Grammar):
    """A grammar whose actions note that they were called."""

    def __init__(self, tables: ParseTables, actions: Mapping[str, Action], seen: set[Form]) -> None:
        super().__init__(tables, actions)
        self.actions = [
            None if action is None else _noting(action, form_of(rule), seen)
            for rule, action in zip(tables.rules, self.actions, strict=True)
        ]


def _noting(action: Action, form: Form | None, seen: set[Form]) -> Action:
    def note(*arguments: Any) -> Any:
        if form is not None:
            seen.add(form)
        return action(*arguments)

    return note
