"""The test of a sifter: which cell of its grid a row is in, by arithmetic, and whether that cell keeps it.

Everything about the regions is data in the control relation: where the steps of each axis are
(``stdlib/sifters/axes.py``), and how many of the hashes each cell keeps. Without a sifter, as in the first
micro-batch, all rows have the same threshold.
"""

from __future__ import annotations

from streamq.compiler.ir import physical as ph
from streamq.compiler.ir.goals import Sift
from streamq.compiler.lowering.sql import quote
from streamq.stdlib.sifters.grid import WORD_BITS, steps_for

CELL = "__cell"
WORD_MASK = (1 << WORD_BITS) - 1


def numbers(sift: Sift, control: ph.ControlRelation) -> str:
    """What the test reads of the control relation, once for all rows."""
    axes = (
        f"get(axes, {place}).{part} AS {part}{place}"
        for place in range(len(sift.attributes)) for part in ("lower", "scale", "curved", "salt")
    )
    return f"(SELECT struct(threshold, `sample`, cells, {', '.join(axes)}) FROM {quote(control.view)})"


def cell(sift: Sift, read: str) -> str:
    """The number of a row's cell; the last attribute runs fastest. ``read``: the column with ``numbers``."""
    steps = steps_for(len(sift.attributes))
    found = ""
    for place, (name, text) in enumerate(zip(sift.attributes, sift.text, strict=True)):
        step = _word_step(name, place, steps, read) if text else _number_step(name, place, steps, read)
        found = step if not found else f"({found} * {steps} + {step})"
    return found


def kept(read: str, low: str) -> str:
    """Whether a row is kept: its hash is below the threshold of its cell, which is at least that of rows looked at."""
    return f"{low} < {threshold(read)}"


def threshold(read: str) -> str:
    return f"coalesce(get({read}.cells, {quote(CELL)}), {read}.threshold)"


def weight(read: str, steps: int) -> str:
    """For how many rows a kept one stands."""
    return f"{steps}D / {threshold(read)}"


def _number_step(name: str, place: int, steps: int, read: str) -> str:
    """Numbers of 32 bits are compared in a fraction of the time that floats take; NaN, above all, is 0 as one."""
    value = f"CAST({quote(name)} AS DOUBLE)"
    above = f"({value} - {read}.lower{place})"
    along = f"IF({read}.curved{place}, sqrt(sqrt(sqrt({above}))), {above}) * {read}.scale{place}"
    step = f"1 + least(greatest(CAST({along} AS INT), 0), {steps - 2})"
    return f"CASE WHEN {quote(name)} IS NULL THEN 0 WHEN isnan({value}) THEN {steps - 1} ELSE {step} END"


def _word_step(name: str, place: int, steps: int, read: str) -> str:
    crc = f"crc32(CAST({quote(name)} AS BINARY))"
    spread = f"(({crc} * {read}.salt{place}) & {WORD_MASK}L)"
    return f"IF({quote(name)} IS NULL, 0, 1 + CAST(shiftright({spread} * {steps - 1}L, {WORD_BITS}) AS INT))"
