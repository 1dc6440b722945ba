"""What Spark says becomes one line with a code and a place; the texts are Spark's own."""

from __future__ import annotations

import pytest

from streamq.compiler.ir.physical import PhysicalQuery, ScanStream, Select, SinkSpec, Step
from streamq.dsl.source import Span
from streamq.runtime.spark.errors import to_diagnostic

SCAN, STEP, SINK, QUERY = (Span("p.cql", n, n + 1) for n in range(4))


def make(sql: str = "`a`", connector: str = "noop") -> PhysicalQuery:
    scan: Step = ScanStream(
        id="s", stream="s", connector="file", schema=(("a", "INT"),),
        options=(("path", "data/in"),), origin=SCAN,
    )
    root = Select(scan, (("a", sql),), id="q", origin=STEP)
    return PhysicalQuery("q", root, "append", SinkSpec("o", connector, origin=SINK), (), origin=QUERY)


@pytest.mark.parametrize(
    ("text", "code", "span", "part"),
    [
        (
            "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file "
            "file:///home/x/data/in/1.json.  SQLSTATE: KD001\n"
            "[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records are detected",
            "SQ0804", SCAN, "malformed row",
        ),
        (
            "CSV header does not conform to the schema.\n Header: k, w\n Schema: k, v\n"
            "Expected: v but found: w\nCSV file: file:///data/in/2.csv",
            "SQ0803", QUERY, "CSV header",
        ),
        ("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03", "SQ0705", QUERY, "gone"),
        (
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate it. If necessary set "
            '"spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22012\n'
            "== SQL (line 1, position 1) ==\n`a` / 0\n^^^^^^^\n",
            "SQ0801", STEP, "Division by zero. Use `try_divide` to tolerate it [DIVIDE_BY_ZERO]",
        ),
        (
            "Stream-stream join without equality predicate is not supported.;\n~Join Inner, (k#1L)\n",
            "SQ0801", QUERY, "without equality predicate is not supported",
        ),
        (
            "Job aborted due to stage failure: Task 1 in stage 7.0 failed 1 times, most recent "
            "failure: Lost task 1.0 in stage 7.0 (TID 14) (127.0.0.1 executor driver): "
            "java.lang.IllegalStateException: too bad\n\tat org.apache.spark.X(X.scala:1)\n",
            "SQ0801", QUERY, "failed: too bad",
        ),
        (
            "[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most "
            'recent call last):\n  File "/x.py", line 3, in f\n    raise\nValueError: no way\n'
            " SQLSTATE: 38000",
            "SQ0801", QUERY, "ValueError: no way",
        ),
        ("", "SQ0801", QUERY, "RuntimeError"),
    ],
)
def test_texts(text: str, code: str, span: Span, part: str) -> None:
    found = to_diagnostic(RuntimeError(text), make("`a` / 0"))
    assert (found.code, found.span) == (code, span)
    assert part in found.message
    assert "\n" not in found.message
    for noise in ("SQLSTATE", "ansi", "org.apache", "~Join", "Traceback"):
        assert noise not in f"{found.message} {found.help} {found.notes}"


def test_a_function_of_the_program_is_found_by_name() -> None:
    text = "[PYTHON_EXCEPTION] An exception was thrown: Traceback (most recent call last):\nE: x"
    assert to_diagnostic(RuntimeError(text), make("eur(`a`)"), ("eur",)).span == STEP


def test_a_folder_that_cannot_be_written() -> None:
    text = "java.io.IOException: Mkdirs failed to create file:/proc/xyz (exists=false)"
    found = to_diagnostic(RuntimeError(text), make(connector="file"), (), ("/proc/xyz",))
    assert (found.code, found.span) == ("SQ0809", QUERY)
    assert found.message == "query `q` cannot write to `/proc/xyz`: permission denied"
    # A file that is read and not written is another matter.
    assert to_diagnostic(RuntimeError(text), make()).code == "SQ0801"


def test_the_cause_counts_more_than_its_wrapper() -> None:
    outer = RuntimeError("[STREAM_FAILED] Query [id = 1] terminated with exception: x")
    outer.__cause__ = ValueError("the reason")
    assert "the reason" in to_diagnostic(outer, make()).message


def test_long_messages_are_cut() -> None:
    assert len(to_diagnostic(RuntimeError("x" * 5_000), make()).message) < 500
