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
        OptionSpec(
            name="tries", type=OptionType.INT, least=1, most=1000,
            doc="failures of a micro-batch until it is put aside or the query given up; where not set 3, or 1 with `--once`",
        ),
        OptionSpec(
            name="restart_delay", type=OptionType.DURATION, least=1,
            doc="time from a failure to the next start, twice as long after each further one, up to a minute; where not set a second",
        ),
        OptionSpec(
            name="dead_letters", type=OptionType.PATH,
            doc="folder for the rows of micro-batches that are put aside; where not set none is",
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
