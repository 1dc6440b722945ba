"""The programs of the example with other sources in place of the endless generator."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from streamq.compiler.driver import CompileResult, compile_program
from streamq.compiler.options import CompileOptions
from streamq.dsl.source import SourceFile

PROGRAMS = Path(__file__).parents[1]
"""The folder of ``q0.cql`` and so on."""

QUERIES = tuple(f"q{number}" for number in range(24))

TABLE_OF = {"person": "person", "auction": "auction", "bid": "bid", "closing": "auction"}
"""The table of events behind each stream."""

MEMORY = "connector = 'memory'"
"""Micro-batches that the suite writes."""

_ENDLESS = re.compile(r"connector = 'nexmark', table = '(\w+)', rate = 10000")


def generator(events: int, per_batch: int) -> str:
    """The generator, ending after so many events of all kinds."""
    return (
        rf"connector = 'nexmark', table = '\1', rate = 10000, events = {events}, "
        f"max_events_per_trigger = {per_batch}"
    )


def copy_programs(folder: Path, source: str) -> Path:
    """A copy of all programs whose streams come from ``source``, options of a stream."""
    folder.mkdir(parents=True)
    replaced = 0
    for file in PROGRAMS.glob("*.cql"):
        text, count = _ENDLESS.subn(source, file.read_text("utf-8"))
        replaced += count
        (folder / file.name).write_text(text, "utf-8")
    if replaced != len(TABLE_OF):
        raise ValueError(f"{replaced} streams of the generator were found, not {len(TABLE_OF)}")
    shutil.copy(PROGRAMS / "side_input.csv", folder)
    return folder


def compile_query(folder: Path, query: str) -> CompileResult:
    """The program of a query, compiled; what is wrong with it is in the result."""

    def read_text(name: str) -> str:
        return (folder / name).read_text("utf-8")

    source = SourceFile(f"{query}.cql", read_text(f"{query}.cql"))
    return compile_program(source, CompileOptions(base_dir=str(folder)), read_text)
