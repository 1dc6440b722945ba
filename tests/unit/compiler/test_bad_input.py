"""Texts that are no programs, or too much of one: a few clear diagnostics, in time, never an exception."""

from __future__ import annotations

import random
from time import process_time

import pytest

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.explain import render
from tests.support.compiling import PRELUDE, codes, compile_text

STREAM = "CREATE STREAM s (a INT, b BOOLEAN, t STRING, ts TIMESTAMP, WATERMARK FOR ts) WITH (connector = 'memory');\n"


def only(result: CompileResult) -> tuple[str, int, int]:
    """Code, line and column of the one diagnostic."""
    (diagnostic,) = result.diagnostics
    _, line, column = result.sources.locate(diagnostic.span)
    return diagnostic.code, line, column


@pytest.mark.parametrize("text", ["", " \n\t", ";;;", "-- nothing", "/* nothing */", "\ufeff", "\r\n"])
def test_nothing(text: str) -> None:
    assert only(compile_program(text))[:2] == ("SQ0004", 1)


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    text = STREAM + "SELECT a\nFROM s\nWHERE nothing = 1;\n"
    expected = only(compile_program(text))
    assert expected == ("SQ0202", 4, 7)
    assert only(compile_program(text.replace("\n", "\r\n"))) == expected
    marked = only(compile_program("\ufeff" + text))
    assert marked == expected


def test_a_byte_order_mark_before_an_error_in_the_first_line() -> None:
    assert only(compile_program("SELECT 1;"))[0] == "SQ0408"
    assert only(compile_program("\ufeffSELECT 1;"))[0] == "SQ0408"


@pytest.mark.parametrize("text", ["\0", "SELECT a\0 FROM s;", "\x01\x02\x03" * 40, "PK\x03\x04" + "\x00" * 500])
def test_binary_data(text: str) -> None:
    assert only(compile_program(text))[0] == "SQ0005"


@pytest.mark.parametrize(
    "alphabet", ["printable", "words", "signs", "letters of the world", "parentheses", "quotes"]
)
def test_a_megabyte_of_junk(alphabet: str) -> None:
    chars = {
        "printable": [chr(c) for c in range(32, 127)],
        "words": list("abc de f;\n"),
        "signs": list("()[]+-*/.,;<>="),
        "letters of the world": [chr(c) for c in range(160, 3_000)],
        "parentheses": ["("],
        "quotes": list("'\"` "),
    }[alphabet]
    text = "".join(random.Random(7).choices(chars, k=1_000_000))
    started = process_time()
    result = compile_program(text)
    assert not result.ok
    assert 1 <= len(result.diagnostics) <= 120
    assert all(d.code < "SQ02" for d in result.diagnostics)
    assert process_time() - started < 20


def queries(count: int) -> str:
    forms = (
        "CREATE QUERY q{0} INTO out AS SELECT i, COUNT(*) AS n FROM s [TUMBLE 1 MINUTE] GROUP BY i HAVING COUNT(*) > {0};",
        "INSERT INTO out SELECT i + {0} AS a, name FROM s JOIN item ON l = id WHERE x > {0};",
        "SELECT ISTREAM(s.x) FROM s [RANGE 1 MINUTE] JOIN r [RANGE 1 MINUTE] ON s.i = r.i WHERE s.x > {0};",
        "CREATE VIEW v{0} AS SELECT i, x FROM s WHERE x > {0}; SELECT i FROM v{0};",
    )  # fmt: skip
    return "\n".join(forms[n % len(forms)].format(n) for n in range(count))


def test_two_thousand_queries() -> None:
    started = process_time()
    result = compile_program(PRELUDE + "SELECT k, own(w, 'a') AS z FROM plain;\n" + queries(2_000))
    assert result.diagnostics == ()
    assert result.plan is not None
    assert len(result.plan.queries) == 2_001
    assert len({q.name for q in result.plan.queries}) == 2_001
    assert process_time() - started < 30


def test_two_thousand_queries_with_an_error_each() -> None:
    started = process_time()
    text = "\n".join(f"SELECT colunm{n} FROM s;" for n in range(2_000))
    result = compile_text(text)
    assert [d.code for d in result.diagnostics] == ["SQ0202"] * 2_000
    assert process_time() - started < 30


def test_two_thousand_views_on_a_broken_one() -> None:
    views = "\n".join(f"CREATE VIEW v{n} AS SELECT * FROM v0;" for n in range(1, 2_000))
    assert codes(f"{views}\nCREATE VIEW v0 AS SELECT * FROM nothing;\nSELECT * FROM v7;") == ["SQ0201"]


# --- depth ---------------------------------------------------------------------------------------


def nested(before: str, middle: str, after: str, depth: int) -> str:
    return before * depth + middle + after * depth


