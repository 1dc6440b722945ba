"""The words and numbers that joins under overload are told with; without numpy, so that the compiler can read them."""

from __future__ import annotations

from typing import Literal

Kind = Literal["EQUAL", "SUBSET", "SUPERSET", "OVERLAP", "INNER_PRODUCT"]
"""What a condition asks of two sets."""

Combine = Literal["MAX", "AVG"]
"""The utility of a pair: the larger one of its rows', or their mean."""

SAMPLE_P = 0.1
"""The base probability of a full probe (γ)."""

USUAL = 20
"""Basic windows in the longer window where nothing else is asked for."""

MOST = 1000
"""Basic windows in a window; each costs a step of every micro-batch."""
