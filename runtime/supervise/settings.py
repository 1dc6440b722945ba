"""The rules of supervision that a program's settings give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from streamq.compiler.ir.physical import OptionValue, PhysicalQuery, ScanStream, walk
from streamq.dsl.diagnostics import Diagnostic
from streamq.dsl.source import NO_SPAN
from streamq.runtime.paths import is_remote, resolve
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


def no_place_for_letters(
    settings: Mapping[str, OptionValue], queries: Sequence[PhysicalQuery], base_dir: str
) -> tuple[Diagnostic, ...]:
    """SQ0703 where dead letters would be no files of this machine, or be read as input again."""
    folder = settings.get("dead_letters")
    if folder is None:
        return ()
    if is_remote(str(folder)):
        return (Diagnostic(
            "SQ0703", f"`dead_letters` is `{folder}`, which is no folder of this machine", NO_SPAN,
            help="choose a folder, or one that is mounted",
        ),)
    letters = Path(resolve(base_dir, str(folder)))
    scans = (s for q in queries for s in walk(q.root) if isinstance(s, ScanStream))
    reading = next((s for s in scans if dict(s.options).get("recursive") and _holds(s, letters, base_dir)), None)
    return () if reading is None else (Diagnostic(
        "SQ0703", f"`dead_letters` is a folder that stream `{reading.stream}` reads, so that its letters would come again",
        reading.origin, help="choose a folder elsewhere",
    ),)


def _holds(scan: ScanStream, letters: Path, base_dir: str) -> bool:
    path = str(dict(scan.options).get("path", ""))
    return bool(path) and not is_remote(path) and letters.is_relative_to(resolve(base_dir, path))