DEEP = {
    "parentheses": "SELECT {} AS x FROM s;".format(nested("(", "a", ")", 500)),
    "many parentheses": "SELECT {} AS x FROM s;".format(nested("(", "a", ")", 5_000)),
    "functions": "SELECT {} AS x FROM s;".format(nested("ABS(", "a", ")", 300)),
    "casts": "SELECT {} AS x FROM s;".format(nested("CAST(", "a", " AS INT)", 300)),
    "choices": "SELECT {} AS x FROM s;".format(nested("CASE WHEN b THEN 1 ELSE ", "2", " END", 300)),
    "signs": "SELECT {} AS x FROM s;".format(nested("- ", "a", "", 300)),
    "negations": "SELECT a FROM s WHERE {};".format(nested("NOT ", "b", "", 300)),
    "sums": f"SELECT {' + '.join(['a'] * 300)} AS x FROM s;",
    "texts": f"SELECT {' || '.join(['t'] * 300)} AS x FROM s;",
    "conjunctions": f"SELECT a FROM s WHERE {' AND '.join(['a > 1'] * 900)};",
    "alternatives": f"SELECT a FROM s WHERE {' OR '.join(['b'] * 900)};",
    "a list": f"SELECT a FROM s WHERE a IN ({', '.join(map(str, range(20_000)))});",
    "columns": f"SELECT {', '.join(f'a + {n} AS c{n}' for n in range(2_000))} FROM s;",
    "subqueries": "SELECT a FROM {};".format(nested("(SELECT a FROM ", "s", ") x", 80)),
    "unions": " UNION ALL ".join(["SELECT a FROM s"] * 500) + ";",
    "joins": f"SELECT x0.a FROM {', '.join(f's [TUMBLE 1 MINUTE] x{n}' for n in range(60))};",
    "views": "".join(f"CREATE VIEW v{n + 1} AS SELECT a, b FROM v{n};\n" for n in range(1, 80))
    + "CREATE VIEW v1 AS SELECT a, b FROM s; SELECT a FROM v80 WHERE b;",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_but_possible(text: str) -> None:
    result = compile_program(STREAM + text)
    assert result.diagnostics == ()
    for stage in ("logical", "annotated", "physical", "spark"):
        assert render(result, stage)


TOO_DEEP = {
    "functions": "SELECT {} AS x FROM s;".format(nested("ABS(", "a", ")", 2_000)),
    "parentheses": "SELECT {} AS x FROM s;".format(nested("(", "a", ")", 100_000)),
    "sums": f"SELECT {' + '.join(['a'] * 2_000)} AS x FROM s;",
    "subqueries": "SELECT a FROM {};".format(nested("(SELECT a FROM ", "s", ") x", 300)),
    "views that read views": "".join(
        f"CREATE VIEW v{n + 1} AS SELECT a FROM v{n};\n" for n in reversed(range(1, 300))
    )
    + "CREATE VIEW v1 AS SELECT a FROM s;",
    "views read twice": "".join(
        f"CREATE VIEW v{n + 1} AS SELECT x.a FROM v{n} x JOIN v{n} y ON x.a = y.a;\n" for n in range(1, 25)
    )
    + "CREATE VIEW v1 AS SELECT a FROM s [TUMBLE 1 MINUTE]; SELECT a FROM v25;",
}  # fmt: skip


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP)
def test_too_deep(text: str) -> None:
    result = compile_program(STREAM + text)
    assert result.plan is None
    assert {d.code for d in result.diagnostics} == {"SQ0108"}
    assert len(result.diagnostics) <= 3


def test_tests_do_not_double_on_their_way_through_views() -> None:
    views = "".join(f"CREATE VIEW v{n + 1} AS SELECT a + a + a AS a FROM v{n};\n" for n in range(1, 40))
    started = process_time()
    result = compile_program(STREAM + views + "CREATE VIEW v1 AS SELECT a FROM s; SELECT a FROM v40 WHERE a > 3;")
    assert result.diagnostics == ()
    assert process_time() - started < 20


def test_where_python_itself_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of Python with a small stack for calls through C must not show as a traceback."""

    def give_up(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("streamq.compiler.driver.run_passes", give_up)
    assert only(compile_program(STREAM + "SELECT a FROM s;")) == ("SQ0108", 1, 1)


@pytest.mark.parametrize("item", ["a", "COUNT(*)", "1", "a AS x"])
def test_long_select_lists_take_time_in_proportion(item: str) -> None:
    """Found by a search: names were looked for among all those before them, one by one."""

    def once(count: int) -> float:
        began = process_time()
        compile_program(STREAM + f"SELECT {', '.join([item] * count)} FROM s [TUMBLE 1 MINUTE];")
        return process_time() - began

    def seconds(count: int) -> float:
        return min(once(count) for _ in range(4))

    assert seconds(4000) < 20 * (seconds(500) + 0.02)
