"""Mutations of programs: of bytes, of tokens, of parts, and what people and attackers put into texts."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.fuzz.corpus import Corpus
from tests.fuzz.tokens import tokens_of

LONGEST = 400_000
"""Bytes of a mutated program."""

ODD = (
    "\ufeff", "\0", "\r\n", "\r", "\x0b", "\x1b[31m", "\x85", "\xa0", "\u2028", "\u200d", "\u202e", "\u2066", "\u0301", "İ", "ß", "ſ", "ﬁ", "Ａ", "𝟙",
    "’", "“", "；", "＇", "ӓ", "😀", "\U000e0041", "\ufffd", "\x7f", "$1", "${x}", "\\", "\\'", "''", "'", '"', "`", "--", "/*", "*/", "#", ";", "%", "?",
)  # fmt: skip
NUMBERS = (
    "0", "-0", "00", "1e5", "1e400", "1e-400", "1e99999999", "9" * 19, "9" * 39, "9" * 400, "9" * 5000, "1" + "0" * 30_000, "0." + "0" * 5000 + "1",
    "2147483648", "-9223372036854775809", "0x10", "1_000", ".5", "5.", "1.2.3", "1e", "１２", "99999999999999999 DAYS", "1e18s",
)  # fmt: skip
_TYPES = re.compile(r"\b(?:TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL(?:\(\d+(?:, ?\d+)?\))?|STRING|BOOLEAN|BINARY|DATE|TIMESTAMP|(?:ARRAY|MAP)<[^<>]*>)(?![\w(])")


def mutate(random: Random, corpus: Corpus) -> bytes:
    """A program of the corpus after one to four mutations, sometimes more."""
    text = corpus.draw(random)
    # Half of the programs are to get past the parser.
    kinds, times = (MEANINGS, (1, 1, 2, 3)) if random.random() < 0.5 else (TEXT_MUTATIONS, (1, 1, 1, 2, 2, 3, 4, 8))
    for _ in range(random.choice(times)):
        text = random.choice(kinds)(text, random, corpus)[:LONGEST]
    data = text.encode("utf-8", "surrogatepass")
    if random.random() < 0.12:
        data = random.choice(BYTE_MUTATIONS)(data, random)
    return data[:LONGEST]


def _edit(text: str, random: Random, change: Callable[[list[str], int], None]) -> str:
    """One token, chosen among those that are no space, is changed in place."""
    tokens = tokens_of(text)
    places = [i for i, token in enumerate(tokens) if not token.isspace()]
    if not places:
        return text
    change(tokens, random.choice(places))
    return "".join(tokens)


def _delete_token(text: str, random: Random, corpus: Corpus) -> str:
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, ""))


def _repeat_token(text: str, random: Random, corpus: Corpus) -> str:
    times = random.choice((2, 2, 2, 3, 50))
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, f"{tokens[i]} " * times))


def _other_word(text: str, random: Random, corpus: Corpus) -> str:
    word = random.choice(corpus.parts["word"])
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, word))


def _more_word(text: str, random: Random, corpus: Corpus) -> str:
    word = random.choice(corpus.parts["word"])
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, f"{tokens[i]} {word} "))


def _swap_tokens(text: str, random: Random, corpus: Corpus) -> str:
    tokens = tokens_of(text)
    i, j = (random.randrange(len(tokens)) for _ in range(2)) if tokens else (0, 0)
    if tokens:
        tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _other_name(text: str, random: Random, corpus: Corpus) -> str:
    """A name stands where another of the same program stood."""
    names = [t for t in tokens_of(text) if t[:1].isalpha() or t[:1] in '"`_'] or ["x"]
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, random.choice(names)))


def _other_case(text: str, random: Random, corpus: Corpus) -> str:
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, tokens[i].swapcase()))


def _other_literal(text: str, random: Random, corpus: Corpus) -> str:
    made = random.choice((
        random.choice(NUMBERS), random.choice(corpus.parts["literal"]), f"'{random.choice(ODD)}'", "NULL", "''", "TRUE", "INTERVAL 5 SECONDS",
        "TIMESTAMP '9999-99-99'", "DATE '0000-01-01'", f"'{'x' * 3000}'", "ARRAY()", "X'zz'", f"'env:{random.choice(ODD)}'",
    ))  # fmt: skip
    tokens = tokens_of(text)
    places = [i for i, token in enumerate(tokens) if re.match(r"['\d]", token)]
    if not places:
        return text
    tokens[random.choice(places)] = made
    return "".join(tokens)


def _odd_characters(text: str, random: Random, corpus: Corpus) -> str:
    at = random.randint(0, len(text))
    return text[:at] + "".join(random.choice(ODD) for _ in range(random.choice((1, 1, 2, 6)))) + text[at:]


def _line_ends(text: str, random: Random, corpus: Corpus) -> str:
    return text.replace("\n", random.choice(("\r\n", "\r", "\u2028", "\n\n", " ", "\x85", "\t\n")))


def _long_name(text: str, random: Random, corpus: Corpus) -> str:
    length = random.choice((64, 255, 1000, 20_000))
    name = random.choice(("a" * length, f'"{"é" * length}"', f'"{" " * length}"', f"`{random.choice(ODD) * 20}`", "_" * length, '""', "``"))
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, name))


def _nest(text: str, random: Random, corpus: Corpus) -> str:
    """One token deep inside what nests."""
    depth = random.choice((3, 20, 60, 200, 1000, 5000))
    before, after = random.choice((
        ("(", ")"), ("NOT ", ""), ("- ", ""), ("CASE WHEN TRUE THEN ", " END"), ("ABS(", ")"), ("ARRAY<", ">"), ("STRUCT<a ", ">"), ("ARRAY(", ")"),
        ("(SELECT * FROM ", ")"), ("1 + ", ""), ("TRUE AND ", ""), ("", " OR TRUE"), ("", " || 'a'"), ("", "[0]"), ("", ".a"), ("CAST(", " AS STRING)"),
        ("x IN (", ")"), ("EXISTS (SELECT * FROM s WHERE ", ")"), ("(", ""), ("", ")"), ("[", "]"), ("/*", "*/"), ("", " UNION ALL SELECT i FROM s"),
        ("", " JOIN r ON TRUE"), ("", ", 1"), ("ISTREAM (", ")"), ("", ";"),
    ))  # fmt: skip
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, before * depth + tokens[i] + after * depth))


def _other_part(text: str, random: Random, corpus: Corpus) -> str:
    """A group, a window or a clause of another program in place of one of this program."""
    pattern, kind = random.choice(((r"\([^()]*\)", "group"), (r"\[[^\[\]]*\]", "window")))
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    here = random.choice(found)
    return text[: here.start()] + random.choice(corpus.parts[kind]) + text[here.end() :]


def _places_changed(text: str, random: Random, corpus: Corpus) -> str:
    """Names, or literals, change places within the program, or one comes to stand where another stood."""
    tokens = tokens_of(text)
    literals = random.random() < 0.3
    # Keywords are in capitals in these programs.
    places = [i for i, t in enumerate(tokens) if (t[:1] == "'" or t[:1].isdigit() if literals else t[:1].isalpha() and not t.isupper())]
    if len(places) > 1:
        i, j = random.sample(places, 2)
        tokens[i], tokens[j] = tokens[j], tokens[i] if random.random() < 0.5 else tokens[j]
    return "".join(tokens)


def _other_type(text: str, random: Random, corpus: Corpus) -> str:
    found = list(_TYPES.finditer(text))
    if not found:
        return text
    here = random.choice(found)
    return text[: here.start()] + random.choice(found)[0] + text[here.end() :]


def _more_clause(text: str, random: Random, corpus: Corpus) -> str:
    """A clause of another program at the end of a statement, or before one of its clauses."""
    clause = random.choice(corpus.parts["clause"])
    found = list(re.finditer(r";|\b(?:FROM|WHERE|GROUP|QOS|SHED|RECOVER|WITH|HAVING)\b", text))
    at = random.choice(found).start() if found else len(text)
    return f"{text[:at]} {clause} {text[at:]}"


def _more_statement(text: str, random: Random, corpus: Corpus) -> str:
    statements = text.split(";")
    statements.insert(random.randint(0, len(statements)), f"\n{random.choice(corpus.parts['statement'])}\n")
    return ";".join(statements)


def _statement_lost(text: str, random: Random, corpus: Corpus) -> str:
    statements = text.split(";")
    del statements[random.randrange(len(statements))]
    return ";".join(statements)


def _splice(text: str, random: Random, corpus: Corpus) -> str:
    """The beginning of one program and the end of another."""
    other = corpus.draw(random)
    return text[: random.randint(0, len(text))] + other[random.randint(0, len(other)) :]


def _range_lost(text: str, random: Random, corpus: Corpus) -> str:
    first = random.randint(0, len(text))
    return text[:first] + text[first + random.choice((1, 2, 10, 100)) :]


def _range_again(text: str, random: Random, corpus: Corpus) -> str:
    first = random.randint(0, len(text))
    part = text[first : first + random.choice((1, 5, 40, 400))]
    return text[:first] + part * random.choice((2, 2, 3, 20)) + text[first:]


def _comment(text: str, random: Random, corpus: Corpus) -> str:
    made = random.choice(("-- why\n", "/* why */", "# why\n", "/* a\n b */", "--\n", "/**/", "/*", "-- a -- b /* c\n"))
    return _edit(text, random, lambda tokens, i: tokens.__setitem__(i, f"{made}{tokens[i]}"))


def _flip(data: bytes, random: Random) -> bytes:
    changed = bytearray(data or b" ")
    for _ in range(random.choice((1, 1, 3, 20))):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


def _noise(data: bytes, random: Random) -> bytes:
    at = random.randint(0, len(data))
    return data[:at] + random.randbytes(random.choice((1, 4, 64, 1000))) + data[at:]


def _cut(data: bytes, random: Random) -> bytes:
    return data[: random.randint(0, len(data))]


def _wide(data: bytes, random: Random) -> bytes:
    """The program in another encoding."""
    return data.decode("utf-8", "replace").encode(random.choice(("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7")), "replace")


TEXT_MUTATIONS = (
    _delete_token, _repeat_token, _other_word, _other_word, _more_word, _swap_tokens, _other_name, _other_name, _other_case, _other_literal, _other_literal,
    _odd_characters, _line_ends, _long_name, _nest, _other_part, _other_part, _more_clause, _more_clause, _more_statement, _statement_lost, _splice,
    _range_lost, _range_again, _comment,
)  # fmt: skip
MEANINGS = (_places_changed, _places_changed, _places_changed, _places_changed, _other_literal, _other_part, _other_type, _more_statement, _statement_lost)
BYTE_MUTATIONS = (_flip, _noise, _cut, _wide)
