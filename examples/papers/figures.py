"""The results of the experiments as pictures, PNG files, where they are asked for: ``--figures FOLDER``."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

MISSING = "pictures need matplotlib: pip install 'streamq[papers]'"


def add_figures(parser: argparse.ArgumentParser) -> None:
    """The option of programs that draw."""
    parser.add_argument("--figures", type=Path, metavar="FOLDER", help="draw the results there too")


def draw(
    folder: Path | None, name: str, title: str, x: Sequence[float], lines: Mapping[str, Sequence[float]], *,
    xlabel: str, ylabel: str, errors: Mapping[str, Sequence[float]] | None = None,
) -> None:
    """``name.png`` with a line for each series over ``x``, and bars up and down by ``errors``; nothing without a folder.

    SystemExit where matplotlib is not installed.
    """
    if folder is None:
        return
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise SystemExit(MISSING) from error
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for label, values in lines.items():
        spread = None if errors is None else errors.get(label)
        axes.errorbar(x, values, yerr=spread, label=label, marker="o", markersize=4, capsize=3 if spread else 0)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.3)
    if len(lines) > 1:
        axes.legend()
    path = folder / f"{name}.png"
    figure.savefig(path, dpi=120)
    print(f"  drawn: {path}")
