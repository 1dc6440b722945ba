"""The LALR machine: tokens and tables in, the value of a start symbol out.

Values are made at each reduction, with a stack instead of recursion, so that the depth of a text
is limited by nothing but ``MAX_DEPTH`` and ``MAX_STACK``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamq.dsl.ast import Node
from streamq.dsl.build import Build, tuple_of
from streamq.dsl.diagnostics import Abort, Diagnostic
from streamq.dsl.lexer import Token
from streamq.dsl.source import Span
from streamq.dsl.tables import ABSENT, END, ParseTables, Rule
from streamq.dsl.types import Type
from streamq.dsl.words import CALLABLE, FOLLOWED_BY, RESERVED, UNITS

MAX_DEPTH = 1_000
"""Deepest nesting of AST nodes; parentheses alone make no node."""

MAX_TYPE_DEPTH = 100
"""Deepest nesting of types in types."""

MAX_STACK = 50_000
"""Most symbols that may wait for their end, parentheses included."""

Action = Callable[..., Any]
"""``action(build, span, *children)``: the value of a rule from the values of its parts."""

Entry = tuple[Any, int, int, int]
"""What the machine knows of a symbol: value, start and end offset, depth of the value."""


class Rejected(Exception):
    """The number of the token that does not fit; the number of tokens where the end does not."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Grammar:
    """Parse tables with an action for each rule, and what machines remember of the tables."""

    def __init__(self, tables: ParseTables, actions: Mapping[str, Action]) -> None:
        self.tables = tables
        self.actions = [actions[rule.action] if rule.action else None for rule in tables.rules]
        self.keywords = tables.keywords
        self.climbs: dict[tuple[int, int, str], int] = {}


