"""What is said about a token that does not fit: "unexpected ..., expected ...", in users' words."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamq.dsl.build import shorten
from streamq.dsl.diagnostics import Diagnostic, Label
from streamq.dsl.lexer import Token
from streamq.dsl.machine import Machine
from streamq.dsl.records import replace
from streamq.dsl.source import Span
from streamq.dsl.tables import END, TOKEN_KINDS
from streamq.dsl.words import RESERVED, UNITS, UNITS_MEANT

# Sets of tokens that stand for one thing: (tell-tale tokens, all tokens it covers, its words).
# The first that fits takes its tokens away, so the larger ones come first.
_EXPR_START = frozenset(
    "NAME NUMBER STRING DURATION ( - + NOT CASE CAST EXISTS TRUE FALSE NULL DATE TIMESTAMP"
    " INTERVAL".split()
)
_QUERY_START = frozenset("SELECT WITH TABLE ( ISTREAM DSTREAM RSTREAM".split())
_THINGS: tuple[tuple[frozenset[str], frozenset[str], str], ...] = (
    (
        frozenset({"SELECT", "CREATE"}),
        _QUERY_START | {"CREATE", "REGISTER", "INSERT", "SET", "INCLUDE", "NAME"},
        "a statement such as CREATE STREAM, CREATE QUERY or SELECT",
    ),
    (
        frozenset({"NUMBER", "CASE"}),
        _EXPR_START | _QUERY_START | frozenset("* DISTINCT APPROX ALL ANY SOME".split()),
        "an expression",
    ),
    (
        frozenset({"SELECT", "NAME"}),
        _QUERY_START | {"NAME", "ALL"},
        "a query or the name of a stream",
    ),
    (frozenset({"SELECT", "ISTREAM"}), _QUERY_START, "a query"),
    (
        frozenset({"NAME", "(", "ISTREAM"}),
        _QUERY_START | {"NAME"},
        "a stream, table, view or subquery",
    ),
    (
        frozenset({"RANGE", "NOW"}),
        frozenset("RANGE ROWS NOW UNBOUNDED TUMBLE PARTITION SESSION".split()),
        "a window such as RANGE 10 SECONDS, ROWS 100 or NOW",
    ),
    (
        frozenset({"SIFTER", "FAIR"}),
        frozenset("NONE AUTO RANDOM OLDER BY SIFTER FAIR WINDOWS JOIN ATTRIBUTES".split()),
        "a way to shed: NONE, AUTO, RANDOM, OLDER THAN, BY UTILITY, SIFTER, FAIR, WINDOWS, JOIN or"
        " ATTRIBUTES",
    ),
    (frozenset({"NAME", "ARRAY"}), frozenset("NAME ARRAY MAP STRUCT".split()), "a type"),
    (
        frozenset({"+", "="}),
        frozenset(
            "+ - * / % || = <> < <= > >= @> <@ AND OR NOT IS IN LIKE RLIKE BETWEEN [ . (".split()
        ),
        "an operator",
    ),
    (
        frozenset({"NUMBER", "DURATION"}),
        frozenset("- NUMBER DURATION STRING INTERVAL UNBOUNDED".split()),
        "a length of time such as 10 SECONDS",
    ),
    (
        frozenset({"STRING", "TRUE", "NUMBER"}),
        frozenset("STRING TRUE FALSE NUMBER -".split()),
        "a value: 'text', a number, TRUE or FALSE",
    ),
    (frozenset({"NUMBER"}), frozenset({"-", "NUMBER"}), "a number"),
    (
        frozenset({"JOIN", "CROSS"}),
        frozenset("JOIN INNER LEFT RIGHT FULL CROSS".split()),
        "JOIN",
    ),
    (frozenset({"NAME", "AS"}), frozenset({"NAME", "AS"}), ""),
    (
        frozenset({"WITHIN", "MEMORY"}),
        frozenset("WITHIN CONFIDENCE MEMORY SAMPLE METHOD".split()),
        "",
    ),
    (frozenset({"STRING"}), frozenset({"STRING"}), "a text in single quotes"),
    (frozenset({"NAME"}), frozenset({"NAME", "RESERVED"}), "a name"),
    (frozenset({"UNIT"}), frozenset({"UNIT"}), "a unit of time such as SECONDS"),
)
_LONGER = {"GROUP": "GROUP BY", "ORDER": "ORDER BY", "PARTITION": "PARTITION BY"}
_CLAUSES = (
    "FROM WHERE GROUP HAVING JOIN UNION EXCEPT INTERSECT ORDER LIMIT QOS SHED RECOVER WITH".split()
)
_POLICIES = frozenset({"QOS", "SHED", "RECOVER"})
_AFTER_NAMES = frozenset("FROM AS AND OR IS IN LIKE BETWEEN ASC DESC".split())
_ALIKE = 0.7
_MAX_SHOWN = 8
_ORDER = "SELECT, FROM, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT, then QOS, SHED, RECOVER"

_NO_OVER = (
    "aggregate with GROUP BY over a window behind the stream, keep the last rows of each key with `[PARTITION BY k ROWS n]`,"
    " or join the rows with a query that aggregates"
)

MISSING_SEMICOLON = "end the statement before it with `;`"
"""The help of an error at which the next statement begins."""


def syntax_error(
    before: Callable[[int], Machine], tokens: Sequence[Token], index: int, file: str
) -> Diagnostic:
    """The diagnostic for token number ``index``; ``before(i)`` is the machine before token i.

    A misspelt keyword is often taken for a name and only a later word does not fit. So the word
    before it and the first word are looked at as well, and the error is put where the slip is.
    """
    acceptable = before(index).acceptable()
    if index < len(tokens):
        token = tokens[index]
        over = next((i for i in (index, index - 1) if _is_over(tokens, i)), None)
        if over is not None:
            span = Span(file, tokens[over].start, tokens[over].end)
            return Diagnostic("SQ0101", "there are no window functions with OVER", span, help=_NO_OVER)
        closest = _closest(token, acceptable)
        if "UNIT" in acceptable and _is_plain(token) and (not closest or closest in UNITS):
            return _unknown_unit(token, closest, file)
        help = f"did you mean `{closest}`?" if closest else _help(tokens, index, acceptable)
        if help:
            return _diagnostic(tokens, index, acceptable, help, file)
    if _leaves_open(tokens, index, acceptable):
        wrong = _diagnostic(tokens, index, acceptable, "is a `)` missing?", file)
        end = tokens[index - 1].end
        place = (Label(Span(file, end, end), "perhaps here"),) if index < len(tokens) else ()
        return replace(wrong, labels=place)
    for earlier in dict.fromkeys((index - 1, 0)):
        if 0 <= earlier < index and _is_plain(tokens[earlier]):
            meant = before(earlier).acceptable()
            closest = _closest(tokens[earlier], meant)
            if closest:
                return _diagnostic(tokens, earlier, meant, f"did you mean `{closest}`?", file)
    if 0 < index < len(tokens) and tokens[index - 1].kind == "STRING" and "\n" in tokens[index - 1].text:
        longer = tokens[index - 1]
        wrong = _diagnostic(tokens, index, acceptable, "is the `'` of the text before it missing?", file)
        return replace(wrong, labels=(Label(Span(file, longer.start, longer.start + 1), "this text goes over a line end"),))
    if index == 1 and END in acceptable and _is_plain(tokens[0]):
        # The name of a view is a query, but two words in a row are no statement at all.
        return _diagnostic(tokens, 0, before(0).acceptable(), "", file)
    return _diagnostic(tokens, index, acceptable, _missing_comma(tokens, index, acceptable), file)


def _missing_comma(tokens: Sequence[Token], index: int, acceptable: frozenset[str]) -> str:
    """For a name in a list, at which the next part of the list begins."""
    begins = index < len(tokens) and (tokens[index].kind == "NAME" or _is_plain(tokens[index]))
    return "is a `,` missing before it?" if begins and "," in acceptable else ""


def _is_over(tokens: Sequence[Token], index: int) -> bool:
    """Whether OVER stands there, behind a call."""
    return index > 0 and tokens[index].text.upper() == "OVER" and tokens[index - 1].kind == ")"


def _leaves_open(tokens: Sequence[Token], index: int, acceptable: frozenset[str]) -> bool:
    """Whether a clause or the end comes there, and ``)`` could, for a parenthesis that is open."""
    if ")" not in acceptable or not (index == len(tokens) or tokens[index].text.upper() in RESERVED):
        return False
    kinds = [token.kind for token in tokens[:index]]
    return kinds.count("(") > kinds.count(")")


def _diagnostic(
    tokens: Sequence[Token], index: int, acceptable: frozenset[str], help: str, file: str
) -> Diagnostic:
    expected = expected_words(acceptable)
    if index == len(tokens):
        end = tokens[-1].end if tokens else 0
        message = f"unexpected end of the statement, expected {expected}"
        return Diagnostic("SQ0102", message, Span(file, end, end), help=help)
    token = tokens[index]
    message = f"unexpected `{shorten(token.text)}`, expected {expected}"
    return Diagnostic("SQ0101", message, Span(file, token.start, token.end), help=help)


def expected_words(acceptable: frozenset[str]) -> str:
    """``FROM, WHERE or the end of the statement``, for a set of kinds of token."""
    left = set(acceptable)
    words: list[str] = []
    for tell_tale, covered, thing in _THINGS:
        if tell_tale <= left and (thing or len(left) > len(covered)):
            left -= covered
            if thing:
                words.append(thing)
    keywords = sorted(left - {END}, key=_clause_order)
    words.extend(_LONGER.get(k, k) if k[0].isalpha() else f"`{k}`" for k in keywords)
    if len(words) > _MAX_SHOWN:
        words = [*words[: _MAX_SHOWN - 1], "another clause"]
    if END in left and len(words) < _MAX_SHOWN:
        words.append("the end of the statement")
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _clause_order(keyword: str) -> tuple[int, int, str]:
    place = _CLAUSES.index(keyword) if keyword in _CLAUSES else len(_CLAUSES)
    return int(not keyword[0].isalpha()), place, keyword


def _help(tokens: Sequence[Token], index: int, acceptable: frozenset[str]) -> str:
    """A way out for a token that does not fit, or an empty string."""
    token = tokens[index]
    word = token.text.upper()
    wants_text = "STRING" in acceptable and "NAME" not in acceptable
    if token.kind == "NAME" and wants_text:
        return f"text needs single quotes: '{token.text[1:-1]}'"
    if token.kind == "[" and "JOIN" in acceptable:
        return "a window comes right after the stream, before its alias"
    if token.kind == ")" and index and tokens[index - 1].kind == ",":
        return "take away the comma before it"
    if token.kind == "NUMBER" and "BY" in acceptable:
        return f"is BY missing? `BY {token.text}`"
    if token.kind == "(" and index and tokens[index - 1].text.upper() == "TABLE":
        return "there are no table functions: a window stands behind its stream, `FROM bid [TUMBLE 1 MINUTE]`"
    if token.kind == "(" and index and tokens[index - 1].text.upper() in _POLICIES:
        return f"{tokens[index - 1].text.upper()} has no parentheses: its parts follow each other"
    if token.kind != "WORD":
        return ""
    if END in acceptable and word in ("CREATE", "INSERT"):
        return MISSING_SEMICOLON
    if word in RESERVED and "NAME" in acceptable and _meant_as_name(tokens, index, acceptable):
        return f'`{token.text}` is a reserved word: as a name it needs quotes, "{token.text}"'
    if word in _CLAUSES and index and tokens[index - 1].kind == ",":
        return "take away the comma before it"
    if word in _POLICIES and not acceptable & _POLICIES:
        return "QOS, SHED and RECOVER belong to CREATE QUERY, INSERT INTO or a query on its own"
    if word in _CLAUSES and END in acceptable:
        return "clauses come once, in this order: " + _ORDER
    return f"text needs single quotes: '{token.text}'" if wants_text else ""


def _meant_as_name(tokens: Sequence[Token], index: int, acceptable: frozenset[str]) -> bool:
    """True where only a name can stand, or what follows the word usually follows a name."""
    if not acceptable & {"NUMBER", "SELECT"}:
        return "AS" not in acceptable
    following = tokens[index + 1] if index + 1 < len(tokens) else None
    if following is None or following.kind in ("STRING", "NUMBER", "NAME", "DURATION", "("):
        return False
    return following.kind != "WORD" or following.text.upper() in _AFTER_NAMES


def _closest(token: Token, acceptable: frozenset[str]) -> str | None:
    """The keyword or unit that could stand here and is nearly what was written."""
    word = token.text.upper()
    known = {k for k in acceptable if k.isalpha() and k not in TOKEN_KINDS}
    if "UNIT" in acceptable:
        known |= {unit for unit in UNITS if len(unit) > 2}
    if "UNIT" in acceptable and word in UNITS_MEANT:
        return UNITS_MEANT[word]
    if token.kind != "WORD" or len(word) < 3 or word in known:
        return None
    best = max(known, key=lambda k: (_likeness(word, k), k), default="")
    return best if best and _likeness(word, best) >= _ALIKE else None


def _likeness(a: str, b: str) -> float:
    from difflib import SequenceMatcher  # slow to import, and only for programs with errors

    return SequenceMatcher(None, a, b).ratio()


def _is_plain(token: Token) -> bool:
    return token.kind == "WORD" and token.text.upper() not in RESERVED


def _unknown_unit(token: Token, closest: str | None, file: str) -> Diagnostic:
    return Diagnostic(
        "SQ0105",
        f"unknown unit of time `{shorten(token.text)}`",
        Span(file, token.start, token.end),
        help=f"did you mean `{closest}`?" if closest else "units go from MILLISECONDS to WEEKS",
    )
