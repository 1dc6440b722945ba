"""A share of the search for programs that the compiler cannot take, and that the search finds what there is to find."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from tests.fuzz import tries
from tests.fuzz.corpus import corpus
from tests.fuzz.mutations import BYTE_MUTATIONS, MEANINGS, TEXT_MUTATIONS
from tests.fuzz.programs import program, search
from tests.fuzz.row_mutations import csv_line, json_line, read_csv, read_json
from tests.fuzz.shrink import smallest
from tests.fuzz.tries import HangError, tried


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("part", range(8))
def test_mutated_programs(part: int) -> None:
    """2,000 of them; ``python -m tests.fuzz.programs --count 200000`` looks longer."""
    tally = search(1, range(part * 250, part * 250 + 250))
    assert tally.faults == {}
    assert tally.programs == 250
    assert len(tally.codes) > 10


def test_many_findings_in_a_long_line_with_an_odd_character() -> None:
    """What is left of each was measured character by character, for each of its marks."""
    text = "SELECT a FROM s WHERE 'é' = " + "ISTREAM (" * 2000 + "a" + ")" * 2000 + ";"
    found = tried(text.encode())
    assert found.fault == ""
    assert "SQ0101" in found.codes


def test_a_program_has_a_number() -> None:
    assert program(1, 17) == program(1, 17)
    assert program(1, 17) != program(2, 17)


@pytest.mark.parametrize("mutation", TEXT_MUTATIONS + MEANINGS, ids=lambda m: m.__name__)
def test_mutations_of_texts_change_something(mutation) -> None:  # type: ignore[no-untyped-def]
    texts = {mutation(corpus().programs[0], Random(n), corpus()) for n in range(30)}
    assert len(texts) > 2
    assert isinstance(mutation("", Random(0), corpus()), str)


@pytest.mark.parametrize("mutation", BYTE_MUTATIONS, ids=lambda m: m.__name__)
def test_mutations_of_bytes_change_something(mutation) -> None:  # type: ignore[no-untyped-def]
    assert len({mutation(b"SELECT a FROM s;", Random(n)) for n in range(30)}) > 2
    assert isinstance(mutation(b"", Random(0)), bytes)


def test_a_traceback_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(name: str) -> None:
        raise KeyError("x")

    monkeypatch.setattr(tries, "load_program", fails)
    found = tried(b"SELECT 1;")
    assert found.fault == "KeyError: 'x'"
    assert "in fails" in found.place


def test_a_hang_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(name: str) -> None:
        until = time.process_time() + 5
        while time.process_time() < until:
            pass

    monkeypatch.setattr(tries, "SECONDS", 0.05)
    monkeypatch.setattr(tries, "load_program", hangs)
    assert tried(b"").fault.startswith(HangError.__name__)


def test_what_fails_is_made_small() -> None:
    assert smallest(b"SELECT a, bad FROM s WHERE TRUE;", lambda data: b"bad" in data) == b"bad"


def test_readers_of_rows_agree_with_what_was_written() -> None:
    for make, read in ((json_line, read_json), (csv_line, read_csv)):
        found = [read(make(Random(n), n)) for n in range(500)]
        assert sum(r.values is not None for r in found) > 150
        assert any(r.bad for r in found)
        assert any(r.most == 0 for r in found)
    plain = b'{"id": 7, "name": "a", "x": 1, "n": null, "ok": true, "day": "2024-01-02", "at": "2024-01-01T00:00:00Z", "o": {"a": 1}}'
    assert read_json(plain).values == (7, "a", 1.0, None, True, "2024-01-02", "2024-01-01T00:00:00Z", None, (1, None))
    assert read_csv(b"7,a,1.5,,true,2024-01-02,").values == (7, "a", 1.5, None, True, "2024-01-02", None)
    for line in (b'{"id": 7, "id": 8}', b'{"id": "7"}', b'{"id": 1e400}', b'{"id": 99999999999999999999}'):
        assert read_json(line).values is None
