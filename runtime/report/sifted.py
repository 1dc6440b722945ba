"""The sifter that a query runs with, as a table of its regions and as a picture of two attributes."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np

from streamq.compiler.ir.goals import Sift
from streamq.dsl.records import dataclass
from streamq.runtime.control.decisions import DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import published
from streamq.runtime.control.sifting import drop_of, stored
from streamq.runtime.report.chart import short
from streamq.stdlib.sifters.axes import Axis, WordAxis
from streamq.stdlib.sifters.boxes import Floats
from streamq.stdlib.sifters.compact import Compact, Wish, on_axes
from streamq.stdlib.sifters.queries import completeness

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 520, 420, 70, 40, 30
TICKS = 4


@dataclass(frozen=True, slots=True)
class Running:
    """A sifter in force: ``keep``: the share of rows of the last micro-batch, ``drop``: the thresholds of its regions."""

    sift: Sift
    sifter: Compact
    keep: float
    drop: Floats


def running(checkpoint: Path, sift: Sift) -> Running | None:
    """That of a query whose folder this is; None where it has none yet."""
    throttle = published(checkpoint / KNOBS)
    if throttle is None or throttle.sifter is None:
        return None
    sifter = stored(checkpoint, throttle.sifter)
    if sifter is None or len(sifter.axes) != len(sift.attributes):
        return None
    log = DecisionLog(checkpoint / DECISIONS)
    batches = [int(p.name) for p in log.folder.glob("*") if p.name.isdecimal()] if log.folder.is_dir() else []
    decided = log.find(max(batches)) if batches else None
    if decided is None:
        return Running(sift, sifter, 1.0, sifter.drop(1.0))
    return Running(sift, sifter, decided.decision.keep, drop_of(sifter, decided))


def table(found: Running) -> str:
    """A line for each region: where it lies, what it holds, what it is worth, and what is dropped of it."""
    lo, hi = _bounds(found.sifter)
    names = found.sift.attributes
    own = on_axes(found.sifter.axes, [Wish(found.sift.wanted)])
    got = completeness(own, found.sifter.regions, found.sifter.share, found.drop)
    lines = [
        f"sifter {found.sifter.version} of {', '.join(names)}: keeps {1 - float(found.sifter.share @ found.drop):.1%} of all "
        f"rows, where {found.keep:.1%} may stay; the query gets {got[0]:.1%} of those that it wants; quality of all queries "
        f"{1 - float(found.sifter.wanted.quality @ found.drop):.1%}",
        f"  {'rows':>7}{'quality':>9}{'dropped':>9}  where",
    ]
    for region in np.argsort(-found.sifter.share, kind="stable"):
        where = ", ".join(
            f"{name} {_span(axis, lo[region, d], hi[region, d])}"
            for d, (name, axis) in enumerate(zip(names, found.sifter.axes, strict=True))
        )
        quality = f"{found.sifter.wanted.quality[region]:9.2%}" if found.sifter.wanted.some[region] else f"{'-':>9}"
        lines.append(f"  {found.sifter.share[region]:7.2%}{quality}{found.drop[region]:9.1%}  {where}")
    return "\n".join(lines)


def picture(found: Running) -> str:
    """An SVG of the regions by what is dropped of them, and of what the query wants. ValueError but for two attributes."""
    if len(found.sifter.axes) != 2:
        raise ValueError("only sifters of two attributes can be drawn")
    lo, hi = _bounds(found.sifter)
    steps = found.sifter.axes[0].steps
    parts = []
    for region, drop in enumerate(found.drop):
        parts.append(_box(lo[region], hi[region], steps, f'class="region" fill-opacity="{drop:.3f}"', f"{drop:.0%} dropped"))
    wants = on_axes(found.sifter.axes, [Wish(found.sift.wanted)])
    for low, high in zip(wants.lo * steps, wants.hi * steps, strict=True):
        parts.append(_box(low, high, steps, 'class="wanted"', "wanted"))
    for d, axis in enumerate(found.sifter.axes):
        for tick in range(TICKS + 1):
            step = 1 + (steps - 1) * tick / TICKS
            text = escape(_value(axis, step))
            x, y = _place(step, 0, steps) if d == 0 else _place(0, step, steps)
            at = f'x="{x}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle"' if d == 0 else f'x="{LEFT - 6}" y="{y + 4}" text-anchor="end"'
            parts.append(f"<text {at}>{text}</text>")
    first, second = (escape(name) for name in found.sift.attributes)
    title = f"sifter {found.sifter.version}: {found.keep:.0%} of the rows kept; the darker, the more is dropped; frames: wanted"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="11">'
        "<style>.region { fill: #1d4ed8; stroke: #94a3b8; stroke-width: .5 } .wanted { fill: none; stroke: #d97706; "
        "stroke-width: 1.5 }</style>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/><text x="{LEFT}" y="18">{title}</text>{"".join(parts)}'
        f'<text x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{first}</text>'
        f'<text x="14" y="{HEIGHT / 2}" transform="rotate(-90 14 {HEIGHT / 2})" text-anchor="middle">{second}</text></svg>\n'
    )


def _bounds(sifter: Compact) -> tuple[Floats, Floats]:
    """Of the regions, in steps."""
    regions, steps = sifter.regions, float(sifter.axes[0].steps)
    return regions.lo * steps, regions.hi * steps


def _place(first: float, second: float, steps: int) -> tuple[float, float]:
    x = LEFT + (WIDTH - LEFT - 12) * first / steps
    y = HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * second / steps
    return round(x, 1), round(y, 1)


def _box(low: Floats, high: Floats, steps: int, style: str, title: str) -> str:
    (x0, y1), (x1, y0) = _place(float(low[0]), float(low[1]), steps), _place(float(high[0]), float(high[1]), steps)
    return (
        f'<rect {style} x="{x0}" y="{y0}" width="{round(x1 - x0, 1)}" height="{round(y1 - y0, 1)}"><title>{title}</title></rect>'
    )


def _value(axis: Axis, step: float) -> str:
    """The value at the lower end of a step."""
    if isinstance(axis, WordAxis):
        return f"#{int(step)}" if step >= 1 else ""
    return short(axis.value(step)) if axis.value(step) >= 0 else f"-{short(-axis.value(step))}"


def _span(axis: Axis, low: float, high: float) -> str:
    """A range of steps in the values of their axis; the first step is NULL's."""
    if low == 0 and high == axis.steps:
        return "any"
    with_null = "NULL or " if low == 0 else ""
    if high <= 1:
        return "NULL"
    if isinstance(axis, WordAxis):
        return f"{with_null}words of steps {max(1, int(low))} to {int(high) - 1}"
    if low <= 1:
        return f"{with_null}below {_value(axis, high)}"
    return f"from {_value(axis, low)}" if high == axis.steps else f"{_value(axis, low)} to {_value(axis, high)}"
