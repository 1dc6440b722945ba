"""Tables of the thesis (Ahuja 2006), as they are printed: see ``golden/``."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from streamq.stdlib.attributes.columns import Array

_FOLDER = Path(__file__).parent / "golden"


def table(name: str) -> dict[str, Array]:
    """The columns; numbers where all that is there are, with NaN for what is not."""
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8") as file:
        head, *rows = list(csv.reader(file))
    return {name: _typed([row[i] for row in rows]) for i, name in enumerate(head)}


def numeric(name: str, *names: str) -> Array:
    """Those columns, or all numeric ones but the number of the row, ``[rows, columns]``."""
    of = table(name)
    return np.stack([of[n] for n in names or [n for n, x in of.items() if x.dtype.kind == "f" and n != "row"]], axis=1)


def _typed(texts: list[str]) -> Array:
    try:
        return np.array([float(text or "nan") for text in texts])
    except ValueError:
        return np.array(texts)