class Machine:
    """One run over the tokens of one statement."""

    def __init__(self, grammar: Grammar, start: str, build: Build) -> None:
        self._tables = grammar.tables
        self._actions = grammar.actions
        self._keywords = grammar.keywords
        self._climbs = grammar.climbs
        self._build = build
        self._goal = grammar.tables.end_states[start]
        self._states = [grammar.tables.start_states[start]]
        self._entries: list[Entry] = []

    def run(self, tokens: Sequence[Token]) -> Any:
        """The value of all tokens. Raises ``Rejected``, and ``Abort`` for a too deep nesting."""
        for index in range(len(tokens)):
            self.feed(tokens, index)
        if not self._reduce_for(END):
            raise Rejected(len(tokens))
        return self._entries[-1][0]

    def feed(self, tokens: Sequence[Token], index: int) -> None:
        """Takes one token, or raises ``Rejected``."""
        token = tokens[index]
        kind, _, start, end = token
        if kind == "WORD":
            kind = self.kind_of(tokens, index)
        rows, states = self._tables.rows, self._states
        target = rows[states[-1]].get(kind)
        if target is None or target < 0:
            if not self._reduce_for(kind):
                raise Rejected(index)
            target = rows[states[-1]][kind]
        states.append(target)
        self._entries.append((token, start, end, 0))
        if len(states) > MAX_STACK:
            raise Abort(_too_deep(Span(self._build.file, start, end), MAX_STACK))

    def kind_of(self, tokens: Sequence[Token], index: int) -> str:
        """What a word is here: a keyword, ``UNIT``, ``NAME``, or ``RESERVED`` in place of a name."""
        word = tokens[index].text.upper()
        row = self._tables.rows[self._states[-1]]
        if word in RESERVED:
            if word in row:
                return word
            following = tokens[index + 1].kind if index + 1 < len(tokens) else END
            if word in CALLABLE and following == "(" and "NAME" in row:
                return "NAME"
            return "RESERVED" if "RESERVED" in row else word
        if word in self._keywords and word in row and self.accepts(word):
            needed = FOLLOWED_BY.get(word)
            if needed is None or not self.accepts("NAME") or _follows(tokens, index, needed):
                return word
        if word in UNITS and "UNIT" in row and self.accepts("UNIT"):
            return "UNIT"
        return "NAME"

    def accepts(self, kind: str) -> bool:
        """True where a token of this kind could come next.

        An LALR table may reduce for a token that is then refused, so reductions are played through
        on the states alone.
        """
        rows, rules, states = self._tables.rows, self._tables.rules, self._states
        top = len(states) - 1
        over: list[int] = []
        while True:
            state = over[-1] if over else states[top]
            step = rows[state].get(kind)
            if step is None or step >= 0:
                return step is not None
            rule = rules[~step]
            kept = min(rule.size, len(over))
            if kept:
                del over[-kept:]
            top -= rule.size - kept
            over.append(rows[over[-1] if over else states[top]][rule.origin])
            if kind == END and over[-1] == self._goal:
                return True

    def acceptable(self) -> frozenset[str]:
        """All kinds of token that could come next."""
        row = self._tables.rows[self._states[-1]]
        return frozenset(k for k in row if k in self._tables.terminals and self.accepts(k))

    def _reduce_for(self, kind: str) -> bool:
        """Does all reductions that ``kind`` calls for; False where it does not fit."""
        rows, rules = self._tables.rows, self._tables.rules
        states, climbs = self._states, self._climbs
        step = rows[states[-1]].get(kind)
        while step is not None and step < 0:
            rule = rules[~step]
            if rule.is_unit:
                way = (states[-2], states[-1], kind)
                states[-1] = climbs[way] if way in climbs else self._climb(way)
            else:
                self._reduce(rule, self._actions[~step])
                states.append(rows[states[-1]][rule.origin])
            if kind == END and states[-1] == self._goal:
                return True
            step = rows[states[-1]].get(kind)
        return step is not None

    def _climb(self, way: tuple[int, int, str]) -> int:
        """The state after all reductions of one symbol to one symbol that a token calls for.

        An operand climbs the levels of the expression grammar this way; the way (state below,
        state, kind of token) is remembered.
        """
        below, state, kind = way
        rows, rules = self._tables.rows, self._tables.rules
        step: int | None = rows[state][kind]
        while step is not None and step < 0 and rules[~step].is_unit:
            state = rows[below][rules[~step].origin]
            step = rows[state].get(kind)
        self._climbs[way] = state
        return state

    def _reduce(self, rule: Rule, action: Action | None) -> None:
        """Replaces the last symbols by the one that the rule makes of them."""
        entries, size = self._entries, rule.size
        parts = entries[-size:] if size else []
        if size:
            del entries[-size:], self._states[-size:]
            start, end = parts[0][1], parts[-1][2]
            depth = max([part[3] for part in parts])
        else:
            start = end = entries[-1][2] if entries else 0
            depth = 0
        plain = rule.is_plain
        children = [parts[pick][0] for pick in rule.picks] if plain else _children(rule, parts)
        if action is None:
            value = children[0] if rule.action is None else children
        elif action is tuple_of:
            value = tuple(children)
        else:
            span = Span(self._build.file, start, end)
            value = action(self._build, span, *children)
            if isinstance(value, Node):
                depth += value.span is span
                if depth > MAX_DEPTH:
                    raise Abort(_too_deep(span, MAX_DEPTH))
            elif isinstance(value, Type):
                depth += 1
                if depth > MAX_TYPE_DEPTH:
                    raise Abort(_too_deep(span, MAX_TYPE_DEPTH))
        entries.append((value, start, end, depth))


def _children(rule: Rule, parts: list[Entry]) -> list[Any]:
    """The values of the parts that matter, with None for absent ones and lists spliced in."""
    children: list[Any] = []
    for pick in rule.picks:
        if pick == ABSENT:
            children.append(None)
        elif pick >= 0:
            children.append(parts[pick][0])
        elif children:
            children.extend(parts[~pick][0])
        else:
            # The list of a left-recursive rule grows in place: it has no other owner.
            children = parts[~pick][0]
    return children


def _follows(tokens: Sequence[Token], index: int, needed: frozenset[str]) -> bool:
    """True where the next token is one of ``needed``: a kind, or a word in capitals."""
    if index + 1 >= len(tokens):
        return False
    following = tokens[index + 1]
    if following.kind != "WORD":
        return following.kind in needed
    word = following.text.upper()
    return word in needed or ("NAME" in needed and word not in RESERVED)


def _too_deep(span: Span, limit: int) -> Diagnostic:
    return Diagnostic(
        "SQ0108",
        f"nested too deeply: more than {limit:,} levels",
        Span(span.file, span.start, span.start + 1),
        help="split it, for instance with views",
    )
