"""Every window, operator, join and test that the grammar has is shown by a case of the contract suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamq.dsl import lark_tables
from streamq.dsl.tables import load_tables, tables_of
from tests.contract.constructs import (
    BOTH,
    NO_MEANING,
    NOBODY,
    OPERATORS,
    REFERENCE,
    WINDOWS,
    Construct,
    Sample,
    constructs,
    samples,
    showing,
    table,
)
from tests.contract.grammar import Symbols, forms_in

TABLES = load_tables()
ALL = constructs(TABLES)
KNOWN = samples(TABLES)


def in_area(area: str) -> list[Construct]:
    return [construct for construct in ALL if construct.area == area]


def not_shown(of: list[Construct], known: list[Sample]) -> list[str]:
    """The constructs without a case that an engine answers, or that says why it has no meaning."""
    return [
        c.text for c in of
        if not any(s.answered_by != NOBODY for s in showing([c.form], known))
    ]


def test_the_grammar_is_read_as_it_is_written() -> None:
    windows = {c.text for c in in_area(WINDOWS)}
    assert {"NOW", "RANGE length", "RANGE length SLIDE length", "TUMBLE length"} <= windows
    assert "PARTITION BY names ROWS count RANGE length SLIDE count" in windows
    assert {c.text for c in in_area(OPERATORS)} == {"ISTREAM", "DSTREAM", "RSTREAM"}
    assert {c.area for c in ALL} == {
        "windows", "relation to stream", "set operators", "joins", "tests that ask a query",
    }


def test_productions_are_those_of_the_grammar() -> None:
    """Spelled from the states alone, yet equal to what the generator of the tables knows."""
    spelled = {(p.origin, len(p.symbols)) for p in Symbols(TABLES).productions}
    assert spelled == {(rule.origin, rule.size) for rule in TABLES.rules if rule.origin[0] != "$"}


@pytest.mark.parametrize("area", dict.fromkeys(c.area for c in ALL))
def test_every_construct_has_a_case(area: str) -> None:
    assert not_shown(in_area(area), KNOWN) == []


@pytest.mark.parametrize("window", in_area(WINDOWS), ids=lambda c: c.text)
@pytest.mark.parametrize("operator", in_area(OPERATORS), ids=lambda c: c.text)
def test_every_window_is_shown_under_every_operator(window: Construct, operator: Construct) -> None:
    alone = showing([window.form], KNOWN)
    if all(sample.answered_by == NO_MEANING for sample in alone):
        assert alone
        return
    together = {sample.answered_by for sample in showing([window.form, operator.form], KNOWN)}
    assert together & {BOTH, REFERENCE, NO_MEANING}


def test_a_window_that_is_new_in_the_grammar_needs_a_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = lark_tables.GRAMMAR.read_text(encoding="utf-8")
    known = '| "TUMBLE" length -> tumble_window\n'
    assert known in text
    grammar = tmp_path / "grammar.lark"
    grammar.write_text(
        text.replace(known, f'{known}            | "HOP" length "BY" length -> hopping_window\n'),
        encoding="utf-8",
    )
    monkeypatch.setattr(lark_tables, "GRAMMAR", grammar)
    wider = tables_of(lark_tables.make_tables())
    assert not_shown(constructs(wider), KNOWN) == ["HOP length BY length"]


def test_the_forms_of_a_program_are_seen() -> None:
    seen = forms_in(TABLES, "SELECT ISTREAM(a) FROM s [ROWS 2 SLIDE 3]; SELECT b FROM s [NOW];")
    texts = {c.text for c in ALL if c.form in seen}
    assert texts == {"ISTREAM", "ROWS count SLIDE count", "NOW"}


def test_the_list_names_them_all() -> None:
    printed = "\n".join(table())
    assert all(construct.text in printed for construct in ALL)
