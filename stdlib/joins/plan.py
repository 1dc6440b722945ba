"""What is asked of a window join."""

from __future__ import annotations

import numpy as np

from streamq.dsl.records import dataclass, field
from streamq.stdlib.joins.conditions import Condition
from streamq.stdlib.joins.kinds import Combine
from streamq.stdlib.joins.matching import Method, method
from streamq.stdlib.joins.selection import Floats, Selection
from streamq.stdlib.joins.window import Grid, Rows


@dataclass(frozen=True, slots=True)
class WindowJoin:
    """A join of S1 and S2; what there is two of is for the window of S1, then of S2.

    ``indexed``: matches are found through an index. ``lateness``: a row may come after one that is so much later.
    ``utility``: of a row by its type, ``[types]``. ``carries``: parts of rows in budgets go to the next probe; else they
    are lost.

    Raises ``ValueError`` where there is no index for the condition.
    """

    condition: Condition
    grids: tuple[Grid, Grid]
    indexed: bool = False
    lateness: int = 0
    utility: Floats = field(default_factory=lambda: np.ones(1))
    combine: Combine = "MAX"
    carries: bool = True

    def __post_init__(self) -> None:
        """Checks that there is an index."""
        method(self.condition, self.indexed)

    @property
    def how(self) -> Method:
        """How matches are found."""
        return method(self.condition, self.indexed)

    def check(self, rows: tuple[Rows, Rows], selection: Selection) -> None:
        """Raises ``ValueError`` where the selection or the rows are not of these basic windows and types."""
        n_bw, types = [grid.n_bw for grid in self.grids], len(self.utility)
        if [len(order) for order in selection.order] != n_bw:
            raise ValueError(f"the windows have {n_bw[0]} and {n_bw[1]} basic windows")
        if any(np.any((side.types < 0) | (side.types >= types)) for side in rows):
            raise ValueError(f"types of rows are below {types}")
        if selection.frac_type is not None and any(len(f) != types for f in selection.frac_type):
            raise ValueError(f"there are {types} types")
