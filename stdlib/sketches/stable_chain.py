"""A cell of a Stable Bloom filter as a Markov chain over its values 0 .. max_value (Deng 2007, chapter 3: the thesis).

Each element sets a given cell with probability K/m and, before that, lowers it by one with probability P/m. All here is
for one cell; numpy-free, as plans are made where a query is compiled.
"""

from __future__ import annotations

from collections.abc import Callable

Matrix = list[list[float]]

MOST_DOUBLINGS = 62


def chain(set_prob: float, lower_prob: float, max_value: int) -> Matrix:
    """The transition matrix of one element, ``[max_value + 1, max_value + 1]``, rows of sum 1.

    ``set_prob``, ``lower_prob``: that an element sets the cell, or lowers it (k and p).
    """
    made = [[0.0] * (max_value + 1) for _ in range(max_value + 1)]
    for value, row in enumerate(made):
        row[max(value - 1, 0)] += lower_prob * (1 - set_prob)
        row[value] += (1 - lower_prob) * (1 - set_prob)
        row[max_value] += set_prob
    return made


def steps_while(step: Matrix, start: int, holds: Callable[[float], bool]) -> int | None:
    """The most elements after which the chance of a 0 is one that ``holds``, from the value ``start``; None: for ever.

    ``holds`` must be true at no elements, and must not turn true again, as the chance only rises or only falls.
    """
    powers: list[Matrix] = []
    power = step
    while holds(power[start][0]):
        if len(powers) == MOST_DOUBLINGS:
            return None
        powers.append(power)
        power = _product(power, power)
    row = [float(value == start) for value in range(len(step))]
    steps = 0
    for doublings, power in reversed(list(enumerate(powers))):
        longer = _product([row], power)[0]
        if holds(longer[0]):
            row, steps = longer, steps + (1 << doublings)
    return steps


def _product(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    made = [
        [sum(x * y for x, y in zip(row, column, strict=True)) for column in columns] for row in a
    ]
    # Of sum 1 again: what rounding adds would double with each doubling.
    return [[x / sum(row) for x in row] for row in made]
