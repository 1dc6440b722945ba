"""The rules of supervision that a program's settings give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from streamq.compiler.ir.physical import OptionValue
from streamq.runtime.paths import resolve
from streamq.runtime.supervise.policy import FIRST_DELAY_S, TRIES, Rules


@dataclass(frozen=True, slots=True)
class Supervision:
    """``letters``: the folder of dead letters, or None. ``once``: the run is to end, and is not patient."""

    tries: int = TRIES
    first_delay_s: float = FIRST_DELAY_S
    letters: Path | None = None
    once: bool = False

    def rules(self, query: str) -> Rules:
        return Rules(
            self.tries, not self.once, self.letters is not None, self.first_delay_s,
            max(self.first_delay_s, Rules().longest_delay_s), query,
        )


def supervision(settings: Mapping[str, OptionValue], base_dir: str, once: bool) -> Supervision:
    """Scripts that run something once are to see at once that it failed, unless they ask for more tries."""
    folder = settings.get("dead_letters")
    return Supervision(
        int(settings.get("tries", 1 if once else TRIES)), int(settings.get("restart_delay", FIRST_DELAY_S * 1000)) / 1000,
        None if folder is None else Path(resolve(base_dir, str(folder))), once,
    )
