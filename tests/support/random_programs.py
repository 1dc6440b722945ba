"""Hypothesis strategies for texts of programs: well-formed ones over a fixed prelude, and damaged ones.

The prelude is that of ``tests.support.compiling``. Most well-formed programs compile; those that do not
must say why.
"""

from __future__ import annotations

import re

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from streamq.dsl.diagnostics import DiagnosticSink
from streamq.dsl.lexer import tokenize
from streamq.dsl.source import SourceFile

COLUMNS = {
    "int": ["i", "l", "tiny", "n"],
    "number": ["i", "l", "x", "d", "f", "e"],
    "text": ["t", "v", "tags[0]"],
    "bool": ["b"],
    "time": ["ts"],
}
CLOSING = ["[TUMBLE 1 MINUTE]", "[TUMBLE 1 MINUTE]", "[RANGE 10 SECONDS SLIDE 5 SECONDS]"]
SESSIONS = ["[SESSION 10 SECONDS PARTITION BY i]", "[SESSION 1 HOUR]"]
WINDOWS = [
    "", "", "", *CLOSING, *CLOSING, *SESSIONS, "[RANGE 1 MINUTE]", "[NOW]", "[UNBOUNDED]", "[ROWS 1]",
    "[PARTITION BY i ROWS 1]", "[ROWS 7 SLIDE 2]",
]  # fmt: skip


_CONSTANTS = {
    "int": ["1", "-3", "CAST(NULL AS INT)"],
    "number": ["1", "2.50", "1e3", "0"],
    "text": ["'a'", "''"],
    "bool": ["TRUE", "NULL"],
    "time": ["TIMESTAMP '2024-01-01 00:00:00'"],
}
_NUMERIC = [
    "(# + #)", "(# - #)", "(# * #)", "(# / #)", "(# % #)", "ABS(#)", "(- #)", "COALESCE(#, #)", "CAST(# AS BIGINT)",
    "CASE WHEN bool THEN # ELSE # END",
]  # fmt: skip
_FORMS = {
    "int": [form.replace("#", "int") for form in _NUMERIC],
    "number": [form.replace("#", "number") for form in _NUMERIC],
    "text": ["UPPER(text)", "(text || number)", "CAST(int AS STRING)", "own(number, text) || ''"],
    "bool": [
        "(number = number)", "(number < number)", "(int >= number)", "(text <> text)", "(bool AND bool)",
        "(bool OR bool)", "(NOT bool)", "(number BETWEEN number AND number)", "(text LIKE 'a%')",
        "(ARRAY(text, text) @> ARRAY(text))", "(OVERLAP(ARRAY(int), ARRAY(int, int)) > 0)",
        "(number IN (1, number))", "(text IS NULL)", "(time > '2024-01-01')",
    ],
    "time": ["(time + INTERVAL 5 SECONDS)", "DATE_TRUNC('hour', time)"],
}  # fmt: skip
"""Expressions by the kind of their type; the words in them stand for expressions of these kinds."""

_HOLES = re.compile(r"\b(int|number|text|bool|time)\b")


@st.composite
def values(draw: DrawFn, kind: str, depth: int = 2, prefix: str = "") -> str:
    """An expression of a kind of type over the columns of ``s``."""
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        if draw(st.integers(0, 3)) == 0:
            return draw(st.sampled_from(_CONSTANTS[kind]))
        return prefix + draw(st.sampled_from(COLUMNS[kind]))
    form = draw(st.sampled_from(_FORMS[kind]))
    return _HOLES.sub(lambda hole: draw(values(hole[0], depth - 1, prefix)), form)


@st.composite
def aggregates(draw: DrawFn, prefix: str = "") -> str:
    call = draw(st.sampled_from([
        "COUNT(*)", "COUNT(DISTINCT {})", "SUM({})", "AVG({})", "MIN({})", "MAX({})", "FIRST({})", "LAST({})",
        "STDDEV({})", "SUM(DISTINCT {})", "APPROX_COUNT_DISTINCT({})",
    ]))  # fmt: skip
    text = call.format(draw(values("number", 1, prefix)))
    if draw(st.booleans()):
        return text
    return f"{text} FILTER (WHERE {draw(values('bool', 1, prefix))})"


