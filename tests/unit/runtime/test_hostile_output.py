"""What names and data that are chosen to do harm become on terminals, in JSON, in reports and for Prometheus."""

from __future__ import annotations

import io
import json
from html.parser import HTMLParser

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import SourceFile, SourceMap, Span
from streamq.dsl.visible import visible_lines
from streamq.runtime.console import (
    JsonListener,
    PlainListener,
    QueryView,
    make_console,
    progress_table,
    summary_text,
)
from streamq.runtime.metrics import (
    QuerySample,
    QueryTotals,
    Received,
    ResultRows,
    RunReport,
    Selected,
    SelectedWindow,
    Sifted,
    SiftedQuery,
)
from streamq.runtime.render import render_concise, render_diagnostics
from streamq.runtime.report.page import page
from streamq.runtime.report.prometheus import Endpoint
from streamq.runtime.report.record import Recorder
from tests.support.hostile import NAMES


def report_of(name: str) -> RunReport:
    """A run whose every name is this one."""
    sifted = Sifted(name, (name, name), name, 1, 0.5, 0.5, 0.5, 0.5, (SiftedQuery(name, 0.5, 0.5),))
    window = SelectedWindow(0.5, (0.1, 0.2), (3, 4))
    return RunReport(
        "duration", 3.0, (QueryTotals(name, 1, 10, 8, 1, 1),), sifted=(sifted,), selected=(Selected(name, 0.5, 1.0, (window, window)),),
        received=(Received(name, 5, 1, 1, 1, 1, 0, 0, 1),),
    )  # fmt: skip


def page_of(name: str) -> str:
    recorder = Recorder()
    sample = QuerySample(name, 0, 100.0, rows_in=10, kept=8, shed=1, malformed=1, batch_ms=100)
    recorder.sample(sample, QueryTotals(name).plus(sample))
    return page(recorder.record(name, report_of(name), {name: 1000}))


class _Tags(HTMLParser):
    """The tags of a page with the names of their attributes, in order, and the data that is inside it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.data = ""
        self._in_script = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, tuple(name for name, _ in attrs)))
        self._in_script = tag == "script"

    def handle_data(self, data: str) -> None:
        self.data += data if self._in_script else ""

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


@pytest.mark.parametrize("name", NAMES)
def test_a_report_has_the_tags_that_it_has_with_harmless_names(name: str) -> None:
    found, plain = _Tags(page_of(name)), _Tags(page_of("h"))
    assert found.tags == plain.tags
    assert [tag for tag, _ in found.tags].count("script") == 1
    assert json.loads(found.data)["queries"][0]["name"] == name


@pytest.mark.parametrize("name", NAMES)
def test_prometheus_gets_the_name_and_no_more_lines(name: str) -> None:
    endpoint = Endpoint("127.0.0.1", 0, {name: 1000})
    try:
        endpoint.started((name,))
        text = generate_latest(endpoint.registry).decode()
    finally:
        endpoint.close()
    labels = {s.labels["query"] for family in text_string_to_metric_families(text) for s in family.samples if "query" in s.labels}
    assert labels == {name}


@pytest.mark.parametrize("name", NAMES)
def test_a_terminal_gets_nothing_that_steers_it(name: str) -> None:
    out = io.StringIO()
    console = make_console(out)
    listener = PlainListener(console)
    cells = (name, [name], {name: name}, None)
    listener.rows(ResultRows(name, 0, (name, "a", "b", "c"), (cells,), 1, whole=True))
    listener.notice(name, name)
    console.print(summary_text(report_of(name)))
    console.print(progress_table({name: QueryView(QueryTotals(name))}))
    shown = out.getvalue()
    assert visible_lines(shown) == shown
    assert "\t" not in shown


@pytest.mark.parametrize("name", NAMES)
def test_json_lines_are_one_line_each_and_say_the_same(name: str) -> None:
    out = io.StringIO()
    listener = JsonListener(out)
    listener.rows(ResultRows(name, 0, (name,), ((name,), ({name: name},)), 2))
    listener.notice(name, name)
    listener.summary(report_of(name), SourceMap())
    assert visible_lines(out.getvalue()) == out.getvalue()
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert len(lines) == 3
    assert lines[0]["rows"] == [[name], [{name: name}]]
    assert lines[1]["text"] == name


@pytest.mark.parametrize("name", NAMES)
def test_diagnostics(name: str) -> None:
    sources = SourceMap()
    sources.add(SourceFile(f"{name}.cql", f"SELECT '{name}';"))
    wrong = Diagnostic("SQ0101", f"unexpected `{name}`", Span(f"{name}.cql", 0, 4), label=name, help=name, notes=(name,))
    concise = render_concise(wrong, sources)
    assert len(concise.splitlines()) == 1
    for text in (concise, render_diagnostics([wrong], sources), render_diagnostics([wrong], sources, width=40)):
        assert visible_lines(text) == text
