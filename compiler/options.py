"""Options of a compilation and the program's own settings (``SET key = value``)."""

from __future__ import annotations

from streamq.dsl.records import dataclass
from streamq.stdlib.registry import OptionSpec, OptionType

SETTINGS: dict[str, OptionSpec] = {
    s.name: s
    for s in (
        OptionSpec(
            name="shuffle_partitions", type=OptionType.INT, least=1, most=10_000,
            doc="partitions of stateful operators; fixed by the first run of a checkpoint",
        ),
        OptionSpec(
            name="trigger_interval", type=OptionType.DURATION,
            doc="micro-batches begin at multiples of it, or as soon as the last is done where that is later; where not set at once, or "
                "after 0.4 goals where queries shed by worth",
        ),
    )
}
"""Settings of StreamQ; keys that begin with ``spark.`` go to Spark as they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """``base_dir``: the folder that relative paths of the program start from.

    ``verify``: check the plan's invariants after every pass. ``trace``: keep the plan after each pass.
    """

    base_dir: str = "."
    verify: bool = False
    trace: bool = False
