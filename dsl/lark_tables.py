"""Lark at work: ``grammar.lark`` in, plain LALR tables out.

``python -m streamq.dsl.lark_tables`` writes ``stored_tables.py``. Nothing here is needed to parse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import Rule, Symbol, Terminal
from lark.lexer import Lexer, PatternStr, TerminalDef

from streamq.dsl.tables import ABSENT

STORED = Path(__file__).with_name("stored_tables.py")
GRAMMAR = Path(__file__).with_name("grammar.lark")
STARTS = ("statement", "expr", "type")


class _NoLexer(Lexer):
    """Stands in for a lexer: ours hands its tokens to the tables itself."""

    def __init__(self, _conf: object) -> None:
        pass

    def lex(self, _state: object, _parser_state: object) -> Iterator[Any]:
        return iter(())


def make_tables() -> dict[str, Any]:
    """The tables of ``grammar.lark`` as plain data, numbered so that they are equal in each run.

    Raises lark's GrammarError where the grammar is not LALR(1).
    """
    lark = Lark(
        GRAMMAR.read_text(encoding="utf-8"),
        parser="lalr",
        lexer=_NoLexer,
        start=list(STARTS),
        maybe_placeholders=True,
        strict=True,
    )
    data, memo = lark.memo_serialize([TerminalDef, Rule])
    table = data["parser"]["parser"]
    names = {t.name: t.pattern.value for t in lark.terminals if isinstance(t.pattern, PatternStr)}
    rules: list[Rule] = [Rule.deserialize(memo[k], memo) for k in memo if "origin" in memo[k]]
    rule_keys = [k for k in memo if "origin" in memo[k]]
    return _numbered(table, names, dict(zip(rule_keys, rules, strict=True)))


def _numbered(
    table: dict[str, Any], names: dict[str, str], rules: dict[int, Rule]
) -> dict[str, object]:
    """Renumbers states breadth first by symbol, rules by text: Lark's numbers vary by run."""
    tokens: dict[int, str] = table["tokens"]
    order = sorted(rules, key=lambda k: (str(rules[k]), rules[k].alias or ""))
    rule_number = {key: number for number, key in enumerate(order)}
    queue = [table["start_states"][start] for start in STARTS]
    state_number = {state: number for number, state in enumerate(queue)}
    rows: list[dict[str, int]] = []
    for state in queue:
        row: dict[str, int] = {}
        actions = table["states"][state]
        for token in sorted(actions, key=lambda t: tokens[t]):
            reduce, target = actions[token]
            if not reduce and target not in state_number:
                state_number[target] = len(queue)
                queue.append(target)
            name = names.get(tokens[token], tokens[token])
            row[name] = ~rule_number[target["@"]] if reduce else state_number[target]
        rows.append(row)
    origins = {str(rule.origin.name) for rule in rules.values()}
    return {
        "start_states": {s: state_number[table["start_states"][s]] for s in STARTS},
        "end_states": {s: state_number[table["end_states"][s]] for s in STARTS},
        "terminals": sorted({name for row in rows for name in row} - origins),
        "rules": [_rule(rules[key]) for key in order],
        "rows": rows,
    }


def _rule(rule: Rule) -> list[object]:
    """Origin, size, action and picks of one rule (see ``tables.Rule``)."""
    absent = [len(ones) for ones in _ones(rule.options.empty_indices, len(rule.expansion))]
    picks: list[int] = []
    for number, symbol in enumerate(rule.expansion):
        picks.extend([ABSENT] * absent[number])
        if rule.options.keep_all_tokens or not _dropped(symbol):
            picks.append(~number if _is_spliced(symbol) else number)
    picks.extend([ABSENT] * absent[-1])
    origin = str(rule.origin.name)
    action: str | None = str(rule.alias or origin)
    if origin.startswith("_"):
        action = ""
    elif rule.options.expand1 and not rule.alias and len(picks) == 1 and picks[0] >= 0:
        action = None
    return [origin, len(rule.expansion), action, picks]


def _ones(empty: Sequence[bool], size: int) -> list[str]:
    text = "".join(str(int(flag)) for flag in empty) if empty else "0" * size
    return text.split("0")


def _dropped(symbol: Symbol) -> bool:
    return isinstance(symbol, Terminal) and symbol.filter_out


def _is_spliced(symbol: Symbol) -> bool:
    return not symbol.is_term and symbol.name.startswith("_")


def tables_text(tables: dict[str, Any]) -> str:
    """The text of ``stored_tables.py``: one rule and one state a line, so that changes can be read."""
    parts = []
    for key, value in tables.items():
        if key in ("rules", "rows"):
            text = "[\n" + ",\n".join(map(repr, value)) + ",\n]"
        else:
            text = repr(value)
        parts.append(f"{key!r}: {text},\n")
    return f"{_HEAD}{{\n{''.join(parts)}}}\n"


_HEAD = '''"""The parse tables as plain data, written by ``python -m streamq.dsl.lark_tables`` from ``grammar.lark``."""

from __future__ import annotations

from typing import Any

TABLES: dict[str, Any] = '''


if __name__ == "__main__":
    STORED.write_text(tables_text(make_tables()), encoding="utf-8")
