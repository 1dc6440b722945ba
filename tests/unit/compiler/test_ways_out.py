"""Errors that say what to write instead, in the names of the program."""

from __future__ import annotations

import pytest

from streamq.compiler.driver import compile_program

STREAM = "CREATE STREAM ride (zone INT, pickup TIMESTAMP{mark}) WITH (connector = 'memory'); "
MARKED = STREAM.format(mark=", WATERMARK FOR pickup")

WAYS_OUT = {
    "the name of a result in HAVING": (
        MARKED + "SELECT zone, COUNT(*) AS n FROM ride [TUMBLE 1 MINUTE] GROUP BY zone HAVING n > 5",
        "SQ0202", "repeat what `n` stands for",
    ),
    "a time beside a number": (MARKED + "SELECT zone FROM ride WHERE pickup > 5", "SQ0301", "such as TIMESTAMP '"),
    "a share in percent": (MARKED + "SELECT zone FROM ride QOS LATENCY 2 SECONDS COMPLETENESS >= 30", "SQ0603", "write 0.3, or 30 PERCENT"),
    "a completeness alone": (MARKED + "SELECT zone FROM ride QOS COMPLETENESS >= 0.5", "SQ0601", "QOS LATENCY 2 SECONDS COMPLETENESS"),
    "the only time of the stream": (
        STREAM.format(mark="") + "SELECT COUNT(*) AS n FROM ride [TUMBLE 1 MINUTE]", "SQ0402", "WATERMARK FOR pickup AS pickup -",
    ),
}


@pytest.mark.parametrize(("text", "code", "help"), WAYS_OUT.values(), ids=WAYS_OUT)
def test_a_way_out(text: str, code: str, help: str) -> None:
    (wrong,) = compile_program(text).diagnostics
    assert wrong.code == code
    assert help in wrong.help


def test_a_share_in_percent_is_one() -> None:
    assert compile_program(MARKED + "SELECT zone FROM ride QOS LATENCY 2 SECONDS COMPLETENESS >= 30 PERCENT").ok


def test_where_rows_lie_is_shown_without_names_and_passwords() -> None:
    from streamq.compiler.explain import render

    text = (
        "CREATE STREAM s (a INT) WITH (connector = 'file', format = 'json', path = 's3a://mary@bucket/in');"
        "CREATE SINK t WITH (connector = 'file', format = 'json', path = 's3a://mary@bucket/out'); INSERT INTO t SELECT a FROM s"
    )
    shown = render(compile_program(text), stage="annotated", format="text")
    assert "bucket/in'" in shown
    assert "sink writes file path = 's3a://" in shown
    assert "mary" not in shown