@st.composite
def sources(draw: DrawFn) -> tuple[str, str]:
    """A FROM clause, and the prefix that a column of ``s`` needs in it."""
    window = draw(st.sampled_from(WINDOWS))
    kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]))
    match draw(st.integers(0, 9)):
        case 0:
            other = window if draw(st.booleans()) else draw(st.sampled_from(WINDOWS))
            return f"s {window} {kind} r {other} ON s.i = r.i", "s."
        case 1:
            kind = draw(st.sampled_from(["JOIN", "LEFT JOIN", kind]))
            return f"s {window} {kind} item ON s.l = item.id", "s."
        case 2:
            return f"s {window} a {kind} s {window} c ON a.i = c.i AND a.x < c.x", "a."
        case 3:
            condition = draw(values("bool", 1))
            return f"(SELECT * FROM s {window} WHERE {condition}) z", draw(st.sampled_from(["", "z."]))
        case 4:
            return f"ISTREAM(SELECT * FROM s {window}) {draw(st.sampled_from(WINDOWS))} z", "z."
        case _:
            return f"s {window}", draw(st.sampled_from(["", "s."]))


@st.composite
def selects(draw: DrawFn) -> str:
    """One query, without policies."""
    source, prefix = draw(sources())
    grouped = draw(st.booleans())
    keys = draw(st.lists(values("int", 1, prefix), max_size=2)) if grouped else []
    if grouped:
        items = [*keys, *draw(st.lists(aggregates(prefix), min_size=1, max_size=3))]
    else:
        kinds = st.sampled_from(["int", "number", "text", "bool", "time"])
        items = draw(st.lists(kinds.flatmap(lambda k: values(k, 2, prefix)), min_size=1, max_size=3))
    closes = any(w in source for w in (*CLOSING, *SESSIONS)) and "ISTREAM" not in source
    if closes and draw(st.booleans()):
        items.append("WINDOW_END")
    shown = ", ".join(f"{item} AS c{n}" for n, item in enumerate(items))
    text = f"SELECT {'DISTINCT ' if draw(st.integers(0, 5)) == 0 else ''}{shown} FROM {source}"
    if "SESSION" not in source and draw(st.booleans()):
        text += f" WHERE {draw(values('bool', 2, prefix))}"
    if keys:
        text += f" GROUP BY {', '.join(keys)}"
    if grouped and draw(st.integers(0, 2)) == 0:
        text += f" HAVING {draw(aggregates(prefix))} > 1"
    if closes and draw(st.integers(0, 3)) == 0:
        text += f" ORDER BY c0 {draw(st.sampled_from(['', 'DESC']))} LIMIT 3"
    return text


@st.composite
def programs(draw: DrawFn) -> str:
    """A few views and queries, to stand after the prelude."""
    statements: list[str] = []
    first = draw(selects())
    match draw(st.integers(0, 6)):
        case 0:
            statements.append(f"CREATE VIEW v AS {first}")
            window = draw(st.sampled_from(["", "", "", *WINDOWS]))
            statements.append(f"SELECT c0 FROM v {window} WHERE c0 IS NOT NULL")
        case 1:
            statements.append(f"WITH v AS ({first}) SELECT c0, COUNT(*) AS c FROM v GROUP BY c0")
        case 2:
            union = draw(st.sampled_from(["UNION ALL", "UNION"]))
            second = first if draw(st.booleans()) else draw(selects())
            statements.append(f"({first}) {union} ({second})")
        case 3:
            statements.append(f"{draw(st.sampled_from(['ISTREAM', 'RSTREAM', 'DSTREAM']))}({first})")
        case 4:
            key = draw(st.sampled_from(["", "BY KEY (i) "]))
            statements.append(f"{first} SHED RANDOM {key}BY 10 PERCENT")
        case _:
            statements += [f"CREATE QUERY q INTO out AS {first}", draw(selects())]
    return "".join(f"{s};\n" for s in statements)


@st.composite
def damaged(draw: DrawFn, texts: list[str]) -> str:
    """One of the texts with some tokens left out, doubled, exchanged or replaced."""
    text = draw(st.sampled_from(texts))
    lexed = tokenize(SourceFile("", text), DiagnosticSink())
    words = [text] if lexed is None else [t.text for t in lexed.tokens]
    for _ in range(draw(st.integers(1, 3))):
        if not words:
            break
        at = draw(st.integers(0, len(words) - 1))
        other = draw(st.integers(0, len(words) - 1))
        match draw(st.sampled_from(["drop", "double", "swap", "copy", "invent"])):
            case "drop":
                del words[at]
            case "double":
                words.insert(at, words[at])
            case "swap":
                words[at], words[other] = words[other], words[at]
            case "copy":
                words[at] = words[other]
            case _:
                words[at] = draw(st.sampled_from([
                    "NULL", "''", "'x'", "0", "-1", "1e308", "*", "(", ")", ";", "TRUE", "i", "s", "__x", "[NOW]",
                    "ISTREAM", "DISTINCT", "COUNT(*)", "INTERVAL 1 DAY", "DATE '2024-01-01'", "\"\"", "`a.b`",
                ]))  # fmt: skip
    return " ".join(words)
