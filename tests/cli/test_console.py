"""What diagnostics, results and progress look like, 100 columns wide and without colour."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console, RenderableType

from streamq.dsl.diagnostics import Diagnostic, Label, Severity
from streamq.dsl.source import NO_SPAN, SourceFile, SourceMap, Span
from streamq.runtime.console import (
    JsonListener,
    LiveListener,
    PlainListener,
    QueryView,
    QuietListener,
    make_console,
    progress_table,
    rows_table,
    summary_text,
)
from streamq.runtime.metrics import QuerySample, QueryTotals, ResultRows, RunReport
from streamq.runtime.render import MOST_IN_FULL, render_concise, render_diagnostics, render_summary
from streamq.runtime.run import Event, Happened

TEXT = """\
CREATE STREAM s (a INT)
\tWITH (connector = 'file',
\t  path = 'x');
SELECT 日本 prize FROM s;
"""


def sources(text: str = TEXT, name: str = "p.cql") -> SourceMap:
    found = SourceMap()
    found.add(SourceFile(name, text))
    return found


def span(part: str, text: str = TEXT) -> Span:
    start = text.index(part)
    return Span("p.cql", start, start + len(part))


def shown(diagnostic: Diagnostic, found: SourceMap | None = None) -> str:
    return render_diagnostics([diagnostic], found or sources())


def test_a_diagnostic_in_full() -> None:
    diagnostic = Diagnostic(
        "SQ0202", "unknown column `prize`", span("prize"), "not a column of `s`",
        "did you mean `price`?", ("the stream has: a",), (Label(span("s (a"), "declared here"),),
    )
    assert shown(diagnostic) == (
        "error[SQ0202]: unknown column `prize`\n"
        " --> p.cql:4:11\n"
        "  |\n"
        "1 | CREATE STREAM s (a INT)\n"
        "  |               ---- declared here\n"
        "...\n"
        "4 | SELECT 日本 prize FROM s;\n"
        "  |             ^^^^^ not a column of `s`\n"
        "  = help: did you mean `price`?\n"
        "  = note: the stream has: a\n"
    )


def test_of_very_many_diagnostics_those_after_the_first_hundred_take_a_line_each() -> None:
    """Each may show a part of one line that is as long as the program."""
    found = [Diagnostic("SQ0202", f"unknown column {n}", span("prize"), help="mend it") for n in range(MOST_IN_FULL + 2)]
    text = render_diagnostics(found, sources())
    assert text.count("SELECT 日本 prize FROM s;") == MOST_IN_FULL
    assert text.endswith(
        "  = help: mend it\n"
        "\n"
        "p.cql:4:11: error[SQ0202]: unknown column 100 (mend it)\n"
        "p.cql:4:11: error[SQ0202]: unknown column 101 (mend it)\n"
    )


def test_a_span_over_several_lines_with_tabs() -> None:
    diagnostic = Diagnostic(
        "SQ0703", "wrong", span("WITH (connector = 'file',\n\t  path = 'x'"), "this list",
        severity=Severity.WARNING,
    )
    assert shown(diagnostic) == (
        "warning[SQ0703]: wrong\n"
        " --> p.cql:2:2\n"
        "  |\n"
        "2 |     WITH (connector = 'file',\n"
        "  |     ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "3 |       path = 'x');\n"
        "  |       ^^^^^^^^^^ this list\n"
    )


def test_a_long_span_leaves_lines_out() -> None:
    text = "".join(f"line {n}\n" for n in range(1, 13))
    out = shown(Diagnostic("SQ0101", "long", Span("p.cql", 0, len(text)), "all"), sources(text))
    assert out.splitlines()[3:] == [
        " 1 | line 1", "   | ^^^^^^", " 2 | line 2", "   | ^^^^^^", " 3 | line 3", "   | ^^^^^^",
        "...", "12 | line 12", "   | ^^^^^^^ all",
    ]


def test_the_end_of_a_file_shows_what_came_before() -> None:
    text = "SELECT a\n\n"
    out = shown(Diagnostic("SQ0102", "open", Span("p.cql", len(text), len(text))), sources(text))
    assert out.splitlines()[1:] == [
        " --> p.cql:3:1", "  |", "1 | SELECT a", "...", "3 |", "  | ^",
    ]


def test_an_empty_file() -> None:
    out = shown(Diagnostic("SQ0004", "no query", Span("p.cql", 0, 0)), sources(""))
    assert out == "error[SQ0004]: no query\n --> p.cql:1:1\n  |\n1 |\n  | ^\n"


def test_a_line_that_is_too_long_is_cut_around_the_mark() -> None:
    text = "x" * 300 + " bad " + "y" * 300
    out = shown(Diagnostic("SQ0101", "m", span("bad", text), "here"), sources(text))
    line, mark = out.splitlines()[3:5]
    assert len(line) <= 100
    assert line[mark.index("^") :].startswith("bad ")


def test_characters_that_would_disturb_a_terminal() -> None:
    text = "a\x1b[31m\x00b"
    out = shown(Diagnostic("SQ0103", "m", Span("p.cql", 1, 2)), sources(text))
    assert "\x1b" not in out
    assert "\x00" not in out


def test_long_help_is_wrapped() -> None:
    out = shown(Diagnostic("SQ0103", "m", NO_SPAN, help="word " * 40))
    assert max(len(line) for line in out.splitlines()) <= 100
    assert out.splitlines()[1].startswith("  = help: word")
    assert out.splitlines()[2].startswith("          word")


def test_a_place_in_another_file() -> None:
    found = sources()
    found.add(SourceFile("q.cql", "CREATE VIEW v AS SELECT 1;"))
    diagnostic = Diagnostic(
        "SQ0205", "declared twice", span("s (a"), labels=(Label(Span("q.cql", 12, 13), "first"),)
    )
    assert " ::: q.cql:1:13\n" in shown(diagnostic, found)


def test_colour_only_where_it_is_wanted() -> None:
    diagnostic = Diagnostic("SQ0202", "m", span("prize"))
    coloured = render_diagnostics([diagnostic], sources(), colour=True)
    assert "\x1b[1;31merror[SQ0202]" in coloured
    assert "\x1b" not in shown(diagnostic)


def test_one_line_form_and_summary() -> None:
    error = Diagnostic("SQ0202", "unknown", span("prize"), help="did you mean `price`?")
    warning = Diagnostic("SQ0901", "grows", NO_SPAN, severity=Severity.WARNING)
    assert render_concise(error, sources()) == (
        "p.cql:4:11: error[SQ0202]: unknown (did you mean `price`?)"
    )
    assert render_concise(warning, sources()) == "warning[SQ0901]: grows"
    assert render_summary([error, warning, error]) == "2 errors, 1 warning"
    assert render_summary([]) == ""


# --- results and progress ------------------------------------------------------------------------


def drawn(thing: RenderableType, width: int = 100) -> str:
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, markup=False, highlight=False).print(thing)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


ROWS = ResultRows(
    "hot", 3, ("item [x]", "price", "at"),
    (("a", 1.5, datetime(2024, 1, 1, tzinfo=UTC)), (None, 20.25, None)), 480,
)
SAMPLE = QuerySample(
    "hot", 3, ended=100.0, rows_in=1_000, kept=900, shed=100, rows_out=50, batch_ms=500,
    result_age_ms=1_250, watermark="2024-01-01T00:00:04.000Z", late=2, malformed=0, state_rows=7,
)


def test_result_rows_are_a_table() -> None:
    assert drawn(rows_table(ROWS)).rstrip() == (
        "hot · batch 3 · 2 of 480 rows\n"
        "\n"
        " item [x]  price  at\n"
        " ────────────────────────────────────\n"
        " a           1.5  2024-01-01 00:00:00\n"
        " NULL      20.25  NULL"
    )


def test_progress_and_summary_hold_the_numbers() -> None:
    listener = PlainListener(Console(file=io.StringIO()))
    listener.started(("hot", "cold"))
    totals = QueryTotals("hot").plus(SAMPLE)
    listener.sample(SAMPLE, totals)
    table = drawn(progress_table(listener.views))
    for text in ("1,000", "900", "100", "2,000", "500 ms", "1.2 s", "2024-01-01 00:00:04", "cold"):
        assert text in table
    summary = drawn(summary_text(RunReport("duration", 20.0, (totals,))))
    assert summary == (
        "time is up after 20.0 s\n"
        "hot: 1,000 rows in = 900 kept + 100 shed; of the kept ones at least 2 came late\n"
        "  50 rows out, 50 rows/s in, 1 batch, worst age 1.2 s, 7 rows of state, "
        "watermark 2024-01-01\n"
        "00:00:04"
    )


def test_a_summary_says_from_when_the_time_counted() -> None:
    report = RunReport("duration", 45.7, (QueryTotals("hot"),), timed_s=20.0)
    assert str(summary_text(report)).splitlines()[0] == "time is up 20 s after the first micro-batch, 45.7 s after the start"


def test_a_summary_says_how_often_a_goal_was_missed() -> None:
    totals = QueryTotals("hot", latency_goal_ms=5_000)
    for age in (4_000, 19_900, 5_000):
        totals = totals.plus(replace(SAMPLE, result_age_ms=age))
    assert "worst age 19.9 s, goal 5 s: missed in 1 of 3 micro-batches" in str(summary_text(RunReport("duration", 20.0, (totals,))))
    assert "goal" not in str(summary_text(RunReport("duration", 20.0, (QueryTotals("hot").plus(SAMPLE),))))


def test_goals_have_columns_of_their_own() -> None:
    listener = PlainListener(Console(file=io.StringIO()))
    listener.started(("hot", "cold"))
    listener.sample(SAMPLE, QueryTotals("hot").plus(SAMPLE))
    plain, steered = (drawn(progress_table(listener.views, goals_ms=g)) for g in ({}, {"hot": 2000}))
    assert "goal" not in plain
    head, _, hot, *_ = (line.split() for line in steered.strip().splitlines())
    assert head[5:8] == ["keep", "coverage", "in/s"]
    assert hot[4:6] == ["90%", "90%"]
    assert "2.0" in hot


@pytest.mark.parametrize("name", ["hot", "what_sells_right_now_in_all_of_our_shops"])
@pytest.mark.parametrize(
    ("width", "goals", "there"),
    [
        (60, False, "query kept shed age"),
        (80, False, "query rows in kept shed age late malformed"),
        (80, True, "query rows in kept shed keep age malformed"),
        (100, False, "query rows in kept shed batch age late malformed watermark"),
        (100, True, "query rows in kept shed keep coverage age goal late malformed"),
        (120, False, "query rows in kept shed in/s out/s batch age late malformed watermark"),
        (120, True, "query rows in kept shed keep coverage batch age goal late malformed watermark"),
    ],
)
def test_a_narrow_screen_has_fewer_columns_and_whole_numbers(name: str, width: int, goals: bool, there: str) -> None:
    view = QueryView(QueryTotals(name))
    sample = replace(SAMPLE, rows_in=99_999, kept=98_765, shed=12_345, malformed=12_000, batch_ms=12_500, result_age_ms=19_900)
    view.add(sample, QueryTotals(name).plus(sample))
    head, _, line = drawn(progress_table({name: view}, width, {name: 5000} if goals else {}), width).strip("\n").splitlines()
    assert set(there.replace("rows in", "rows_in").split()) <= set(head.replace("rows in", "rows_in").split())
    assert "…" not in head
    assert "…" not in line.replace(line.split()[0], "")
    assert max(len(head), len(line)) <= width
    assert {"98,765", "12,345"} <= set(line.split())


def test_a_terminal_gets_rows_above_a_table_that_is_redrawn() -> None:
    out = io.StringIO()
    console = Console(file=out, width=100, force_terminal=True, color_system=None)
    with LiveListener(console) as listener:
        listener.preparing()
        listener.started(("hot",))
        listener.sample(SAMPLE, QueryTotals("hot").plus(SAMPLE))
        listener.rows(ROWS)
        listener.tick(7.4)
    text = out.getvalue()
    assert text.startswith("\rstarting Spark …\r\x1b[2K")
    assert text.index("starting Spark") < text.index("2 of 480 rows") < text.index("Ctrl-C stops")
    assert "watermark" in text


def test_a_pipe_gets_a_line_every_few_seconds() -> None:
    out = io.StringIO()
    listener = PlainListener(Console(file=out, width=100))
    listener.started(("hot",))
    for tick in range(35):
        if tick == 10:
            listener.sample(SAMPLE, QueryTotals("hot").plus(SAMPLE))
        listener.tick(tick * 0.2)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    assert "in 1,000 (2,000/s), kept 900, shed 100" in lines[0]
    assert lines[1] == "    6 s  hot: no micro-batch done since batch 3, in 1,000"


def test_json_lines() -> None:
    out = io.StringIO()
    listener = JsonListener(out)
    listener.started(("hot",))
    listener.sample(SAMPLE, QueryTotals("hot"))
    listener.rows(ROWS)
    listener.summary(RunReport("finished", 1.0, (QueryTotals("hot"),)), sources())
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [r["type"] for r in records] == ["started", "sample", "rows", "summary"]
    assert records[1]["shed"] == 100
    assert records[2]["rows"][0] == ["a", 1.5, "2024-01-01T00:00:00+00:00"]
    assert records[3]["ended_by"] == "finished"


def test_json_says_where_rows_are_left_out() -> None:
    out = io.StringIO()
    listener = JsonListener(out)
    listener.rows(replace(ROWS, total=len(ROWS.rows)))
    listener.rows(replace(ROWS, total=len(ROWS.rows) + 1))
    assert [json.loads(line).get("truncated") for line in out.getvalue().splitlines()] == [None, True]


def test_a_file_is_not_folded_to_the_width_of_a_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    out = io.StringIO()
    wide = ResultRows("q", 0, tuple(f"column_number_{n}" for n in range(10)), ((123456.789,) * 10,), 1)
    make_console(out).print(rows_table(wide))
    assert out.getvalue().rstrip().splitlines()[-1].split() == ["123456.789"] * 10


@pytest.mark.parametrize(("update", "word"), [(True, "changed 480"), (False, "480 rows")])
def test_changes_are_told_from_new_rows(update: bool, word: str) -> None:
    rows = ResultRows("hot", 1, ("a",), ((1,),) * 480, 480, update)
    assert word in drawn(rows_table(rows)).splitlines()[0]


FAILED = Diagnostic("SQ0801", "query `q` failed: no server", NO_SPAN)
HAPPENED = (
    Happened(event=Event.FAILURE, query="q", batch=3, wait_s=1.0, diagnostic=FAILED, text="failed in batch 3; starts again in 1.0 s"),
    Happened(event=Event.RESTART, query="q", text="started again"),
    Happened(event=Event.FAILURE, query="q", batch=3, diagnostic=FAILED, text="failed in batch 3"),
    Happened(event=Event.GIVEN_UP, query="q", batch=3, diagnostic=FAILED, text="given up: no server"),
    Happened(event=Event.DONE, query="p", text="all input read"),
    Happened(event=Event.STOPPING, text="stopping"),
)


@pytest.mark.parametrize(
    ("queries", "lines"),
    [
        (("q",), ["q: failed in batch 3; starts again in 1.0 s", "q: started again", "stopping"]),
        (("p", "q"), ["q: failed in batch 3; starts again in 1.0 s", "q: started again", "q: given up: no server", "stopping"]),
    ],
)
def test_what_happens_is_told_in_lines_that_do_not_say_it_twice(queries: tuple[str, ...], lines: list[str]) -> None:
    """Where the only query is given up the run ends, and shows the diagnostic in full."""
    out = io.StringIO()
    listener = PlainListener(Console(file=out, width=100))
    listener.started(queries)
    for one in HAPPENED:
        listener.happened(one)
    assert out.getvalue().splitlines() == lines


def test_results_alone_leave_standard_output_to_them(capsys: pytest.CaptureFixture[str]) -> None:
    out = io.StringIO()
    listener = QuietListener(Console(file=out, width=100))
    listener.started(("p", "q"))
    for one in HAPPENED:
        listener.happened(one)
    assert out.getvalue() == capsys.readouterr().out == ""
    listener.happened(HAPPENED[3])
    assert capsys.readouterr().err == "q: given up: no server\n"


def test_what_happens_does_not_steer_the_terminal() -> None:
    out = io.StringIO()
    listener = PlainListener(Console(file=out, width=100))
    listener.happened(Happened(event=Event.QUARANTINE, query="q", text="batch 1 is put aside: \x1b[2J\x07 no"))
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()


def test_what_happens_as_json() -> None:
    out = io.StringIO()
    listener = JsonListener(out)
    for one in HAPPENED:
        listener.happened(one)
    records = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [r["event"] for r in records] == ["failure", "restart", "failure", "given_up", "stopping"]
    assert records[3] == {
        "type": "event", "event": "given_up", "query": "q", "batch": 3, "text": "given up: no server", "code": "SQ0801",
    }


def test_a_summary_counts_rows_that_were_put_aside_and_names_who_was_given_up() -> None:
    totals = QueryTotals("q", batches=2, rows_in=30, kept=18, shed=1, malformed=1, dead=10, rows_out=12, refused=6)
    text = str(summary_text(RunReport("duration", 2.0, (totals,), given_up=("r",))))
    assert "q: 30 rows in = 18 kept + 1 shed + 1 malformed + 10 put aside" in text
    assert "12 rows out" in text
    assert "6 that the sink would not take put aside" in text
    assert "r: given up" in text
