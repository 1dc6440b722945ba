"""The experiments of Deng 2007: what comes out, what does not, and that it is drawn where that is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from examples.papers.deng import filters, frequencies, membership, similarity, speed
from examples.papers.parts import Options

Part = Callable[[Options], bool]

NOT_AS_IN_THE_THESIS: dict[Part, list[str]] = {
    membership.figure34: ["100,000: by 3 to 13 points"],
    membership.figure35: ["65536 bits: SBF is ahead for all rates"],
    membership.figure36: ["K = 2, P = 4 keep"],
    filters.zeros: [],
    filters.gaps: [],
    filters.rotating: [],
    frequencies.domain: ["what is chosen is near"],
    frequencies.frequent: [],
    frequencies.widths: [],
    frequencies.depths: [],
    frequencies.selfjoin: ["and above as well", "at Zipf 2 CM or MI"],
    similarity.likeness: [],
    similarity.records: [],
    similarity.rates: [],
    similarity.attributes: [],
    similarity.sample: [],
}


def name_of(part: Part) -> str:
    return f"{part.__module__.split('.')[-1]}.{part.__name__}"


def not_as_said(printed: str) -> list[str]:
    return [
        line.removeprefix("  NO   ") for line in printed.splitlines() if line.startswith("  NO   ")
    ]


@pytest.mark.parametrize("part", NOT_AS_IN_THE_THESIS, ids=name_of)
def test_statements(part: Part, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of ``README.md`` do not come out, and all others do."""
    seeds = 3 if part.__module__ == similarity.__name__ else 1
    came_out = part(Options(seeds, quick=True, figures=None))
    found, expected = not_as_said(capsys.readouterr().out), NOT_AS_IN_THE_THESIS[part]
    assert [line[: len(start)] for line, start in zip(found, expected, strict=True)] == expected
    assert came_out == (not expected)


@pytest.mark.slow
def test_ten_million_urls(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the statements of figure 3.4 for the longer stream."""
    assert not membership.figure34(Options(1, quick=False, figures=None))
    found = [line for line in not_as_said(capsys.readouterr().out) if line.startswith("10,000,000")]
    expected = [
        "10,000,000: by 3 to 13 points",
        "10,000,000: 16 times the memory",
        "10,000,000: what is missed is within 5.0 points",
    ]
    assert [line[: len(start)] for line, start in zip(found, expected, strict=True)] == expected


def test_what_is_fast_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Its statements depend on what else the machine does; the table has a row for each filter and buffer."""
    speed.speed(Options(1, quick=True, figures=None))
    rows = [
        line
        for line in capsys.readouterr().out.splitlines()
        if re.fullmatch(r".{32}( +\d+\.\d\d){3}", line)
    ]
    assert len(rows) == 6


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    filters.zeros(Options(1, quick=True, figures=tmp_path))
    assert (tmp_path / "zeros.png").stat().st_size > 1000
