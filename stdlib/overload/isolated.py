"""What micro-batches that ran side by side would have taken each by itself.

Those that run at the same time are taken to get equal parts of the machine, so each second counts for each of them as so
many parts. A query whose micro-batches are short runs beside the others all of the time, and one whose micro-batches are
long a while alone: by the clock a row of the first would seem to be dearer.
"""

from __future__ import annotations

import numpy as np

from streamq.stdlib.sifters.boxes import Floats


def isolated_times(begins: Floats, ends: Floats) -> Floats:
    """The time of each with the whole machine for itself, in the unit of its ends."""
    edges = np.unique(np.concatenate((begins, ends)))
    running = (begins[:, None] <= edges[:-1]) & (ends[:, None] > edges[:-1])
    found: Floats = running @ (np.diff(edges) / np.maximum(running.sum(axis=0), 1))
    return found
