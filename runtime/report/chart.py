"""Line charts as SVG text: a few series over time, and a line for a goal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

WIDTH, HEIGHT = 640, 190
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 12, 26
TICKS = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A series: its name, its class in the style sheet, and points of (seconds, value)."""

    name: str
    style: str
    points: tuple[tuple[float, float], ...]


def chart(title: str, unit: str, lines: Sequence[Line], goal: float | None = None) -> str:
    """A figure with a caption and a legend. ``goal``: a level to draw across."""
    values = [v for line in lines for _, v in line.points] + ([] if goal is None else [goal])
    top = nice(max(values, default=1.0))
    end = max((t for line in lines for t, _ in line.points), default=1.0) or 1.0

    def x(seconds: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * seconds / end, 1)

    def y(value: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, top) / top, 1)

    parts: list[str] = []
    for step in range(TICKS + 1):
        level = top * step / TICKS
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(level)}" y2="{y(level)}"/>')
        parts.append(f'<text class="tick" x="{LEFT - 6}" y="{y(level) + 4}" text-anchor="end">{short(level)}</text>')
        at = end * step / TICKS
        parts.append(
            f'<text class="tick" x="{x(at)}" y="{HEIGHT - 8}" text-anchor="middle">{short(at)} s</text>'
        )
    if goal is not None:
        parts.append(f'<line class="goal" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(goal)}" y2="{y(goal)}"/>')
    for line in lines:
        path = " ".join(f"{x(t)},{y(v)}" for t, v in line.points)
        parts.append(f'<polyline class="{line.style}" points="{path}"/>')
    legend = "".join(f'<span class="key {line.style}">{escape(line.name)}</span>' for line in lines)
    if goal is not None:
        legend += f'<span class="key goal">goal {short(goal)} {escape(unit)}</span>'
    drawn = "".join(parts)
    return (
        f"<figure><figcaption>{escape(title)}, {escape(unit)} {legend}</figcaption>"
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{drawn}</svg></figure>'
    )


def nice(value: float) -> float:
    """The next number of the form 1, 2 or 5 times a power of ten; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if value <= step * power * (1 + 1e-9))


def short(value: float) -> str:
    """A number in few characters: ``1.5k``, ``20M``, ``0.25``."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
