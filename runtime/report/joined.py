"""Where a join that selects finds its pairs, by the age of rows: as text and as charts."""

from __future__ import annotations

from streamq.runtime.metrics import Selected, SelectedWindow
from streamq.runtime.report.chart import Line, chart

BAR = 40
"""Characters of the longest bar."""

SIDES = ("left", "right")


def table(one: Selected) -> str:
    """A bar for each basic window of both windows, as long as pairs were found in it, and how likely a comparison finds one."""
    lines: list[str] = []
    for side, window in zip(SIDES, one.windows, strict=True):
        total, most = sum(window.found), max(window.found, default=0)
        lines.append(f"  {side} window: {window.frac:.1%} of it compared at last, {total:,} pairs")
        lines.append(f"  {'age':>12}{'of pairs':>10}{'per 1,000 comparisons':>24}")
        for place, (found, p) in enumerate(zip(window.found, window.match_p, strict=True)):
            age = f"{place * one.bw_s:g} s" if place else "newest"
            share = found / total if total else 0.0
            bar = "█" * round(BAR * found / most) if most else ""
            lines.append(f"  {age:>12}{share:>10.1%}{1000 * p:>24.3g}  {bar}")
    return "\n".join(lines)


def words(one: Selected) -> str:
    """A line: how much was compared at last, and at which ages most pairs were found."""
    parts = [
        f"{window.frac:.1%} of the {side} window{_best(one, window)}" for side, window in zip(SIDES, one.windows, strict=True)
    ]
    return f"join of {one.query}: compared at last {' and '.join(parts)}"


def _best(one: Selected, window: SelectedWindow) -> str:
    if not any(window.found):
        return ""
    best = max(range(len(window.found)), key=lambda place: window.found[place])
    return f" (most pairs with rows about {best * one.bw_s:g} s old)"


def charts(one: Selected) -> str:
    """Figures of both windows: how likely comparisons find a pair, and how many pairs were found, by the age of rows."""
    found: list[str] = []
    for side, window in zip(SIDES, one.windows, strict=True):
        ages = [place * one.bw_s for place in range(len(window.found))]
        matches = tuple(zip(ages, (1000 * p for p in window.match_p), strict=True))
        pairs = tuple(zip(ages, map(float, window.found), strict=True))
        found.append(chart(f"Partners in the {side} window by their age", "pairs per 1,000 comparisons", [Line("learned", "a", matches)]))
        found.append(chart(f"Pairs found in the {side} window by age", "pairs", [Line("found", "b", pairs)]))
    return f'<div class="charts">{"".join(found)}</div>'
