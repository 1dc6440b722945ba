"""What is learned from each micro-batch that is done, published for those to come."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from streamq.runtime.control.decisions import DecisionLog
from streamq.runtime.control.forward import DECISIONS, KNOBS
from streamq.runtime.control.knobs import publish
from streamq.runtime.control.throttle import Throttle
from streamq.runtime.metrics import QuerySample
from streamq.stdlib.overload.batch_time import BatchTime

LEARNING = 0.3
"""What of the difference between counted and expected rows each micro-batch takes up."""


@dataclass(slots=True)
class Controller:
    """The controller of one query. ``checkpoint``: the query's folder."""

    checkpoint: Path
    throttle: Throttle

    def after(self, sample: QuerySample) -> None:
        """Learns from a micro-batch and publishes; OSError where the folder cannot be written."""
        batch = BatchTime(sample.rows_in, sample.kept, float(sample.batch_ms))
        throttle = replace(self.throttle, model=self.throttle.model.after(batch))
        decided = DecisionLog(self.checkpoint / DECISIONS).find(sample.batch)
        if decided is not None and decided.arrived > 0 and sample.rows_in > 0:
            ratio = sample.rows_in / decided.arrived
            first = sample.batch == 0 or self.throttle.model.cost is None
            step = 1.0 if first else LEARNING
            counted = throttle.counted + step * (ratio - throttle.counted)
            throttle = replace(throttle, counted=counted)
        self.throttle = throttle
        publish(self.checkpoint / KNOBS, throttle)
